// SPDX-License-Identifier: BSD-2-Clause
// mrcd: gives command files to programs that may not mount FUSE themselves. It hands a file over and forgets
// it: the program serves it, and it ends with the program.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "providers/mrc/fuse_broker.h"

namespace {

constexpr char kUsage[] =
    "usage: mrcd [SOCKET]\n"
    "Runs as root and gives FUSE files to verbs programs on mrc0, through SOCKET (MRC_BROKER, else\n"
    "/run/mrcd/broker). It stays in the foreground and ends with SIGTERM or SIGINT.\n";

volatile sig_atomic_t g_stop = 0;

int fail(const std::string& what) {
  std::fprintf(stderr, "mrcd: %s: %s\n", what.c_str(), std::strerror(errno));
  return 1;
}

// The directory may be below /run and gone since the last boot.
bool make_directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash == 0) return true;
  return mkdir(path.substr(0, slash).c_str(), 0755) == 0 || errno == EEXIST;
}

bool somebody_listens(const sockaddr_un& address) {
  const int probe = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (probe < 0) return false;
  const bool answered = connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(probe);
  return answered;
}

int listen_at(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  if (!make_directory_of(path)) return -1;
  if (somebody_listens(address)) {
    errno = EADDRINUSE;
    return -1;
  }
  unlink(path.c_str());  // of one that was killed
  const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (socket < 0) return -1;
  if (bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
      chmod(path.c_str(), 0666) == 0 && listen(socket, 64) == 0)
    return socket;
  const int why = errno;
  close(socket);
  errno = why;
  return -1;
}

void serve(int client, uint64_t pid_namespace) {
  using namespace mrc::provider;
  FuseFile file;
  std::string error;
  BrokerAnswer answer;
  answer.pid_namespace = pid_namespace;
  errno = 0;
  if (!mount_fuse_file(&file, &error)) {
    answer.error = errno != 0 ? errno : EIO;
    std::fprintf(stderr, "mrcd: %s\n", error.c_str());
  }
  send_fuse_file(client, answer, file);
  close_fuse_file(&file);
  close(client);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
    const bool asked = argc == 2 && (std::strcmp(argv[1], "--help") == 0 || std::strcmp(argv[1], "-h") == 0);
    std::fputs(kUsage, asked ? stdout : stderr);
    return asked ? 0 : 2;
  }
  const std::string path = argc == 2 ? argv[1] : mrc::provider::broker_path();
  // Better to say it now than to every client.
  mrc::provider::FuseFile trial;
  std::string error;
  if (!mrc::provider::mount_fuse_file(&trial, &error)) {
    std::fprintf(stderr, "mrcd: %s; run it as root, on a kernel with FUSE\n", error.c_str());
    return 1;
  }
  mrc::provider::close_fuse_file(&trial);
  struct sigaction stop {};
  stop.sa_handler = [](int) { g_stop = 1; };
  sigaction(SIGTERM, &stop, nullptr);
  sigaction(SIGINT, &stop, nullptr);
  const int socket = listen_at(path);
  if (socket < 0) return fail(path);
  std::printf("mrcd: listening at %s\n", path.c_str());
  std::fflush(stdout);
  const uint64_t pid_namespace = mrc::provider::own_pid_namespace();
  while (g_stop == 0) {
    const int client = accept4(socket, nullptr, nullptr, SOCK_CLOEXEC);
    if (client >= 0)
      serve(client, pid_namespace);
    else if (errno != EINTR && errno != ECONNABORTED)
      usleep(10000);  // out of files or memory: others may give some back
  }
  unlink(path.c_str());
  return 0;
}
