// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/qp/queue_pair.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>
#include <vector>

namespace mrc {

namespace {
// IBTA 11.6.3.2: how the owner learns what the peer did.
QueuePairEvent event_of(uint8_t syndrome) {
  if (syndrome == Aeth::kNakInvalidRequest) return QueuePairEvent::kRequestError;
  return syndrome == Aeth::kNakRemoteAccess ? QueuePairEvent::kAccessError : QueuePairEvent::kFatal;
}

uint32_t extra_bytes(uint32_t segments, uint32_t inline_bytes) {
  return std::max<uint32_t>(segments * static_cast<uint32_t>(sizeof(Segment)), inline_bytes);
}

uint32_t address_bytes(const QueuePairConfig& config) {
  return config.type == QueuePairType::kDatagram ? sizeof(DatagramAddress) : 0;
}

bool valid_mtu(uint32_t mtu) {
  return mtu >= 256 && mtu <= kMtuMax && (mtu & (mtu - 1)) == 0;
}

// The transitions of an RC queue pair that a caller may ask for (IBTA 10.3.1). ERROR and RESET are always
// allowed.
bool transition_allowed(QueuePairState from, QueuePairState to) {
  switch (to) {
    case QueuePairState::kReset:
    case QueuePairState::kError:
      return true;
    case QueuePairState::kInit:
      return from == QueuePairState::kReset || from == QueuePairState::kInit;
    case QueuePairState::kReadyToReceive:
      return from == QueuePairState::kInit;
    case QueuePairState::kReadyToSend:
      return from == QueuePairState::kReadyToReceive || from == QueuePairState::kReadyToSend ||
             from == QueuePairState::kDraining;
    case QueuePairState::kDraining:
      return from == QueuePairState::kReadyToSend || from == QueuePairState::kDraining;
  }
  return false;
}
}  // namespace

QueuePair::QueuePair(const QueuePairConfig& config, Qpn qpn, uint64_t seed)
    : config_(config),
      qpn_(qpn),
      transport_(config.transport.value_or(Transport::kMrc)),
      send_queue_(config.send_entries,
                  extra_bytes(config.send_segments_max, config.inline_bytes_max) + address_bytes(config)),
      receive_queue_(config.receive_entries, extra_bytes(config.receive_segments_max, 0)),
      seed_(seed) {
  connection_.local_qpn = qpn;
  connection_.domain = {config.domain, qpn};
  connection_.xrc = config.xrc;
  if (config.type == QueuePairType::kDatagram) connection_.mtu = kMtuMax;
  if (config.general_service) datagram_.set_queue_key(kGeneralServiceKey);
}

Context QueuePair::context(Services& services, Nanoseconds now) {
  return {connection_,
          paths_,
          send_queue_,
          receive_queue_,
          config_.shared_receives,
          responses_,
          reads_,
          config_.send_completions,
          config_.receive_completions,
          peer_ != nullptr ? peer_->index : 0,
          config_.signal_all,
          state() == QueuePairState::kReadyToSend,
          services,
          trace_,
          now};
}

bool QueuePair::connected() const {
  const QueuePairState now = state();
  return now == QueuePairState::kReadyToReceive || now == QueuePairState::kReadyToSend ||
         now == QueuePairState::kDraining;
}

// ---------------------------------------------------------------------------------------- state machine

// Whether the transition is one, and everything it needs is there and in range (IBTA 11.2.4.2).
bool QueuePair::acceptable(const QueuePairAttributes& attributes) const {
  const QueuePairState from = state();
  const QueuePairState to = attributes.state.value_or(from);
  if (attributes.state && !transition_allowed(from, to)) return false;
  const bool unconnected = from == QueuePairState::kReset || from == QueuePairState::kInit;
  if (attributes.transport && !unconnected) return false;
  if ((attributes.path_profile || attributes.congestion_profile || attributes.expected_senders ||
       attributes.dynamic_mpr) &&
      !unconnected)
    return false;
  if (attributes.send_mpr && *attributes.send_mpr < kMprUnit) return false;
  if (attributes.immediates_max && *attributes.immediates_max == 0) return false;
  if (attributes.dscp && *attributes.dscp > 63) return false;
  if (attributes.mtu && !valid_mtu(*attributes.mtu)) return false;
  if (attributes.retry_linear && *attributes.retry_linear > 7) return false;
  if (attributes.retry_exponential && *attributes.retry_exponential > RetryPolicy::kForEver) return false;
  if (attributes.mpr && (*attributes.mpr < kMprUnit || *attributes.mpr % kMprUnit != 0)) return false;
  if (attributes.rnr_retry && *attributes.rnr_retry > 7) return false;
  if (attributes.rnr_timer && *attributes.rnr_timer > 31) return false;
  if (attributes.reads_max && *attributes.reads_max > kReadsMax) return false;
  if (attributes.answers_max && *attributes.answers_max > kReadsMax) return false;
  if (config_.type == QueuePairType::kRaw) return true;
  if (config_.type == QueuePairType::kDatagram)
    return attributes.queue_key || to != QueuePairState::kInit || from == to || config_.general_service;
  if (to == QueuePairState::kReadyToReceive && from != to &&
      (!attributes.destination || !attributes.destination_qpn || !attributes.mtu || !attributes.receive_psn))
    return false;
  // No packet can have one end of each family.
  if (attributes.destination &&
      attributes.destination->is_v4() != attributes.source.value_or(connection_.source).is_v4())
    return false;
  return to != QueuePairState::kReadyToSend || from != QueuePairState::kReadyToReceive || attributes.send_psn;
}

void QueuePair::take_attributes(const QueuePairAttributes& attributes, const TransportConfig& transport) {
  transport_ = attributes.transport.value_or(transport_);
  connection_.remote_access = attributes.remote_access.value_or(connection_.remote_access);
  connection_.source = attributes.source.value_or(connection_.source);
  connection_.destination = attributes.destination.value_or(connection_.destination);
  connection_.remote_qpn = attributes.destination_qpn.value_or(connection_.remote_qpn);
  connection_.mtu = attributes.mtu.value_or(connection_.mtu);
  connection_.dscp = attributes.dscp.value_or(connection_.dscp);
  connection_.rnr_retry = attributes.rnr_retry.value_or(connection_.rnr_retry);
  connection_.rnr_timer = attributes.rnr_timer.value_or(connection_.rnr_timer);
  connection_.reads_max = attributes.reads_max.value_or(connection_.reads_max);
  connection_.answers_max = attributes.answers_max.value_or(connection_.answers_max);
  connection_.mpr = attributes.mpr.value_or(connection_.mpr);
  connection_.send_mpr = attributes.send_mpr.value_or(connection_.send_mpr);
  if (attributes.send_mpr) requester_.set_mpr(*attributes.send_mpr);
  if (connection_.immediates_max == 0) connection_.immediates_max = transport.immediates_max;
  connection_.immediates_max = attributes.immediates_max.value_or(connection_.immediates_max);
  path_profile_ = attributes.path_profile.value_or(path_profile_);
  congestion_profile_ = attributes.congestion_profile.value_or(congestion_profile_);
  if (attributes.expected_senders) config_.expected_senders = attributes.expected_senders;
  if (attributes.dynamic_mpr) dynamic_mpr_ = attributes.dynamic_mpr;
  if (attributes.queue_key) datagram_.set_queue_key(*attributes.queue_key);
  timeout_ = attributes.timeout.value_or(timeout_);
  retry_linear_ = attributes.retry_linear.value_or(retry_linear_);
  retry_exponential_ = attributes.retry_exponential.value_or(retry_exponential_);
  if (attributes.timeout || attributes.retry_linear || attributes.retry_exponential) {
    // IBTA 9.7.6.1.3: a timer may run for up to four times what was asked. For RC it is the only way to
    // notice that the last packet was lost, here it is not.
    requester_.retry().configure(std::clamp(transport.timeout_min, timeout_, 4 * timeout_), retry_linear_,
                                 retry_exponential_);
    rc_requester_.retry().configure(timeout_, retry_linear_, retry_exponential_);
  }
}

bool QueuePair::modify(const QueuePairAttributes& attributes, Services& services, Nanoseconds now) {
  if (!acceptable(attributes)) return false;
  take_attributes(attributes, services.config);
  const QueuePairState from = state();
  const QueuePairState to = attributes.state.value_or(from);
  if (from == to) return true;
  if (to == QueuePairState::kReset || to == QueuePairState::kError) answer_before_leaving(services, now);
  switch (to) {
    case QueuePairState::kReset:
      return_to_reset(services);
      break;
    case QueuePairState::kError:
      enter_error(services, CompletionStatus::kFlushed, now);
      break;
    case QueuePairState::kReadyToReceive:
      connect(attributes.receive_psn.value_or(Psn{}), services, now);
      break;
    case QueuePairState::kReadyToSend:
      if (from == QueuePairState::kReadyToReceive)
        start_requester(attributes.send_psn.value_or(Psn{}), services);
      break;
    case QueuePairState::kDraining:
      drain_reported_ = false;
      break;
    default:
      break;
  }
  if (to != QueuePairState::kError) state_.store(to, std::memory_order_release);
  return true;
}

void QueuePair::start_requester(Psn first, Services& services) {
  if (sending_) return;  // it has answered already, by the PSN that the peer expected
  switch (wire()) {
    case Wire::kMrc: {
      requester_.reset(services.config, shares_window() ? &peer_->controller : &own_controller_, first);
      requester_.set_mpr(connection_.send_mpr);
      requester_.follow_probes(paths_);
      break;
    }
    case Wire::kRc:
      rc_requester_.reset(services.config, first);
      break;
    case Wire::kDatagram:
      datagram_.start_sending(first);
      break;
    case Wire::kRaw:
      break;
  }
  with_requester([&](auto& requester) { requester.skip_to(send_queue_.head()); });
  sending_ = true;  // and not before: memory may run out
}

uint32_t QueuePair::copied_segments() const {
  if (config_.served != nullptr) return config_.receive_segments_max;
  return config_.shared_receives != nullptr ? config_.shared_receives->segments_max() : 0;
}

void QueuePair::connect(Psn first, Services& services, Nanoseconds now) {
  disconnect(services);
  connection_.lossy = config_.lossy;
  switch (wire()) {
    case Wire::kMrc:
      connect_mrc(first, services, now);
      break;
    case Wire::kRc:
      rc_responder_.reset(first, connection_.answers_max, copied_segments());
      make_single_path(services);
      break;
    case Wire::kDatagram:
      connection_.mtu = std::min(connection_.mtu, services.config.datagram_bytes_max);
      datagram_.reset(copied_segments(), seed_, config_.general_service);
      return;  // every datagram has a destination of its own
    case Wire::kRaw:
      raw_.reset(qpn_.value());
      return;
  }
  resolve_next_hops(services);
}

void QueuePair::connect_mrc(Psn first, Services& services, Nanoseconds now) {
  CongestionConfig congestion;
  congestion.algorithm = services.config.congestion;
  congestion.window_bytes = services.config.window_bytes;
  congestion.nscc = services.config.nscc;
  const CongestionConfig* profile =
      services.profiles != nullptr ? services.profiles->congestion(congestion_profile_) : nullptr;
  if (profile != nullptr) congestion = *profile;
  connection_.dynamic_mpr = dynamic_mpr_.value_or(services.config.dynamic_mpr);
  peer_ = services.peers.acquire(
      connection_.destination, data_class(services.config, services.config.dscp_data), congestion_profile_,
      congestion, config_.expected_senders.value_or(services.config.expected_senders), seed_);
  own_controller_.reset(congestion);
  connection_.strict = transport_ == Transport::kMrcStrict;
  connection_.extension = connection_.strict ? PeerExtension::kRefused : PeerExtension::kUnknown;
  if (!connection_.strict) negotiation_.start(now);
  responder_.reset(services.config, first, connection_.answers_max, copied_segments());
  reads_.reset(kReadsMax);  // here and not in RTS: answers that nobody asked for may come before
  responses_.reset(2 *
                   kReadsMax);  // an answer stays until it is acknowledged, and more may be asked for by then
  make_paths(services);
}

bool QueuePair::shares_window() const {
  return peer_ != nullptr && peer_->controller.algorithm() != CongestionAlgorithm::kNone;
}

void QueuePair::make_paths(Services& services) {
  const TransportConfig& transport = services.config;
  PathSetConfig config;
  config.planes = static_cast<uint32_t>(services.transmitter.plane_count());
  config.paths_per_plane = transport.paths_per_plane;
  config.backups_per_plane = transport.backups_per_plane;
  config.min_active = transport.paths_min_active;
  config.probe_interval = transport.probe_interval;
  config.probe_interval_max = transport.probe_interval_max;
  config.counters = &services.counters.paths;
  std::vector<EvEntry> entries;
  const PathProfile* profile =
      services.profiles != nullptr ? services.profiles->paths(path_profile_) : nullptr;
  has_path_profile_ = profile != nullptr && !profile->entries.empty();
  if (profile != nullptr) {
    config.min_active = profile->min_active;
    config.event_mask = profile->event_mask;
  }
  if (has_path_profile_) {
    entries = profile->entries;
    config.paths_per_plane = static_cast<uint32_t>(entries.size());
  } else if (services.path_source != nullptr) {
    entries = services.path_source->paths_to(connection_.destination);
  }
  connection_.srv6 = !entries.empty() && entries.front().has_outer;
  connection_.segment_routing = connection_.srv6 && entries.front().has_segment;
  // The headers below UDP are alike on all paths of a connection; what differs from the first is left out.
  std::erase_if(entries, [first = entries.empty() ? EvEntry{} : entries.front()](const EvEntry& entry) {
    return entry.has_outer != first.has_outer || entry.has_segment != first.has_segment;
  });
  if (entries.empty())
    paths_.reset(config, seed_);
  else
    paths_.reset(config, peer_->share_entries(std::move(entries)), seed_);
  for (uint32_t plane = 0; plane < config.planes; ++plane)
    if ((services.ports_up >> plane & 1) == 0) paths_.port_down(static_cast<Plane>(plane));
}

void QueuePair::follow_profile(Services& services, Nanoseconds now) {
  if (!has_path_profile_ || !speaks_mrc() || !connected() || services.profiles == nullptr) return;
  const PathProfile* profile = services.profiles->paths(path_profile_);
  if (profile == nullptr) return;
  paths_.set_event_mask(profile->event_mask);
  if (paths_.follow(peer_->share_entries(profile->entries), now) > 0) requester_.follow_probes(paths_);
}

// Plain RC: one path of all that there are, by the number of the queue pair, so that many of them spread over
// planes and uplinks. As the built-in ones are, it is a UDP source port (RoCEv2 annex A17: for ECMP).
void QueuePair::make_single_path(Services& services) {
  const auto planes = static_cast<uint32_t>(services.transmitter.plane_count());
  const auto draw = static_cast<uint32_t>((qpn_.value() * 0x9E3779B97F4A7C15u) >> 32);
  std::vector<EvEntry> entries;
  if (services.path_source != nullptr) entries = services.path_source->paths_to(connection_.destination);
  std::erase_if(entries, [&](const EvEntry& entry) { return (services.ports_up >> entry.plane & 1) == 0; });
  EvEntry chosen;
  if (!entries.empty()) {
    chosen = entries[draw % entries.size()];
  } else {
    chosen.plane = static_cast<Plane>(draw % planes);
    for (uint32_t i = 0; i < planes && (services.ports_up >> chosen.plane & 1) == 0; ++i)
      chosen.plane = static_cast<Plane>((chosen.plane + 1) % planes);
    chosen.entropy = make_entropy(chosen.plane, draw / planes);
  }
  connection_.srv6 = chosen.has_outer;
  connection_.segment_routing = chosen.has_outer && chosen.has_segment;
  PathSetConfig config;
  config.planes = planes;
  config.paths_per_plane = 1;
  paths_.reset(config, std::vector<EvEntry>(1, chosen), seed_);
}

// The class the program asked for. Data that looked like a trimmed packet, or overtook acknowledgements,
// would break the protocol.
uint8_t QueuePair::data_class(const TransportConfig& config, uint8_t otherwise) const {
  const uint8_t wanted = connection_.dscp;
  const bool taken = wanted == config.dscp_control || wanted == config.dscp_trimmed ||
                     wanted == config.dscp_trimmed_last_hop;
  return wanted == 0 || taken ? otherwise : wanted;
}

const PlaneFrames* QueuePair::ready_frames(Plane plane, const MacAddress& next_hop, Services& services) {
  const TransportConfig& config = services.config;
  FrameTable::Form form;
  NetworkHeader& network = form.network;
  network.source_mac = services.transmitter.port(plane).address();
  network.destination_mac = next_hop;
  network.source = connection_.source;
  network.destination = connection_.destination;
  network.srv6 = connection_.srv6;
  network.segment_routing = connection_.segment_routing;
  network.outer_source = outer_source(services, plane, connection_.source);
  network.intact = services.transmitter.keeps_intact(plane, next_hop);
  form.dscp_data = data_class(config, config.dscp_data);
  form.dscp_again = data_class(config, config.dscp_retransmission);
  form.dscp_control = config.dscp_control;
  // MRC 1.6: probes travel in the data class, but must not be trimmed.
  form.dscp_probe = config.dscp_probe;
  // Plain RC does not react to marks, so it does not ask for them.
  form.ecn = speaks_mrc() ? Ecn::kEct0 : Ecn::kNotCapable;
  return services.frames.acquire(form);
}

[[gnu::hot]] void QueuePair::resolve_next_hops(Services& services) {
  if (wire() == Wire::kDatagram || wire() == Wire::kRaw) return;
  const auto planes = services.transmitter.plane_count();
  if (connection_.resolved == (PlaneMask{1} << planes) - 1) return;
  for (size_t i = 0; i < planes; ++i) {
    if ((connection_.resolved >> i & 1) != 0) continue;
    const auto plane = static_cast<Plane>(i);
    MacAddress& next_hop = connection_.next_hops[i];
    Port& port = services.transmitter.port(plane);
    if (!port.resolve(connection_.destination, connection_.remote_qpn, &next_hop)) continue;
    connection_.frames[i] = ready_frames(plane, next_hop, services);
    connection_.resolved |= PlaneMask{1} << plane;
  }
}

// The application has seen what arrived and leaves. Answers that were put off to the next burst go now, or
// the peer would wait in vain for the acknowledgement of what was delivered.
void QueuePair::answer_before_leaving(Services& services, Nanoseconds now) {
  if (!connected()) return;
  Context cx = context(services, now);
  if (wire() == Wire::kMrc && responder_.control_due()) responder_.send_control_packets(cx, kNoPath);
  if (wire() == Wire::kRc && rc_responder_.has_work()) rc_responder_.transmit(cx, kBurst);
}

void QueuePair::return_to_reset(Services& services) {
  // As in IBTA: requests are forgotten without completions, completions not yet polled disappear.
  send_queue_.release(send_queue_.tail());
  {
    const RawPackets::Taking taking(raw_);
    receive_queue_.release(receive_queue_.tail());
  }
  disconnect(services);
  switch (wire()) {
    case Wire::kMrc:
      requester_.reset(services.config, &own_controller_, Psn{});
      responder_.reset(services.config, Psn{}, 0, 0);
      break;
    case Wire::kRc:
      rc_requester_.reset(services.config, Psn{});
      rc_responder_.reset(Psn{}, 0, 0);
      break;
    case Wire::kDatagram:
      datagram_.reset(0, seed_, config_.general_service);
      break;
    case Wire::kRaw:
      break;
  }
  with_requester([&](auto& requester) { requester.skip_to(send_queue_.head()); });
  events_ = 0;
  established_ = sending_ = asks_for_psn_ = false;
  peer_expects_.reset();
}

void QueuePair::enter_error(Services& services, CompletionStatus first, Nanoseconds now) {
  if (state() == QueuePairState::kError) return;
  const ResponderFault* fault = with_responder([](auto& responder) { return responder.fault(); });
  state_.store(QueuePairState::kError, std::memory_order_release);
  Context cx = context(services, now);
  cx.note(TraceEvent::kFailed, oldest_unacknowledged(), kNoPath, static_cast<uint32_t>(first));
  with_requester([&](auto& requester) { requester.flush(cx, first); });
  if (reads_.outstanding() > 0) reads_.reset(kReadsMax);
  flush_receives(services, fault != nullptr ? fault->receive_status() : CompletionStatus::kFlushed);
  if (config_.shared_receives != nullptr) note(QueuePairEvent::kLastReceiveReached);
}

// Completes the receive requests that are left, the oldest with `first`.
void QueuePair::flush_receives(Services& services, CompletionStatus first) {
  CompletionStatus status = first;
  auto complete = [&](uint64_t work_id, CompletionQueue* told) {
    Completion completion;
    completion.work_id = work_id;
    completion.qpn = qpn_;
    completion.status = status;
    completion.kind = CompletionKind::kReceive;
    completion.solicited = true;
    status = CompletionStatus::kFlushed;
    services.completions.push(told, completion);
  };
  with_responder([&](auto& responder) {
    responder.slots().drain([&](const ReceiveSlots::Slot& slot) { complete(slot.work_id, slot.told); });
  });
  const RawPackets::Taking taking(raw_);
  const uint64_t tail = receive_queue_.tail();
  for (uint64_t head = receive_queue_.head(); head != tail; ++head) {
    const uint64_t work_id = receive_queue_.at(head).work_id;
    receive_queue_.release(head + 1);
    complete(work_id, config_.receive_completions);
  }
}

// What requester or responder found out may end the connection.
[[gnu::hot]] void QueuePair::settle(Services& services, Nanoseconds now) {
  if (state() == QueuePairState::kError) return;
  if (const auto psn = requester_.response_fault()) responder_.fault_now(*psn, Aeth::kNakRemoteAccess);
  const auto failure = with_requester([](auto& requester) { return requester.failure(); });
  if (failure) {
    if (*failure == CompletionStatus::kGeneralError) note(QueuePairEvent::kFatal);
    enter_error(services, *failure, now);
  } else if (const ResponderFault* fault =
                 with_responder([](auto& responder) { return responder.fault(); })) {
    if (!fault->in_receive) note(event_of(fault->syndrome));  // else the completion says it
    Context cx = context(services, now);
    with_responder([&](auto& responder) { responder.repeat_nak(cx, last_plane_); });
    enter_error(services, CompletionStatus::kFlushed, now);
  }
}

void QueuePair::disconnect(Services& services) {
  // Queues that its peer named must not be held by it any longer.
  if (config_.served != nullptr)
    with_responder([](auto& responder) { responder.slots().drain([](const ReceiveSlots::Slot&) {}); });
  negotiation_.stop();
  for (; connection_.resolved != 0; connection_.resolved &= connection_.resolved - 1)
    services.frames.release(connection_.frames[std::countr_zero(connection_.resolved)]);
  if (peer_ == nullptr) return;
  requester_.abandon();
  peer_->waiting.remove(waiting_);
  its_turn_ = false;
  services.peers.release(peer_);
  peer_ = nullptr;
}

uint32_t QueuePair::take_events() {
  const uint32_t events = events_;
  events_ = 0;
  return events;
}

}  // namespace mrc
