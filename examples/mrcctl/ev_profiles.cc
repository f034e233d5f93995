// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrcctl/ev_profiles.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>

namespace mrc {
namespace {

constexpr size_t kAddressBytes = 16;

size_t bytes_of(mrc_ctl_ev_fmt_mode format) {
  return format == MRC_CTL_EV_FMT_MODE_UDP ? 2 : 4;
}

bool read_address(const std::string& text, uint8_t* to) {
  return inet_pton(AF_INET6, text.c_str(), to) == 1;
}

bool read_value(mrc_ctl_ev_fmt_mode format, const std::string& text, mrc_ctl_ev* ev) {
  if (format == MRC_CTL_EV_FMT_MODE_SRV6) {
    const size_t plus = text.find('+');
    return read_address(text.substr(0, plus), ev->val) &&
           (plus == std::string::npos || read_address(text.substr(plus + 1), ev->val + kAddressBytes));
  }
  uint32_t value = 0;
  if (!text.starts_with("0x") || text.size() > 2 + 2 * bytes_of(format)) return false;
  const auto [end, wrong] = std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
  if (wrong != std::errc() || end != text.data() + text.size()) return false;
  for (size_t i = 0; i < bytes_of(format); ++i)
    ev->val[i] = static_cast<uint8_t>(value >> 8 * (bytes_of(format) - 1 - i));
  return true;
}

int read_ev_profile(OpenDevice& device, EvProfileView* view) {
  constexpr int kValues = MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_FMT_ID |
                          MRC_CTL_EV_PROFILE_COUNT | MRC_CTL_EV_PROFILE_MIN_ACTIVE |
                          MRC_CTL_EV_PROFILE_EVENT_MASK | MRC_CTL_EV_PROFILE_EV_OP;
  mrc_ctl_ev_profile_attr& attributes = view->attributes;
  // How many there are is told when there is no room; they may have become more meanwhile.
  for (int room = 0;;) {
    view->evs.resize(static_cast<size_t>(room));
    attributes.ev_op = {MRC_CTL_EV_OP_QUERY_EV_ARRAY, view->evs.data(), room};
    const bool done = mrc_ctl_query_ev_profile(device.control(), view->id, &attributes, kValues) == 0;
    if (!done && errno != E2BIG) return errno;
    room = attributes.ev_op.entry_count;
    if (done) break;
  }
  view->evs.resize(static_cast<size_t>(attributes.ev_op.entry_count));
  mrc_ctl_ev_fmt_profile_attr format{};
  if (mrc_ctl_query_ev_fmt_profile(device.control(), attributes.ev_fmt_profile_id, &format,
                                   MRC_CTL_EV_FMT_PROFILE_MODE) != 0)
    return errno;
  view->format = format.ev_fmt_mode;
  return 0;
}

}  // namespace

int read_ev_profiles(OpenDevice& device, std::vector<EvProfileView>* profiles) {
  uint64_t ids[64];
  const int count = mrcdv_query_profiles(device.verbs(), MRCDV_PROFILE_EV, ids, std::size(ids));
  if (count < 0) return -count;
  for (int i = 0; i < std::min<int>(count, std::size(ids)); ++i) {
    EvProfileView view;
    view.id = ids[i];
    if (const int error = read_ev_profile(device, &view); error != 0) return error;
    profiles->push_back(std::move(view));
  }
  return 0;
}

int set_ev_states(OpenDevice& device, uint64_t profile, const std::vector<mrc_ctl_ev>& evs,
                  mrc_ctl_ev_state state) {
  std::vector<mrc_ctl_ev_op_entry> entries;
  entries.reserve(evs.size());
  for (const mrc_ctl_ev& ev : evs) entries.push_back({ev, {}, state, MRC_CTL_EV_OP_F_ALL_COPIES});
  mrc_ctl_ev_profile_attr attributes{};
  attributes.ev_op = {MRC_CTL_EV_OP_MODIFY_EV_STATE, entries.data(), static_cast<int>(entries.size())};
  const bool done =
      mrc_ctl_modify_ev_profile(device.control(), profile, &attributes, MRC_CTL_EV_PROFILE_EV_OP) == 0;
  return done ? 0 : errno;
}

std::string ev_text(mrc_ctl_ev_fmt_mode format, const mrc_ctl_ev& ev) {
  if (format != MRC_CTL_EV_FMT_MODE_SRV6) {
    std::string text = "0x";
    char digits[4];
    for (size_t i = 0; i < bytes_of(format); ++i) {
      std::snprintf(digits, sizeof digits, "%02x", ev.val[i]);
      text += digits;
    }
    return text;
  }
  char text[INET6_ADDRSTRLEN];
  std::string all = inet_ntop(AF_INET6, ev.val, text, sizeof text);
  const uint8_t* segment = ev.val + kAddressBytes;
  if (std::any_of(segment, segment + kAddressBytes, [](uint8_t byte) { return byte != 0; }))
    all += std::string("+") + inet_ntop(AF_INET6, segment, text, sizeof text);
  return all;
}

std::optional<mrc_ctl_ev> ev_in(mrc_ctl_ev_fmt_mode format, const std::string& text) {
  mrc_ctl_ev ev{};
  const size_t stroke = text.find('/');
  if (stroke == std::string::npos) return std::nullopt;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + stroke, ev.port);
  if (wrong != std::errc() || end != text.data() + stroke) return std::nullopt;
  return read_value(format, text.substr(stroke + 1), &ev) ? std::optional(ev) : std::nullopt;
}

const char* word_of(mrc_ctl_profile_state state) {
  return state == MRC_CTL_PROFILE_ONLINE ? "online" : state == MRC_CTL_PROFILE_OFFLINE ? "offline" : "init";
}
const char* word_of(mrc_ctl_ev_mode mode) {
  return mode == MRC_CTL_EV_MODE_EXP ? "explicit" : mode == MRC_CTL_EV_MODE_GEN ? "generated" : "auto";
}
const char* word_of(mrc_ctl_ev_fmt_mode mode) {
  switch (mode) {
    case MRC_CTL_EV_FMT_MODE_STEV:
      return "stev";
    case MRC_CTL_EV_FMT_MODE_SRV6:
      return "srv6";
    case MRC_CTL_EV_FMT_MODE_UDP:
      return "udp";
  }
  return "none";
}
const char* word_of(mrc_ctl_ev_state state) {
  switch (state) {
    case MRC_CTL_EV_GOOD:
      return "good";
    case MRC_CTL_EV_ASSUMED_BAD:
      return "assumed_bad";
    case MRC_CTL_EV_DENIED:
      return "denied";
    case MRC_CTL_EV_UNKNOWN:
      break;
  }
  return "unknown";
}

}  // namespace mrc
