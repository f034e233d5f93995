// SPDX-License-Identifier: BSD-2-Clause
// The MADs of the connection manager against bytes that were laid out by hand from the tables of IBTA
// chapter 12 and annex A11, and against noise.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <numeric>
#include <random>
#include <string>

#include "libmrc/cm/ip_service.h"
#include "libmrc/cm/mad.h"
#include "libmrc/cm/target.h"
#include "libmrc/wire/bytes.h"
#include "tests/unit/golden/seed.h"

namespace mrc::cm {
namespace {

struct Bytes {
  size_t at;
  const char* hex;
};

// A MAD that is zero but for these bytes.
Mad laid_out(std::initializer_list<Bytes> parts) {
  Mad mad{};
  for (const Bytes& part : parts) {
    const std::string hex = part.hex;
    for (size_t i = 0; i < hex.size(); i += 2)
      mad.at(part.at + i / 2) = static_cast<uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16));
  }
  return mad;
}

template <size_t kBytes>
PrivateData<kBytes> counting(uint8_t first) {
  PrivateData<kBytes> data;
  std::iota(data.begin(), data.end(), first);
  return data;
}

// "01 02 03 ..." as the private data of the golden MADs.
std::string counting_hex(size_t bytes, uint8_t first) {
  std::string hex;
  for (size_t i = 0; i < bytes; ++i) {
    char text[3];
    std::snprintf(text, sizeof text, "%02x", static_cast<uint8_t>(first + i));
    hex += text;
  }
  return hex;
}

void expect_golden(const Message& message, const Mad& expected) {
  const Mad mad = encode(message);
  for (size_t i = 0; i < kMadBytes; ++i) EXPECT_EQ(mad[i], expected[i]) << "byte " << i;
  const auto read = decode(expected);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->body.index(), message.body.index());
  EXPECT_EQ(encode(*read), expected);
}

constexpr CommunicationId kHere{0xA1B2C3D4};
constexpr CommunicationId kThere{0x11223344};

TEST(CmMad, Request) {
  Request request;
  request.local = kHere;
  request.service = service_of(0x0106, 7174);
  request.guid = 0x0203040506070809;
  request.queue_key = 0x01234567;
  request.qpn = Qpn{0x00ABCDEF};
  request.first_psn = Psn{0x123456};
  request.responder_resources = 16;
  request.initiator_depth = 4;
  request.remote_response_timeout = 20;
  request.local_response_timeout = 19;
  request.transport = kTransportUnreliable;
  request.flow_control = true;
  request.retry_count = 7;
  request.rnr_retry_count = 6;
  request.mtu = 5;
  request.retries_max = 15;
  request.shared_receives = true;
  request.local_gid = IpAddress::v4(10, 0, 0, 1);
  request.remote_gid = IpAddress::v4(10, 0, 0, 2);
  request.rate = 16;
  request.traffic_class = 0x68;
  request.hop_limit = 64;
  request.ack_timeout = 17;
  request.private_data = counting<92>(1);
  const std::string data = counting_hex(92, 1);
  expect_golden({0x1122334455667788, request}, laid_out({{0, "01070203"},
                                                         {8, "1122334455667788"},
                                                         {16, "0010"},
                                                         {24, "a1b2c3d4"},
                                                         {32, "0000000001061c06"},
                                                         {40, "0203040506070809"},
                                                         {52, "01234567"},
                                                         {56, "abcdef10"},
                                                         {63, "04"},
                                                         {67, "a3"},  // 20 << 3 | UC << 1 | flow control
                                                         {68, "1234569f"},  // PSN, 19 << 3 | 7
                                                         {72, "ffff56f8"},
                                                         {80, "00000000000000000000ffff0a000001"},
                                                         {96, "00000000000000000000ffff0a000002"},
                                                         {112, "00000010"},
                                                         {116, "68400088"},
                                                         {164, data.c_str()}}));
}

TEST(CmMad, Receipt) {
  const std::string data = counting_hex(222, 3);
  expect_golden({1, Receipt{kHere, kThere, Subject::kReply, 24, counting<222>(3)}},
                laid_out({{0, "01070203"},
                          {15, "01"},
                          {16, "0011"},
                          {24, "a1b2c3d411223344"},
                          {32, "40c0"},
                          {34, data.c_str()}}));
}

TEST(CmMad, Rejection) {
  Rejection rejection;
  rejection.local = kHere;
  rejection.remote = kThere;
  rejection.subject = Subject::kOther;
  rejection.reason = RejectReason::kConsumer;
  rejection.info_bytes = 8;
  rejection.info[0] = 0xFE;
  rejection.info[71] = 0xEF;
  rejection.private_data = counting<148>(9);
  const std::string data = counting_hex(148, 9);
  expect_golden({2, rejection}, laid_out({{0, "01070203"},
                                          {15, "02"},
                                          {16, "0012"},
                                          {24, "a1b2c3d411223344"},
                                          {32, "8010001c"},
                                          {36, "fe"},
                                          {107, "ef"},
                                          {108, data.c_str()}}));
}

TEST(CmMad, Reply) {
  Reply reply;
  reply.local = kHere;
  reply.remote = kThere;
  reply.queue_key = 0x01234567;
  reply.qpn = Qpn{0x00C0FFEE};
  reply.first_psn = Psn{0xFEDCBA};
  reply.responder_resources = 2;
  reply.initiator_depth = 3;
  reply.target_ack_delay = 15;
  reply.flow_control = true;
  reply.rnr_retry_count = 7;
  reply.shared_receives = true;
  reply.guid = 0x0203040506070809;
  reply.private_data = counting<196>(7);
  const std::string data = counting_hex(196, 7);
  expect_golden({3, reply}, laid_out({{0, "01070203"},
                                      {15, "03"},
                                      {16, "0013"},
                                      {24, "a1b2c3d411223344"},
                                      {32, "01234567c0ffee"},
                                      {44, "fedcba"},
                                      {48, "020379f0"},
                                      {52, "0203040506070809"},
                                      {60, data.c_str()}}));
}

TEST(CmMad, ReadyAndDisconnect) {
  const std::string data = counting_hex(224, 5);
  expect_golden(
      {4, Ready{kHere, kThere, counting<224>(5)}},
      laid_out({{0, "01070203"}, {15, "04"}, {16, "0014"}, {24, "a1b2c3d411223344"}, {32, data.c_str()}}));
  expect_golden({5, DisconnectRequest{kHere, kThere, Qpn{0x010203}, counting<220>(5)}},
                laid_out({{0, "01070203"},
                          {15, "05"},
                          {16, "0015"},
                          {24, "a1b2c3d411223344"},
                          {32, "010203"},
                          {36, data.substr(0, 440).c_str()}}));
  expect_golden(
      {6, DisconnectReply{kHere, kThere, counting<224>(5)}},
      laid_out({{0, "01070203"}, {15, "06"}, {16, "0016"}, {24, "a1b2c3d411223344"}, {32, data.c_str()}}));
}

TEST(CmMad, ServiceRequestAndReply) {
  const std::string data = counting_hex(216, 8);
  expect_golden({7, ServiceRequest{kHere, 0xFFFF, service_of(0x0111, 7174), counting<216>(8)}},
                laid_out({{0, "01070203"},
                          {15, "07"},
                          {16, "0017"},
                          {24, "a1b2c3d4ffff"},
                          {32, "0000000001111c06"},
                          {40, data.c_str()}}));
  ServiceReply reply;
  reply.request = kHere;
  reply.status = ServiceStatus::kRejected;
  reply.qpn = Qpn{0x0D0E0F};
  reply.service = service_of(0x0111, 7174);
  reply.queue_key = 0x01234567;
  reply.private_data = counting<136>(8);
  expect_golden({8, reply}, laid_out({{0, "01070203"},
                                      {15, "08"},
                                      {16, "0018"},
                                      {24, "a1b2c3d402"},
                                      {32, "0d0e0f"},
                                      {36, "0000000001111c06"},
                                      {44, "01234567"},
                                      {120, data.substr(0, 272).c_str()}}));
}

TEST(CmMad, WhatIsNotOneIsRefused) {
  const Mad good = encode({1, Ready{kHere, kThere, {}}});
  ASSERT_TRUE(decode(good));
  for (size_t bytes = 0; bytes < kMadBytes; ++bytes)
    EXPECT_FALSE(decode(std::span(good).first(bytes))) << bytes << " bytes";
  std::array<uint8_t, kMadBytes + 1> longer{};
  std::copy(good.begin(), good.end(), longer.begin());
  EXPECT_FALSE(decode(longer));
  for (const size_t byte : {0, 1, 2, 3}) {
    Mad bad = good;
    bad[byte] ^= 0x40;
    EXPECT_FALSE(decode(bad)) << "byte " << byte;
  }
  for (unsigned attribute = 0; attribute < 0x10000; ++attribute) {
    Mad other = good;
    store_be<uint16_t>(other.data() + 16, static_cast<uint16_t>(attribute));
    EXPECT_EQ(decode(other).has_value(), attribute >= 0x10 && attribute <= 0x18) << attribute;
  }
}

// Noise behind a right header decodes to something that, written again, decodes to the same.
TEST(CmMad, NoiseDecodesToWhatItSays) {
  auto random = mrc::golden::seeded_random();
  for (int i = 0; i < 20000; ++i) {
    Mad mad;
    for (uint8_t& byte : mad) byte = static_cast<uint8_t>(random());
    if (i % 2 == 0) {
      std::copy_n(encode({0, Ready{}}).begin(), 4, mad.begin());
      store_be<uint16_t>(mad.data() + 16, static_cast<uint16_t>(0x0F + random() % 12));
    }
    const auto message = decode(mad);
    if (!message) continue;
    const Mad again = encode(*message);
    const auto second = decode(again);
    ASSERT_TRUE(second);
    EXPECT_EQ(encode(*second), again);
    target_of(mad);
  }
}

// --- annex A11 ---

TEST(CmIpService, Version4) {
  const IpServiceHeader header{0x1234, IpAddress::v4(10, 1, 2, 3), IpAddress::v4(10, 4, 5, 6)};
  std::array<uint8_t, IpServiceHeader::kBytes> bytes;
  write_ip_service(header, bytes);
  std::array<uint8_t, IpServiceHeader::kBytes> expected{0x00, 0x40, 0x12, 0x34};
  const uint8_t source[] = {10, 1, 2, 3}, destination[] = {10, 4, 5, 6};
  std::copy_n(source, 4, expected.begin() + 16);
  std::copy_n(destination, 4, expected.begin() + 32);
  EXPECT_EQ(bytes, expected);
  const auto read = read_ip_service(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->source_port, header.source_port);
  EXPECT_EQ(read->source, header.source);
  EXPECT_EQ(read->destination, header.destination);
}

TEST(CmIpService, Version6) {
  IpServiceHeader header;
  header.source_port = 1;
  header.source.bytes = {0xFE, 0x80, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8};
  header.destination.bytes = {0xFE, 0x80, 0, 0, 0, 0, 0, 0, 9, 8, 7, 6, 5, 4, 3, 2};
  std::array<uint8_t, IpServiceHeader::kBytes> bytes;
  write_ip_service(header, bytes);
  EXPECT_EQ(bytes[1], 0x60);
  EXPECT_TRUE(std::equal(header.source.bytes.begin(), header.source.bytes.end(), bytes.begin() + 4));
  EXPECT_TRUE(
      std::equal(header.destination.bytes.begin(), header.destination.bytes.end(), bytes.begin() + 20));
  EXPECT_EQ(read_ip_service(bytes)->source, header.source);
}

TEST(CmIpService, OthersAreRefused) {
  std::array<uint8_t, IpServiceHeader::kBytes> bytes{};
  EXPECT_FALSE(read_ip_service(bytes));  // IP version 0
  bytes[1] = 0x40;
  EXPECT_TRUE(read_ip_service(bytes));
  EXPECT_FALSE(read_ip_service(std::span(bytes).first(35)));
  bytes[0] = 1;
  EXPECT_FALSE(read_ip_service(bytes));
}

BoundAddress bound_to(const IpAddress& address) {
  return {false, !address.is_v4(), false, address};
}

TEST(CmBoundAddress, AcceptsAndConflicts) {
  const IpAddress v4 = IpAddress::v4(10, 0, 0, 1), other = IpAddress::v4(10, 0, 0, 2);
  IpAddress v6;
  v6.bytes[15] = 1;
  const BoundAddress any4{}, any6{true, true, false, {}}, only6{true, true, true, {}};
  EXPECT_TRUE(any4.accepts(v4));
  EXPECT_FALSE(any4.accepts(v6));
  EXPECT_TRUE(any6.accepts(v4));
  EXPECT_TRUE(any6.accepts(v6));
  EXPECT_FALSE(only6.accepts(v4));
  EXPECT_TRUE(bound_to(v4).accepts(v4));
  EXPECT_FALSE(bound_to(v4).accepts(other));

  EXPECT_TRUE(any4.conflicts_with(any4));
  EXPECT_TRUE(any4.conflicts_with(any6));
  EXPECT_TRUE(any6.conflicts_with(any4));
  EXPECT_FALSE(any4.conflicts_with(only6));
  EXPECT_FALSE(only6.conflicts_with(any4));
  EXPECT_TRUE(any4.conflicts_with(bound_to(v4)));
  EXPECT_TRUE(bound_to(v4).conflicts_with(any6));
  EXPECT_FALSE(bound_to(v4).conflicts_with(only6));
  EXPECT_FALSE(bound_to(v4).conflicts_with(bound_to(other)));
  EXPECT_TRUE(bound_to(v4).conflicts_with(bound_to(v4)));
}

// --- whose it is ---

TEST(CmTarget, FirstMessagesGoToTheListener) {
  Request request;
  request.service = service_of(0x0106, 99);
  write_ip_service({1, IpAddress::v4(1, 1, 1, 1), IpAddress::v4(2, 2, 2, 2)},
                   std::span(request.private_data).first<IpServiceHeader::kBytes>());
  const Target target = target_of(encode({1, request}));
  EXPECT_EQ(target.kind, Target::Kind::kService);
  EXPECT_EQ(target.service, request.service);
  EXPECT_EQ(target.address, IpAddress::v4(2, 2, 2, 2));
  ServiceRequest datagrams;
  datagrams.service = service_of(0x0111, 98);
  EXPECT_EQ(target_of(encode({1, datagrams})).kind, Target::Kind::kService);
  EXPECT_EQ(target_of(encode({1, datagrams})).service, datagrams.service);
}

TEST(CmTarget, AnswersGoToTheSlotOfTheirId) {
  const CommunicationId id{5u << kSlotShift | 77};
  for (const Message& message :
       {Message{1, Receipt{kHere, id, {}, 0, {}}}, Message{1, Ready{kHere, id, {}}},
        Message{1, DisconnectRequest{kHere, id, {}, {}}}, Message{1, DisconnectReply{kHere, id, {}}},
        Message{1, ServiceReply{id, {}, {}, {}, 0, {}}}}) {
    const Target target = target_of(encode(message));
    EXPECT_EQ(target.kind, Target::Kind::kProcess);
    EXPECT_EQ(target.slot, 5u);
  }
  Rejection gave_up;
  gave_up.local = id;
  EXPECT_EQ(target_of(encode({1, gave_up})).kind, Target::Kind::kAsked);
  // Nothing else is said before an id is known, and no process has slot 0.
  for (const CommunicationId id : {CommunicationId{}, CommunicationId{77}}) {
    EXPECT_EQ(target_of(encode({1, DisconnectRequest{CommunicationId{1u << 22}, id, Qpn{}, {}}})).kind,
              Target::Kind::kNobodys);
    Reply reply;
    reply.remote = id;
    EXPECT_EQ(target_of(encode({1, reply})).kind, Target::Kind::kNobodys);
  }
  EXPECT_EQ(target_of(std::array<uint8_t, 256>{}).kind, Target::Kind::kNobody);
}

}  // namespace
}  // namespace mrc::cm
