// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/qp/queue_pair.h"

#include <algorithm>
#include <utility>

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
      send_queue_(config.send_entries,
                  extra_bytes(config.send_segments_max, config.inline_bytes_max) + address_bytes(config)),
      receive_queue_(config.receive_entries, extra_bytes(config.receive_segments_max, 0)) {
  connection_.local_qpn = qpn;
  connection_.domain = {config.domain, qpn};
  connection_.xrc = config.xrc;
  if (config.type == QueuePairType::kDatagram) connection_.mtu = kMtuMax;
  terms_.transport = config.transport.value_or(Transport::kMrc);
  terms_.general_service = config.general_service;
  if (config.general_service) terms_.queue_key = kGeneralServiceKey;
  terms_.copied_segments = copied_segments();
  terms_.expected_senders = config.expected_senders;
  terms_.seed = seed;
  if (config.type == QueuePairType::kDatagram) transport_.make<Datagram>(connection_, terms_);
  if (config.type == QueuePairType::kRaw) transport_.make<RawPackets>(qpn);
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
       attributes.dynamic_mpr || attributes.immediates_taken || attributes.paths_per_plane ||
       attributes.paths_min_active) &&
      !unconnected)
    return false;
  if (attributes.send_mpr && *attributes.send_mpr < kMprUnit) return false;
  if (attributes.immediates_max && *attributes.immediates_max == 0) return false;
  if (attributes.immediates_taken && *attributes.immediates_taken == 0) return false;
  if (attributes.paths_per_plane && *attributes.paths_per_plane == 0) return false;
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

void QueuePair::take_attributes(const QueuePairAttributes& attributes, const TransportConfig& config) {
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
  if (connection_.immediates_max == 0) connection_.immediates_max = config.immediates_max;
  connection_.immediates_max = attributes.immediates_max.value_or(connection_.immediates_max);
  terms_.transport = attributes.transport.value_or(terms_.transport);
  terms_.queue_key = attributes.queue_key.value_or(terms_.queue_key);
  terms_.path_profile = attributes.path_profile.value_or(terms_.path_profile);
  terms_.congestion_profile = attributes.congestion_profile.value_or(terms_.congestion_profile);
  if (attributes.immediates_taken) terms_.immediates_taken = attributes.immediates_taken;
  if (attributes.paths_per_plane) terms_.paths_per_plane = attributes.paths_per_plane;
  if (attributes.paths_min_active) terms_.paths_min_active = attributes.paths_min_active;
  if (attributes.expected_senders) terms_.expected_senders = attributes.expected_senders;
  if (attributes.dynamic_mpr) terms_.dynamic_mpr = attributes.dynamic_mpr;
  terms_.timeout = attributes.timeout.value_or(terms_.timeout);
  terms_.retry_linear = attributes.retry_linear.value_or(terms_.retry_linear);
  terms_.retry_exponential = attributes.retry_exponential.value_or(terms_.retry_exponential);
  if (attributes.timeout || attributes.retry_linear || attributes.retry_exponential)
    transport_.call([&](auto& transport) { transport.follow_terms(config); });
  if (MrcTransport* to = own_mrc(); to != nullptr && attributes.send_mpr) to->set_mpr(*attributes.send_mpr);
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
        transport_.call([&](auto& transport) {
          transport.start_sending(attributes.send_psn.value_or(Psn{}), send_queue_.head(), services);
        });
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

uint32_t QueuePair::copied_segments() const {
  if (config_.served != nullptr) return config_.receive_segments_max;
  return config_.shared_receives != nullptr ? config_.shared_receives->segments_max() : 0;
}

void QueuePair::connect(Psn first, Services& services, Nanoseconds now) {
  disconnect(services);
  connection_.lossy = config_.lossy;
  if (config_.type == QueuePairType::kReliable) {
    if (terms_.transport == Transport::kRc)
      transport_.make<RcTransport>(connection_, paths_, terms_);
    else
      transport_.make<MrcTransport>(*this, connection_, paths_, turns_, terms_);
  }
  pauses_heard_of_ = services.pauses.count();
  transport_.call([&](auto& transport) { transport.connect(first, services, now); });
}

// The application has seen what arrived and leaves. Answers that were put off to the next burst go now, or
// the peer would wait in vain for the acknowledgement of what was delivered.
void QueuePair::answer_before_leaving(Services& services, Nanoseconds now) {
  if (!connected()) return;
  Context cx = context(services, now);
  transport_.call([&](auto& transport) { transport.answer_before_leaving(cx); });
}

void QueuePair::return_to_reset(Services& services) {
  // As in IBTA: requests are forgotten without completions, completions not yet polled disappear.
  send_queue_.release(send_queue_.tail());
  {
    const RawPackets::Taking taking(transport_.as<RawPackets>());
    receive_queue_.release(receive_queue_.tail());
  }
  disconnect(services);
  if (config_.type == QueuePairType::kReliable) transport_.make<Unconnected>();
  events_ = 0;
  established_ = false;
}

void QueuePair::enter_error(Services& services, CompletionStatus first, Nanoseconds now) {
  if (state_under_lock() == QueuePairState::kError) return;
  const ResponderFault* fault = transport_.call([](auto& transport) { return transport.fault(); });
  state_.store(QueuePairState::kError, std::memory_order_release);
  Context cx = context(services, now);
  cx.note(TraceEvent::kFailed, oldest_unacknowledged(), kNoPath, static_cast<uint32_t>(first));
  transport_.call([&](auto& transport) { transport.flush(cx, first); });
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
  transport_.call([&](auto& transport) {
    transport.drain_receives([&](const ReceiveSlots::Slot& slot) { complete(slot.work_id, slot.told); });
  });
  const RawPackets::Taking taking(transport_.as<RawPackets>());
  const uint64_t tail = receive_queue_.tail();
  for (uint64_t head = receive_queue_.head(); head != tail; ++head) {
    const uint64_t work_id = receive_queue_.at(head).work_id;
    receive_queue_.release(head + 1);
    complete(work_id, config_.receive_completions);
  }
}

// What the transport found out may end the connection.
void QueuePair::settle_end(Services& services, Nanoseconds now) {
  if (state_under_lock() == QueuePairState::kError) return;
  const auto [failure, fault] =
      transport_.call([](auto& transport) { return std::pair(transport.failure(), transport.fault()); });
  if (failure) {
    if (*failure == CompletionStatus::kGeneralError) note(QueuePairEvent::kFatal);
    enter_error(services, *failure, now);
  } else if (fault != nullptr) {
    if (!fault->in_receive) note(event_of(fault->syndrome));  // else the completion says it
    Context cx = context(services, now);
    transport_.call([&](auto& transport) { transport.repeat_nak(cx, last_plane_); });
    enter_error(services, CompletionStatus::kFlushed, now);
  }
}

void QueuePair::disconnect(Services& services) {
  transport_.call([&](auto& transport) {
    // Queues that its peer named must not be held by it any longer.
    if (config_.served != nullptr) transport.drain_receives([](const ReceiveSlots::Slot&) {});
    transport.disconnect(services);
  });
}

uint32_t QueuePair::take_events() {
  const uint32_t events = events_;
  events_ = 0;
  return events;
}

}  // namespace mrc
