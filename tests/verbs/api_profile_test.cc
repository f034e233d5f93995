// SPDX-License-Identifier: BSD-2-Clause
// OCP's mrc_ctl.h: EV formats, EV profiles and CC profiles with their states and errors.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>
#include <vector>

#include "tests/verbs/api_controller.h"
#include "tests/verbs/api_fixture.h"

namespace api_test {
namespace {

class ProfileTest : public ApiTest {
 protected:
  void TearDown() override {
    for (mrc_qp* qp : made) EXPECT_EQ(mrc_destroy_qp(qp), 0);
    made.clear();
    for (uint64_t id = 0; id < 20; ++id) remove_profile(context, id);
    for (uint64_t id = 0; id < 20; ++id) {
      remove_format(context, id);
      EXPECT_EQ(format_state(id), MRC_CTL_PROFILE_INIT);
      set_congestion_state(id, MRC_CTL_PROFILE_OFFLINE);
      set_congestion_state(id, MRC_CTL_PROFILE_INIT);
    }
    ApiTest::TearDown();
  }
  int set_congestion_state(uint64_t id, mrc_ctl_profile_state state) {
    mrc_ctl_cc_profile_attr attributes{};
    attributes.profile_state = state;
    return mrc_ctl_modify_cc_profile(context, id, &attributes, MRC_CTL_CC_PROFILE_STATE);
  }
  mrc_ctl_profile_state format_state(uint64_t id) {
    mrc_ctl_ev_fmt_profile_attr attributes{};
    EXPECT_EQ(mrc_ctl_query_ev_fmt_profile(context, id, &attributes, MRC_CTL_EV_FMT_PROFILE_STATE), 0);
    return attributes.profile_state;
  }
};

using Links = std::vector<std::pair<int, int>>;

TEST_F(ProfileTest, LinksAreDeniedAndAllowedForAll) {
  const auto change = [&](mrcdv_links_op op, const std::vector<mrcdv_link>& links) {
    return mrcdv_modify_denied_links(verbs, op, links.data(), static_cast<int>(links.size()));
  };
  // As another program sees it.
  const auto denied = [] {
    ibv_context* other = open_mrc0();
    std::array<mrcdv_link, 8> links{};
    const int count = mrcdv_query_denied_links(other, links.data(), static_cast<int>(links.size()));
    Links found;
    for (int i = 0; i < count; ++i)
      found.emplace_back(links[static_cast<size_t>(i)].usid, links[static_cast<size_t>(i)].other);
    ibv_close_device(other);
    return found;
  };
  EXPECT_EQ(denied(), Links{});
  EXPECT_EQ(change(MRCDV_LINKS_ADD, {{0x2000, 0x1002}, {0x1003, 0}}), 0);
  EXPECT_EQ(change(MRCDV_LINKS_ADD, {{0x1002, 0x2000}}), 0) << "it is the same link";
  EXPECT_EQ(denied(), (Links{{0x1003, 0}, {0x1002, 0x2000}}));
  EXPECT_EQ(change(MRCDV_LINKS_REMOVE, {{0x1003, 0}, {0x1004, 0}}), 0);
  EXPECT_EQ(denied(), (Links{{0x1002, 0x2000}}));
  EXPECT_EQ(change(MRCDV_LINKS_REPLACE, {{0x2001, 0}}), 0);
  EXPECT_EQ(denied(), (Links{{0x2001, 0}}));
  EXPECT_EQ(change(MRCDV_LINKS_ADD, {{0, 0x2000}}), EINVAL);
  EXPECT_EQ(mrcdv_modify_denied_links(nullptr, MRCDV_LINKS_REPLACE, nullptr, 0), EINVAL);
  EXPECT_EQ(mrcdv_modify_denied_links(verbs, MRCDV_LINKS_ADD, nullptr, 1), EINVAL);
  std::vector<mrcdv_link> many;
  for (uint16_t i = 1; i <= 1024; ++i) many.push_back({i, 0x3000});
  EXPECT_EQ(change(MRCDV_LINKS_ADD, many), ENOMEM) << "with the one that is there";
  EXPECT_EQ(denied(), (Links{{0x2001, 0}})) << "all or nothing";
  EXPECT_EQ(change(MRCDV_LINKS_REPLACE, many), 0);
  EXPECT_EQ(mrcdv_query_denied_links(verbs, nullptr, 0), 1024);
  EXPECT_EQ(mrcdv_query_denied_links(verbs, nullptr, 1), -EINVAL);
  EXPECT_EQ(change(MRCDV_LINKS_REPLACE, {}), 0);
  EXPECT_EQ(denied(), Links{});
}

TEST_F(ProfileTest, ProfilesAreListed) {
  const auto listed = [&](mrcdv_profile_kind kind) {
    std::array<uint64_t, 4> ids{};
    const int count = mrcdv_query_profiles(verbs, kind, ids.data(), static_cast<int>(ids.size()));
    return std::vector<uint64_t>(ids.begin(), ids.begin() + std::clamp(count, 0, 4));
  };
  EXPECT_TRUE(listed(MRCDV_PROFILE_EV).empty());
  ASSERT_EQ(make_format(context, 3, MRC_CTL_EV_FMT_MODE_UDP), 0);
  ASSERT_EQ(make_explicit(context, 7, 3, {ev_of(50000, 1)}, 1), 0);
  EXPECT_EQ(listed(MRCDV_PROFILE_EV_FMT), std::vector<uint64_t>{3});
  EXPECT_EQ(listed(MRCDV_PROFILE_EV), std::vector<uint64_t>{7});
  EXPECT_TRUE(listed(MRCDV_PROFILE_CC).empty());
  EXPECT_EQ(mrcdv_query_profiles(verbs, MRCDV_PROFILE_EV, nullptr, 0), 1) << "how many there are";
  EXPECT_EQ(mrcdv_query_profiles(verbs, MRCDV_PROFILE_EV, nullptr, 1), -EINVAL);
}

TEST_F(ProfileTest, DeviceTellsAController) {
  mrc_ctl_device_attr attributes{};
  int supported = 0;
  ASSERT_EQ(mrc_ctl_query_device_ex(verbs, context, &attributes, &supported), 0);
  EXPECT_EQ(supported, 1);
  ASSERT_EQ(mrc_ctl_query_device(verbs, &attributes), 0);
  EXPECT_GE(attributes.ev.ev_max_profiles, 8u);
  EXPECT_EQ(attributes.ev.ev_free_count, attributes.ev.ev_max_count);
  EXPECT_EQ(attributes.ev.ev_max_width, 256u);
  EXPECT_EQ(attributes.ev.ev_fmt_mode_mask, 7u);
  EXPECT_EQ(attributes.ev.ev_mode_mask, 7u);
  EXPECT_STREQ(attributes.cc.algorithms[0], "uet-1.0-nscc");
  EXPECT_EQ(attributes.cc.algorithms[1], nullptr);
  EXPECT_EQ(attributes.phy_port_mask & 1, 0u) << "ports count from 1";
  EXPECT_EQ(attributes.opt_attr & MRC_CTL_OPT_CAP_CC_PROFILE_MODIFY_ONLINE, 0u);
  EXPECT_EQ(attributes.opt_attr & MRC_CTL_OPT_CAP_EV_EXPLICIT_RANGE, 0u);
  ASSERT_EQ(make_format(context, 1, MRC_CTL_EV_FMT_MODE_UDP), 0);
  ASSERT_EQ(make_explicit(context, 1, 1, {ev_of(50000, 1), ev_of(50001, 1)}, 1), 0);
  mrc_ctl_device_attr after{};
  ASSERT_EQ(mrc_ctl_query_device(verbs, &after), 0);
  EXPECT_EQ(after.ev.ev_free_count, attributes.ev.ev_free_count - 2);
  EXPECT_REFUSED(mrc_ctl_query_device(nullptr, &after), EINVAL);
  uint32_t current = 0;
  mrc_ctl_query_version(&current, nullptr, nullptr, nullptr);
  EXPECT_EQ(current, MRC_CTL_API_CURRENT_VERSION);
  std::vector<uint64_t> stranger(sizeof(ibv_device) / 8 + 64, 0);
  ibv_context other{};
  other.device = reinterpret_cast<ibv_device*>(stranger.data());
  EXPECT_REFUSED(mrc_ctl_query_device(&other, &after), ENOTSUP);
  EXPECT_EQ(mrc_ctl_query_device_ex(&other, nullptr, &after, &supported), 0);
  EXPECT_EQ(supported, 0);
}

TEST_F(ProfileTest, FormatsGoOneByOne) {
  EXPECT_EQ(format_state(3), MRC_CTL_PROFILE_INIT);
  EXPECT_REFUSED(set_format_state(context, 3, MRC_CTL_PROFILE_OFFLINE), EINVAL);
  EXPECT_REFUSED(set_format_state(context, 3, MRC_CTL_PROFILE_ONLINE), EINVAL);
  mrc_ctl_ev_fmt_profile_attr attributes{};
  attributes.ev_fmt_mode = static_cast<mrc_ctl_ev_fmt_mode>(8);
  EXPECT_REFUSED(mrc_ctl_modify_ev_fmt_profile(context, 3, &attributes, MRC_CTL_EV_FMT_PROFILE_MODE), EINVAL);
  attributes.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_STEV;
  attributes.vendor_cfg[5] = 55;
  ASSERT_EQ(mrc_ctl_modify_ev_fmt_profile(context, 3, &attributes,
                                          MRC_CTL_EV_FMT_PROFILE_MODE | MRC_CTL_EV_FMT_VENDOR_CFG),
            0);
  ASSERT_EQ(set_format_state(context, 3, MRC_CTL_PROFILE_OFFLINE), 0);
  EXPECT_REFUSED(set_format_state(context, 3, MRC_CTL_PROFILE_ONLINE), EINVAL);  // it has no fields
  std::array<mrc_ctl_ev_fmt_field, 3> fields{{{8}, {4}, {4}}};
  attributes.ev_fmt_op = {MRC_CTL_EV_FMT_OP_MODIFY_FIELDS, fields.data(), 3};
  attributes.cur_profile_state = MRC_CTL_PROFILE_INIT;
  EXPECT_REFUSED(mrc_ctl_modify_ev_fmt_profile(context, 3, &attributes,
                                               MRC_CTL_EV_FMT_PROFILE_OP | MRC_CTL_EV_FMT_PROFILE_CUR_STATE),
                 EINVAL);
  attributes.cur_profile_state = MRC_CTL_PROFILE_OFFLINE;
  attributes.profile_state = MRC_CTL_PROFILE_ONLINE;
  ASSERT_EQ(mrc_ctl_modify_ev_fmt_profile(
                context, 3, &attributes,
                MRC_CTL_EV_FMT_PROFILE_OP | MRC_CTL_EV_FMT_PROFILE_CUR_STATE | MRC_CTL_EV_FMT_PROFILE_STATE),
            0);
  EXPECT_EQ(format_state(3), MRC_CTL_PROFILE_ONLINE);
  mrc_ctl_ev_fmt_profile_attr got{};
  got.ev_fmt_op = {MRC_CTL_EV_FMT_OP_QUERY_FIELDS, fields.data(), 2};
  EXPECT_REFUSED(mrc_ctl_query_ev_fmt_profile(context, 3, &got, MRC_CTL_EV_FMT_PROFILE_OP), E2BIG);
  EXPECT_EQ(got.ev_fmt_op.fmt_field_count, 3);
  fields = {};
  ASSERT_EQ(mrc_ctl_query_ev_fmt_profile(
                context, 3, &got,
                MRC_CTL_EV_FMT_PROFILE_OP | MRC_CTL_EV_FMT_PROFILE_MODE | MRC_CTL_EV_FMT_VENDOR_CFG),
            0);
  EXPECT_EQ(fields[0].width, 8);
  EXPECT_EQ(fields[2].width, 4);
  EXPECT_EQ(got.ev_fmt_mode, MRC_CTL_EV_FMT_MODE_STEV);
  EXPECT_EQ(got.vendor_cfg[5], 55);
  EXPECT_REFUSED(mrc_ctl_modify_ev_fmt_profile(context, 3, &attributes, MRC_CTL_EV_FMT_PROFILE_OP), EINVAL);
  EXPECT_REFUSED(set_format_state(context, 3, MRC_CTL_PROFILE_INIT), EINVAL);
  EXPECT_REFUSED(mrc_ctl_modify_ev_fmt_profile(context, 3, &attributes, 1 << 9), EINVAL);
  EXPECT_REFUSED(mrc_ctl_modify_ev_fmt_profile(context, 3, nullptr, 1), EINVAL);
  EXPECT_REFUSED(mrc_ctl_modify_ev_fmt_profile(nullptr, 3, &attributes, 1), EINVAL);
}

TEST_F(ProfileTest, ExplicitProfiles) {
  ASSERT_EQ(make_format(context, 1, MRC_CTL_EV_FMT_MODE_UDP), 0);
  EXPECT_REFUSED(set_profile_state(context, 7, MRC_CTL_PROFILE_OFFLINE), EINVAL);
  mrc_ctl_ev_profile_attr attributes{};
  attributes.ev_mode = MRC_CTL_EV_MODE_EXP;
  attributes.ev_fmt_profile_id = 99;
  constexpr int kStart = MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_FMT_ID | MRC_CTL_EV_PROFILE_COUNT |
                         MRC_CTL_EV_PROFILE_STATE;
  attributes.ev_count = 4;
  attributes.profile_state = MRC_CTL_PROFILE_OFFLINE;
  EXPECT_REFUSED(mrc_ctl_modify_ev_profile(context, 7, &attributes, kStart), EINVAL);  // no such format
  attributes.ev_fmt_profile_id = 1;
  attributes.ev_count = 100000;
  EXPECT_REFUSED(mrc_ctl_modify_ev_profile(context, 7, &attributes, kStart), E2BIG);
  attributes.ev_count = 4;
  ASSERT_EQ(mrc_ctl_modify_ev_profile(context, 7, &attributes, kStart), 0);
  EXPECT_REFUSED(set_format_state(context, 1, MRC_CTL_PROFILE_INIT), EINVAL);

  // Entries stop at the first that fails; those before it are there.
  std::array<mrc_ctl_ev_op_entry, 4> entries{};
  for (uint16_t i = 0; i < 4; ++i) entries[i].ev_new = ev_of(static_cast<uint16_t>(50000 + i), 1 + i % 2);
  entries[2].ev_new.port = 0;
  attributes.ev_op = {MRC_CTL_EV_OP_REPLACE_EV, entries.data(), 4};
  EXPECT_REFUSED(mrc_ctl_modify_ev_profile(context, 7, &attributes, MRC_CTL_EV_PROFILE_EV_OP), EINVAL);
  EXPECT_EQ(attributes.ev_op.entry_count, 2);
  entries[2].ev_new.port = 1;
  attributes.ev_op = {MRC_CTL_EV_OP_REPLACE_EV, entries.data() + 2, 2};
  attributes.ev_min_active = 5;
  EXPECT_REFUSED(mrc_ctl_modify_ev_profile(context, 7, &attributes, MRC_CTL_EV_PROFILE_MIN_ACTIVE), EINVAL);
  attributes.ev_min_active = 2;
  attributes.ev_event_mask = MRC_CTL_EV_DENIED;
  EXPECT_REFUSED(mrc_ctl_modify_ev_profile(context, 7, &attributes, MRC_CTL_EV_PROFILE_EVENT_MASK), EINVAL);
  attributes.ev_event_mask = MRC_CTL_EV_ASSUMED_BAD;
  attributes.profile_state = MRC_CTL_PROFILE_ONLINE;
  EXPECT_REFUSED(mrc_ctl_modify_ev_profile(context, 7, &attributes,
                                           MRC_CTL_EV_PROFILE_MIN_ACTIVE | MRC_CTL_EV_PROFILE_EVENT_MASK |
                                               MRC_CTL_EV_PROFILE_STATE),
                 EINVAL);  // two entries are free
  ASSERT_EQ(mrc_ctl_modify_ev_profile(context, 7, &attributes,
                                      MRC_CTL_EV_PROFILE_EV_OP | MRC_CTL_EV_PROFILE_MIN_ACTIVE |
                                          MRC_CTL_EV_PROFILE_EVENT_MASK | MRC_CTL_EV_PROFILE_STATE),
            0);
  EXPECT_REFUSED(set_format_state(context, 1, MRC_CTL_PROFILE_OFFLINE), EBUSY);

  std::array<mrc_ctl_ev_op_entry, 4> got{};
  mrc_ctl_ev_profile_attr asked{};
  asked.ev_op = {MRC_CTL_EV_OP_QUERY_EV_ARRAY, got.data(), 3};
  EXPECT_REFUSED(mrc_ctl_query_ev_profile(context, 7, &asked, MRC_CTL_EV_PROFILE_EV_OP), E2BIG);
  EXPECT_EQ(asked.ev_op.entry_count, 4);
  ASSERT_EQ(mrc_ctl_query_ev_profile(context, 7, &asked,
                                     MRC_CTL_EV_PROFILE_EV_OP | MRC_CTL_EV_PROFILE_COUNT |
                                         MRC_CTL_EV_PROFILE_MIN_ACTIVE | MRC_CTL_EV_PROFILE_EVENT_MASK |
                                         MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_FMT_ID |
                                         MRC_CTL_EV_PROFILE_CUR_STATE),
            0);
  EXPECT_EQ(asked.ev_count, 4u);
  EXPECT_EQ(asked.ev_min_active, 2u);
  EXPECT_EQ(asked.ev_event_mask, MRC_CTL_EV_ASSUMED_BAD);
  EXPECT_EQ(asked.ev_mode, MRC_CTL_EV_MODE_EXP);
  EXPECT_EQ(asked.ev_fmt_profile_id, 1u);
  EXPECT_EQ(asked.cur_profile_state, MRC_CTL_PROFILE_ONLINE);
  EXPECT_EQ(std::memcmp(got[3].ev.val, entries[3].ev_new.val, 32), 0);
  EXPECT_EQ(got[3].state, MRC_CTL_EV_GOOD);

  // By value and port; never fewer than ev_min_active.
  EXPECT_REFUSED(set_ev_state(context, 7, ev_of(50000, 2), MRC_CTL_EV_DENIED), ENOENT);
  EXPECT_REFUSED(set_ev_state(context, 7, ev_of(50000, 1), MRC_CTL_EV_ASSUMED_BAD), EINVAL);
  EXPECT_REFUSED(set_ev_state(context, 7, ev_of(50000, 1), MRC_CTL_EV_DENIED, 2), EINVAL);
  EXPECT_EQ(set_ev_state(context, 7, ev_of(50000, 1), MRC_CTL_EV_DENIED), 0);
  EXPECT_EQ(state_of(context, 7, ev_of(50000, 1)), MRC_CTL_EV_DENIED);
  EXPECT_EQ(set_ev_state(context, 7, ev_of(50001, 2), MRC_CTL_EV_DENIED), 0);
  EXPECT_REFUSED(set_ev_state(context, 7, ev_of(50002, 1), MRC_CTL_EV_DENIED), EBUSY);
  EXPECT_EQ(set_ev_state(context, 7, ev_of(50000, 1), MRC_CTL_EV_GOOD), 0);
  EXPECT_EQ(state_of(context, 7, ev_of(50000, 1)), MRC_CTL_EV_GOOD);
  EXPECT_EQ(state_of(context, 7, ev_of(4, 1)), MRC_CTL_EV_UNKNOWN);

  // Back, and forgotten.
  EXPECT_EQ(set_profile_state(context, 7, MRC_CTL_PROFILE_OFFLINE), 0);
  EXPECT_REFUSED(set_profile_state(context, 7, static_cast<mrc_ctl_profile_state>(9)), EINVAL);
  EXPECT_EQ(set_profile_state(context, 7, MRC_CTL_PROFILE_INIT), 0);
  EXPECT_EQ(set_format_state(context, 1, MRC_CTL_PROFILE_OFFLINE), 0);
}

TEST_F(ProfileTest, GeneratedProfiles) {
  ASSERT_EQ(make_format(context, 2, MRC_CTL_EV_FMT_MODE_STEV, {{8}, {8}, {16}}), 0);
  mrc_ctl_ev_profile_attr attributes{};
  attributes.ev_mode = MRC_CTL_EV_MODE_GEN;
  attributes.ev_fmt_profile_id = 2;
  attributes.ev_count = 16;
  attributes.ev_min_active = 4;
  attributes.profile_state = MRC_CTL_PROFILE_OFFLINE;
  std::array<mrc_ctl_ev_field, 3> fields{{{8, 0xC0, 0, 0, 0}, {8, 0, 0, 15, 0x0F}, {16, 7, 0, 0, 0}}};
  attributes.ev_fields_op = {MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS, fields.data(), 3};
  // As the texts beside the header do it: fields and minimum in the first step.
  constexpr int kStart = MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_FMT_ID | MRC_CTL_EV_PROFILE_COUNT |
                         MRC_CTL_EV_PROFILE_MIN_ACTIVE | MRC_CTL_EV_PROFILE_EV_FIELDS_OP |
                         MRC_CTL_EV_PROFILE_STATE;
  EXPECT_REFUSED(mrc_ctl_modify_ev_profile(context, 4, &attributes, kStart | MRC_CTL_EV_PROFILE_EV_OP),
                 EINVAL);
  fields[1].max_val = 16;
  EXPECT_REFUSED(mrc_ctl_modify_ev_profile(context, 4, &attributes, kStart), EINVAL);
  fields[1].max_val = 15;
  ASSERT_EQ(mrc_ctl_modify_ev_profile(context, 4, &attributes, kStart), 0);
  attributes.profile_state = MRC_CTL_PROFILE_ONLINE;
  attributes.ev_event_mask = 0;
  ASSERT_EQ(mrc_ctl_modify_ev_profile(context, 4, &attributes,
                                      MRC_CTL_EV_PROFILE_EVENT_MASK | MRC_CTL_EV_PROFILE_STATE),
            0);
  std::array<mrc_ctl_ev_op_entry, 16> got{};
  mrc_ctl_ev_profile_attr asked{};
  asked.ev_op = {MRC_CTL_EV_OP_QUERY_EV_ARRAY, got.data(), 16};
  ASSERT_EQ(mrc_ctl_query_ev_profile(context, 4, &asked, MRC_CTL_EV_PROFILE_EV_OP), 0);
  std::array<int, 5> on_port{};
  for (const mrc_ctl_ev_op_entry& entry : got) {
    ++on_port[entry.ev.port];
    EXPECT_EQ(entry.ev.val[0], 0xC0);
    EXPECT_LE(entry.ev.val[1], 15);
    EXPECT_EQ(entry.ev.val[2], 0);
    EXPECT_EQ(entry.ev.val[3], 7);
  }
  for (int port = 1; port <= 4; ++port) EXPECT_EQ(on_port[static_cast<size_t>(port)], 4);
  std::array<mrc_ctl_ev_field, 3> told{};
  asked.ev_fields_op = {MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS, told.data(), 1};
  EXPECT_REFUSED(mrc_ctl_query_ev_profile(context, 4, &asked, MRC_CTL_EV_PROFILE_EV_FIELDS_OP), E2BIG);
  ASSERT_EQ(mrc_ctl_query_ev_profile(context, 4, &asked, MRC_CTL_EV_PROFILE_EV_FIELDS_OP), 0);
  EXPECT_EQ(told[1].max_val, 15u);
  // Online, too: MRC_CTL_OPT_CAP_EV_PROFILE_MODIFY_ONLINE.
  fields[2].init_val = 9;
  ASSERT_EQ(mrc_ctl_modify_ev_profile(context, 4, &attributes, MRC_CTL_EV_PROFILE_EV_FIELDS_OP), 0);
  ASSERT_EQ(mrc_ctl_query_ev_profile(context, 4, &asked, MRC_CTL_EV_PROFILE_EV_OP), 0);
  EXPECT_EQ(got[0].ev.val[3], 9);
  mrc_qp* one = make();
  mrc_qp* other = make();
  mrc_qp_attr more{};
  more.profile.ev_profile_id = 4;
  connect(one, other, &more, MRC_QP_EV_PROFILE_ID);
  ASSERT_EQ(post(one, 500000), 0);
  EXPECT_EQ(poll_one(sends).status, IBV_WC_SUCCESS);
}

TEST_F(ProfileTest, AutomaticProfiles) {
  ASSERT_EQ(make_format(context, 1, MRC_CTL_EV_FMT_MODE_UDP), 0);
  mrc_ctl_ev_profile_attr attributes{};
  attributes.ev_mode = MRC_CTL_EV_MODE_AUTO;
  attributes.ev_fmt_profile_id = 1;
  attributes.ev_count = 64;
  attributes.profile_state = MRC_CTL_PROFILE_OFFLINE;
  ASSERT_EQ(mrc_ctl_modify_ev_profile(context, 5, &attributes,
                                      MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_FMT_ID |
                                          MRC_CTL_EV_PROFILE_COUNT | MRC_CTL_EV_PROFILE_STATE),
            0);
  attributes.profile_state = MRC_CTL_PROFILE_ONLINE;
  attributes.ev_min_active = 8;
  ASSERT_EQ(mrc_ctl_modify_ev_profile(
                context, 5, &attributes,
                MRC_CTL_EV_PROFILE_MIN_ACTIVE | MRC_CTL_EV_PROFILE_EVENT_MASK | MRC_CTL_EV_PROFILE_STATE),
            0);
  mrc_qp* one = make();
  mrc_qp* other = make();
  mrc_qp_attr more{};
  more.profile.ev_profile_id = 5;
  connect(one, other, &more, MRC_QP_EV_PROFILE_ID);
  ASSERT_EQ(post(one, 500000), 0);
  EXPECT_EQ(poll_one(sends).status, IBV_WC_SUCCESS);
  EXPECT_EQ(mrcdv_query_paths(*reinterpret_cast<ibv_qp**>(one), nullptr, 0), 64);
  // Queue pairs hold it.
  EXPECT_REFUSED(set_profile_state(context, 5, MRC_CTL_PROFILE_OFFLINE), EBUSY);
  destroy(one);
  EXPECT_REFUSED(set_profile_state(context, 5, MRC_CTL_PROFILE_OFFLINE), EBUSY);
  destroy(other);
  EXPECT_EQ(set_profile_state(context, 5, MRC_CTL_PROFILE_OFFLINE), 0);
}

// Number 0 is what those use that name none.
TEST_F(ProfileTest, ProfileZeroIsForAll) {
  ASSERT_EQ(make_format(context, 1, MRC_CTL_EV_FMT_MODE_UDP), 0);
  ASSERT_EQ(
      make_explicit(context, 0, 1, {ev_of(50010, 1), ev_of(50011, 2), ev_of(50012, 1), ev_of(50013, 2)}, 1),
      0);
  mrc_qp* one = make();
  mrc_qp* other = make();
  connect(one, other);
  std::array<mrcdv_path, 8> paths{};
  ASSERT_EQ(mrcdv_query_paths(*reinterpret_cast<ibv_qp**>(one), paths.data(), 8), 4);
  EXPECT_EQ(paths[0].entropy & 0xFFFF, 50010u);
  EXPECT_REFUSED(set_profile_state(context, 0, MRC_CTL_PROFILE_OFFLINE), EBUSY);
}

TEST_F(ProfileTest, CongestionProfiles) {
  mrc_ctl_cc_profile_attr attributes{};
  EXPECT_REFUSED(set_congestion_state(6, MRC_CTL_PROFILE_OFFLINE), EINVAL);
  attributes.algorithm = "made-up";
  EXPECT_REFUSED(mrc_ctl_modify_cc_profile(context, 6, &attributes, MRC_CTL_CC_PROFILE_ALGORITHM), EINVAL);
  attributes.algorithm = "uet-1.0-nscc";
  attributes.profile_state = MRC_CTL_PROFILE_OFFLINE;
  ASSERT_EQ(mrc_ctl_modify_cc_profile(context, 6, &attributes,
                                      MRC_CTL_CC_PROFILE_ALGORITHM | MRC_CTL_CC_PROFILE_STATE),
            0);
  EXPECT_REFUSED(set_congestion_state(6, MRC_CTL_PROFILE_ONLINE), EINVAL);
  mrc_ctl_cc_nscc_cfg config{};
  config.adjust_bytes_threshold = 32768;
  config.adjust_period_threshold = 12000;
  config.base_rtt = 12000;
  config.eta = 1000;
  config.fi = 2000;
  config.fi_scale = 0.25F;
  config.gamma = 0.8F;
  config.max_md_jump = 0.5F;
  config.max_cwnd = 200000;
  config.qa_gate = 3;
  config.qa_threshold = 50000;
  config.target_delay = 30000;
  attributes.cc_config = &config;
  attributes.profile_state = MRC_CTL_PROFILE_ONLINE;
  constexpr int kFinish = MRC_CTL_CC_PROFILE_CONFIG | MRC_CTL_CC_PROFILE_STATE;
  config.gamma = NAN;
  EXPECT_REFUSED(mrc_ctl_modify_cc_profile(context, 6, &attributes, kFinish), EINVAL);
  config.gamma = 0.8F;
  config.base_rtt = 0;
  EXPECT_REFUSED(mrc_ctl_modify_cc_profile(context, 6, &attributes, kFinish), EINVAL);
  config.base_rtt = 12000;
  ASSERT_EQ(mrc_ctl_modify_cc_profile(context, 6, &attributes, kFinish), 0);
  EXPECT_REFUSED(mrc_ctl_modify_cc_profile(context, 6, &attributes, MRC_CTL_CC_PROFILE_CONFIG), EINVAL);
  mrc_ctl_cc_nscc_cfg told{};
  mrc_ctl_cc_profile_attr got{};
  got.cc_config = &told;
  ASSERT_EQ(mrc_ctl_query_cc_profile(context, 6, &got,
                                     kFinish | MRC_CTL_CC_PROFILE_ALGORITHM | MRC_CTL_CC_PROFILE_CUR_STATE),
            0);
  EXPECT_STREQ(got.algorithm, "uet-1.0-nscc");
  EXPECT_EQ(got.cur_profile_state, MRC_CTL_PROFILE_ONLINE);
  EXPECT_EQ(told.max_cwnd, 200000u);
  EXPECT_EQ(told.fi_scale, 0.25F);

  mrc_qp* one = make();
  mrc_qp* other = make();
  mrc_qp_attr more{};
  more.profile.cc_profile_id = 6;
  connect(one, other, &more, MRC_QP_CC_PROFILE_ID);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(post(one, 400000), 0);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(poll_one(sends).status, IBV_WC_SUCCESS);
  EXPECT_REFUSED(set_congestion_state(6, MRC_CTL_PROFILE_OFFLINE), EBUSY);
  destroy(one);
  destroy(other);
  EXPECT_EQ(set_congestion_state(6, MRC_CTL_PROFILE_OFFLINE), 0);

  // No congestion control needs no configuration.
  attributes = {};
  attributes.profile_state = MRC_CTL_PROFILE_OFFLINE;
  ASSERT_EQ(mrc_ctl_modify_cc_profile(context, 8, &attributes,
                                      MRC_CTL_CC_PROFILE_ALGORITHM | MRC_CTL_CC_PROFILE_STATE),
            0);
  EXPECT_EQ(set_congestion_state(8, MRC_CTL_PROFILE_ONLINE), 0);
  EXPECT_REFUSED(mrc_ctl_modify_cc_profile(context, 8, &attributes, 1 << 12), EINVAL);
  EXPECT_REFUSED(mrc_ctl_query_cc_profile(context, 8, nullptr, 0), EINVAL);
}

TEST_F(ProfileTest, PortsAreSwitchedOff) {
  mrc_ctl_port_attr attributes{};
  ASSERT_EQ(mrc_ctl_query_port(context, 2, &attributes, MRC_CTL_PORT_ADMIN_STATE), 0);
  EXPECT_EQ(attributes.port_admin_state, MRC_CTL_PORT_ADMIN_ENABLED);
  EXPECT_REFUSED(mrc_ctl_query_port(context, 0, &attributes, MRC_CTL_PORT_ADMIN_STATE), EINVAL);
  EXPECT_REFUSED(mrc_ctl_query_port(context, 40, &attributes, MRC_CTL_PORT_ADMIN_STATE), EINVAL);
  EXPECT_REFUSED(mrc_ctl_query_port(context, 1, &attributes, 2), EINVAL);
  EXPECT_REFUSED(mrc_ctl_modify_port(context, 1, &attributes, 0), EINVAL);
  EXPECT_REFUSED(mrc_ctl_modify_port(context, 1, nullptr, 1), EINVAL);
  mrc_qp* one = make();
  mrc_qp* other = make();
  connect(one, other);
  attributes.port_admin_state = MRC_CTL_PORT_ADMIN_DISABLED;
  ASSERT_EQ(mrc_ctl_modify_port(context, 2, &attributes, MRC_CTL_PORT_ADMIN_STATE), 0);
  const auto give_up = std::chrono::steady_clock::now() + 5s;
  ibv_port_attr port{};
  ASSERT_EQ(ibv_query_port(verbs, 2, &port), 0);
  EXPECT_EQ(port.state, IBV_PORT_DOWN);
  ASSERT_EQ(ibv_query_port(verbs, 1, &port), 0);
  EXPECT_EQ(port.state, IBV_PORT_ACTIVE) << "the whole device";
  for (int i = 0; i < 20; ++i) ASSERT_EQ(post(one, 100000), 0);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(poll_one(sends).status, IBV_WC_SUCCESS);
  std::vector<mrcdv_path> paths(1024);
  std::array<int, 33> in_use{};
  const auto look = [&] {
    in_use = {};
    const int count = mrcdv_query_paths(*reinterpret_cast<ibv_qp**>(one), paths.data(), 1024);
    for (int i = 0; i < count; ++i) {
      const mrcdv_path& path = paths[static_cast<size_t>(i)];
      in_use[path.port] += path.in_use != 0 ? 1 : 0;
    }
  };
  // A thread of the device's reads what controllers write, and it may have no CPU for a while.
  for (look(); in_use[2] != 0 && std::chrono::steady_clock::now() < give_up; look())
    std::this_thread::sleep_for(1ms);
  EXPECT_EQ(in_use[2], 0);
  EXPECT_EQ(in_use[1], 32) << "the others are backups";
  attributes.port_admin_state = MRC_CTL_PORT_ADMIN_ENABLED;
  ASSERT_EQ(mrc_ctl_modify_port(context, 2, &attributes, MRC_CTL_PORT_ADMIN_STATE), 0);
  ASSERT_EQ(ibv_query_port(verbs, 2, &port), 0);
  ASSERT_EQ(post(one, 100000), 0);
  EXPECT_EQ(poll_one(sends).status, IBV_WC_SUCCESS);
}

}  // namespace
}  // namespace api_test
