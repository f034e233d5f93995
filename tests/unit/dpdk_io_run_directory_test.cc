// SPDX-License-Identifier: BSD-2-Clause
// The run directory and the slots that processes claim in it.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <set>
#include <vector>

#include "dpdk_io/host/fault_page.h"
#include "dpdk_io/host/process_slot.h"
#include "dpdk_io/host/run_directory.h"
#include "dpdk_io_peer.h"

namespace mrc {
namespace {

class RunDirectoryTest : public testing::Test {
 protected:
  std::string error_of(const std::string& path) {
    setenv("MRC_RUNDIR", path.c_str(), 1);
    std::string opened, error;
    return open_run_directory(&opened, &error) ? "no error" : error;
  }
  test::RunDirectory directory_;
};

TEST_F(RunDirectoryTest, MadePrivateAndGivenAbsolute) {
  const std::string name = directory_.path() + "/new";
  setenv("MRC_RUNDIR", (name + "/").c_str(), 1);
  std::string path, error;
  ASSERT_TRUE(open_run_directory(&path, &error)) << error;
  EXPECT_EQ(path, name);
  struct stat status;
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  EXPECT_TRUE(open_run_directory(&path, &error)) << "a second time: " << error;
  rmdir(path.c_str());
}

TEST_F(RunDirectoryTest, RefusesWhatIsNotTheUsersOwn) {
  const std::string base = directory_.path();
  const std::string hint = "; set MRC_RUNDIR to a directory of your own";

  const std::string link = base + "/link";
  ASSERT_EQ(symlink(base.c_str(), link.c_str()), 0);
  EXPECT_EQ(error_of(link), "mrc: run directory " + link + ": is a symbolic link" + hint);
  unlink(link.c_str());

  const std::string file = base + "/file";
  fclose(fopen(file.c_str(), "w"));
  EXPECT_EQ(error_of(file), "mrc: run directory " + file + ": is not a directory" + hint);
  EXPECT_EQ(error_of(file + "/below"), "mrc: run directory " + file + "/below: Not a directory" + hint);
  unlink(file.c_str());

  EXPECT_EQ(error_of(base + "/a/b"), "mrc: run directory " + base + "/a/b: No such file or directory" + hint);

  const std::string open = base + "/open";
  mkdir(open.c_str(), 0700);
  chmod(open.c_str(), 0777);
  EXPECT_NE(error_of(open).find("is open to other users"), std::string::npos);
  chmod(open.c_str(), 0700);
  if (geteuid() == 0) {
    ASSERT_EQ(chown(open.c_str(), 12345, 12345), 0);
    EXPECT_EQ(error_of(open), "mrc: run directory " + open + ": belongs to user 12345, not to user 0" + hint);
  }
  rmdir(open.c_str());

  const std::string comma = base + "/a,b";
  EXPECT_NE(error_of(comma).find("that DPDK cannot take"), std::string::npos);
  rmdir(comma.c_str());

  const std::string deep = base + "/" + std::string(100, 'x');
  EXPECT_NE(error_of(deep).find("is longer than"), std::string::npos);
  rmdir(deep.c_str());
}

TEST(ProcessSlotTest, QueuePairNumbersFollowFromTheSlot) {
  EXPECT_EQ(first_qpn_of(1).value(), 1u << 14);
  EXPECT_EQ(slot_of(first_qpn_of(1023)), 1023u);
  EXPECT_EQ(slot_of(Qpn(0xFFFFFF)), 1023u);
  EXPECT_EQ(slot_of(kEndpointQpn), 0u);
}

TEST(ProcessSlotTest, FiftyProcessesHaveFiftySlots) {
  test::RunDirectory directory;
  std::vector<std::unique_ptr<test::Peer>> peers;
  for (int i = 0; i < 50; ++i)
    peers.push_back(std::make_unique<test::Peer>(std::vector<std::string>{"hold_slot"}));
  std::set<uint32_t> slots;
  for (auto& peer : peers) slots.insert(peer->read_number());
  EXPECT_EQ(slots.size(), 50u);
  EXPECT_FALSE(slots.contains(0));
  for (const uint32_t slot : slots) EXPECT_TRUE(slot_alive(directory.path(), slot));
  for (auto& peer : peers) peer->close_input();
  for (auto& peer : peers) EXPECT_EQ(peer->wait_for_exit(), 0);
  EXPECT_TRUE(directory.leftovers().empty());
}

TEST(ProcessSlotTest, DeadProcessesAreClearedAwayAndTheirNumbersRest) {
  test::RunDirectory directory;
  test::Peer killed({"hold_slot"});
  const uint32_t slot = killed.read_number();
  ASSERT_GT(slot, 0u);
  SlotInfo info;
  EXPECT_TRUE(read_slot(directory.path(), slot, &info));
  EXPECT_EQ(info.planes, 4u);
  killed.kill_now();
  EXPECT_FALSE(slot_alive(directory.path(), slot));
  EXPECT_FALSE(read_slot(directory.path(), slot, &info));
  EXPECT_FALSE(directory.leftovers().empty());
  // What a process that died in the middle of something may have left.
  const std::string number = std::to_string(slot);
  for (const std::string& name : {"/stats." + number, "/state." + number}) {
    fclose(fopen((directory.path() + name).c_str(), "w"));
    chmod((directory.path() + name).c_str(), 0600);
  }
  for (const std::string& name : {"/ctl." + number, "/link." + number + "-1000"}) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, (directory.path() + name).c_str());
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    close(fd);
  }

  std::string error;
  auto next = ProcessSlot::claim(directory.path(), 4, {}, &error);
  ASSERT_NE(next, nullptr) << error;
  EXPECT_NE(next->number(), slot);
  EXPECT_EQ(directory.leftovers().size(), 1u);
  next.reset();
  EXPECT_TRUE(directory.leftovers().empty());
}

TEST(ProcessSlotTest, OneProcessMayHaveSeveral) {
  test::RunDirectory directory;
  std::string error;
  auto first = ProcessSlot::claim(directory.path(), 4, {}, &error);
  auto second = ProcessSlot::claim(directory.path(), 4, {}, &error);
  ASSERT_TRUE(first && second) << error;
  EXPECT_NE(first->number(), second->number());
  EXPECT_TRUE(slot_alive(directory.path(), first->number()));
  // Others see both held, also after this process has looked at them.
  test::Peer other({"hold_slot"});
  const uint32_t slot = other.read_number();
  EXPECT_NE(slot, first->number());
  EXPECT_NE(slot, second->number());
  EXPECT_TRUE(slot_alive(directory.path(), slot));
  directory.set_last_slot(first->number() - 1);
  test::Peer another({"hold_slot"});
  EXPECT_GT(another.read_number(), second->number());
}

TEST(FaultPageTest, MadeOnceAndShared) {
  test::RunDirectory directory;
  std::string error;
  FaultPage* first = map_fault_page(directory.path(), &error);
  FaultPage* second = map_fault_page(directory.path(), &error);
  ASSERT_TRUE(first && second) << error;
  first->planes[3] = PlaneFault::kBlackHole;
  EXPECT_EQ(second->planes[3].load(), PlaneFault::kBlackHole);
  unmap_fault_page(first);
  unmap_fault_page(second);
}

TEST(FaultPageTest, RulesAreAddedAndRemoved) {
  test::RunDirectory directory;
  std::string error;
  FaultPage* page = map_fault_page(directory.path(), &error);
  ASSERT_NE(page, nullptr) << error;
  FaultRule rule;
  rule.kind = FaultKind::kMark;
  rule.rate = 42;
  for (size_t i = 0; i < FaultPage::kRulesMax; ++i) ASSERT_EQ(add_fault(*page, directory.path(), &rule), 0);
  EXPECT_EQ(add_fault(*page, directory.path(), &rule), ENOSPC);
  EXPECT_EQ(rule.id, FaultPage::kRulesMax);
  EXPECT_EQ(remove_fault(*page, directory.path(), 7), 0);
  EXPECT_EQ(remove_fault(*page, directory.path(), 7), ENOENT);
  std::vector<PlacedRule> rules;
  uint32_t changes = 0;
  ASSERT_TRUE(read_faults(*page, &rules, &changes));
  ASSERT_EQ(rules.size(), FaultPage::kRulesMax - 1);
  EXPECT_EQ(rules[0].rule.kind, FaultKind::kMark);
  EXPECT_EQ(rules[0].rule.rate, 42u);
  // Somebody was killed while he wrote: nobody reads, until the next one has written.
  page->changes.store(page->changes.load() | 1);
  EXPECT_FALSE(read_faults(*page, &rules, &changes));
  EXPECT_EQ(clear_faults(*page, directory.path()), 0);
  ASSERT_TRUE(read_faults(*page, &rules, &changes));
  EXPECT_TRUE(rules.empty());
  unmap_fault_page(page);
}

TEST(FaultPageTest, ForeignFileIsRefused) {
  test::RunDirectory directory;
  FILE* file = fopen((directory.path() + "/faults").c_str(), "w");
  fputs("something else altogether", file);
  fclose(file);
  chmod((directory.path() + "/faults").c_str(), 0600);
  std::string error;
  EXPECT_EQ(map_fault_page(directory.path(), &error), nullptr);
  EXPECT_NE(error.find("is not a page of faults; remove the file"), std::string::npos);
}

}  // namespace
}  // namespace mrc
