// SPDX-License-Identifier: BSD-2-Clause
// A run directory in which there is no room, or in which things lie that nobody expects: nothing hangs,
// nothing crashes, and nothing of the user's is touched.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "dpdk_io/host/fault_page.h"
#include "dpdk_io/host/group_page.h"
#include "dpdk_io/host/private_file.h"
#include "dpdk_io/host/process_slot.h"
#include "dpdk_io/host/run_directory.h"
#include "dpdk_io/settings/device_config.h"
#include "dpdk_io_peer.h"
#include "examples/shared/patience.h"

namespace mrc {
namespace {

// What hangs is ended, and the test with it.
class HostileDirectoryTest : public testing::Test {
 protected:
  HostileDirectoryTest() { alarm(static_cast<unsigned>(60 * kPatience)); }
  ~HostileDirectoryTest() override { alarm(0); }

  std::string path(const std::string& name) const { return directory_.path() + "/" + name; }
  void put(const std::string& name, const std::string& text, mode_t mode) const {
    std::ofstream(path(name)) << text;
    chmod(path(name).c_str(), mode);
  }
  std::string content(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(path(name)).rdbuf();
    return text.str();
  }

  test::RunDirectory directory_;
};

TEST_F(HostileDirectoryTest, FullDiskIsAnErrorAndNoDeadlock) {
  test::Peer peer({"full_disk"});
  const std::string answer = peer.read_line();
  if (answer == "no namespace") GTEST_SKIP() << "needs user namespaces";
  ASSERT_EQ(answer, "full");
  const std::string slot_error = peer.read_line();
  EXPECT_NE(slot_error.find("No space left on device; make room"), std::string::npos) << slot_error;
  const std::string page_error = peer.read_line();
  EXPECT_NE(page_error.find("No space left on device; make room"), std::string::npos) << page_error;
  EXPECT_EQ(peer.read_line(), "room again: ok");
  EXPECT_EQ(peer.wait_for_exit(), 0);
}

TEST_F(HostileDirectoryTest, NothingOfTheUsersIsTouched) {
  const std::map<std::string, mode_t> files = {
      {"stats.7.csv", 0600}, {"proc.5.bak", 0600}, {"proc.05", 0600}, {"proc.1", 0600}, {"proc.2", 0644},
      {"stats.7", 0644},     {"stats.8", 0600},    {"state.9", 0600}, {"ctl.3", 0600},  {"link.3-2", 0600},
      {"link.2-3x", 0600},   {"proc.1024", 0600},  {"proc.-1", 0600}, {"proc. 4", 0600}};
  for (const auto& [name, mode] : files) put(name, "the user's own " + name, mode);
  put("last_slot", "my notes", 0600);
  std::string error;
  for (int i = 0; i < 3; ++i) {
    const auto slot = ProcessSlot::claim(directory_.path(), 4, {}, &error);
    ASSERT_NE(slot, nullptr) << error;
    EXPECT_GT(slot->number(), 2u);  // 1 and 2 are taken by what is there
  }
  for (const auto& [name, mode] : files) EXPECT_EQ(content(name), "the user's own " + name);
  EXPECT_EQ(content("last_slot"), "my notes");
  EXPECT_FALSE(slot_alive(directory_.path(), 1));
}

TEST_F(HostileDirectoryTest, FifosHangNobody) {
  for (const char* name : {"last_slot", "proc.1", "faults", "groups", "config"})
    ASSERT_EQ(mkfifo(path(name).c_str(), 0600), 0);
  std::string error;
  const auto slot = ProcessSlot::claim(directory_.path(), 4, {}, &error);
  ASSERT_NE(slot, nullptr) << error;
  EXPECT_EQ(slot->number(), 2u);
  SlotInfo info;
  EXPECT_FALSE(slot_alive(directory_.path(), 1));
  EXPECT_FALSE(read_slot(directory_.path(), 1, &info));
  EXPECT_EQ(map_fault_page(directory_.path(), &error), nullptr);
  EXPECT_EQ(error, "mrc: " + path("faults") + ": is not a regular file; remove the file and try again");
  EXPECT_EQ(GroupPage::open(directory_.path(), 2, &error), nullptr);
  EXPECT_EQ(error, "mrc: " + path("groups") + ": is not a regular file; remove the file and try again");
  setenv("MRC_CONFIG", path("config").c_str(), 1);
  DeviceConfig config;
  EXPECT_FALSE(load_device_config(&config, &error));
  unsetenv("MRC_CONFIG");
  EXPECT_NE(error.find("config: is not a regular file"), std::string::npos) << error;
}

TEST_F(HostileDirectoryTest, LinksAreNotFollowed) {
  put("precious", "precious", 0600);
  for (const char* name : {"last_slot", "proc.1", "faults"})
    ASSERT_EQ(symlink(path("precious").c_str(), path(name).c_str()), 0);
  std::string error;
  const auto slot = ProcessSlot::claim(directory_.path(), 4, {}, &error);
  ASSERT_NE(slot, nullptr) << error;
  EXPECT_EQ(map_fault_page(directory_.path(), &error), nullptr);
  EXPECT_NE(error.find("is a symbolic link"), std::string::npos) << error;
  EXPECT_EQ(content("precious"), "precious");
}

TEST_F(HostileDirectoryTest, EndlessSettingsAreAnError) {
  setenv("MRC_CONFIG", "/dev/zero", 1);
  DeviceConfig config;
  std::string error;
  EXPECT_FALSE(load_device_config(&config, &error));
  EXPECT_NE(error.find("/dev/zero: is larger than"), std::string::npos) << error;
  setenv("MRC_CONFIG", "/dev/null", 1);
  EXPECT_TRUE(load_device_config(&config, &error)) << error;
  unsetenv("MRC_CONFIG");
}

TEST_F(HostileDirectoryTest, DirectoryForOthersIsRefused) {
  for (const mode_t mode : {0755, 0750, 0711, 0701}) {
    chmod(directory_.path().c_str(), mode);
    std::string opened, error;
    EXPECT_FALSE(open_run_directory(&opened, &error)) << std::oct << mode;
    EXPECT_NE(error.find("is open to other users (chmod 700 would cure that)"), std::string::npos) << error;
  }
  chmod(directory_.path().c_str(), 0700);
}

// As somebody without any right can do it.
TEST_F(HostileDirectoryTest, NamesOfOtherUsersTakeNoSlots) {
  std::string error;
  int fd = -1;
  if (close(socket(AF_PACKET, SOCK_DGRAM, 0)) != 0) GTEST_SKIP() << "needs CAP_NET_RAW";
  std::vector<int> squatters;
  for (unsigned slot = 1; slot <= kSlotMax; ++slot) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    const int length = std::snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "soft-mrc/slot.%u", slot);
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
    if (fd < 0) break;  // as many as one may open
    squatters.push_back(fd);
    static_cast<void>(bind(fd, reinterpret_cast<const sockaddr*>(&name), bytes));
  }
  for (int i = 0; i < 16 && !squatters.empty(); ++i) {
    close(squatters.back());
    squatters.pop_back();
  }
  const auto slot = ProcessSlot::claim(directory_.path(), 1, claim_on_host, &error);
  ASSERT_NE(slot, nullptr) << error;
  EXPECT_EQ(slot->number(), 1u);
  for (const int squatter : squatters) close(squatter);
}

TEST_F(HostileDirectoryTest, EverythingIsTheUsersAlone) {
  const mode_t before = umask(022);
  {
    test::Device device;
    test::Peer peer({"echo", "4"});
    ASSERT_TRUE(device.link_to(peer.read_number()));
    for (const std::string& name : directory_.all()) {
      struct stat status;
      if (lstat(path(name).c_str(), &status) == 0) {
        EXPECT_EQ(status.st_mode & 0777, 0600u) << name;
      }
    }
  }
  umask(before);
}

TEST_F(HostileDirectoryTest, SurvivorsTakeAwayWhatTheKilledHaveLeft) {
  test::Device device;
  test::Peer peer({"echo", "4"});
  const uint32_t slot = peer.read_number();
  ASSERT_TRUE(device.link_to(slot));
  for (const char* name : {"stats.", "state."}) put(name + std::to_string(slot), "", 0600);
  peer.kill_now();
  const std::string end = "." + std::to_string(slot);
  const auto is_left = [&] {
    for (const std::string& name : directory_.all())
      if (name.ends_with(end)) return true;
    return false;
  };
  const double until = test::seconds_now() + 5 * kPatience;
  while (is_left() && test::seconds_now() < until) usleep(10000);
  EXPECT_FALSE(is_left());
}

TEST(PrivateFileTest, NamesAreExact) {
  EXPECT_EQ(slot_in_name("stats.7", "stats."), 7u);
  EXPECT_EQ(slot_in_name("stats.1023", "stats."), 1023u);
  for (const char* name : {"stats.", "stats.0", "stats.07", "stats.7 ", "stats.7.csv", "stats.1024",
                           "stats.+7", "stats.-7", "stats.99999999999999999999", "stat.7", "stats.x"})
    EXPECT_FALSE(slot_in_name(name, "stats.").has_value()) << name;
}

}  // namespace
}  // namespace mrc
