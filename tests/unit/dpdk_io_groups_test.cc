// SPDX-License-Identifier: BSD-2-Clause
// Multicast groups of a run directory: who has joined which, and what dead processes leave.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "dpdk_io/host/group_page.h"
#include "dpdk_io_peer.h"

namespace mrc {
namespace {

using test::Device;
using test::RunDirectory;

IpAddress group_number(uint32_t number) {
  return IpAddress::v4(239, 0, static_cast<uint8_t>(number >> 8), static_cast<uint8_t>(number));
}

std::set<uint32_t> members_of(const GroupPage& page, const IpAddress& group) {
  std::set<uint32_t> members;
  page.for_each_member(group, [&](uint32_t slot) { members.insert(slot); });
  return members;
}

class GroupPageTest : public testing::Test {
 protected:
  std::unique_ptr<GroupPage> open(uint32_t slot) {
    std::string error;
    auto page = GroupPage::open(directory_.path(), slot, &error);
    EXPECT_NE(page, nullptr) << error;
    return page;
  }
  RunDirectory directory_;
};

TEST_F(GroupPageTest, MembersAreSeenByAll) {
  const auto a = open(5);
  const auto b = open(700);
  EXPECT_EQ(a->join(group_number(1)), 0);
  EXPECT_EQ(b->join(group_number(1)), 0);
  EXPECT_EQ(b->join(group_number(1)), 0);
  EXPECT_EQ(b->join(group_number(2)), 0);
  EXPECT_EQ(members_of(*a, group_number(1)), (std::set<uint32_t>{5, 700}));
  EXPECT_EQ(members_of(*a, group_number(2)), std::set<uint32_t>{700});
  EXPECT_TRUE(members_of(*a, group_number(3)).empty());
  a->leave(group_number(1));
  EXPECT_EQ(members_of(*b, group_number(1)), std::set<uint32_t>{700});
}

TEST_F(GroupPageTest, WhoGoesLeavesAll) {
  const auto a = open(5);
  {
    const auto b = open(6);
    EXPECT_EQ(b->join(group_number(1)), 0);
    EXPECT_EQ(b->join(group_number(2)), 0);
  }
  EXPECT_TRUE(members_of(*a, group_number(1)).empty());
  EXPECT_TRUE(members_of(*a, group_number(2)).empty());
}

TEST_F(GroupPageTest, TheDeadMakeRoom) {
  const auto a = open(5);
  const auto dead = open(6);  // no process has this slot
  for (uint32_t i = 0; i < GroupPage::kGroupsMax; ++i) ASSERT_EQ(dead->join(group_number(i)), 0);
  EXPECT_EQ(members_of(*a, group_number(7)), std::set<uint32_t>{6});
  EXPECT_EQ(a->join(group_number(1000)), 0) << "those of the dead do not count";
  EXPECT_EQ(members_of(*a, group_number(1000)), std::set<uint32_t>{5});
  EXPECT_TRUE(members_of(*a, group_number(7)).empty());
  ASSERT_EQ(dead->join(group_number(7)), 0);
  a->forget_if_dead(6);
  EXPECT_TRUE(members_of(*a, group_number(7)).empty());
}

TEST_F(GroupPageTest, HasALimit) {
  Device device(1);  // its slot lives
  for (uint32_t i = 0; i < GroupPage::kGroupsMax; ++i) ASSERT_EQ(device.ports().join(group_number(i)), 0);
  EXPECT_EQ(device.ports().join(group_number(1000)), ENOSPC);
  device.ports().leave(group_number(3));
  EXPECT_EQ(device.ports().join(group_number(1000)), 0);
  std::vector<Qpn> members;
  device.port(0).find_members_here(group_number(1000), &members);
  EXPECT_EQ(members, std::vector<Qpn>{first_qpn_of(device.slot())});
}

TEST_F(GroupPageTest, AnotherFileIsNoPage) {
  FILE* file = std::fopen((directory_.path() + "/groups").c_str(), "w");
  ASSERT_NE(file, nullptr);
  std::fputs("the user's own", file);
  ASSERT_EQ(fchmod(fileno(file), 0600), 0);
  std::fclose(file);
  std::string error;
  EXPECT_EQ(GroupPage::open(directory_.path(), 5, &error), nullptr);
  EXPECT_NE(error.find("is not a page of multicast groups; remove the file"), std::string::npos) << error;
}

}  // namespace
}  // namespace mrc
