// SPDX-License-Identifier: BSD-2-Clause
#include "examples/lab/state.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace mrc::lab {

namespace fs = std::filesystem;

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
  return lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

void State::remove() const {
  if (is_running()) return;
  std::error_code ignored;
  fs::remove_all(directory(), ignored);
  fs::remove(base(), ignored);  // if it was the last
}

Fd State::claim(std::string* error) const {
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
  if (::mkdir(directory().c_str(), 0700) != 0) {
    *error = directory() + ": " + std::strerror(errno);
    return {};
  }
  Fd lock(::open(lock_file().c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    *error = lock_file() + ": " + std::strerror(errno);
    return {};
  }
  return lock;
}

}  // namespace mrc::lab
