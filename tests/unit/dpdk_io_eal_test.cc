// SPDX-License-Identifier: BSD-2-Clause
// DPDK as a guest in a process: what it must leave alone, and forks.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "dpdk_io/ethdev/eal.h"
#include "dpdk_io/host/import_redirect.h"
#include "dpdk_io/host/loaded_library.h"
#include "dpdk_io_peer.h"

namespace mrc {
namespace {

TEST(EalTest, LeavesAffinityAndSignalsAlone) {
  test::RunDirectory directory;
  test::Peer peer({"check_start"});
  EXPECT_EQ(peer.wait_for_exit(), 0);
}

TEST(EalTest, ForkedChildrenAreUnharmedAndHarmless) {
  test::RunDirectory directory;
  test::Peer peer({"check_fork"});
  EXPECT_EQ(peer.wait_for_exit(), 0);
  EXPECT_TRUE(directory.leftovers().empty());
}

TEST(EalTest, NothingIsLeftOpenAcrossExec) {
  test::RunDirectory directory;
  test::Peer other({"echo", "4"});
  test::Peer peer({"check_exec", std::to_string(other.read_number())});
  EXPECT_EQ(peer.read_line(), "all");
  EXPECT_EQ(peer.wait_for_exit(), 0);
}

char* fake_getcwd(char* buffer, size_t) {
  return buffer == nullptr ? strdup("/redirected") : strcpy(buffer, "/redirected");
}

TEST(ImportRedirectTest, ChangesOneLibraryOnly) {
  const void* library = find_loaded_library("libstdc++.so");
  ASSERT_NE(library, nullptr);
  const std::filesystem::path before = std::filesystem::current_path();
  ASSERT_GT(redirect_import(library, "getcwd", reinterpret_cast<void*>(fake_getcwd)), 0);
  EXPECT_EQ(std::filesystem::current_path(), "/redirected");
  char here[4096];
  EXPECT_EQ(getcwd(here, sizeof here), before);
  ASSERT_GT(redirect_import(library, "getcwd", dlsym(RTLD_DEFAULT, "getcwd")), 0);
  EXPECT_EQ(std::filesystem::current_path(), before);
}

TEST(ImportRedirectTest, SaysWhatItCannotDo) {
  const void* library = find_loaded_library("libstdc++.so");
  EXPECT_EQ(redirect_import(library, "no_such_function", nullptr), 0);
  int on_stack = 0;
  EXPECT_LT(redirect_import(&on_stack, "getcwd", nullptr), 0);
  EXPECT_EQ(find_loaded_library("no_such_library"), nullptr);
}

}  // namespace
}  // namespace mrc
