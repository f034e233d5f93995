// SPDX-License-Identifier: BSD-2-Clause
#include "tests/verbs/process_faults_footprint.h"

#include <dirent.h>
#include <fcntl.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "examples/shared/verbs_peer.h"

namespace process_faults {
namespace {

template <typename Wanted>
size_t entries(const char* directory, Wanted wanted) {
  DIR* listing = ::opendir(directory);
  if (listing == nullptr) verbs_test::fail("%s cannot be read", directory);
  size_t count = 0;
  while (const dirent* entry = ::readdir(listing))
    if (entry->d_name[0] != '.' && wanted(listing, entry->d_name)) ++count;
  ::closedir(listing);
  return count;
}

size_t lines(const char* file) {
  std::FILE* opened = std::fopen(file, "re");
  if (opened == nullptr) verbs_test::fail("%s cannot be read", file);
  size_t count = 0;
  for (int c = std::fgetc(opened); c != EOF; c = std::fgetc(opened)) count += c == '\n' ? 1 : 0;
  std::fclose(opened);
  return count;
}

bool any(DIR*, const char*) {
  return true;
}

bool inherited(DIR* listing, const char* name) {
  const int fd = std::atoi(name);
  return fd != ::dirfd(listing) && (::fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0;
}

}  // namespace

Footprint Footprint::now() {
  const char* run_directory = std::getenv("MRC_RUNDIR");
  return {entries("/proc/self/fd", any), lines("/proc/self/maps"), entries("/proc/self/task", any),
          run_directory == nullptr ? 0 : entries(run_directory, any)};
}

std::string Footprint::text() const {
  return std::to_string(descriptors) + " descriptors, " + std::to_string(mappings) + " mappings, " +
         std::to_string(threads) + " threads, " + std::to_string(files) + " files in the run directory";
}

std::string open_descriptors() {
  std::string text;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // that of the listing itself
    text +=
        " " + entry.path().filename().string() + "=" + std::filesystem::read_symlink(entry, gone).string();
  }
  return text;
}

std::string run_directory_files() {
  std::string text;
  if (const char* run_directory = std::getenv("MRC_RUNDIR"))
    for (const auto& entry : std::filesystem::directory_iterator(run_directory))
      text += " " + entry.path().filename().string();
  return text;
}

size_t inheritable_descriptors() {
  return entries("/proc/self/fd", inherited);
}

}  // namespace process_faults
