// SPDX-License-Identifier: BSD-2-Clause
// mrcd: gives command files to programs that may not mount FUSE themselves. It hands a mount over and only
// counts it: the program opens and serves the file, and it ends with the program.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "examples/mount_quota.h"
#include "examples/terminal/program_words.h"
#include "providers/mrc/fuse_broker.h"

namespace {

constexpr char kUsage[] =
    "usage: mrcd [--limit N] [SOCKET]\n"
    "       mrcd --help | --version\n"
    "Runs as root and gives FUSE files to verbs programs on mrc0, through SOCKET (MRC_BROKER, else\n"
    "/run/mrcd/broker), a path with a / in it. No user has more than N (256) at a time. It stays in the "
    "foreground and ends with SIGTERM or SIGINT.\n";

constexpr size_t kMountsPerUser = 256;

volatile sig_atomic_t g_stop = 0;

int fail(const std::string& what) {
  std::fprintf(stderr, "mrcd: %s: %s\n", what.c_str(), std::strerror(errno));
  return 1;
}

// The directory of the socket, which may be below /run and gone since the last boot. Who else can write to it
// could put a socket of his own in its place. -1: errno is set.
int open_directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string directory = slash == 0 ? "/" : path.substr(0, slash);
  if (mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST) return -1;
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat status;
  if (fd < 0 || fstat(fd, &status) != 0) return -1;
  const bool ours = status.st_uid == geteuid() || status.st_uid == 0;
  const bool safe = (status.st_mode & (S_IWGRP | S_IWOTH)) == 0 || (status.st_mode & S_ISVTX) != 0;
  if (ours && safe) return fd;
  close(fd);
  errno = EPERM;
  return -1;
}

bool somebody_listens(const sockaddr_un& address) {
  const int probe = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (probe < 0) return false;
  const bool answered = connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(probe);
  return answered;
}

// Of one that was killed; anything else is somebody's.
bool remove_socket(int directory, const char* name) {
  struct stat status;
  if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return errno == ENOENT;
  if (S_ISSOCK(status.st_mode) && status.st_uid == geteuid()) return unlinkat(directory, name, 0) == 0;
  errno = EEXIST;
  return false;
}

// For everybody to connect to, from the moment that it is there.
int bind_socket(const sockaddr_un& address) {
  const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (socket < 0) return -1;
  const mode_t before = umask(0111);
  const bool bound = bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  const int why = errno;
  umask(before);
  if (bound && listen(socket, 64) == 0) return socket;
  if (!bound) errno = why;
  close(socket);
  return -1;
}

int listen_at(int directory, const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // By the directory's descriptor: its path may mean something else by now.
  const std::string path = "/proc/self/fd/" + std::to_string(directory) + "/" + name;
  if (name.empty() || path.size() >= sizeof address.sun_path) {
    errno = name.empty() ? EISDIR : ENAMETOOLONG;
    return -1;
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  if (somebody_listens(address)) {
    errno = EADDRINUSE;
    return -1;
  }
  return remove_socket(directory, name.c_str()) ? bind_socket(address) : -1;
}

// The mount is for the user that asks, as the kernel names him.
void serve(int client, uint64_t pid_namespace, mrc::MountQuota* quota) {
  using namespace mrc::provider;
  FuseMount mount;
  BrokerAnswer answer;
  answer.pid_namespace = pid_namespace;
  ucred who{};
  socklen_t bytes = sizeof who;
  std::string error;
  errno = 0;
  if (getsockopt(client, SOL_SOCKET, SO_PEERCRED, &who, &bytes) != 0) {
    answer.error = errno;
  } else if (!quota->admits(who.uid)) {
    answer.error = EDQUOT;
  } else if (!make_fuse_mount(who.uid, who.gid, &mount, &error)) {
    answer.error = errno != 0 ? errno : EIO;
    std::fprintf(stderr, "mrcd: %s\n", error.c_str());
  } else {
    quota->add(who.uid, mount.mount_fd);
  }
  send_fuse_mount(client, answer, mount);
  close_fuse_mount(&mount);
  close(client);
}

// Whole numbers from 1 on; 0: it is none.
size_t number_in(const char* word) {
  char* end = nullptr;
  errno = 0;
  const unsigned long number = std::strtoul(word, &end, 10);
  return word[0] >= '0' && word[0] <= '9' && *end == '\0' && errno == 0 ? number : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (mrc::answer_words("mrcd", kUsage, argc, argv)) return 0;
  size_t limit = kMountsPerUser;
  if (argc > 1 && std::strcmp(argv[1], "--limit") == 0) {
    limit = argc > 2 ? number_in(argv[2]) : 0;
    if (limit == 0) return mrc::refuse_word("mrcd", argc > 2 ? argv[2] : argv[1]);
    argc -= 2;
    argv += 2;
  }
  // A word that is no path is rather a mistake than a socket's name.
  if (argc > 1 && (argv[1][0] == '-' || std::strchr(argv[1], '/') == nullptr))
    return mrc::refuse_word("mrcd", argv[1]);
  if (argc > 2) return mrc::refuse_word("mrcd", argv[2]);
  const std::string path = argc == 2 ? argv[1] : mrc::provider::broker_path();
  // Better to say it now than to every client.
  mrc::provider::FuseMount trial;
  std::string error;
  if (!mrc::provider::make_fuse_mount(geteuid(), getegid(), &trial, &error)) {
    std::fprintf(stderr, "mrcd: %s; run it as root, on a kernel with FUSE\n", error.c_str());
    return 1;
  }
  mrc::provider::close_fuse_mount(&trial);
  struct sigaction stop {};
  stop.sa_handler = [](int) { g_stop = 1; };
  sigaction(SIGTERM, &stop, nullptr);
  sigaction(SIGINT, &stop, nullptr);
  const int directory = open_directory_of(path);
  if (directory < 0)
    return fail(errno == EPERM ? path + ": others can write to its directory, or it is not root's" : path);
  const std::string name = path.substr(path.rfind('/') + 1);
  const int socket = listen_at(directory, name);
  if (socket < 0) return fail(path);
  std::printf("mrcd: listening at %s\n", path.c_str());
  std::fflush(stdout);
  const uint64_t pid_namespace = mrc::provider::own_pid_namespace();
  mrc::MountQuota quota(limit);
  while (g_stop == 0) {
    const int client = accept4(socket, nullptr, nullptr, SOCK_CLOEXEC);
    if (client >= 0)
      serve(client, pid_namespace, &quota);
    else if (errno != EINTR && errno != ECONNABORTED)
      usleep(10000);  // out of files or memory: others may give some back
  }
  unlinkat(directory, name.c_str(), 0);
  return 0;
}
