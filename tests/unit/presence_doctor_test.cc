// SPDX-License-Identifier: BSD-2-Clause
// What mrcctl doctor makes of machines that are not at hand here.
#include <gtest/gtest.h>

#include "examples/mrcctl/doctor.h"

namespace mrc {
namespace {

// As a build tree on an ordinary machine without kernel RDMA.
Findings ordinary() {
  Findings found;
  found.libibverbs_abi = 34;
  found.provider_file = "/there/lib/libmrc-rdmav34.so";
  found.user_namespaces = found.seccomp = true;
  found.devices[0].gids = 2;
  return found;
}

Findings installed() {
  Findings found = ordinary();
  found.driver_file = "/there/lib/libmrc";
  found.driver_file_good = found.devices[0].device_file = found.devices[0].in_sys_class = true;
  return found;
}

bool says(const Advice& advice, const std::string& words) {
  for (const std::string& line : advice.lines)
    if (line.find(words) != std::string::npos) return true;
  return false;
}

TEST(Doctor, BuildTreeNeedsTheLauncher) {
  const Advice advice = advise(ordinary());
  EXPECT_TRUE(advice.usable);
  EXPECT_TRUE(says(advice, "=> Start programs with mrcrun"));
  EXPECT_TRUE(says(advice, "mrcrun --view"));
}

TEST(Doctor, InstallationNeedsNothing) {
  const Advice advice = advise(installed());
  EXPECT_TRUE(advice.usable);
  EXPECT_TRUE(says(advice, "by themselves"));
}

TEST(Doctor, LoadedKernelRdmaNeedsTheLauncherEvenWhenInstalled) {
  Findings found = installed();
  found.kernel_rdma = KernelRdma::kLoaded;
  const Advice advice = advise(found);
  EXPECT_TRUE(advice.usable);
  EXPECT_TRUE(says(advice, "kernel RDMA is loaded"));
  EXPECT_TRUE(says(advice, "=> Start programs with mrcrun"));
}

TEST(Doctor, LoadableKernelRdmaIsExplained) {
  Findings found = ordinary();
  found.kernel_rdma = KernelRdma::kLoadable;
  EXPECT_TRUE(says(advise(found), "mrcctl install --blacklist-ib-core"));
}

TEST(Doctor, KernelRdmaThatCannotBeHidden) {
  Findings found = ordinary();
  found.kernel_rdma = KernelRdma::kLoaded;
  found.seccomp = false;
  const Advice advice = advise(found);
  EXPECT_FALSE(advice.usable);
  EXPECT_TRUE(says(advice, "no seccomp filters"));
}

TEST(Doctor, NoUserNamespacesAndNoDeviceFile) {
  Findings found = ordinary();
  found.user_namespaces = false;
  const Advice advice = advise(found);
  EXPECT_FALSE(advice.usable);
  EXPECT_TRUE(says(advice, "user namespaces are forbidden"));
  EXPECT_TRUE(says(advice, "ln -s ../null /dev/infiniband/uverbs-mrc0"));
}

TEST(Doctor, NoUserNamespacesButDeviceFile) {
  Findings found = ordinary();
  found.user_namespaces = false;
  found.devices[0].device_file = true;
  const Advice advice = advise(found);
  EXPECT_TRUE(advice.usable);
  EXPECT_FALSE(says(advice, "--view"));
}

TEST(Doctor, OtherProviderInterface) {
  Findings found = ordinary();
  found.libibverbs_abi = 59;
  const Advice advice = advise(found);
  EXPECT_FALSE(advice.usable);
  EXPECT_TRUE(says(advice, "provider interface 59"));
}

TEST(Doctor, NoLibibverbs) {
  Findings found = ordinary();
  found.libibverbs_abi = 0;
  EXPECT_FALSE(advise(found).usable);
}

TEST(Doctor, DriverFileThatNamesNothing) {
  Findings found = ordinary();
  found.driver_file = "/gone/libmrc";
  const Advice advice = advise(found);
  EXPECT_FALSE(advice.usable);
  EXPECT_TRUE(says(advice, "/gone/libmrc"));
}

TEST(Doctor, NoFuse) {
  Findings found = ordinary();
  found.root = true;
  const Advice advice = advise(found);
  EXPECT_TRUE(advice.usable);
  EXPECT_TRUE(says(advice, "no FUSE here"));
}

TEST(Doctor, NoAddress) {
  Findings found = ordinary();
  found.devices[0].gids = 0;
  EXPECT_FALSE(advise(found).usable);
}

TEST(Doctor, EveryDeviceCounts) {
  Findings found = installed();
  found.devices.push_back({"mrc1", false, false, false, 1});
  Advice advice = advise(found);
  EXPECT_TRUE(advice.usable);
  EXPECT_TRUE(says(advice, "/dev/infiniband/uverbs-mrc1 is missing"));
  EXPECT_TRUE(says(advice, "=> Start programs with mrcrun")) << "the second is not seen otherwise";
  found.devices[1].device_file = found.devices[1].in_sys_class = true;
  advice = advise(found);
  EXPECT_TRUE(says(advice, "=> Programs find mrc0, mrc1 by themselves"));
  found.devices[1].gids = 0;
  advice = advise(found);
  EXPECT_FALSE(advice.usable);
  EXPECT_TRUE(says(advice, "mrc1 has no GID"));
}

TEST(Doctor, BadSettings) {
  Findings found = ordinary();
  found.settings_error = "mrc: /etc/mrc/mrc.toml:3: not TOML";
  const Advice advice = advise(found);
  EXPECT_FALSE(advice.usable);
  EXPECT_TRUE(says(advice, "mrc.toml:3"));
}

}  // namespace
}  // namespace mrc
