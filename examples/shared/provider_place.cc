// SPDX-License-Identifier: BSD-2-Clause
#include "examples/shared/provider_place.h"

#include <unistd.h>

#include <filesystem>

namespace mrc {
namespace {

namespace fs = std::filesystem;

// Seen from the folder of the programs: as the build leaves it, and as it is installed. The second is made by
// CMake from the folders of the installation, so that all of it may be moved.
constexpr const char* kPlaces[] = {"../lib", MRC_PROVIDER_FROM_PROGRAMS};

}  // namespace

std::string find_provider_place(std::string* error) {
  std::error_code failure;
  const fs::path self = fs::read_symlink("/proc/self/exe", failure);
  if (failure) {
    *error = "cannot find out where this program is: " + failure.message();
    return {};
  }
  std::string seen;
  for (const char* place : kPlaces) {
    const fs::path provider = (self.parent_path() / place / "libmrc").lexically_normal();
    const std::string file = provider.string() + "-rdmav34.so";
    if (access(file.c_str(), R_OK) == 0) return provider;
    seen += (seen.empty() ? "there is no " : ", nor ") + file;
  }
  *error = seen + "; build it, and do not move this program alone";
  return {};
}

std::string driver_line(const std::string& provider_place) {
  const bool in_place = provider_place == MRC_VERBS_PROVIDER_DIR "/libmrc";
  return "driver " + (in_place ? "mrc" : provider_place);
}

}  // namespace mrc
