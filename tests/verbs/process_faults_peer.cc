// SPDX-License-Identifier: BSD-2-Clause
#include "tests/verbs/process_faults_peer.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>

#include "tests/verbs/process_faults_clock.h"

namespace process_faults {
namespace {

using verbs_test::fail;

constexpr auto kPeerPatience = std::chrono::seconds(60);
constexpr int kIdleWaitMs = 1;
constexpr useconds_t kShortSleepUs = 50;

// Waits for the next word, and runs the link meanwhile. The survivor is gone: so is the peer.
// `jumps`: how far the clock goes wrong.
Message next_message(int socket, Link* link, verbs_test::Random* jumps) {
  verbs_test::set_deadline(kPeerPatience, "the next order");
  for (;;) {
    Message message;
    bool gone = false;
    if (receive_message(socket, &message, &gone)) return message;
    if (gone) ::_exit(0);
    verbs_test::check_deadline();
    if (jumps != nullptr) jump_clock(static_cast<long>(jumps->between(0, 200'000)) - 100'000);
    pollfd waited{socket, POLLIN, 0};
    if (link == nullptr)
      ::poll(&waited, 1, kIdleWaitMs);
    else if (!link->drive())
      ::usleep(kShortSleepUs);
  }
}

void serve_link(int socket, const verbs_test::Device& device, const Message& wanted, Tally& tally) {
  Link link(device, wanted.terms, false, tally);
  verbs_test::Random random(wanted.terms.seed);
  link.connect(wanted.offer);
  Message answer{};
  answer.order = Order::kConnected;
  answer.offer = link.offer();
  send_message(socket, answer);
  for (;;) {
    const Message message = next_message(socket, &link, wanted.clock_jumps != 0 ? &random : nullptr);
    if (message.order == Order::kGo) link.send(wanted.terms.peer_sends);
    if (message.order == Order::kLeave) std::exit(0);
    if (message.order == Order::kEnd) break;
  }
  link.send(false);
  verbs_test::set_deadline(kPeerPatience, "what is under way");
  while (!link.idle()) {
    if (!link.poll()) ::usleep(kShortSleepUs);
    verbs_test::check_deadline();
  }
  answer.order = Order::kReport;
  answer.statuses = link.statuses();
  send_message(socket, answer);
  next_message(socket, &link, nullptr);  // kRelease
}

}  // namespace

int peer_main(int socket, const std::string& name) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::fcntl(socket, F_SETFD, FD_CLOEXEC) != 0) ::_exit(1);
  verbs_test::set_deadline(kPeerPatience, "opening the device");
  Tally tally;
  const verbs_test::Device device(name);
  for (;;) {
    const Message message = next_message(socket, nullptr, nullptr);
    if (message.order == Order::kConnect) serve_link(socket, device, message, tally);
    if (message.order == Order::kLeave) std::exit(0);
    if (message.order == Order::kClose) return 0;
  }
}

// --- the survivor's side ---

PeerProcess::PeerProcess(const std::string& device) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    fail("socketpair: %s", std::strerror(errno));
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  const std::string end = std::to_string(ends[1]);
  const char* arguments[] = {program.c_str(), "--peer", end.c_str(), "--device", device.c_str(), nullptr};
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) fail("fork: %s", std::strerror(errno));
  if (pid_ == 0) {
    // It must not outlive a survivor that was killed.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent || ::fcntl(ends[1], F_SETFD, 0) != 0) ::_exit(1);
    ::execv(arguments[0], const_cast<char**>(arguments));
    ::_exit(127);
  }
  ::close(ends[1]);
  socket_ = ends[0];
}

PeerProcess::~PeerProcess() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ::close(socket_);
}

void PeerProcess::signal(int number) const {
  if (number == SIGKILL) killed_ = true;
  if (pid_ > 0 && ::kill(pid_, number) != 0) fail("kill: %s", std::strerror(errno));
}

bool PeerProcess::ended() {
  if (pid_ <= 0) return true;
  int status = 0;
  const pid_t found = ::waitpid(pid_, &status, WNOHANG);
  if (found == 0) return false;
  if (found != pid_) fail("waitpid: %s", std::strerror(errno));
  pid_ = -1;
  const bool well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  const bool as_wanted = killed_ && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  if (!well && !as_wanted) fail("the peer ended with status 0x%x", static_cast<unsigned>(status));
  return true;
}

}  // namespace process_faults
