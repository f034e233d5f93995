// SPDX-License-Identifier: BSD-2-Clause
// The port that programs see, when all of its planes lose their links and get them back.
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "dpdk_io/host/fault_page.h"
#include "provider_fixture.h"

namespace provider_test {
namespace {

class PortTest : public LoopTest {
 protected:
  void SetUp() override {
    LoopTest::SetUp();
    if (HasFatalFailure()) return;
    const char* directory = getenv("MRC_RUNDIR");
    ASSERT_NE(directory, nullptr);
    const int fd =
        open((std::string(directory) + "/" + mrc::FaultPage::kFileName).c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    void* page = mmap(nullptr, sizeof(mrc::FaultPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    ASSERT_NE(page, MAP_FAILED);
    faults_ = static_cast<mrc::FaultPage*>(page);
    set_planes(mrc::PlaneFault::kNone);
  }
  void TearDown() override {
    if (faults_ != nullptr) {
      set_planes(mrc::PlaneFault::kNone);
      munmap(faults_, sizeof(mrc::FaultPage));
    }
    LoopTest::TearDown();
  }
  void set_planes(mrc::PlaneFault fault, size_t from = 0) {
    for (size_t plane = from; plane < std::size(faults_->planes); ++plane)
      faults_->planes[plane].store(fault);
  }
  void expect_event(ibv_context* of, ibv_event_type type) {
    pollfd ready{of->async_fd, POLLIN, 0};
    ASSERT_EQ(poll(&ready, 1, 20000), 1) << ibv_event_type_str(type) << " does not come";
    ibv_async_event event{};
    ASSERT_EQ(ibv_get_async_event(of, &event), 0);
    EXPECT_EQ(event.event_type, type);
    EXPECT_EQ(event.element.port_num, 1);
    ibv_ack_async_event(&event);
  }
  ibv_port_state state() {
    ibv_port_attr attributes{};
    EXPECT_EQ(ibv_query_port(context, 1, &attributes), 0);
    return attributes.state;
  }
  void go_down_and_up();

  mrc::FaultPage* faults_ = nullptr;
};

void PortTest::go_down_and_up() {
  EXPECT_EQ(state(), IBV_PORT_ACTIVE);
  ibv_context* other = open_device();  // every context is told
  ASSERT_NE(other, nullptr);
  set_planes(mrc::PlaneFault::kLinkDown, 1);
  pollfd quiet{context->async_fd, POLLIN, 0};
  EXPECT_EQ(poll(&quiet, 1, 100), 0);
  EXPECT_EQ(state(), IBV_PORT_ACTIVE);
  set_planes(mrc::PlaneFault::kLinkDown);
  expect_event(context, IBV_EVENT_PORT_ERR);
  expect_event(other, IBV_EVENT_PORT_ERR);
  EXPECT_EQ(state(), IBV_PORT_DOWN);
  faults_->planes[0].store(mrc::PlaneFault::kNone);
  expect_event(context, IBV_EVENT_PORT_ACTIVE);
  expect_event(other, IBV_EVENT_PORT_ACTIVE);
  EXPECT_EQ(state(), IBV_PORT_ACTIVE);
  EXPECT_EQ(ibv_close_device(other), 0);
}

TEST_F(PortTest, GoesDownWithItsLastPlaneAndComesBackWithTheFirst) {
  go_down_and_up();
}

TEST_F(PortTest, TellsAlsoWhenNothingIsConnected) {
  for (ibv_qp*& qp : pair) {
    ASSERT_EQ(ibv_destroy_qp(qp), 0);
    qp = nullptr;
  }
  go_down_and_up();
}

}  // namespace
}  // namespace provider_test
