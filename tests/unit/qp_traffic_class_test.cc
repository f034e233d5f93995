// SPDX-License-Identifier: BSD-2-Clause
// MRC 7: the traffic class of every kind of packet, read from the bytes of the frames that an engine sends,
// beside the setting that says what it is to be.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <ostream>
#include <random>
#include <set>
#include <string>

#include "libmrc/path/srv6_template.h"
#include "libmrc/wire/bytes.h"
#include "libmrc/wire/ethernet.h"
#include "libmrc/wire/switch_change.h"
#include "tests/unit/qp_wire_tap.h"

namespace mrc::test {
namespace {

// Each its own, and none the default of anything.
constexpr uint8_t kData = 10, kAgain = 11, kProbe = 14, kControl = 48, kTrimmed = 13, kTrimmedLastHop = 17;

class TwoLeaves : public PathSource {
 public:
  std::vector<EvEntry> paths_to(const IpAddress& destination) override { return paths(destination); }
  std::optional<EvEntry> path_back(const IpAddress& destination, Plane plane, Entropy) const override {
    return paths(destination)[size_t{plane} * kSpines];
  }

  static constexpr uint32_t kPlanes = 2;

 private:
  static std::vector<EvEntry> paths(const IpAddress& destination) {
    const bool forth = destination == IpAddress::v4(10, 0, 0, 2);
    return Srv6Template(kFabric, forth ? kHere : kThere, forth ? kThere : kHere).entries(kPlanes);
  }

  static constexpr uint32_t kSpines = 4;
  static constexpr FabricShape kFabric{.block = 0xFCBBBBBB, .usids = {}, .spines = kSpines};
  static constexpr FabricPlace kHere{0, 4};
  static constexpr FabricPlace kThere{1, 9};
};

struct Classes {
  std::set<uint8_t> outermost;
  std::set<uint8_t> inner;  // with SRv6
  std::set<uint8_t> ecn;
  size_t frames = 0;
};

uint8_t inner_class(const PipePort::Frame& frame) {
  const uint8_t* ip = frame.data() + kEthernetBytes + kIpv6Bytes;
  return ip[0] >> 4 == 4 ? ip[1] : static_cast<uint8_t>(load_be<uint16_t>(ip) >> 4);
}

std::string kind_of(const Packet& packet) {
  switch (packet.bth.opcode) {
    case Opcode::kSack:
      return packet.sack.answers_probe ? "answer to a probe" : "SACK";
    case Opcode::kNack:
      return "NACK";
    case Opcode::kProbe:
      return "probe";
    case Opcode::kAcknowledge:
      return "acknowledgement";
    case Opcode::kEndpointRequest:
      return "endpoint request";
    case Opcode::kEndpointResponse:
      return "endpoint response";
    default:
      return packet.bth.retransmission ? "data again" : "data";
  }
}

struct Reach {
  const char* name;
  bool srv6;
};

void PrintTo(const Reach& reach, std::ostream* out) {
  *out << reach.name;
}

class TrafficClass : public ::testing::TestWithParam<Reach> {
 protected:
  TrafficClass() {
    const char* seed = std::getenv("MRC_SEED");
    seed_ = seed != nullptr ? std::strtoull(seed, nullptr, 0) : 1;
    RecordProperty("seed", std::to_string(seed_));
  }
  PairOptions options() {
    PairOptions options;
    options.planes = TwoLeaves::kPlanes;
    options.seed = seed_;
    options.tune = [this](EngineConfig* config) {
      TransportConfig& transport = config->transport;
      transport.dscp_data = kData;
      transport.dscp_retransmission = kAgain;
      transport.dscp_probe = kProbe;
      transport.dscp_control = kControl;
      transport.dscp_trimmed = kTrimmed;
      transport.dscp_trimmed_last_hop = kTrimmedLastHop;
      if (GetParam().srv6) config->path_source = &paths_;
    };
    return options;
  }
  void look(const PipePort::Frame& frame) {
    const Packet packet = parse(frame);
    Classes& classes = seen_[kind_of(packet)];
    uint8_t outermost = 0;
    ASSERT_TRUE(read_traffic_class(frame, &outermost));
    ++classes.frames;
    classes.outermost.insert(outermost >> 2);
    classes.ecn.insert(outermost & 3);
    EXPECT_EQ(packet.srv6, GetParam().srv6);
    if (packet.srv6) classes.inner.insert(inner_class(frame) >> 2);
  }
  // Every frame of this kind that was sent, and there were some.
  void expect(const std::string& kind, uint8_t dscp, Ecn ecn) {
    const Classes& classes = seen_[kind];
    EXPECT_GT(classes.frames, 0u) << kind << ": the test tests nothing, seed " << seed_;
    EXPECT_EQ(classes.outermost, std::set<uint8_t>{dscp}) << kind << ", seed " << seed_;
    EXPECT_EQ(classes.ecn, std::set<uint8_t>{static_cast<uint8_t>(ecn)}) << kind << ", seed " << seed_;
    const std::set<uint8_t> inner = GetParam().srv6 ? std::set<uint8_t>{dscp} : std::set<uint8_t>{};
    EXPECT_EQ(classes.inner, inner) << kind << ", seed " << seed_;
  }

  uint64_t seed_ = 1;
  TwoLeaves paths_;
  std::map<std::string, Classes> seen_;
};

// One packet in twenty is lost, one of data in twenty is trimmed, and one port goes down for a while.
TEST_P(TrafficClass, OfEveryKindIsWhatItsSettingSays) {
  RulePair pair(options());
  std::mt19937_64 random(seed_);
  const auto one_in = [&](uint64_t n) { return random() % n == 0; };
  uint64_t trims[2] = {};
  for (End* end : {&pair.a, &pair.b})
    for (auto& port : end->ports)
      port->drop = [&, to = port->peer](const PipePort::Frame& frame) {
        look(frame);
        PipePort::Frame rest = frame;
        const bool last_hop = one_in(2);
        if (!GetParam().srv6 && kind_of(parse(frame)).starts_with("data") && one_in(20) &&
            trim_frame(rest, last_hop ? kTrimmedLastHop : kTrimmed)) {
          rest.resize(std::min(rest.size(), kTrimmedBytes));
          to->arrived.emplace(to->now + 5 * kMicrosecond, std::move(rest));
          ++trims[last_hop];
          return true;
        }
        return one_in(20);
      };
  uint64_t id = 0;
  const auto transfer = [&](uint64_t messages) {
    for (uint64_t left = messages; left > 0; --left) {
      ++id;
      pair.write(id, 16 << 10);
      ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == id; }, 10 * kSecond)) << "seed " << seed_;
      for (const Completion& completion : WirePair::poll(pair.a.sends))
        ASSERT_EQ(completion.status, CompletionStatus::kSuccess) << "seed " << seed_;
    }
  };
  transfer(200);
  pair.b.ports[1]->up = false;
  transfer(20);
  pair.b.ports[1]->up = true;
  transfer(20);

  expect("data", kData, Ecn::kEct0);
  expect("data again", kAgain, Ecn::kEct0);
  expect("probe", kProbe, Ecn::kEct0);
  expect("answer to a probe", kControl, Ecn::kNotCapable);
  expect("SACK", kControl, Ecn::kNotCapable);
  expect("acknowledgement", kControl, Ecn::kNotCapable);
  expect("endpoint request", kControl, Ecn::kNotCapable);
  expect("endpoint response", kControl, Ecn::kNotCapable);
  const Counters& sender = pair.a.engine->counters();
  EXPECT_GT(sender.copies_sent, 0u) << "no spare copy was among them";
  EXPECT_GT(sender.retransmissions_sent, 0u);
  if (GetParam().srv6) return;
  expect("NACK", kControl, Ecn::kNotCapable);
  // What came with the class of a trimmed packet was taken for one, and which one.
  NackCounts told{};
  uint64_t trimmed = 0;
  for (End* end : {&pair.a, &pair.b}) {
    trimmed += end->engine->counters().trimmed_received;
    for (size_t i = 0; i < told.size(); ++i) told[i] += end->engine->counters().nacks_sent_by[i];
  }
  EXPECT_LE(trimmed, trims[0] + trims[1]);
  EXPECT_GT(trimmed, (trims[0] + trims[1]) * 9 / 10) << "the port that was down took more than its own";
  EXPECT_GT(told[nack_index(NackReason::kTrimmed)], 0u);
  EXPECT_GT(told[nack_index(NackReason::kTrimmedLastHop)], 0u);
  EXPECT_LE(told[nack_index(NackReason::kTrimmed)], trims[0]);
  EXPECT_LE(told[nack_index(NackReason::kTrimmedLastHop)], trims[1]);
}

INSTANTIATE_TEST_SUITE_P(By, TrafficClass,
                         ::testing::Values(Reach{"Address", false}, Reach{"SegmentRouting", true}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace mrc::test
