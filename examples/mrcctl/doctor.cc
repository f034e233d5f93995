// SPDX-License-Identifier: BSD-2-Clause
// What the findings mean.
#include "examples/mrcctl/doctor.h"

#include <algorithm>

namespace mrc {
namespace {

constexpr int kProviderAbi = 34;

class Report {
 public:
  void good(const std::string& text) { advice.lines.push_back("ok       " + text); }
  void note(const std::string& text) { advice.lines.push_back("note     " + text); }
  void bad(const std::string& text) {
    advice.lines.push_back("PROBLEM  " + text);
    broken = true;
  }
  Advice advice;
  bool broken = false;
};

// "mrc0, mrc1".
std::string names_of(const Findings& found) {
  std::string names;
  for (const DeviceFindings& device : found.devices) names += (names.empty() ? "" : ", ") + device.name;
  return names;
}

void check_software(const Findings& found, Report* report) {
  if (found.libibverbs_abi == 0)
    report->bad("there is no libibverbs.so.1: install libibverbs1 (or rdma-core)");
  else if (found.libibverbs_abi != kProviderAbi)
    report->bad("libibverbs has the provider interface " + std::to_string(found.libibverbs_abi) +
                ", and this libmrc is for " + std::to_string(kProviderAbi) +
                ": it would never be loaded; build it for this libibverbs");
  else
    report->good("libibverbs has the provider interface " + std::to_string(kProviderAbi) +
                 ", as libmrc wants");
  if (found.provider_file.empty())
    report->bad(
        "libmrc-rdmav34.so is not there, neither beside this program nor installed: build or install it");
  else
    report->good("the provider is " + found.provider_file);
  if (found.driver_file.empty())
    report->note(
        "/etc/libibverbs.d/mrc.driver is missing: only mrcrun (or IBV_DRIVERS) leads to the provider; "
        "'mrcctl "
        "install' would write it");
  else if (!found.driver_file_good)
    report->bad("/etc/libibverbs.d/mrc.driver names " + found.driver_file +
                ", which is not there: correct or remove it");
  else
    report->good("/etc/libibverbs.d/mrc.driver names the provider");
}

void check_kernel(const Findings& found, Report* report) {
  switch (found.kernel_rdma) {
    case KernelRdma::kNone:
      report->good("the kernel has no RDMA of its own: libibverbs reads the class tree");
      break;
    case KernelRdma::kLoadable:
      report->note(
          "the kernel can load RDMA (ib_core), and any verbs program makes it do so; then libibverbs asks "
          "the kernel only and does not see " +
          names_of(found) + ". mrcrun hides it; 'mrcctl install --blacklist-ib-core' ends it");
      break;
    case KernelRdma::kLoaded:
      report->note("kernel RDMA is loaded (ib_core): libibverbs asks the kernel only and does not see " +
                   names_of(found) + " unless mrcrun hides it");
      break;
  }
}

void check_device(const DeviceFindings& device, Report* report) {
  if (device.gids == 0)
    report->bad("no network interface that is up has an address: " + device.name +
                " has no GID; give one an address");
  else
    report->good(device.name + " has " + std::to_string(device.gids) + (device.gids == 1 ? " GID" : " GIDs"));
  if (device.device_file)
    report->good("/dev/infiniband/uverbs-" + device.name + " is there");
  else
    report->note("/dev/infiniband/uverbs-" + device.name + " is missing: mrcrun shows one to its program");
  if (device.in_sys_class) report->good("/sys/class/infiniband/" + device.name + " is there");
}

void check_place(const Findings& found, Report* report) {
  if (!found.settings_error.empty()) report->bad(found.settings_error);
  if (!found.run_directory_error.empty()) report->bad(found.run_directory_error);
  for (const DeviceFindings& device : found.devices) check_device(device, report);
  if (found.broker)
    report->good("command files come from mrcd");
  else if (found.root && !found.fuse)
    report->note("no FUSE here: command files only by redirection inside libibverbs, which is the default");
}

// Whether programs find the devices as they are.
bool visible(const Findings& found) {
  const bool there =
      std::all_of(found.devices.begin(), found.devices.end(), [](const DeviceFindings& device) {
        return (device.in_sys_class || device.sysfs_path_good) && device.device_file;
      });
  return there && found.driver_file_good && found.kernel_rdma != KernelRdma::kLoaded;
}

// Empty: mrcrun works. Otherwise why it does not.
std::string against_mrcrun(const Findings& found) {
  const auto missing = std::find_if(found.devices.begin(), found.devices.end(),
                                    [](const DeviceFindings& device) { return !device.device_file; });
  if (missing != found.devices.end() && !found.root && !found.user_namespaces)
    return "mrcrun can show no device file, because unprivileged user namespaces are forbidden: allow them "
           "(kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns), or as root: "
           "mkdir -p "
           "/dev/infiniband && ln -s ../null /dev/infiniband/uverbs-" +
           missing->name;
  if (found.kernel_rdma != KernelRdma::kNone && !found.seccomp)
    return "mrcrun cannot hide the kernel's RDMA, because there are no seccomp filters: unload ib_core and "
           "blacklist "
           "it";
  return {};
}

}  // namespace

Advice advise(const Findings& found) {
  Report report;
  check_software(found, &report);
  check_kernel(found, &report);
  check_place(found, &report);
  Advice& advice = report.advice;
  const std::string names = names_of(found);
  const std::string& last = found.devices.back().name;
  const std::string obstacle = against_mrcrun(found);
  if (report.broken) {
    advice.lines.push_back("=> " + names + " cannot be used before the problems above are solved.");
  } else if (visible(found)) {
    advice.usable = true;
    advice.lines.push_back("=> Programs find " + names + " by themselves. Try: ibv_devinfo -d " + last);
  } else if (obstacle.empty()) {
    advice.usable = true;
    const bool in_place = found.root || found.user_namespaces;
    advice.lines.push_back(
        "=> Start programs with mrcrun. Try: mrcrun ibv_devinfo -d " + last +
        (in_place ? "; for programs that read /sys/class themselves: mrcrun --view PROGRAM" : ""));
  } else {
    advice.lines.push_back("=> " + names + " cannot be used: " + obstacle);
  }
  return advice;
}

}  // namespace mrc
