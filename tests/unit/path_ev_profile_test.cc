// SPDX-License-Identifier: BSD-2-Clause
// EV formats, profiles and the expansion of generated EVs (MRC 4.7, OCP mrc_ctl).
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "libmrc/path/ev_profile.h"
#include "libmrc/wire/bytes.h"
#include "libmrc/wire/frame.h"
#include "libmrc/wire/srv6.h"
#include "tests/unit/path_made.h"

namespace mrc {
namespace {

constexpr uint32_t kFourPorts = 0b11110;

EvFormatProfile online_format(EvFormatMode mode, std::vector<uint8_t> widths) {
  EvFormatProfile format;
  EXPECT_EQ(format.set_mode(mode), EvResult::kOk);
  EXPECT_EQ(format.set_state(ProfileState::kOffline), EvResult::kOk);
  EXPECT_EQ(format.set_fields(widths), EvResult::kOk);
  EXPECT_EQ(format.set_state(ProfileState::kOnline), EvResult::kOk);
  return format;
}

uint32_t first32(const std::array<uint8_t, kEvBytes>& bytes) {
  return load_be<uint32_t>(bytes.data());
}

// ------------------------------------------------------------------------------------------------- formats

TEST(EvFormat, WidthsOfTheModes) {
  EXPECT_EQ(ev_format_bits(EvFormatMode::kUdp), 16u);
  EXPECT_EQ(ev_format_bits(EvFormatMode::kStev), 32u);
  EXPECT_EQ(ev_format_bits(EvFormatMode::kSrv6), 256u);
}

TEST(EvFormat, StatesGoOneByOne) {
  EvFormatProfile format;
  EXPECT_EQ(format.set_state(ProfileState::kOffline), EvResult::kInvalid) << "needs the mode";
  EXPECT_EQ(format.set_mode(EvFormatMode::kStev), EvResult::kOk);
  EXPECT_EQ(format.set_state(ProfileState::kOnline), EvResult::kInvalid) << "not in one step";
  EXPECT_EQ(format.set_state(ProfileState::kOffline), EvResult::kOk);
  EXPECT_EQ(format.set_state(ProfileState::kOnline), EvResult::kInvalid) << "needs the fields";
  const std::vector<uint8_t> widths{8, 4, 4};
  EXPECT_EQ(format.set_fields(widths), EvResult::kOk);
  EXPECT_EQ(format.set_state(ProfileState::kOnline), EvResult::kOk);
  EXPECT_EQ(format.set_fields(widths), EvResult::kInvalid) << "online";
  EXPECT_EQ(format.set_state(ProfileState::kInit), EvResult::kInvalid);
  EXPECT_EQ(format.set_state(ProfileState::kOffline), EvResult::kOk);
  EXPECT_EQ(format.set_state(ProfileState::kInit), EvResult::kOk);
}

TEST(EvFormat, FieldsMustFit) {
  EvFormatProfile format;
  format.set_mode(EvFormatMode::kUdp);
  format.set_state(ProfileState::kOffline);
  const std::vector<uint8_t> wide{8, 9};
  EXPECT_EQ(format.set_fields(wide), EvResult::kInvalid);
  const std::vector<uint8_t> none{8, 0};
  EXPECT_EQ(format.set_fields(none), EvResult::kInvalid);
  const std::vector<uint8_t> many(kEvFieldsMax + 1, 1);
  EXPECT_EQ(format.set_fields(many), EvResult::kTooBig);
  const std::vector<uint8_t> exact{8, 8};
  EXPECT_EQ(format.set_fields(exact), EvResult::kOk);
}

TEST(EvFormat, BusyWhileUsed) {
  EvFormatProfile format = online_format(EvFormatMode::kStev, {16, 16});
  format.add_user();
  EXPECT_EQ(format.set_state(ProfileState::kOffline), EvResult::kBusy);
  format.remove_user();
  EXPECT_EQ(format.set_state(ProfileState::kOffline), EvResult::kOk);
}

// ----------------------------------------------------------------------------------------------- expansion

TEST(EvExpansion, MaskBitsTakeTheChoiceMostSignificantFirst) {
  const std::vector<EvField> fields{{.width = 8, .init_val = 0xA5, .min_val = 0, .max_val = 7, .mask = 0x91}};
  // Bits 7, 4 and 0 are chosen; the others are 0xA5's: x010010x with x at 7 and 4 and 0.
  const std::vector<uint32_t> six{6};  // 110
  EXPECT_EQ(expand_ev(fields, six)[0], 0xB4);
  const std::vector<uint32_t> one{1};  // 001
  EXPECT_EQ(expand_ev(fields, one)[0], 0x25);
}

TEST(EvExpansion, FieldsAreConcatenatedAndZeroFilled) {  // the 10/8/4 bits of a structured EV
  const std::vector<EvField> fields{
      {.width = 10, .init_val = 0, .min_val = 0, .max_val = 0x3FF, .mask = 0x3FF},
      {.width = 8, .init_val = 0x5A},
      {.width = 4, .init_val = 0, .min_val = 0, .max_val = 15, .mask = 0xF}};
  const std::vector<uint32_t> choices{0x3FF, 0, 0x9};
  EXPECT_EQ(first32(expand_ev(fields, choices)), 0x3FFu << 22 | 0x5Au << 14 | 0x9u << 10);
}

TEST(EvExpansion, InitialValueIsWidened) {
  const std::vector<EvField> fields{{.width = 48, .init_val = 0x12345678}, {.width = 16, .init_val = 0xBEEF}};
  const std::vector<uint32_t> choices{0, 0};
  const auto bytes = expand_ev(fields, choices);
  EXPECT_EQ(load_be<uint64_t>(bytes.data()), 0x0000'1234'5678'BEEFu);
}

TEST(EvExpansion, BuildsAUsidAddress) {
  const std::vector<EvField> fields{
      {.width = 32, .init_val = 0xFCBBBBBB},
      {.width = 16, .init_val = 0x2103},
      {.width = 16, .init_val = 0x1100, .min_val = 0, .max_val = 31, .mask = 0xFF},
      {.width = 16, .init_val = 0x2107},
      {.width = 16, .init_val = 0x9105}};
  const std::vector<uint32_t> choices{0, 0, 19, 0, 0};
  EvValue ev;
  ev.bytes = expand_ev(fields, choices);
  ev.port = 2;
  const EvEntry entry = to_entry(EvFormatMode::kSrv6, ev, 4);
  const std::array<uint16_t, 4> usids{0x2103, 0x1113, 0x2107, 0x9105};
  EXPECT_EQ(entry.outer_destination, make_usid_address(0xFCBBBBBB, usids));
  EXPECT_TRUE(entry.has_outer);
  EXPECT_FALSE(entry.has_segment);
  EXPECT_EQ(entry.plane, 1);
  EXPECT_EQ(entry.entropy, make_entropy(1, 4));
}

TEST(EvExpansion, Limits) {
  EvFormatProfile format = online_format(EvFormatMode::kStev, {8, 8});
  auto check = [&](std::vector<EvField> fields) { return check_fields(format, fields); };
  const EvField ok{.width = 8, .init_val = 3, .min_val = 0, .max_val = 15, .mask = 0xF0};
  EXPECT_EQ(check({ok, ok}), EvResult::kOk);
  EXPECT_EQ(check({ok}), EvResult::kOk);
  EXPECT_EQ(check({{.width = 8, .init_val = 3}}), EvResult::kOk) << "a fixed field";
  EXPECT_EQ(check({}), EvResult::kInvalid);
  EXPECT_EQ(check({ok, ok, ok}), EvResult::kInvalid) << "more fields than the format";
  EvField bad = ok;
  bad.width = 9;
  EXPECT_EQ(check({ok, bad}), EvResult::kInvalid) << "more bits than the format";
  bad = ok;
  bad.init_val = 256;
  EXPECT_EQ(check({bad}), EvResult::kInvalid);
  bad = ok;
  bad.mask = 0x1F0;
  EXPECT_EQ(check({bad}), EvResult::kInvalid);
  bad = ok;
  bad.max_val = 16;
  EXPECT_EQ(check({bad}), EvResult::kInvalid) << "four mask bits count to 15";
  bad = ok;
  bad.min_val = 9;
  bad.max_val = 8;
  EXPECT_EQ(check({bad}), EvResult::kInvalid);
  EXPECT_EQ(check({{.width = 8, .max_val = 1}}), EvResult::kInvalid) << "fixed, yet with a range";
}

TEST(EvExpansion, CountsChoices) {
  const std::vector<EvField> fields{{.width = 8, .min_val = 2, .max_val = 5, .mask = 0xFF},
                                    {.width = 8},
                                    {.width = 8, .min_val = 0, .max_val = 9, .mask = 0xFF}};
  EXPECT_EQ(count_choices(fields), 40u);
  const std::vector<EvField> huge(8, {.width = 32, .max_val = UINT32_MAX, .mask = UINT32_MAX});
  EXPECT_EQ(count_choices(huge), uint64_t{1} << 63);
}

// ------------------------------------------------------------------------------------------------ profiles

TEST(EvProfile, AutoHasEqualSharesOfDistinctEvs) {
  EvFormatProfile format = online_format(EvFormatMode::kUdp, {16});
  EvProfile profile;
  EXPECT_EQ(profile.set_mode(EvMode::kAuto), EvResult::kOk);
  EXPECT_EQ(profile.set_format(&format), EvResult::kOk);
  EXPECT_EQ(profile.set_count(128), EvResult::kOk);
  EXPECT_EQ(profile.set_state(ProfileState::kOffline, kFourPorts, 3), EvResult::kOk);
  EXPECT_EQ(profile.set_min_active(32), EvResult::kOk);
  EXPECT_EQ(profile.set_event_mask(kPathEventGood | kPathEventAssumedBad), EvResult::kOk);
  EXPECT_EQ(profile.set_state(ProfileState::kOnline, kFourPorts, 3), EvResult::kOk);
  const std::vector<EvEntry> entries = profile.entries();
  std::map<Plane, int> planes;
  std::set<uint32_t> values;
  for (const EvEntry& entry : entries) {
    ++planes[entry.plane];
    values.insert(static_cast<uint32_t>(entry.entropy));
    EXPECT_EQ(split_entropy(entry.entropy).flow_label, 0);
    EXPECT_GE(split_entropy(entry.entropy).source_port, 0xC000);
  }
  EXPECT_EQ(values.size(), 128u);
  ASSERT_EQ(planes.size(), 4u);
  for (const auto& [plane, count] : planes) EXPECT_EQ(count, 32);
}

EvProfile generated(EvFormatProfile* format, std::vector<EvField> fields, uint32_t count, EvResult* result) {
  EvProfile profile;
  profile.set_mode(EvMode::kGenerated);
  profile.set_format(format);
  profile.set_count(count);
  EXPECT_EQ(profile.set_fields(fields), EvResult::kOk);
  *result = profile.set_state(ProfileState::kOffline, kFourPorts, 77);
  profile.set_min_active(1);
  profile.set_event_mask(0);
  if (*result == EvResult::kOk) *result = profile.set_state(ProfileState::kOnline, kFourPorts, 77);
  return profile;
}

TEST(EvProfile, GeneratedEvsStayInTheirRangesAndDiffer) {
  EvFormatProfile format = online_format(EvFormatMode::kStev, {8, 4, 4});
  EvResult result;
  const EvProfile profile =
      generated(&format,
                {{.width = 8, .init_val = 0x80, .min_val = 3, .max_val = 20, .mask = 0x1F},
                 {.width = 4, .init_val = 5},
                 {.width = 4, .min_val = 0, .max_val = 9, .mask = 0xF}},
                256, &result);
  ASSERT_EQ(result, EvResult::kOk);
  ASSERT_EQ(profile.count(), 256u);
  std::map<uint8_t, std::set<uint32_t>> by_port;
  std::set<uint32_t> first_field;
  for (const EvValue& ev : profile.values()) {
    const uint32_t value = first32(ev.bytes);
    EXPECT_TRUE(by_port[ev.port].insert(value).second);
    EXPECT_EQ(value >> 29, 0x80u >> 5);
    EXPECT_GE(value >> 24 & 0x1F, 3u);
    EXPECT_LE(value >> 24 & 0x1F, 20u);
    EXPECT_EQ(value >> 20 & 0xF, 5u);
    EXPECT_LE(value >> 16 & 0xF, 9u);
    EXPECT_EQ(value & 0xFFFF, 0u) << "zero-filled";
    first_field.insert(value >> 24);
  }
  EXPECT_EQ(by_port.size(), 4u);
  EXPECT_EQ(first_field.size(), 18u) << "64 of 180 reach every first hop";
}

TEST(EvProfile, StructuredEvsHaveTheSourcePortFirst) {  // MRC 1.7 [P]
  EvValue ev;
  ev.port = 1;
  store_be<uint32_t>(ev.bytes.data(), 0x12345678);
  const EvEntry entry = to_entry(EvFormatMode::kStev, ev, 0);
  EXPECT_EQ(split_entropy(entry.entropy).source_port, 0x1234);
  EXPECT_EQ(split_entropy(entry.entropy).flow_label, 0x5678);
  EXPECT_FALSE(entry.has_outer);
}

TEST(EvProfile, MoreThanTheFieldsAllowIsTooBig) {
  EvFormatProfile format = online_format(EvFormatMode::kStev, {8});
  EvResult result;
  generated(&format, {{.width = 8, .min_val = 0, .max_val = 15, .mask = 0xF}}, 128, &result);
  EXPECT_EQ(result, EvResult::kTooBig);
  generated(&format, {{.width = 8, .min_val = 0, .max_val = 15, .mask = 0xF}}, 64, &result);
  EXPECT_EQ(result, EvResult::kOk);
  generated(&format, {{.width = 8, .min_val = 0, .max_val = 15, .mask = 0xF}}, 63, &result);
  EXPECT_EQ(result, EvResult::kInvalid) << "no equal shares";
}

EvValue srv6_ev(uint8_t port, uint8_t last) {
  EvValue ev;
  ev.port = port;
  ev.bytes[0] = 0xFC;
  ev.bytes[15] = last;
  return ev;
}

EvProfile explicit_offline(EvFormatProfile* format, uint32_t count) {
  EvProfile profile;
  profile.set_mode(EvMode::kExplicit);
  profile.set_format(format);
  profile.set_count(count);
  EXPECT_EQ(profile.set_state(ProfileState::kOffline, kFourPorts, 1), EvResult::kOk);
  profile.set_min_active(1);
  profile.set_event_mask(kPathEventAssumedBad);
  return profile;
}

TEST(EvProfile, ExplicitNeedsEveryEntry) {
  EvFormatProfile format = online_format(EvFormatMode::kSrv6, {128});
  EvProfile profile = explicit_offline(&format, 2);
  EXPECT_EQ(profile.replace(EvValue{}, srv6_ev(1, 1)), EvResult::kOk);
  EXPECT_EQ(profile.set_state(ProfileState::kOnline, kFourPorts, 1), EvResult::kInvalid);
  EXPECT_EQ(profile.replace(EvValue{}, srv6_ev(2, 2)), EvResult::kOk);
  EXPECT_EQ(profile.replace(EvValue{}, srv6_ev(2, 3)), EvResult::kNotFound) << "no free entry is left";
  EXPECT_EQ(profile.set_state(ProfileState::kOnline, kFourPorts, 1), EvResult::kOk);
  EXPECT_EQ(profile.replace(srv6_ev(1, 1), srv6_ev(3, 9)), EvResult::kOk) << "online too";
  const std::vector<EvEntry> entries = profile.entries();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].plane, 2);
  EXPECT_EQ(entries[0].outer_destination.bytes[15], 9);
}

TEST(EvProfile, ExplicitEntriesAreChecked) {
  EvFormatProfile format = online_format(EvFormatMode::kUdp, {16});
  EvProfile profile = explicit_offline(&format, 2);
  EvValue ev;
  EXPECT_EQ(profile.replace(EvValue{}, ev), EvResult::kInvalid) << "ports count from 1";
  ev.port = 1;
  ev.bytes[2] = 1;
  EXPECT_EQ(profile.replace(EvValue{}, ev), EvResult::kInvalid) << "beyond 16 bits";
  ev.bytes[2] = 0;
  EXPECT_EQ(profile.replace(EvValue{}, ev), EvResult::kOk);
  ev.port = 5;
  EXPECT_EQ(profile.replace(EvValue{}, ev), EvResult::kOk);
  EXPECT_EQ(profile.set_state(ProfileState::kOnline, kFourPorts, 1), EvResult::kInvalid) << "no port 5";
}

TEST(EvProfile, AnSrv6PortHasAtMost1024Evs) {  // as many as the echoed entropy can tell apart
  EvFormatProfile format = online_format(EvFormatMode::kSrv6, {128});
  EvProfile profile = explicit_offline(&format, 1025);
  for (uint32_t i = 0; i < 1025; ++i) profile.replace(EvValue{}, srv6_ev(1, static_cast<uint8_t>(i)));
  EXPECT_EQ(profile.set_state(ProfileState::kOnline, kFourPorts, 1), EvResult::kTooBig);
}

TEST(EvProfile, DenyingOneCopyOrAll) {
  EvFormatProfile format = online_format(EvFormatMode::kSrv6, {128});
  EvProfile profile = explicit_offline(&format, 3);
  for (int i = 0; i < 2; ++i) profile.replace(EvValue{}, srv6_ev(1, 1));
  profile.replace(EvValue{}, srv6_ev(1, 2));
  ASSERT_EQ(profile.set_state(ProfileState::kOnline, kFourPorts, 1), EvResult::kOk);
  EXPECT_EQ(profile.set_ev_state(srv6_ev(1, 1), PathState::kDenied, false), EvResult::kOk);
  EXPECT_EQ(profile.state_of(0), PathState::kDenied);
  EXPECT_EQ(profile.state_of(1), PathState::kGood);
  EXPECT_EQ(profile.set_ev_state(srv6_ev(1, 1), PathState::kDenied, true), EvResult::kOk);
  EXPECT_EQ(profile.state_of(1), PathState::kDenied);
  EXPECT_TRUE(profile.entries()[1].denied);
  EXPECT_FALSE(profile.entries()[2].denied);
  EXPECT_EQ(profile.set_ev_state(srv6_ev(2, 1), PathState::kDenied, true), EvResult::kNotFound);
  EXPECT_EQ(profile.set_ev_state(srv6_ev(1, 1), PathState::kSkip, true), EvResult::kInvalid);
}

TEST(EvProfile, StatesAndWhatTheyNeed) {
  EvFormatProfile format;
  EvProfile profile;
  EXPECT_EQ(profile.set_state(ProfileState::kOffline, kFourPorts, 1), EvResult::kInvalid);
  profile.set_mode(EvMode::kAuto);
  EXPECT_EQ(profile.set_format(&format), EvResult::kInvalid) << "the format is not online";
  format = online_format(EvFormatMode::kStev, {32});
  EXPECT_EQ(profile.set_format(&format), EvResult::kOk);
  EXPECT_EQ(profile.set_state(ProfileState::kOffline, kFourPorts, 1), EvResult::kInvalid) << "no count";
  EXPECT_EQ(profile.set_count(0), EvResult::kInvalid);
  EXPECT_EQ(profile.set_count(kEvCountMax + 1), EvResult::kTooBig);
  EXPECT_EQ(profile.set_count(8), EvResult::kOk);
  EXPECT_EQ(profile.set_min_active(9), EvResult::kInvalid) << "more than there are";
  EXPECT_EQ(profile.set_state(ProfileState::kOnline, kFourPorts, 1), EvResult::kInvalid);
  EXPECT_EQ(profile.set_state(ProfileState::kOffline, kFourPorts, 1), EvResult::kOk);
  EXPECT_EQ(profile.set_count(8), EvResult::kInvalid) << "only in INIT";
  EXPECT_EQ(profile.set_state(ProfileState::kOnline, kFourPorts, 1), EvResult::kInvalid);
  EXPECT_EQ(profile.set_min_active(9), EvResult::kInvalid) << "more than there are";
  EXPECT_EQ(profile.set_min_active(2), EvResult::kOk);
  EXPECT_EQ(profile.set_event_mask(1 << 2), EvResult::kInvalid) << "DENIED makes no events";
  EXPECT_EQ(profile.set_event_mask(kPathEventGood), EvResult::kOk);
  EXPECT_EQ(profile.set_state(ProfileState::kOnline, kFourPorts, 1), EvResult::kOk);
  EXPECT_EQ(format.set_state(ProfileState::kOffline), EvResult::kBusy) << "the format is in use";
  profile.add_user();
  EXPECT_EQ(profile.set_state(ProfileState::kOffline, kFourPorts, 1), EvResult::kBusy) << "a QP uses it";
  profile.remove_user();
  EXPECT_EQ(profile.set_state(ProfileState::kOffline, kFourPorts, 1), EvResult::kOk);
  EXPECT_EQ(format.set_state(ProfileState::kOffline), EvResult::kOk);
  EXPECT_EQ(profile.set_state(ProfileState::kInit, kFourPorts, 1), EvResult::kOk);
  EXPECT_EQ(profile.count(), 0u);
}

TEST(EvProfile, AutoWithSrv6LeavesThePathsToTheTemplate) {
  EvFormatProfile format = online_format(EvFormatMode::kSrv6, {128});
  EvProfile profile;
  profile.set_mode(EvMode::kAuto);
  profile.set_format(&format);
  profile.set_count(128);
  EXPECT_EQ(profile.set_state(ProfileState::kOffline, kFourPorts, 1), EvResult::kOk);
  profile.set_min_active(32);
  profile.set_event_mask(0);
  EXPECT_EQ(profile.set_state(ProfileState::kOnline, kFourPorts, 1), EvResult::kOk);
  EXPECT_TRUE(profile.entries().empty());
}

TEST(EvProfile, AProfileMakesAPathSet) {
  EvFormatProfile format = online_format(EvFormatMode::kStev, {16, 16});
  EvResult result;
  const EvProfile profile = generated(
      &format,
      {{.width = 16, .max_val = 0xFFFF, .mask = 0xFFFF}, {.width = 16, .max_val = 0xFFFF, .mask = 0xFFFF}},
      256, &result);
  ASSERT_EQ(result, EvResult::kOk);
  PathSetConfig config;
  config.planes = 4;
  config.paths_per_plane = 48;
  config.min_active = profile.min_active();
  config.event_mask = profile.event_mask();
  SprayedPaths set;
  set.reset(config, profile.entries(), 1);
  EXPECT_EQ(set.size(), 256u);
  EXPECT_EQ(set.active(), 4u * 48);
  const Path& path = set.at(set.select(~PlaneMask{0}));
  EXPECT_EQ(to_entry(EvFormatMode::kStev, profile.values()[path.profile_index], 0).entropy, path.entropy);
}

}  // namespace
}  // namespace mrc
