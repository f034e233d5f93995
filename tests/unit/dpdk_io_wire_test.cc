// SPDX-License-Identifier: BSD-2-Clause
// The parts of ports on real interfaces: whose frames they take, where they send, what they hear of the
// kernel's network, and the loop that they hear it in.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "dpdk_io/host/control_loop.h"
#include "dpdk_io/host/process_slot.h"
#include "dpdk_io/wire/frame_filter.h"
#include "dpdk_io/wire/link_monitor.h"
#include "dpdk_io/wire/next_hops.h"
#include "libmrc/wire/bytes.h"
#include "libmrc/wire/frame.h"

namespace mrc {
namespace {

Nanoseconds monotonic_now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<Nanoseconds>(time.tv_sec) * kSecond + static_cast<Nanoseconds>(time.tv_nsec);
}

// ------------------------------------------------------------------------------------------ whose frames

struct Form {
  bool v4;
  bool srv6;
  uint16_t port = kUdpPort;
};

// MRC 1.1: peers use either port.
constexpr Form kForms[] = {{true, false, kUdpPort},          {false, false, kUdpPort},
                           {true, true, kUdpPort},           {false, true, kUdpPort},
                           {true, false, kUdpPortSpecPrint}, {false, false, kUdpPortSpecPrint},
                           {true, true, kUdpPortSpecPrint},  {false, true, kUdpPortSpecPrint}};

std::vector<uint8_t> frame_to(Qpn qpn, const Form& form) {
  NetworkHeader network;
  network.source = form.v4 ? IpAddress::v4(10, 0, 0, 1) : IpAddress{{0xFD, 1}};
  network.destination = form.v4 ? IpAddress::v4(10, 0, 0, 2) : IpAddress{{0xFD, 2}};
  network.srv6 = form.srv6;
  network.udp_port = form.port;
  network.outer_source = network.outer_destination = IpAddress{{0xFC, 3}};
  std::vector<uint8_t> buffer(kFrameBytesMax);
  FrameWriter frame(buffer.data(), network, Entropy{0xC001}, 0, Ecn::kEct0, Bth::kBytes + 64);
  Bth bth;
  bth.opcode = Opcode::kAcknowledge;
  bth.destination = qpn;
  frame.add(bth);
  frame.end_headers();
  const std::array<uint8_t, 64> payload{};
  frame.add_payload(payload.data(), payload.size());
  buffer.resize(frame.finish(0));
  return buffer;
}

// Runs a filter where it is meant to run: a datagram socket with it receives what it lets through.
class KernelFilter {
 public:
  explicit KernelFilter(uint32_t slot) {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, fds_), 0);
    auto filter = kernel_filter(slot);
    const sock_fprog program{static_cast<uint16_t>(filter.size()), filter.data()};
    EXPECT_EQ(setsockopt(fds_[1], SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program), 0);
  }
  ~KernelFilter() {
    close(fds_[0]);
    close(fds_[1]);
  }
  bool takes(std::span<const uint8_t> frame) const {
    send(fds_[0], frame.data(), frame.size(), MSG_DONTWAIT);
    uint8_t received[kFrameBytesMax];
    return recv(fds_[1], received, sizeof received, MSG_DONTWAIT) == static_cast<ssize_t>(frame.size());
  }

 private:
  int fds_[2];
};

TEST(FrameFilterTest, TakesTheOwnSlotAndTheSharedNumbers) {
  constexpr uint32_t kSlot = 37;
  const KernelFilter kernel(kSlot);
  const Qpn own{first_qpn_of(kSlot).value() + 99};
  const Qpn other = first_qpn_of(kSlot + 1);
  for (const Form& form : kForms) {
    for (const Qpn qpn : {own, Qpn{1}, kEndpointQpn}) {
      EXPECT_TRUE(frame_is_for(kSlot, frame_to(qpn, form)));
      EXPECT_TRUE(kernel.takes(frame_to(qpn, form)));
    }
    EXPECT_FALSE(frame_is_for(kSlot, frame_to(other, form)));
    EXPECT_FALSE(kernel.takes(frame_to(other, form)));
  }
}

// IBTA 9.2.1: what comes by a group address is for all members, or for nobody.
TEST(FrameFilterTest, GroupAddressesBelongToTheNumberOfAll) {
  for (const uint32_t slot : {37u, kSlotMax}) {
    const KernelFilter kernel(slot);
    for (const Form& form : kForms) {
      for (const Qpn qpn : {kMulticastQpn, first_qpn_of(slot), Qpn{1}, kEndpointQpn}) {
        auto frame = frame_to(qpn, form);
        for (const bool to_group : {false, true}) {
          frame[0] = to_group ? 0x01 : 0x02;
          const bool wanted = to_group == (qpn == kMulticastQpn);
          EXPECT_EQ(frame_is_for(slot, frame), wanted) << slot << " " << qpn.value() << " " << to_group;
          EXPECT_EQ(kernel.takes(frame), wanted) << slot << " " << qpn.value() << " " << to_group;
        }
      }
    }
  }
}

TEST(FrameFilterTest, TakesNothingElse) {
  constexpr uint32_t kSlot = 5;
  const KernelFilter kernel(kSlot);
  const auto good = frame_to(first_qpn_of(kSlot), {true, false});
  auto other_port = good;
  other_port[36] = 0;
  auto other_protocol = good;
  other_protocol[23] = 6;
  auto other_type = good;
  other_type[12] = 0x88;
  for (const auto& frame : {other_port, other_protocol, other_type}) {
    EXPECT_FALSE(frame_is_for(kSlot, frame));
    EXPECT_FALSE(kernel.takes(frame));
  }
  // Cut anywhere before the QP number.
  for (size_t bytes = 1; bytes < 50; ++bytes) {
    EXPECT_FALSE(frame_is_for(kSlot, std::span(good).first(bytes)));
    EXPECT_FALSE(kernel.takes(std::span(good).first(bytes)));
  }
}

TEST(FrameFilterTest, SegmentRoutingHeadersAreSteppedOver) {
  const auto plain = frame_to(first_qpn_of(5), {false, true});
  std::vector<uint8_t> frame(plain.begin(), plain.begin() + 54);
  frame[20] = 43;
  const std::array<uint8_t, 24> header{41, 2, 4};
  frame.insert(frame.end(), header.begin(), header.end());
  frame.insert(frame.end(), plain.begin() + 54, plain.end());
  EXPECT_TRUE(frame_is_for(5, frame));
  EXPECT_FALSE(frame_is_for(6, frame));
  EXPECT_TRUE(KernelFilter(5).takes(frame));
  EXPECT_FALSE(frame_is_for(5, std::span(frame).first(60)));
}

// ------------------------------------------------------------------------------------------- where it goes

TEST(NextHopsTest, NumbersStayAndAddressesChange) {
  NextHops hops;
  bool added = false;
  const auto a = hops.number_of(IpAddress::v4(10, 0, 0, 1), NextHops::kMax, &added);
  ASSERT_TRUE(a && added);
  const auto b = hops.number_of(IpAddress::v4(10, 0, 0, 2), NextHops::kMax, &added);
  ASSERT_TRUE(b && added);
  EXPECT_NE(*a, *b);
  EXPECT_EQ(hops.number_of(IpAddress::v4(10, 0, 0, 1), NextHops::kMax, &added), a);
  EXPECT_FALSE(added);
  EXPECT_FALSE(hops.known(*a));
  uint8_t mac[6] = {};
  EXPECT_FALSE(hops.write_mac(*a, mac));
  const MacAddress first{{2, 3, 4, 5, 6, 7}};
  hops.set_mac(*a, first);
  ASSERT_TRUE(hops.write_mac(*a, mac));
  EXPECT_EQ(std::memcmp(mac, first.bytes.data(), 6), 0);
  hops.entry(*a).ask_at = kSecond;
  hops.forget_macs();
  EXPECT_FALSE(hops.known(*a));
  EXPECT_EQ(hops.entry(*a).ask_at, 0);
  const MacAddress handle = NextHops::handle(*b);
  EXPECT_TRUE(NextHops::is_handle(handle.bytes.data()));
  EXPECT_EQ(NextHops::number_in(handle.bytes.data()), *b);
  EXPECT_FALSE(NextHops::is_handle(first.bytes.data()));
}

TEST(NextHopsTest, HasALimit) {
  NextHops hops;
  bool added = false;
  for (uint32_t i = 0; i < NextHops::kMax; ++i) {
    const auto number = hops.number_of(IpAddress::v4(10, static_cast<uint8_t>(i >> 16),
                                                     static_cast<uint8_t>(i >> 8), static_cast<uint8_t>(i)),
                                       NextHops::kMax, &added);
    ASSERT_EQ(number, i);
    if (i + 1 == NextHops::kStrangersMax) {
      EXPECT_FALSE(hops.number_of(IpAddress::v4(12, 0, 0, 0), NextHops::kStrangersMax, &added).has_value());
    }
  }
  EXPECT_FALSE(hops.number_of(IpAddress::v4(11, 0, 0, 0), NextHops::kMax, &added).has_value());
  EXPECT_TRUE(hops.number_of(IpAddress::v4(10, 0, 0, 0), NextHops::kStrangersMax, &added).has_value());
}

// ---------------------------------------------------------------------------------------- the control loop

class ControlLoopTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    std::string error;
    loop_ = GetParam() ? open_uring_loop() : open_epoll_loop(&error);
    if (loop_ == nullptr) GTEST_SKIP() << "not permitted here";
  }
  bool readable(int timeout_ms) const {
    pollfd waited{loop_->fd(), POLLIN, 0};
    return poll(&waited, 1, timeout_ms) == 1;
  }
  // Runs the loop until a condition holds; false after five seconds.
  template <typename Condition>
  bool run_until(Condition condition) {
    const Nanoseconds end = monotonic_now() + 5 * kSecond;
    while (!condition() && monotonic_now() < end) {
      readable(10);
      loop_->run(monotonic_now());
    }
    return condition();
  }
  std::unique_ptr<ControlLoop> loop_;
};

TEST_P(ControlLoopTest, TellsOfDescriptors) {
  const int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  uint64_t heard = 0;
  ASSERT_TRUE(loop_->watch(fd, [&](Nanoseconds) {
    uint64_t value;
    while (read(fd, &value, sizeof value) > 0) heard += value;
  }));
  loop_->run(monotonic_now());
  EXPECT_EQ(heard, 0u);
  for (uint64_t i = 1; i <= 100; ++i) {
    const uint64_t one = 1;
    ASSERT_EQ(write(fd, &one, sizeof one), 8);
    ASSERT_TRUE(run_until([&] { return heard == i; })) << i;
  }
  close(fd);
}

TEST_P(ControlLoopTest, HearsWhatWasThereBeforeAndFromOtherThreads) {
  const int fd = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
  uint64_t heard = 0;
  ASSERT_TRUE(loop_->watch(fd, [&](Nanoseconds) {
    uint64_t value;
    while (read(fd, &value, sizeof value) > 0) heard += value;
  }));
  // The first thread to serve the loop ends; another one takes over.
  std::thread([&] { EXPECT_TRUE(run_until([&] { return heard == 1; })); }).join();
  const uint64_t one = 1;
  ASSERT_EQ(write(fd, &one, sizeof one), 8);
  EXPECT_TRUE(run_until([&] { return heard == 2; }));
  close(fd);
}

TEST_P(ControlLoopTest, TimersFireAgainAndAgainUntilTheyAreOff) {
  int fired = 0;
  const auto timer = loop_->add_timer([&](Nanoseconds) { ++fired; });
  loop_->run(monotonic_now());
  EXPECT_FALSE(readable(20));
  loop_->set_timer(timer, 20 * kMillisecond, monotonic_now());
  const Nanoseconds begin = monotonic_now();
  ASSERT_TRUE(run_until([&] { return fired == 5; }));
  EXPECT_GE(monotonic_now() - begin, 100 * kMillisecond);
  loop_->set_timer(timer, 0, monotonic_now());
  const Nanoseconds quiet = monotonic_now() + 60 * kMillisecond;
  while (monotonic_now() < quiet) {
    readable(10);
    loop_->run(monotonic_now());
  }
  EXPECT_EQ(fired, 5);
}

TEST_P(ControlLoopTest, AnEarlierTimerIsNotHeldUpByALaterOne) {
  int late = 0, early = 0;
  const auto slow = loop_->add_timer([&](Nanoseconds) { ++late; });
  const auto fast = loop_->add_timer([&](Nanoseconds) { ++early; });
  loop_->run(monotonic_now());
  loop_->set_timer(slow, 3600 * kSecond, monotonic_now());
  loop_->set_timer(fast, 10 * kMillisecond, monotonic_now());
  EXPECT_TRUE(run_until([&] { return early == 2; }));
  EXPECT_EQ(late, 0);
}

INSTANTIATE_TEST_SUITE_P(Both, ControlLoopTest, testing::Bool(), [](const auto& info) {
  return info.param ? std::string("io_uring") : std::string("epoll");
});

// --------------------------------------------------------------------------------- the kernel's network

bool run_command(const std::string& command) {
  return std::system(("exec 2>/dev/null; " + command).c_str()) == 0;  // NOLINT: our own words
}

// In a network namespace of this thread's own, with a veth pair: x has 10.9.0.1, y is its other end.
void with_network(const std::function<void(LinkMonitor&, ControlLoop&)>& body) {
  std::string skipped;
  std::thread([&] {
    if (unshare(CLONE_NEWNET) != 0 ||
        !run_command(
            "ip link set lo up && ip link add x type veth peer name y && ip addr add 10.9.0.1/24 dev x "
            "&& ip link set x up && ip link set y up")) {
      skipped = "no network namespaces here";
      return;
    }
    std::string error;
    auto loop = ControlLoop::open(&error);
    ASSERT_NE(loop, nullptr) << error;
    auto monitor = LinkMonitor::open(*loop, &error);
    ASSERT_NE(monitor, nullptr) << error;
    body(*monitor, *loop);
  }).join();
  if (!skipped.empty()) GTEST_SKIP() << skipped;
}

bool follow(ControlLoop& loop, const std::function<bool()>& condition) {
  const Nanoseconds end = monotonic_now() + 5 * kSecond;
  while (!condition() && monotonic_now() < end) {
    pollfd waited{loop.fd(), POLLIN, 0};
    poll(&waited, 1, 10);
    loop.run(monotonic_now());
  }
  return condition();
}

TEST(LinkMonitorTest, FollowsLinksAndAddresses) {
  with_network([](LinkMonitor& monitor, ControlLoop& loop) {
    ASSERT_NE(monitor.find("x"), nullptr);
    EXPECT_EQ(monitor.find("nothing"), nullptr);
    EXPECT_TRUE(follow(loop, [&] { return monitor.find("x")->up; }));
    EXPECT_TRUE(monitor.is_local(IpAddress::v4(10, 9, 0, 1)));
    EXPECT_TRUE(monitor.is_local(IpAddress::v4(127, 3, 2, 1)));
    EXPECT_FALSE(monitor.is_local(IpAddress::v4(10, 9, 0, 2)));
    ASSERT_TRUE(run_command("ip addr add 10.9.0.3/24 dev x && ip link set x mtu 4321"));
    EXPECT_TRUE(follow(loop, [&] {
      return monitor.is_local(IpAddress::v4(10, 9, 0, 3)) && monitor.find("x")->mtu == 4321;
    }));
    ASSERT_TRUE(run_command("ip addr del 10.9.0.3/24 dev x"));
    EXPECT_TRUE(follow(loop, [&] { return !monitor.is_local(IpAddress::v4(10, 9, 0, 3)); }));
    // The other end goes down: the link is lost although nobody touched this one.
    ASSERT_TRUE(run_command("ip link set y down"));
    EXPECT_TRUE(follow(loop, [&] { return !monitor.find("x")->up; }));
    ASSERT_TRUE(run_command("ip link set y up"));
    EXPECT_TRUE(follow(loop, [&] { return monitor.find("x")->up; }));
    ASSERT_TRUE(run_command("ip link del x"));
    EXPECT_TRUE(follow(loop, [&] { return monitor.find("x") == nullptr; }));
  });
}

TEST(LinkMonitorTest, TellsAnInterfaceFromItsPredecessor) {
  with_network([](LinkMonitor& monitor, ControlLoop& loop) {
    const Interface before = *monitor.find("x");
    ASSERT_TRUE(run_command("ip link set x mtu 4321"));
    ASSERT_TRUE(follow(loop, [&] { return monitor.find("x")->mtu == 4321; }));
    EXPECT_EQ(monitor.find("x")->life, before.life);
    // All of it before the monitor has heard a word, and with the same number.
    ASSERT_TRUE(run_command("ip link del x && ip link add x index " + std::to_string(before.index) +
                            " mtu 1234 type veth peer name y"));
    EXPECT_TRUE(follow(loop, [&] { return monitor.find("x") != nullptr && monitor.find("x")->mtu == 1234; }));
    EXPECT_EQ(monitor.find("x")->index, before.index);
    EXPECT_NE(monitor.find("x")->life, before.life);
  });
}

TEST(LinkMonitorTest, KnowsRoutesAndNeighbours) {
  with_network([](LinkMonitor& monitor, ControlLoop& loop) {
    const int x = monitor.find("x")->index;
    const IpAddress near = IpAddress::v4(10, 9, 0, 2);
    EXPECT_EQ(monitor.route(x, near), near);
    ASSERT_TRUE(run_command("ip route add 10.8.0.0/24 via 10.9.0.2"));
    EXPECT_EQ(monitor.route(x, IpAddress::v4(10, 8, 0, 7)), near);
    EXPECT_EQ(monitor.route(x, IpAddress{{0xFD, 0x99}}), std::nullopt);
    EXPECT_EQ(monitor.neighbour(x, near), std::nullopt);
    ASSERT_TRUE(run_command("ip neigh add 10.9.0.2 lladdr 02:00:00:00:00:99 dev x"));
    const MacAddress mac{{2, 0, 0, 0, 0, 0x99}};
    EXPECT_TRUE(follow(loop, [&] { return monitor.neighbour(x, near) == mac; }));
    ASSERT_TRUE(run_command("ip neigh del 10.9.0.2 dev x"));
    EXPECT_TRUE(follow(loop, [&] { return !monitor.neighbour(x, near).has_value(); }));
  });
}

// Asking makes the kernel resolve: the other end stands in a namespace of its own and answers.
TEST(LinkMonitorTest, AskingResolves) {
  with_network([](LinkMonitor& monitor, ControlLoop& loop) {
    const std::string other = "mrc-unit-" + std::to_string(getpid());
    if (!run_command("ip netns add " + other)) GTEST_SKIP() << "no named namespaces here";
    // Not "ip -n": that wants to change mounts, which not every chroot allows.
    const std::string there = "nsenter --net=/run/netns/" + other + " ip ";
    const bool made = run_command("ip link set y netns " + other + " && " + there +
                                  "addr add 10.9.0.2/24 dev y && " + there + "link set y up");
    const IpAddress near = IpAddress::v4(10, 9, 0, 2);
    const bool up = made && follow(loop, [&] { return monitor.find("x")->up; });
    bool resolved = false;
    if (up) {
      monitor.ask_for(*monitor.find("x"), near);
      resolved = follow(loop, [&] { return monitor.neighbour(monitor.find("x")->index, near).has_value(); });
    }
    run_command("ip netns del " + other);
    EXPECT_TRUE(resolved);
  });
}

// ------------------------------------------------------------------------------------------------- slots

TEST(HostWideSlotTest, IsUniqueBeyondTheRunDirectory) {
  if (close(socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) != 0) GTEST_SKIP() << "needs CAP_NET_RAW";
  char one[] = "/tmp/mrc-slot-XXXXXX", two[] = "/tmp/mrc-slot-XXXXXX";
  ASSERT_TRUE(mkdtemp(one) != nullptr && mkdtemp(two) != nullptr);
  {
    std::string error;
    const auto first = ProcessSlot::claim(one, 1, claim_on_host, &error);
    const auto second = ProcessSlot::claim(two, 1, claim_on_host, &error);
    ASSERT_TRUE(first != nullptr && second != nullptr) << error;
    EXPECT_NE(first->number(), second->number());
    const auto third = ProcessSlot::claim(two, 1, {}, &error);  // nobody else's affair
    ASSERT_NE(third, nullptr);
  }
  for (const char* directory : {one, two}) {
    unlink((std::string(directory) + "/last_slot").c_str());
    EXPECT_EQ(rmdir(directory), 0);
  }
}

}  // namespace
}  // namespace mrc
