// SPDX-License-Identifier: BSD-2-Clause
// The facts for mrcctl doctor. Looking must change nothing: even opening an RDMA netlink socket would load
// kernel modules.
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>

#include "dpdk_io/host/run_directory.h"
#include "dpdk_io/settings/device_config.h"
#include "examples/mrcctl/doctor.h"
#include "examples/shared/provider_place.h"
#include "providers/mrc/presence/class_tree.h"
#include "providers/mrc/presence/fuse_broker.h"
#include "providers/mrc/presence/gid_table.h"

namespace mrc {
namespace {

namespace fs = std::filesystem;

bool exists(const std::string& path) {
  return access(path.c_str(), F_OK) == 0;
}

// Tries what cannot be undone in a child. It only makes system calls.
bool works_in_child(const std::function<bool()>& attempt) {
  const pid_t child = fork();
  if (child == 0) _exit(attempt() ? 0 : 1);
  int status = 1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

// The number in the name of the call by which providers register.
int find_libibverbs_abi() {
  void* library = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return 0;
  for (int abi = 25; abi < 200; ++abi)
    if (dlsym(library, ("verbs_register_driver_" + std::to_string(abi)).c_str()) != nullptr) return abi;
  return -1;
}

std::string find_provider() {
  std::error_code ignored;
  std::string elsewhere;
  if (const std::string own = find_provider_place(&elsewhere); !own.empty()) return own + "-rdmav34.so";
  for (const fs::path library : {"/usr/lib", "/usr/local/lib", "/usr/lib64"}) {
    if (exists(library / "libibverbs/libmrc-rdmav34.so")) return library / "libibverbs/libmrc-rdmav34.so";
    for (const auto& entry : fs::directory_iterator(library, ignored))
      if (exists(entry.path() / "libibverbs/libmrc-rdmav34.so"))
        return entry.path() / "libibverbs/libmrc-rdmav34.so";
  }
  return {};
}

void read_driver_file(Findings* found) {
  std::ifstream file("/etc/libibverbs.d/mrc.driver");
  std::string word;
  if (!(file >> word >> found->driver_file)) return;
  const bool absolute = found->driver_file[0] == '/';
  found->driver_file_good =
      absolute ? exists(found->driver_file + "-rdmav34.so") : !found->provider_file.empty();
}

bool blacklisted(const std::string& module) {
  std::error_code ignored;
  for (const char* directory :
       {"/etc/modprobe.d", "/run/modprobe.d", "/usr/lib/modprobe.d", "/lib/modprobe.d"})
    for (const auto& entry : fs::directory_iterator(directory, ignored)) {
      std::ifstream file(entry.path());
      std::string line;
      while (std::getline(file, line))
        if (line == "blacklist " + module) return true;
    }
  return false;
}

KernelRdma find_kernel_rdma() {
  if (exists("/sys/module/ib_core")) return KernelRdma::kLoaded;
  utsname kernel{};
  uname(&kernel);
  const std::string core =
      std::string("/lib/modules/") + kernel.release + "/kernel/drivers/infiniband/core/ib_core.ko";
  const bool there = exists(core) || exists(core + ".xz") || exists(core + ".zst") || exists(core + ".gz");
  return there && !blacklisted("ib_core") ? KernelRdma::kLoadable : KernelRdma::kNone;
}

bool is_device_file(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3);
}

bool may_filter() {
  return works_in_child([] {
    sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog program{1, allow};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
  });
}

bool may_open(const char* path) {
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

bool broker_answers() {
  provider::FuseFile file;
  uint64_t ignored = 0;
  std::string error;
  if (!provider::broker_is_there() || !provider::request_fuse_file(&file, &ignored, &error)) return false;
  provider::close_fuse_file(&file);
  return true;
}

DeviceFindings examine(const DeviceConfig& device) {
  DeviceFindings found;
  found.name = device.name;
  found.device_file = is_device_file("/dev/infiniband/" + provider::device_file_name(device.name));
  found.in_sys_class = exists("/sys/class/infiniband/" + device.name + "/node_type");
  if (const char* tree = getenv("SYSFS_PATH"); tree != nullptr)
    found.sysfs_path_good = exists(std::string(tree) + "/class/infiniband/" + device.name + "/node_type");
  found.gids = static_cast<int>(provider::read_gid_table(device).entries.size());
  return found;
}

}  // namespace

Findings examine() {
  Findings found;
  std::vector<DeviceConfig> devices;
  if (load_device_configs(&devices, &found.settings_error))
    found.settings_error.clear();
  else
    devices.assign(1, DeviceConfig{});
  found.devices.clear();
  for (const DeviceConfig& device : devices) found.devices.push_back(examine(device));
  std::string directory;
  if (open_run_directory(&directory, &found.run_directory_error)) found.run_directory_error.clear();
  found.libibverbs_abi = find_libibverbs_abi();
  found.provider_file = find_provider();
  read_driver_file(&found);
  found.kernel_rdma = find_kernel_rdma();
  found.root = geteuid() == 0;
  found.user_namespaces = works_in_child([] { return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0; });
  found.seccomp = may_filter();
  found.fuse = may_open("/dev/fuse");
  found.broker = broker_answers();
  return found;
}

int doctor() {
  const Advice advice = advise(examine());
  for (const std::string& line : advice.lines) std::printf("%s\n", line.c_str());
  return advice.usable ? 0 : 1;
}

}  // namespace mrc
