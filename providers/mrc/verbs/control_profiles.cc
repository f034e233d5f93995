// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/verbs/control_profiles.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "libmrc/congestion/nscc.h"
#include "providers/mrc/verbs/control_model.h"

namespace mrc::provider {
namespace {

constexpr uint64_t kAnyRate = 100'000'000'000;
constexpr Nanoseconds kAnyRtt = 10 * kMicrosecond;
constexpr uint8_t kEveryEvent = kPathEventGood | kPathEventAssumedBad;

NsccConfig nscc_of(const mrc_ctl_cc_nscc_cfg& from, const NsccConfig& device) {
  NsccConfig to = device;  // what OCP does not configure
  to.disable_qa = from.disable_qa != 0;
  to.adjust_bytes_threshold = from.adjust_bytes_threshold;
  to.adjust_period_threshold = from.adjust_period_threshold;
  to.base_rtt = from.base_rtt;
  to.eta = from.eta;
  to.fi = from.fi;
  to.fi_scale = from.fi_scale;
  to.gamma = from.gamma;
  to.max_md_jump = from.max_md_jump;
  to.max_cwnd = std::max<uint64_t>(from.max_cwnd, to.mtu);
  to.qa_gate = from.qa_gate;
  to.qa_threshold = from.qa_threshold;
  to.target_delay = from.target_delay;
  return to;
}

}  // namespace

ControlProfiles::ControlProfiles(ControlPage& page, uint32_t slot, uint32_t mtu,
                                 const TransportConfig& transport, PathSource* paths)
    : page_(page), slot_(slot), own_paths_(paths) {
  if (paths != nullptr) allowed_paths_.emplace(*paths, denied_);
  base_.window_bytes = transport.window_bytes;
  base_.nscc = transport.nscc;
  // Without congestion control of its own the device has not worked it out.
  if (base_.nscc.mtu == 0) base_.nscc.mtu = nscc_defaults(kAnyRate, kAnyRtt, mtu, false).mtu;
  page_.forget_slot(slot);
}

ControlProfiles::Word ControlProfiles::read() const {
  Word word;
  const auto state = std::make_unique<ControlState>();
  word.generation = page_.read(state.get());
  ControlModel model;
  model.load(*state);
  word.denied.assign(std::move(model.denied_links));
  for (const auto& [id, from] : model.paths) {
    if (from.profile.state() != ProfileState::kOnline) continue;
    Paths& to = word.paths[id];
    to.place = from.place;
    to.event_mask = from.profile.event_mask();
    to.values.assign(from.profile.values().begin(), from.profile.values().end());
    std::vector<EvEntry> entries = from.profile.entries();
    word.denied.apply(own_paths_, &entries);
    to.profile = {std::make_shared<const std::vector<EvEntry>>(std::move(entries)), from.profile.min_active(),
                  kEveryEvent};
  }
  for (const auto& [id, from] : model.congestion) {
    if (from.state != ProfileState::kOnline) continue;
    Congestion& to = word.congestion[id];
    to.place = from.place;
    to.config = base_;
    to.config.algorithm = from.nscc ? CongestionAlgorithm::kNscc : CongestionAlgorithm::kNone;
    if (from.config) to.config.nscc = nscc_of(*from.config, base_.nscc);
  }
  word.ports_disabled = model.ports_disabled;
  return word;
}

void ControlProfiles::take(Word* word, Engine& engine, Nanoseconds now) {
  const uint64_t seen = seen_.load(std::memory_order_relaxed);
  if (seen != kNothingSeen && word->generation <= seen) return;
  std::swap(denied_, word->denied);
  paths_.swap(word->paths);
  congestion_.swap(word->congestion);
  engine.set_ports_enabled(~word->ports_disabled);
  engine.follow_profiles(now);
  seen_.store(word->generation, std::memory_order_relaxed);
}

const PathProfile* ControlProfiles::paths(uint64_t id) {
  const auto found = paths_.find(id);
  return found == paths_.end() ? nullptr : &found->second.profile;
}

const CongestionConfig* ControlProfiles::congestion(uint64_t id) {
  const auto found = congestion_.find(id);
  return found == congestion_.end() ? nullptr : &found->second.config;
}

std::optional<uint32_t> ControlProfiles::use(ControlPage::Kind kind, uint64_t id) {
  uint32_t place = 0;
  if (kind == ControlPage::Kind::kPaths) {
    const auto found = paths_.find(id);
    if (found == paths_.end()) return std::nullopt;
    place = found->second.place;
  } else {
    const auto found = congestion_.find(id);
    if (found == congestion_.end()) return std::nullopt;
    place = found->second.place;
  }
  // Between our look and this one the controller may have taken it offline.
  const auto still_online = [&](const ControlState& state) {
    const auto is_it = [id](const auto& profile) {
      return profile.used != 0 && profile.id == id &&
             profile.state == static_cast<uint8_t>(ProfileState::kOnline);
    };
    return kind == ControlPage::Kind::kPaths ? is_it(state.paths[place]) : is_it(state.congestion[place]);
  };
  uint32_t& users = users_[{kind, place}];
  if (users == 0 && page_.use(kind, place, slot_, still_online) != 0) return std::nullopt;
  ++users;
  return place;
}

void ControlProfiles::release(ControlPage::Kind kind, uint32_t place) {
  if (--users_[{kind, place}] == 0) page_.release(kind, place, slot_);
}

void ControlProfiles::tell(const QueuePair& qp, const PathEvent& event) {
  const auto found = paths_.find(qp.path_profile());
  if (found == paths_.end()) return;
  const Paths& profile = found->second;
  const uint32_t index = qp.paths().at(event.path).profile_index;
  if (index >= profile.values.size()) return;
  const uint8_t bit = event.state == PathState::kAssumedBad ? kPathEventAssumedBad : kPathEventGood;
  page_.note_ev(profile.place, index, bit);
  if ((profile.event_mask & bit) == 0) return;
  ControlEvent told{};
  told.profile = qp.path_profile();
  std::memcpy(told.ev.bytes, profile.values[index].bytes.data(), sizeof told.ev.bytes);
  told.ev.port = profile.values[index].port;
  told.state = bit;
  told.dropped = event.dropped;
  page_.push(told);
}

}  // namespace mrc::provider
