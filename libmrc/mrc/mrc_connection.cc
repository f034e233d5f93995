// SPDX-License-Identifier: BSD-2-Clause
// How a connection of MRC begins and ends, and what changes meanwhile: paths, ports, what is known of the
// peer.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "libmrc/mrc/mrc_transport.h"
#include "libmrc/work/next_hops.h"

namespace mrc {

void MrcTransport::connect(Psn first, Services& services, Nanoseconds now) {
  CongestionConfig congestion;
  congestion.algorithm = services.config.congestion;
  congestion.window_bytes = services.config.window_bytes;
  congestion.nscc = services.config.nscc;
  const CongestionConfig* profile =
      services.profiles != nullptr ? services.profiles->congestion(terms_.congestion_profile) : nullptr;
  if (profile != nullptr) congestion = *profile;
  connection_.dynamic_mpr = terms_.dynamic_mpr.value_or(services.config.dynamic_mpr);
  peer_ = services.peers.acquire(
      connection_.destination, data_class(connection_, services.config, services.config.dscp_data),
      terms_.congestion_profile, congestion,
      terms_.expected_senders.value_or(services.config.expected_senders), terms_.seed);
  ports_followed_ = peer_->ports_news;
  own_controller_.reset(congestion);
  connection_.strict = terms_.transport == Transport::kMrcStrict;
  connection_.extension = connection_.strict ? PeerExtension::kRefused : PeerExtension::kUnknown;
  connection_.refused_until = kNever;
  if (!connection_.strict && !take_word_of_others(now)) negotiation_.start(now);
  responder_.reset(
      services.config, first, connection_.answers_max,
      {terms_.immediates_taken.value_or(services.config.immediates_max), terms_.copied_segments});
  answers_.reset();  // here and not in RTS: answers that nobody asked for may come before
  follow_terms(services.config);
  make_paths(services, now);
  tell_denied(services);
  resolve_next_hops(connection_, Transport::kMrc, services);
  peer_->members.push_back(member_);  // and not before: memory may run out
}

void MrcTransport::start_sending(Psn first, uint64_t send_index, Services& services) {
  if (sending_) return;  // it has answered already, by the PSN that the peer expected
  requester_.reset(services.config, shares_window() ? &peer_->controller : &own_controller_, &peer_->losses,
                   first);
  requester_.set_mpr(connection_.send_mpr);
  requester_.skip_to(send_index);
  sending_ = true;  // and not before: memory may run out
  if (peer_paths_->askers.empty()) paths_->remind_of_probes();
  peer_paths_->askers.push_back(asks_);
}

// IBTA 9.7.6.1.3: a timer may run for up to four times what was asked. For RC it is the only way to notice
// that the last packet was lost, here it is not.
void MrcTransport::follow_terms(const TransportConfig& config) {
  const Nanoseconds timeout = terms_.timeout;
  requester_.retry().configure(std::clamp(config.timeout_min, timeout, 4 * timeout), terms_.retry_linear,
                               terms_.retry_exponential);
}

void MrcTransport::disconnect(Services& services) {
  negotiation_.stop();
  release_next_hops(connection_, services);
  if (peer_ == nullptr) return;
  requester_.abandon(*paths_);
  peer_->waiting.remove(waiting_);
  leave_peer();
  its_turn_ = false;
  paths_ = &PathSet::none();
  if (peer_paths_ != nullptr) services.peers.release_paths(*peer_, peer_paths_);
  peer_paths_ = nullptr;
  services.peers.release(peer_);
  peer_ = nullptr;
}

// It is connected no more, or in error: nobody tells it anything, and it asks nothing.
void MrcTransport::leave_peer() {
  peer_->members.remove(member_);
  if (peer_paths_ != nullptr) peer_paths_->askers.remove(asks_);
}

// The device's own, where a controller has named none. None: the built-in ones.
EvEntries MrcTransport::own_paths(Services& services) const {
  if (services.path_source == nullptr) return nullptr;
  return peer_->own_paths.to(*services.path_source, connection_.destination, services.profiles_told);
}

// Shared with all who ask for the same: they lose a path at once, and only one has to find out.
void MrcTransport::make_paths(Services& services, Nanoseconds now) {
  const TransportConfig& transport = services.config;
  PathSetConfig config;
  config.planes = static_cast<uint32_t>(services.transmitter.plane_count());
  config.paths_per_plane = terms_.paths_per_plane.value_or(transport.paths_per_plane);
  config.backups_per_plane = transport.backups_for(config.paths_per_plane);
  config.mark_skip_turns_max = transport.mark_skip_turns_max;
  config.trim_skip_turns = transport.trim_skip_turns;
  config.min_active = terms_.paths_min_active.value_or(transport.paths_min_active);
  config.probe_interval = transport.probe_interval;
  config.probe_interval_max = transport.probe_interval_max;
  config.counters = &services.counters.paths;
  EvEntries entries;
  const PathProfile* profile =
      services.profiles != nullptr ? services.profiles->paths(terms_.path_profile) : nullptr;
  has_path_profile_ = profile != nullptr && profile->entries != nullptr && !profile->entries->empty();
  if (profile != nullptr) {
    config.min_active = profile->min_active;
    config.event_mask = profile->event_mask;
  }
  if (has_path_profile_) {
    entries = profile->entries;
    config.paths_per_plane = static_cast<uint32_t>(entries->size());
  } else {
    entries = own_paths(services);
  }
  const EvEntry first = entries != nullptr ? entries->front() : EvEntry{};
  connection_.srv6 = first.has_outer;
  connection_.segment_routing = first.has_outer && first.has_segment;
  // The headers below UDP are alike on all paths of a connection; what differs from the first is left out.
  const auto differs = [&first](const EvEntry& entry) {
    return entry.has_outer != first.has_outer || entry.has_segment != first.has_segment;
  };
  if (entries != nullptr && std::any_of(entries->begin(), entries->end(), differs)) {
    std::vector<EvEntry> alike = *entries;
    std::erase_if(alike, differs);
    entries = peer_->share_entries(std::move(alike));
  }
  const PathsOrigin origin{config, terms_.path_profile, connection_.source, entries};
  peer_paths_ = services.peers.acquire_paths(*peer_, origin, terms_.seed, now);
  paths_ = &peer_paths_->set;
  peer_paths_->profiles_followed = services.profiles_told;
  turns_.reset(*paths_, ~terms_.seed);  // apart from what is drawn of the paths
  ports_known_ = services.ports_up;
  follow_own_ports(services.ports_up, now);
}

// Which paths of the peer lead over what is denied here, if its templates are ours.
void MrcTransport::tell_denied(Services& services) {
  if (!services.config.tell_denied || services.path_source == nullptr) return;
  responder_.shun(
      peer_->own_paths.denied_from(*services.path_source, connection_.destination, services.profiles_told));
}

void MrcTransport::follow_profile(Services& services, Nanoseconds now) {
  tell_denied(services);
  if (services.profiles == nullptr || peer_paths_->profiles_followed == services.profiles_told) return;
  peer_paths_->profiles_followed = services.profiles_told;
  EvEntries entries;
  if (has_path_profile_) {
    const PathProfile* profile = services.profiles->paths(terms_.path_profile);
    if (profile == nullptr || profile->entries == nullptr) return;
    paths_->set_event_mask(profile->event_mask);
    peer_paths_->origin.config.event_mask = profile->event_mask;
    entries = profile->entries;
  } else {
    entries = own_paths(services);
    if (entries == nullptr) return;
  }
  peer_paths_->follow(entries, now);
}

// The first who hears of it says it to the paths.
void MrcTransport::follow_own_ports(PlaneMask up, Nanoseconds now) {
  for (PlaneMask news = paths_->local_ports_unlike(up); news != 0; news &= news - 1) {
    const auto plane = static_cast<Plane>(__builtin_ctz(news));
    (up >> plane & 1) != 0 ? paths_->port_up(plane, now) : paths_->port_down(plane);
  }
}

void MrcTransport::follow_ports(Context& cx) {
  const PlaneMask up = cx.services.ports_up;
  follow_own_ports(up, cx.now);
  const PlaneMask gone = std::exchange(ports_known_, up) & ~up;
  for (PlaneMask planes = sending_ ? gone : 0; planes != 0; planes &= planes - 1)
    requester_.on_port_down(cx, static_cast<Plane>(__builtin_ctz(planes)));
}

void MrcTransport::follow_remote_ports(Nanoseconds now) {
  if (has_heard_of_remote_ports()) return;
  ports_followed_ = peer_->ports_news;
  if (std::exchange(peer_paths_->ports_followed, peer_->ports_said) != peer_->ports_said)
    paths_->set_remote_ports(peer_->ports_usable, now);
}

void MrcTransport::announce_ports(Context& cx, PlaneMask usable, uint32_t announcement) {
  Services& services = cx.services;
  Bth bth;
  bth.opcode = Opcode::kEndpointRequest;
  bth.destination = kEndpointQpn;
  Erth erth;
  erth.operation = EndpointOperation::kPortStatusUpdate;
  erth.port_status_mask = usable;
  const bool coarse = services.config.coarse_timestamps;
  erth.time = {to_wire_timestamp(cx.now, coarse), coarse};
  EndpointRequests::Asker asker;
  asker.qpn = connection_.local_qpn;
  asker.announcement = announcement;
  // MRC 4.6 [P]: on every port that is left.
  for (PlaneMask planes = usable & connection_.resolved; planes != 0; planes &= planes - 1) {
    bth.psn = Psn(services.endpoint_requests.add(asker));
    const PathId path = paths_->control_path(static_cast<Plane>(__builtin_ctz(planes)));
    if (send_control(cx, path, &PlaneFrames::control, bth, erth)) ++services.counters.port_updates_sent;
  }
}

void MrcTransport::on_endpoint_response(const Packet& packet, Nanoseconds now) {
  if (packet.eeth.operation != EndpointOperation::kCapabilities || !negotiation_.under_way() ||
      packet.source != connection_.destination)
    return;
  const bool tells = (packet.eeth.vendor_info & kTellsExpectedPsn) != 0;
  if (asks_for_psn_ && tells) {
    asks_for_psn_ = false;
    peer_expects_ = Psn{packet.eeth.expected_psn};
  }
  // A peer that does not tell is asked on, ever less often: to begin anew at once would be a question per
  // round trip.
  if (!asks_for_psn_) negotiation_.stop();
  const bool speaks = (packet.eeth.vendor_info & kSpeaksExtension) != 0;
  hear_word(speaks ? PeerExtension::kSupported : PeerExtension::kRefused, now);
}

// What this queue pair was told itself, or not told for as long as one waits.
void MrcTransport::hear_word(PeerExtension word, Nanoseconds now) {
  peer_->speakers.hear(connection_.remote_qpn, word, now);
  connection_.extension = word;
  connection_.refused_until = peer_->speakers.believed_until(connection_.remote_qpn);
  on_trust_ = false;
}

// What others were told. Not what they were not told: silence is no answer.
bool MrcTransport::take_word_of_others(Nanoseconds now) {
  const PeerExtension word = peer_->speakers.word_of(connection_.remote_qpn, now);
  if (word != PeerExtension::kSupported && word != PeerExtension::kRefused) return false;
  connection_.extension = word;
  connection_.refused_until = peer_->speakers.believed_until(connection_.remote_qpn);
  on_trust_ = word == PeerExtension::kSupported;
  if (!asks_for_psn_) negotiation_.stop();
  return true;
}

}  // namespace mrc
