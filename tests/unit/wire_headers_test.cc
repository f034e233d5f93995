// SPDX-License-Identifier: BSD-2-Clause
// Each transport header survives store and load with random values, and store writes all of its bytes and no
// more.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "libmrc/wire/headers.h"
#include "libmrc/wire/packet.h"
#include "tests/unit/golden/seed.h"

namespace mrc {
namespace {

constexpr int kRounds = 2000;

// Stores into two backgrounds: what differs was not written, what changed beyond the end was written too
// much.
template <typename Header>
Header round_trip(const Header& header) {
  constexpr size_t kMargin = 8;
  std::vector<uint8_t> zeros(Header::kBytes + kMargin, 0x00);
  std::vector<uint8_t> ones(Header::kBytes + kMargin, 0xFF);
  header.store(zeros.data());
  header.store(ones.data());
  EXPECT_EQ(std::memcmp(zeros.data(), ones.data(), Header::kBytes), 0);
  for (size_t i = 0; i < kMargin; ++i) {
    EXPECT_EQ(zeros[Header::kBytes + i], 0x00);
    EXPECT_EQ(ones[Header::kBytes + i], 0xFF);
  }
  return Header::load(zeros.data());
}

// Load, store, load again: nothing that load() understands is lost, whatever the bytes.
template <typename Header>
void expect_stable(std::mt19937_64* random) {
  for (int round = 0; round < kRounds; ++round) {
    uint8_t noise[Header::kBytes], first[Header::kBytes], second[Header::kBytes];
    for (uint8_t& byte : noise) byte = static_cast<uint8_t>((*random)());
    Header::load(noise).store(first);
    Header::load(first).store(second);
    ASSERT_EQ(std::memcmp(first, second, sizeof first), 0);
  }
}

class WireHeaders : public ::testing::Test {
 protected:
  bool coin() { return (random_() & 1) != 0; }
  template <typename T>
  T any() {
    return static_cast<T>(random_());
  }
  Tseth any_time() { return {any<uint16_t>(), coin()}; }

  std::mt19937_64 random_ = golden::seeded_random();
};

TEST_F(WireHeaders, Bth) {
  for (int round = 0; round < kRounds; ++round) {
    Bth in;
    in.opcode = static_cast<Opcode>(any<uint8_t>());
    in.pad_bytes = any<uint8_t>() & 3;
    in.partition_key = any<uint16_t>();
    in.destination = Qpn(any<uint32_t>());
    in.ack_request = coin();
    in.retransmission = coin();
    in.has_timestamp = coin();
    in.psn = Psn(any<uint32_t>());
    in.solicited = coin();
    in.migrated = coin();
    // Only MRC has the two bits, with XRC and without.
    const bool mrc = static_cast<uint8_t>(in.opcode) >> 6 == 3;
    const Bth out = round_trip(in);
    ASSERT_EQ(out.opcode, in.opcode);
    ASSERT_EQ(out.pad_bytes, in.pad_bytes);
    ASSERT_EQ(out.partition_key, in.partition_key);
    ASSERT_EQ(out.destination, in.destination);
    ASSERT_EQ(out.ack_request, in.ack_request);
    ASSERT_EQ(out.retransmission, in.retransmission && mrc);
    ASSERT_EQ(out.has_timestamp, in.has_timestamp && mrc);
    ASSERT_EQ(out.psn, in.psn);
    ASSERT_EQ(out.solicited, in.solicited);
    ASSERT_EQ(out.migrated, in.migrated);
  }
}

TEST_F(WireHeaders, Meth) {
  for (int round = 0; round < kRounds; ++round) {
    const Meth in{any<uint16_t>(), any<uint16_t>()};
    const Meth out = round_trip(in);
    ASSERT_EQ(out.receive_msn, in.receive_msn);
    ASSERT_EQ(out.msn, in.msn);
  }
}

TEST_F(WireHeaders, Tseth) {
  for (int round = 0; round < kRounds; ++round) {
    const Tseth in = any_time();
    const Tseth out = round_trip(in);
    ASSERT_EQ(out.timestamp, in.timestamp);
    ASSERT_EQ(out.coarse, in.coarse);
  }
}

TEST_F(WireHeaders, Reth) {
  for (int round = 0; round < kRounds; ++round) {
    const Reth in{any<uint64_t>(), MemoryKey{any<uint32_t>()}, any<uint32_t>()};
    const Reth out = round_trip(in);
    ASSERT_EQ(out.address, in.address);
    ASSERT_EQ(out.key, in.key);
    ASSERT_EQ(out.message_bytes, in.message_bytes);
  }
}

TEST_F(WireHeaders, Ieth) {
  for (int round = 0; round < kRounds; ++round) {
    const Ieth in{MemoryKey{any<uint32_t>()}};
    ASSERT_EQ(round_trip(in).key, in.key);
  }
}

TEST_F(WireHeaders, AtomicEth) {
  for (int round = 0; round < kRounds; ++round) {
    const AtomicEth in{any<uint64_t>(), MemoryKey{any<uint32_t>()}, any<uint64_t>(), any<uint64_t>()};
    const AtomicEth out = round_trip(in);
    ASSERT_EQ(out.address, in.address);
    ASSERT_EQ(out.key, in.key);
    ASSERT_EQ(out.swap_or_add, in.swap_or_add);
    ASSERT_EQ(out.compare, in.compare);
  }
}

TEST_F(WireHeaders, AtomicAckEth) {
  for (int round = 0; round < kRounds; ++round) {
    const AtomicAckEth in{any<uint64_t>()};
    ASSERT_EQ(round_trip(in).original, in.original);
  }
}

TEST_F(WireHeaders, Deth) {
  for (int round = 0; round < kRounds; ++round) {
    const Deth in{any<uint32_t>(), Qpn(any<uint32_t>())};
    const Deth out = round_trip(in);
    ASSERT_EQ(out.queue_key, in.queue_key);
    ASSERT_EQ(out.source, in.source);
  }
}

TEST_F(WireHeaders, Aeth) {
  for (int round = 0; round < kRounds; ++round) {
    const Aeth in{any<uint8_t>(), any<uint32_t>() & 0xFFFFFF};
    const Aeth out = round_trip(in);
    ASSERT_EQ(out.syndrome, in.syndrome);
    ASSERT_EQ(out.msn, in.msn);
  }
  EXPECT_TRUE((Aeth{Aeth::kAck, 0}).is_ack());
  EXPECT_FALSE((Aeth{Aeth::kAck, 0}).is_nak());
  const Aeth not_ready{Aeth::kRnrNak | 14, 0};
  EXPECT_TRUE(not_ready.is_rnr_nak());
  EXPECT_FALSE(not_ready.is_ack());
  EXPECT_FALSE(not_ready.is_nak());
  EXPECT_EQ(not_ready.rnr_timer(), 14);
  for (const uint8_t nak : {Aeth::kNakSequenceError, Aeth::kNakInvalidRequest, Aeth::kNakRemoteAccess,
                            Aeth::kNakRemoteOperation}) {
    EXPECT_TRUE((Aeth{nak, 0}).is_nak());
    EXPECT_FALSE((Aeth{nak, 0}).is_ack());
    EXPECT_FALSE((Aeth{nak, 0}).is_rnr_nak());
  }
}

TEST_F(WireHeaders, Sack) {
  for (int round = 0; round < kRounds; ++round) {
    Sack in;
    in.mark = static_cast<PathMark>(any<uint8_t>() % 3);
    in.answers_probe = coin();
    in.trigger = any<uint16_t>();
    in.entropy = Entropy{any<uint32_t>()};
    in.source_qpn_low = any<uint16_t>();
    in.destination_qpn_low = any<uint16_t>();
    in.cumulative_psn = Psn(any<uint32_t>());
    in.mpr = any<uint8_t>();
    in.bitmap_offset = any<int16_t>();
    in.bitmap = any<uint64_t>();
    in.timestamp = any<uint16_t>();
    in.out_of_order = any<uint16_t>() & 0x7FFF;
    in.restore_window = coin();
    in.window_penalty = any<uint8_t>() & 0x7F;
    in.received_units = any<uint32_t>() & 0xFFFFFF;
    const Sack out = round_trip(in);
    ASSERT_EQ(out.mark, in.mark);
    ASSERT_EQ(out.answers_probe, in.answers_probe);
    ASSERT_EQ(out.trigger, in.trigger);
    ASSERT_EQ(out.entropy, in.entropy);
    ASSERT_EQ(out.source_qpn_low, in.source_qpn_low);
    ASSERT_EQ(out.destination_qpn_low, in.destination_qpn_low);
    ASSERT_EQ(out.cumulative_psn, in.cumulative_psn);
    ASSERT_EQ(out.mpr, in.mpr);
    ASSERT_EQ(out.bitmap_offset, in.bitmap_offset);
    ASSERT_EQ(out.bitmap, in.bitmap);
    ASSERT_EQ(out.timestamp, in.timestamp);
    ASSERT_EQ(out.out_of_order, in.out_of_order);
    ASSERT_EQ(out.restore_window, in.restore_window);
    ASSERT_EQ(out.window_penalty, in.window_penalty);
    ASSERT_EQ(out.received_units, in.received_units);
  }
}

TEST_F(WireHeaders, Neth) {
  for (int round = 0; round < kRounds; ++round) {
    Neth in;
    in.reason = static_cast<NackReason>(any<uint8_t>());
    in.vendor_info = any<uint8_t>();
    in.entropy = Entropy{any<uint32_t>()};
    in.source_qpn_low = any<uint16_t>();
    in.destination_qpn_low = any<uint16_t>();
    in.psn = Psn(any<uint32_t>());
    in.timestamp = any<uint16_t>();
    const Neth out = round_trip(in);
    ASSERT_EQ(out.reason, in.reason);
    ASSERT_EQ(out.vendor_info, in.vendor_info);
    ASSERT_EQ(out.entropy, in.entropy);
    ASSERT_EQ(out.source_qpn_low, in.source_qpn_low);
    ASSERT_EQ(out.destination_qpn_low, in.destination_qpn_low);
    ASSERT_EQ(out.psn, in.psn);
    ASSERT_EQ(out.timestamp, in.timestamp);
  }
}

TEST_F(WireHeaders, Peth) {
  for (int round = 0; round < kRounds; ++round) {
    const Peth in{any<uint8_t>(), any<uint16_t>(), any<uint16_t>(), any<uint16_t>(), any_time()};
    const Peth out = round_trip(in);
    ASSERT_EQ(out.vendor_info, in.vendor_info);
    ASSERT_EQ(out.probe_id, in.probe_id);
    ASSERT_EQ(out.source_qpn_low, in.source_qpn_low);
    ASSERT_EQ(out.destination_qpn_low, in.destination_qpn_low);
    ASSERT_EQ(out.time.timestamp, in.time.timestamp);
    ASSERT_EQ(out.time.coarse, in.time.coarse);
  }
}

TEST_F(WireHeaders, Erth) {
  for (int round = 0; round < kRounds; ++round) {
    const auto operation = static_cast<EndpointOperation>(any<uint8_t>() % 3);
    const Erth in{operation, any<uint8_t>(), any<uint32_t>(), any_time()};
    const Erth out = round_trip(in);
    ASSERT_EQ(out.operation, in.operation);
    ASSERT_EQ(out.vendor_info, in.vendor_info);
    ASSERT_EQ(out.port_status_mask, in.port_status_mask);
    ASSERT_EQ(out.time.timestamp, in.time.timestamp);
    ASSERT_EQ(out.time.coarse, in.time.coarse);
  }
}

TEST_F(WireHeaders, Eeth) {
  for (int round = 0; round < kRounds; ++round) {
    const auto operation = static_cast<EndpointOperation>(any<uint8_t>() % 3);
    const Eeth in{operation, any<uint8_t>(), any<uint16_t>(), any<uint32_t>()};
    const Eeth out = round_trip(in);
    ASSERT_EQ(out.operation, in.operation);
    ASSERT_EQ(out.vendor_info, in.vendor_info);
    ASSERT_EQ(out.timestamp, in.timestamp);
    ASSERT_EQ(out.expected_psn, in.expected_psn);
  }
}

TEST_F(WireHeaders, LoadOfAnythingIsStable) {
  expect_stable<Bth>(&random_);
  expect_stable<Meth>(&random_);
  expect_stable<Tseth>(&random_);
  expect_stable<Reth>(&random_);
  expect_stable<Ieth>(&random_);
  expect_stable<AtomicEth>(&random_);
  expect_stable<AtomicAckEth>(&random_);
  expect_stable<Deth>(&random_);
  expect_stable<Aeth>(&random_);
  expect_stable<Sack>(&random_);
  expect_stable<Neth>(&random_);
  expect_stable<Peth>(&random_);
  expect_stable<Erth>(&random_);
  expect_stable<Eeth>(&random_);
}

}  // namespace
}  // namespace mrc
