// SPDX-License-Identifier: BSD-2-Clause
// mrcctl doctor: what this machine has, and by which way programs find the device on it.
#pragma once

#include <string>
#include <vector>

namespace mrc {

enum class KernelRdma { kNone, kLoadable, kLoaded };

struct DeviceFindings {
  std::string name = "mrc0";
  bool device_file = false;      // /dev/infiniband/uverbs-mrc0
  bool in_sys_class = false;     // /sys/class/infiniband/mrc0
  bool sysfs_path_good = false;  // SYSFS_PATH is set and has the device
  int gids = 0;
};

// Facts only; what they mean is said by advise().
struct Findings {
  std::vector<DeviceFindings> devices = {{}};  // of the settings, at least one
  std::string settings_error;                  // empty: the settings are good
  std::string run_directory_error;
  int libibverbs_abi = 0;     // provider interface of this machine's libibverbs; 0: none found
  std::string provider_file;  // empty: not there
  std::string driver_file;    // what mrc.driver names; empty: there is none
  bool driver_file_good = false;
  KernelRdma kernel_rdma = KernelRdma::kNone;
  bool root = false;
  bool user_namespaces = false;
  bool seccomp = false;
  bool fuse = false;    // /dev/fuse can be opened
  bool broker = false;  // mrcd answers
};

struct Advice {
  bool usable = false;
  std::vector<std::string> lines;  // in plain words; the last one says what to do
};

Findings examine();
Advice advise(const Findings& found);

// Prints it; the exit status: 0 = the device can be used, 1 = it cannot.
int doctor();

}  // namespace mrc
