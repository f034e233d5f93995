// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrcctl_install.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "dpdk_io/device_config.h"
#include "providers/mrc/class_tree.h"
#include "providers/mrc/gid_table.h"

namespace mrc {
namespace {

namespace fs = std::filesystem;

std::string device_name() {
  DeviceConfig config;
  std::string error;
  return load_device_config(&config, &error) ? config.name : DeviceConfig().name;
}

bool write_text(const fs::path& path, const std::string& text) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  std::ofstream file(path);
  file << text;
  if (!error && file.flush().good()) {
    std::printf("%s\n", path.c_str());
    return true;
  }
  std::fprintf(stderr, "mrcctl: %s: %s\n", path.c_str(), std::strerror(errno));
  return false;
}

}  // namespace

int make_tree(const std::string& directory) {
  std::string error;
  if (mkdir(directory.c_str(), 0755) != 0) {
    std::fprintf(stderr, "mrcctl: %s: %s; name a directory that does not exist yet\n", directory.c_str(),
                 std::strerror(errno));
    return 1;
  }
  if (provider::write_tree(directory, provider::sysfs_view(device_name(), provider::read_gid_table()),
                           &error))
    return 0;
  std::fprintf(stderr, "mrcctl: %s\n", error.c_str());
  return 1;
}

int install_files(const std::string& root) {
  std::error_code ignored;
  const fs::path self = fs::read_symlink("/proc/self/exe", ignored);
  const fs::path provider = self.parent_path().parent_path() / "lib" / "libmrc";
  if (!fs::exists(provider.string() + "-rdmav34.so", ignored)) {
    std::fprintf(stderr, "mrcctl: there is no %s-rdmav34.so; keep bin/ and lib/ side by side\n",
                 provider.c_str());
    return 1;
  }
  const std::string file = provider::device_file_name(device_name());
  const fs::path below = root;
  const bool written =
      write_text(below / "etc/libibverbs.d/mrc.driver", "driver " + provider.string() + "\n") &&
      write_text(below / "usr/lib/tmpfiles.d/mrc.conf",
                 "# The device file of Soft-MRC: libibverbs wants a character device.\n"
                 "d /dev/infiniband 0755\n"
                 "L /dev/infiniband/" +
                     file + " - - - - ../null\n") &&
      write_text(below / "etc/modprobe.d/mrc.conf",
                 "# Otherwise every verbs program loads it, and libibverbs asks only the "
                 "kernel.\n# Drivers of RDMA hardware still load it.\nblacklist "
                 "ib_core\n");
  return written ? 0 : 1;
}

}  // namespace mrc
