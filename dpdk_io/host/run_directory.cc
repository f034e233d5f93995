// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/host/run_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

namespace mrc {
namespace {

// The longest name used in it, and a socket's address must hold all of it.
constexpr size_t kPathMax = sizeof(sockaddr_un::sun_path) - sizeof("/./link.1023-1023");

bool is_directory(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::string choose_path() {
  if (const char* given = secure_getenv("MRC_RUNDIR"); given != nullptr && *given != '\0') {
    std::string path = given;
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    return path;
  }
  const uid_t user = geteuid();
  if (user == 0) return "/run/mrc";
  const std::string runtime = "/run/user/" + std::to_string(user);
  if (is_directory(runtime)) return runtime + "/mrc";
  return "/tmp/mrc-" + std::to_string(user);
}

bool fail(std::string* error, const std::string& path, const std::string& why) {
  *error = "mrc: run directory " + path + ": " + why + "; set MRC_RUNDIR to a directory of your own";
  return false;
}

bool check_owner(const std::string& path, std::string* error) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) {
    struct stat link;
    const bool is_link = lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode);
    if (is_link) return fail(error, path, "is a symbolic link");
    return fail(error, path, errno == ENOTDIR ? "is not a directory" : std::strerror(errno));
  }
  struct stat status;
  const int result = fstat(fd, &status);
  const int why = errno;
  close(fd);
  if (result != 0) return fail(error, path, std::strerror(why));
  if (status.st_uid != geteuid())
    return fail(
        error, path,
        "belongs to user " + std::to_string(status.st_uid) + ", not to user " + std::to_string(geteuid()));
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return fail(error, path, "is open to other users (chmod 700 would cure that)");
  if (access(path.c_str(), R_OK | W_OK | X_OK) != 0) return fail(error, path, std::strerror(errno));
  return true;
}

}  // namespace

std::string chosen_run_directory() {
  return choose_path();
}

bool open_run_directory(std::string* path, std::string* error) {
  const std::string chosen = choose_path();
  if (mkdir(chosen.c_str(), 0700) != 0 && errno != EEXIST) return fail(error, chosen, std::strerror(errno));
  if (!check_owner(chosen, error)) return false;
  char absolute[PATH_MAX];
  if (realpath(chosen.c_str(), absolute) == nullptr) return fail(error, chosen, std::strerror(errno));
  *path = absolute;
  if (path->size() > kPathMax)
    return fail(error, *path, "its name is longer than " + std::to_string(kPathMax) + " characters");
  // The path is handed to DPDK in a list of key=value pairs.
  if (path->find_first_of(",=[]()\"'") != std::string::npos)
    return fail(error, *path, "its name has one of the characters ,=[]()\"' that DPDK cannot take");
  return true;
}

}  // namespace mrc
