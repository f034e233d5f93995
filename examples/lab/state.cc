// SPDX-License-Identifier: BSD-2-Clause
#include "examples/lab/state.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace mrc::lab {

namespace fs = std::filesystem;

namespace {

constexpr int kClaimTries = 100;

bool is_same_file(int file, const std::string& path) {
  struct stat one {};
  struct stat other {};
  return ::fstat(file, &one) == 0 && ::lstat(path.c_str(), &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

// ".old-LAB" is nobody's any more; ".new-PID" belongs to a process, as long as that lives.
bool may_be_removed(const std::string& name) {
  if (name.rfind(".old-", 0) == 0) return true;
  if (name.rfind(".new-", 0) != 0) return false;
  const pid_t maker = std::atoi(name.c_str() + 5);
  return maker > 0 && ::kill(maker, 0) != 0 && errno == ESRCH;
}

}  // namespace

std::string State::base() {
  if (const char* named = std::getenv("MRC_LAB_DIR"); named != nullptr && *named != '\0') return named;
  if (::geteuid() == 0 && ::access("/run", W_OK) == 0) return "/run/mrc-lab";
  return "/tmp/mrc-lab-" + std::to_string(::geteuid());
}

bool State::valid_name(const std::string& lab) {
  return !lab.empty() && lab.size() <= 24 && std::all_of(lab.begin(), lab.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_';
  });
}

std::vector<std::string> State::all_labs() {
  std::vector<std::string> labs;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(base(), ignored))
    if (valid_name(entry.path().filename())) labs.push_back(entry.path().filename());
  std::sort(labs.begin(), labs.end());
  return labs;
}

bool State::exists() const {
  std::error_code ignored;
  return fs::exists(directory(), ignored);
}

bool State::is_running() const {
  const Fd lock(::open(lock_file().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  // Shared: two who look at the same time must not take each other for the lab.
  return lock && ::flock(lock.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

void State::remove() const {
  // With the lock of the dead lab: nobody can take the name meanwhile.
  const Fd lock(::open(lock_file().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (lock && (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 || !is_same_file(lock.get(), lock_file()))) return;
  remove_own();
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(base(), ignored))
    if (may_be_removed(entry.path().filename())) fs::remove_all(entry.path(), ignored);
  fs::remove(base(), ignored);
}

void State::remove_own() const {
  const std::string out_of_the_way = base() + "/.old-" + lab_;
  std::error_code ignored;
  fs::remove_all(out_of_the_way, ignored);
  if (::rename(directory().c_str(), out_of_the_way.c_str()) != 0) return;
  fs::remove_all(out_of_the_way, ignored);
  fs::remove(base(), ignored);  // if it was the last
}

// Makes the directory elsewhere, with the lock taken, and puts it in its place.
Fd State::make_directory() const {
  const std::string unfinished = base() + "/.new-" + std::to_string(::getpid());
  std::error_code ignored;
  fs::remove_all(unfinished, ignored);
  if (::mkdir(unfinished.c_str(), 0700) != 0) return {};
  Fd lock(::open((unfinished + "/lock").c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0600));
  if (lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0 &&
      ::rename(unfinished.c_str(), directory().c_str()) == 0)
    return lock;
  const int why = errno;
  fs::remove_all(unfinished, ignored);
  errno = why;
  return {};
}

Fd State::claim(std::string* error) const {
  for (int tries = 0; tries < kClaimTries; ++tries) {
    if (is_running()) {
      *error = "lab " + lab_ + " is up already; mrc_lab --lab " + lab_ + " down ends it";
      return {};
    }
    remove();
    std::error_code ignored;
    fs::create_directories(fs::path(base()).parent_path(), ignored);
    // A base directory of somebody else could be swapped under us.
    struct stat status {};
    if ((::mkdir(base().c_str(), 0700) != 0 && errno != EEXIST) || ::lstat(base().c_str(), &status) != 0 ||
        !S_ISDIR(status.st_mode) || status.st_uid != ::geteuid()) {
      *error = base() + " cannot be made or belongs to somebody else; MRC_LAB_DIR can name another directory";
      return {};
    }
    if (Fd lock = make_directory()) return lock;
    *error = directory() + ": " + std::strerror(errno);
    // The last lab of this directory has just ended, or another one has taken the name.
    if (errno != ENOENT && errno != ENOTEMPTY && errno != EEXIST) return {};
  }
  return {};
}

}  // namespace mrc::lab
