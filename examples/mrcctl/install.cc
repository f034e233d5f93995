// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrcctl/install.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <vector>

#include "dpdk_io/settings/device_config.h"
#include "examples/mrcctl/made_file.h"
#include "examples/shared/provider_place.h"
#include "examples/terminal/program_words.h"
#include "providers/mrc/presence/class_tree.h"
#include "providers/mrc/presence/device_settings.h"

namespace mrc {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDriverFile = "etc/libibverbs.d/mrc.driver";
constexpr const char* kDeviceFile = "etc/tmpfiles.d/mrc.conf";
constexpr const char* kModuleFile = "etc/modprobe.d/mrc.conf";

struct Options {
  fs::path root = "/";
  bool yes = false;
  bool blacklist_ib_core = false;
};

struct WantedFile {
  fs::path path;
  std::string text;
};

// For systemd-tmpfiles: a link for each device.
std::string device_links() {
  std::string lines;
  for (const DeviceConfig& device : provider::all_device_settings())
    lines += "L /dev/infiniband/" + provider::device_file_name(device.name) + " - - - - ../null\n";
  return lines;
}

int fail(const std::string& why) {
  std::fprintf(stderr, "mrcctl: %s\n", why.c_str());
  return 1;
}

// The status if the words are wrong, else 0.
int parse(int count, char** words, bool installing, Options* options) {
  for (int i = 0; i < count; ++i) {
    const std::string_view word = words[i];
    if (word == "--yes") {
      options->yes = true;
    } else if (word == "--blacklist-ib-core" && installing) {
      options->blacklist_ib_core = true;
    } else if (word == "--root" && i + 1 < count) {
      std::error_code failure;
      options->root = fs::absolute(words[++i], failure).lexically_normal();
      if (!failure && fs::is_directory(options->root, failure)) continue;
      fail(std::string("--root ") + words[i] + ": there is no such folder");
      return kCalledWrongly;
    } else {
      return refuse_word("mrcctl", word);
    }
  }
  return 0;
}

std::vector<WantedFile> wanted_files(const Options& options, const std::string& provider) {
  std::vector<WantedFile> files = {
      {options.root / kDriverFile, driver_line(provider) + "\n"},
      {options.root / kDeviceFile,
       "# The device file of Soft-MRC: libibverbs wants a character device.\n"
       "d /dev/infiniband 0755\n" +
           device_links()},
  };
  if (options.blacklist_ib_core)
    files.push_back({options.root / kModuleFile,
                     "# Otherwise every verbs program loads it, and libibverbs asks only the kernel.\n"
                     "# Drivers of RDMA hardware still load it.\n"
                     "blacklist ib_core\n"});
  return files;
}

// One file: says what happens to it, and does it if that is wanted.
bool install_one(const WantedFile& file, bool yes) {
  const MadeFile there = read_made_file(file.path);
  const bool same = there.state != FileState::kAbsent && says_the_same(there.text, file.text);
  if (same) {
    std::printf("  unchanged       %s\n", file.path.c_str());
    return true;
  }
  if (there.state == FileState::kForeign || there.state == FileState::kChanged) {
    std::printf("  in the way      %s (%s; it is left as it is)\n", file.path.c_str(),
                there.state == FileState::kForeign ? "not made by mrcctl" : "changed since mrcctl made it");
    return false;
  }
  const bool absent = there.state == FileState::kAbsent;
  if (!yes) {
    std::printf("  would be %s%s\n", absent ? "made   " : "changed ", file.path.c_str());
    return true;
  }
  std::string error;
  if (!write_made_file(file.path, file.text, there, &error)) return fail(error) == 0;
  std::printf("  %s%s\n", absent ? "made            " : "changed         ", file.path.c_str());
  return true;
}

// The links that systemd made from our file, if they are there: they stand in the text.
std::vector<fs::path> made_links(const fs::path& root, const std::string& text) {
  std::istringstream words(text);
  std::string word;
  std::vector<fs::path> links;
  while (words >> word)
    if (word == "L" && words >> word) {
      const fs::path link = root / fs::path(word).relative_path();
      std::error_code failure;
      if (fs::read_symlink(link, failure) == "../null") links.push_back(link);
    }
  return links;
}

bool uninstall_one(const Options& options, const fs::path& path) {
  const MadeFile there = read_made_file(path);
  if (there.state == FileState::kAbsent) return true;
  if (there.state != FileState::kMade) {
    std::printf("  left            %s (%s)\n", path.c_str(),
                there.state == FileState::kForeign ? "not made by mrcctl" : "changed since mrcctl made it");
    return there.state == FileState::kForeign;
  }
  const char* const what = options.yes ? "removed         " : "would be removed ";
  std::string error;
  if (options.yes && !remove_made_file(path, there, &error)) return fail(error) == 0;
  std::printf("  %s%s\n", what, path.c_str());
  for (const fs::path& link : made_links(options.root, there.text)) {
    if (options.yes && unlink(link.c_str()) != 0)
      return fail(link.string() + ": " + std::strerror(errno)) == 0;
    std::printf("  %s%s\n", what, link.c_str());
  }
  return true;
}

}  // namespace

int make_tree(const std::string& directory) {
  std::string error;
  if (mkdir(directory.c_str(), 0755) != 0)
    return fail(directory + ": " + std::strerror(errno) + "; name a directory that does not exist yet");
  if (provider::write_tree(directory, provider::sysfs_view(), &error)) return 0;
  return fail(error);
}

int install_files(int count, char** words) {
  Options options;
  if (const int status = parse(count, words, true, &options); status != 0) return status;
  std::string error;
  const std::string provider = find_provider_place(&error);
  if (provider.empty()) return fail(error);
  std::printf("mrcctl install, below %s:\n", options.root.c_str());
  bool good = true;
  for (const WantedFile& file : wanted_files(options, provider))
    good = install_one(file, options.yes) && good;
  if (!options.yes)
    std::printf("Nothing has been changed. With --yes it is done; 'mrcctl uninstall' takes it back.\n");
  else if (good && options.root == "/")
    std::printf("The device file comes with the next boot, or now: systemd-tmpfiles --create mrc.conf\n");
  return good ? 0 : 1;
}

int uninstall_files(int count, char** words) {
  Options options;
  if (const int status = parse(count, words, false, &options); status != 0) return status;
  std::printf("mrcctl uninstall, below %s:\n", options.root.c_str());
  bool good = true;
  // Backwards, for the first file may have made folders that the others are in.
  for (const char* file : {kModuleFile, kDeviceFile, kDriverFile})
    good = uninstall_one(options, options.root / file) && good;
  if (!options.yes) std::printf("Nothing has been changed. With --yes it is done.\n");
  return good ? 0 : 1;
}

}  // namespace mrc
