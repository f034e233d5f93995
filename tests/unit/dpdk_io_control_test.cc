// SPDX-License-Identifier: BSD-2-Clause
// The page of a run directory that controllers write: changes, who uses what, and events.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>

#include "dpdk_io/host/control_page.h"
#include "dpdk_io_peer.h"

namespace mrc {
namespace {

class ControlPageTest : public testing::Test {
 protected:
  ControlPageTest() { setenv("MRC_RUNDIR", directory_.path().c_str(), 1); }
  ~ControlPageTest() override { unsetenv("MRC_RUNDIR"); }
  static std::unique_ptr<ControlPage> open() {
    std::unique_ptr<ControlPage> page;
    std::string error;
    EXPECT_EQ(ControlPage::open(&page, &error), 0) << error;
    return page;
  }
  test::RunDirectory directory_;
};

TEST_F(ControlPageTest, ChangesAreSeenByAllAndOutliveThem) {
  auto a = open();
  const auto b = open();
  const uint64_t before = b->generation();
  EXPECT_EQ(a->change([](ControlState& state) {
    state.ports_disabled = 5;
    state.ev_count = 2;
    state.evs[1].port = 9;
    return true;
  }),
            0);
  EXPECT_EQ(b->generation(), before + 1);
  EXPECT_EQ(a->change([](ControlState& state) {
    state.ports_disabled = 7;
    return false;
  }),
            0);
  EXPECT_EQ(b->ports_disabled(), 5u) << "it was not to be";
  a.reset();
  const auto state = std::make_unique<ControlState>();
  EXPECT_EQ(b->read(state.get()), before + 1);
  EXPECT_EQ(state->evs[1].port, 9);
}

TEST_F(ControlPageTest, WhoDiesInTheMiddleLeavesTheOldState) {
  const auto page = open();
  page->change([](ControlState& state) { return (state.ports_disabled = 3) != 0; });
  const pid_t child = fork();
  if (child == 0) {
    open()->change([](ControlState& state) {
      state.ports_disabled = 0xFFFF;
      _exit(0);
      return true;
    });
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(page->ports_disabled(), 3u);
  EXPECT_EQ(page->change([](ControlState& state) { return (state.ports_disabled = 4) != 0; }), 0);
  EXPECT_EQ(page->ports_disabled(), 4u) << "its lock went with it";
}

TEST_F(ControlPageTest, TheDeadUseNothing) {
  const auto page = open();
  const auto yes = [](const ControlState&) { return true; };
  const auto no = [](const ControlState&) { return false; };
  EXPECT_EQ(page->use(ControlPage::Kind::kPaths, 3, 900, no), EINVAL);
  EXPECT_EQ(page->use(ControlPage::Kind::kPaths, 3, 900, yes), 0);
  EXPECT_FALSE(page->in_use(ControlPage::Kind::kPaths, 3)) << "nobody has slot 900";
}

TEST_F(ControlPageTest, EventsAreOverwrittenAndTheirReadersKnow) {
  const auto writer = open();
  const auto reader = open();
  ControlEvent event{};
  EXPECT_EQ(reader->take(0, &event), ControlPage::Taken::kNothing);
  for (uint64_t i = 0; i < ControlPage::kEvents + 3; ++i) {
    ControlEvent told{};
    told.profile = i;
    writer->push(told);
  }
  EXPECT_EQ(reader->take(2, &event), ControlPage::Taken::kLost);
  EXPECT_EQ(reader->take(3, &event), ControlPage::Taken::kEvent);
  EXPECT_EQ(event.profile, 3u);
  EXPECT_EQ(reader->take(ControlPage::kEvents + 2, &event), ControlPage::Taken::kEvent);
  EXPECT_EQ(event.profile, ControlPage::kEvents + 2);
  EXPECT_EQ(reader->take(ControlPage::kEvents + 3, &event), ControlPage::Taken::kNothing);
}

// The file of somebody else, or one that was written by something else, is not used.
TEST_F(ControlPageTest, SomethingElseIsNoPage) {
  {
    std::ofstream file(directory_.path() + "/" + ControlPage::kFileName);
    file << "something else";
  }
  ASSERT_EQ(chmod((directory_.path() + "/" + ControlPage::kFileName).c_str(), 0600), 0);
  std::unique_ptr<ControlPage> page;
  std::string error;
  EXPECT_EQ(ControlPage::open(&page, &error), EIO);
  EXPECT_NE(error.find("remove the file"), std::string::npos) << error;
  ASSERT_EQ(chmod((directory_.path() + "/" + ControlPage::kFileName).c_str(), 0666), 0);
  EXPECT_EQ(ControlPage::open(&page, &error), EPERM);
}

}  // namespace
}  // namespace mrc
