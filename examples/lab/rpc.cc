// SPDX-License-Identifier: BSD-2-Clause
#include "examples/lab/rpc.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

namespace mrc::lab {
namespace {

constexpr size_t kLineBytesMax = 4 << 20;
constexpr size_t kFilesMax = 8;
// Whoever asks may have to wait for a CPU between two words; one that never goes on must not hold the lab up.
constexpr int kAnswerSeconds = 10;

bool make_address(const std::string& path, sockaddr_un* address) {
  *address = {};
  address->sun_family = AF_UNIX;
  if (path.size() >= sizeof address->sun_path) return false;
  std::memcpy(address->sun_path, path.c_str(), path.size() + 1);
  return true;
}

void take_files(msghdr* message, std::vector<Fd>* files) {
  for (cmsghdr* part = CMSG_FIRSTHDR(message); part != nullptr; part = CMSG_NXTHDR(message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    int numbers[kFilesMax];
    std::memcpy(numbers, CMSG_DATA(part), count * sizeof(int));
    for (size_t i = 0; i < count; ++i) files->emplace_back(numbers[i]);
  }
}

// The answer may be as long as it likes; the lab closes when it is done.
bool read_answer(int socket, std::string* line, std::vector<Fd>* files) {
  alignas(cmsghdr) char control[CMSG_SPACE(kFilesMax * sizeof(int))];
  char buffer[65536];
  while (line->empty() || line->back() != '\n') {
    iovec part{buffer, sizeof buffer};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t bytes = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0 || line->size() > kLineBytesMax) return false;
    line->append(buffer, static_cast<size_t>(bytes));
    if (files != nullptr) take_files(&message, files);
  }
  return true;
}

}  // namespace

bool ask(const State& state, const nlohmann::json& question, nlohmann::json* answer, std::vector<Fd>* files,
         std::string* error) {
  sockaddr_un address;
  const Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!make_address(state.control_socket(), &address) || !socket ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    *error = "there is no lab \"" + state.lab() + "\" (" + state.directory() + "); mrc_lab up makes one";
    return false;
  }
  std::string line;
  if (!write_line(socket.get(), question.dump()) || !read_answer(socket.get(), &line, files)) {
    *error = "the lab \"" + state.lab() + "\" gives no answer";
    return false;
  }
  *answer = nlohmann::json::parse(line, nullptr, false);
  if (answer->is_discarded() || !answer->is_object()) {
    *error = "the lab \"" + state.lab() + "\" gives a strange answer";
    return false;
  }
  if (!answer->contains("error")) return true;
  *error = answer->value("error", "");
  return false;
}

Fd listen_for_questions(const State& state, std::string* error) {
  sockaddr_un address;
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!make_address(state.control_socket(), &address)) {
    *error = state.control_socket() + ": too long for a socket; a shorter MRC_LAB_DIR, please";
    return {};
  }
  if (!socket || ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.get(), 16) != 0) {
    *error = state.control_socket() + ": " + std::strerror(errno);
    return {};
  }
  return socket;
}

bool read_line(int socket, std::string* line) {
  const timeval limit{kAnswerSeconds, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  char buffer[4096];
  while (line->empty() || line->back() != '\n') {
    const ssize_t bytes = ::recv(socket, buffer, sizeof buffer, 0);
    if (bytes <= 0 || line->size() > kLineBytesMax) return false;
    line->append(buffer, static_cast<size_t>(bytes));
  }
  return true;
}

bool write_line(int socket, const std::string& line, const std::vector<int>& files) {
  std::string text = line + "\n";
  alignas(cmsghdr) char control[CMSG_SPACE(kFilesMax * sizeof(int))]{};
  size_t done = 0;
  while (done < text.size()) {
    iovec part{text.data() + done, text.size() - done};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (done == 0 && !files.empty()) {
      message.msg_control = control;
      message.msg_controllen = CMSG_SPACE(files.size() * sizeof(int));
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(files.size() * sizeof(int));
      std::memcpy(CMSG_DATA(header), files.data(), files.size() * sizeof(int));
    }
    const ssize_t bytes = ::sendmsg(socket, &message, MSG_NOSIGNAL);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return false;
    done += static_cast<size_t>(bytes);
  }
  return true;
}

}  // namespace mrc::lab
