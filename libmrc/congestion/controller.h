// SPDX-License-Identifier: BSD-2-Clause
// The congestion controller of one peer and traffic class (MRC 11.20): one of three behind one non-virtual
// interface, so that the requester is the same for all.
#pragma once

#include <algorithm>
#include <cstdint>
#include <variant>

#include "libmrc/congestion/fixed_window.h"
#include "libmrc/congestion/nscc.h"
#include "libmrc/congestion/receiver_aware.h"

namespace mrc {

enum class CongestionAlgorithm : uint8_t { kNone, kNscc, kReceiverAware };

struct CongestionConfig {
  CongestionAlgorithm algorithm = CongestionAlgorithm::kNone;
  uint64_t window_bytes = 1u << 20;  // kNone: the window that never moves
  NsccConfig nscc;                   // the other two; see nscc_defaults
};

// 'none': a window that never moves, with the same book-keeping as the others. But for one thing: several
// senders whose packets are all trimmed and repeated at once can fill a wire with what is left of them, so
// that none ever gets through. Who hears of a whole window that was trimmed, and of nothing that arrived,
// sends half as much; what arrives gives it back.
class FixedController {
 public:
  void reset(uint64_t window_bytes) {
    window_.reset(window_bytes);
    most_ = window_bytes;
    trimmed_ = 0;
    inflight_ = 0;
  }
  bool may_send(Nanoseconds) const { return window_.may_send(inflight()); }
  Nanoseconds next_send_at() const { return may_send(0) ? 0 : kNever; }
  void on_sent(Nanoseconds, uint64_t bytes) { inflight_ += static_cast<int64_t>(bytes); }
  void on_sack(const SackSignal& sack) {
    forget(sack.newly_bytes);
    if (sack.newly_bytes == 0) return;
    trimmed_ = 0;
    if (window_.bytes() < most_) window_.reset(std::min(most_, window_.bytes() + sack.newly_bytes));
  }
  void on_degree(Nanoseconds, uint8_t) {}
  void on_trim_nack(Nanoseconds, uint64_t bytes, bool) {
    forget(bytes);
    trimmed_ += bytes;
    if (trimmed_ < window_.bytes()) return;
    trimmed_ = 0;
    window_.reset(std::max<uint64_t>(1, window_.bytes() / 2));  // a byte is one packet at a time
  }
  void on_resource_nack(uint64_t bytes) { forget(bytes); }
  void on_loss(uint64_t bytes) { forget(bytes); }
  void on_timeout(uint64_t bytes) { forget(bytes); }
  void forget(uint64_t bytes) { inflight_ -= static_cast<int64_t>(bytes); }
  bool wants_answer(uint64_t bytes) const { return !window_.may_send(inflight() + bytes); }
  uint64_t surely_open(Nanoseconds) const { return room_in(window_.bytes(), inflight()); }
  uint64_t cwnd() const { return window_.bytes(); }
  uint64_t cwnd_max() const { return most_; }
  Nanoseconds excuses_losses_before() const { return 0; }
  uint64_t inflight() const { return static_cast<uint64_t>(inflight_ > 0 ? inflight_ : 0); }

 private:
  FixedWindow window_;
  uint64_t most_ = 0;
  uint64_t trimmed_ = 0;  // since something arrived, or the window was halved
  int64_t inflight_ = 0;
};

class CongestionController {
  // What std::visit() does takes a table, or checks for what cannot be.
  template <typename Act>
  [[gnu::always_inline]] decltype(auto) call(Act&& act) {
    if (auto* nscc = std::get_if<Nscc>(&state_)) return act(*nscc);
    if (auto* fixed = std::get_if<FixedController>(&state_)) return act(*fixed);
    return act(*std::get_if<ReceiverAware>(&state_));
  }
  template <typename Act>
  [[gnu::always_inline]] decltype(auto) call(Act&& act) const {
    if (auto* nscc = std::get_if<Nscc>(&state_)) return act(*nscc);
    if (auto* fixed = std::get_if<FixedController>(&state_)) return act(*fixed);
    return act(*std::get_if<ReceiverAware>(&state_));
  }

 public:
  // `expected_senders`: the hint of the incast degree at the target; 0 = unknown. `seed`: any number of the
  // connection's own.
  void reset(const CongestionConfig& config, uint32_t expected_senders = 0, uint64_t seed = 1) {
    switch (config.algorithm) {
      case CongestionAlgorithm::kNone:
        state_.emplace<FixedController>().reset(config.window_bytes);
        break;
      case CongestionAlgorithm::kNscc:
        state_.emplace<Nscc>().reset(config.nscc, seed | 1);
        break;
      case CongestionAlgorithm::kReceiverAware:
        state_.emplace<ReceiverAware>().reset(config.nscc, expected_senders, seed);
        break;
    }
  }
  CongestionAlgorithm algorithm() const { return static_cast<CongestionAlgorithm>(state_.index()); }

  bool may_send(Nanoseconds now) const {
    return call([now](const auto& state) { return state.may_send(now); });
  }
  // When may_send can turn true by time alone: the past = it is, kNever = only news from the peer can do it.
  // Belongs into the requester's next deadline.
  Nanoseconds next_send_at() const {
    return call([](const auto& state) { return state.next_send_at(); });
  }

  // All sizes are nominal; see signals.h. Every byte told to on_sent is taken back exactly once: by a SACK's
  // newly_bytes, or by one of the three kinds of loss before its retransmission is sent.
  void on_sent(Nanoseconds now, uint64_t bytes) {
    call([=](auto& state) { state.on_sent(now, bytes); });
  }
  void on_sack(const SackSignal& sack) {
    call([&](auto& state) { state.on_sack(sack); });
  }
  // A NACK brought the receiver's count of its senders (see ReceiverShare); SACKs have it in their penalty.
  void on_degree(Nanoseconds now, uint8_t code) {
    call([=](auto& state) { state.on_degree(now, code); });
  }
  void on_trim_nack(Nanoseconds now, uint64_t bytes, bool last_hop) {
    call([=](auto& state) { state.on_trim_nack(now, bytes, last_hop); });
  }
  void on_resource_nack(uint64_t bytes) {
    call([=](auto& state) { state.on_resource_nack(bytes); });
  }
  // A gap, or overtaken.
  void on_loss(uint64_t bytes) {
    call([=](auto& state) { state.on_loss(bytes); });
  }
  // One packet given up by the timer.
  void on_timeout(uint64_t bytes) {
    call([=](auto& state) { state.on_timeout(bytes); });
  }
  // Left the network for a reason that says nothing: a port went down, a queue pair was flushed.
  void forget(uint64_t bytes) {
    call([=](auto& state) { state.forget(bytes); });
  }

  uint64_t cwnd() const {
    return call([](const auto& state) { return state.cwnd(); });
  }
  uint64_t cwnd_max() const {
    return call([](const auto& state) { return state.cwnd_max(); });
  }
  // What was sent before this and lost, was lost because all of a sudden there were too many senders. It is
  // not the fault of a path.
  Nanoseconds excuses_losses_before() const {
    return call([](const auto& state) { return state.excuses_losses_before(); });
  }
  uint64_t inflight() const {
    return call([](const auto& state) { return state.inflight(); });
  }
  // MRC 3.1: whether a packet of this size should ask for an answer: it closes the window, or nothing will
  // follow it for so long that the news of its SACK would be stale. Ask before on_sent.
  bool wants_answer(uint64_t bytes) const {
    return call([=](const auto& state) { return state.wants_answer(bytes); });
  }
  bool closes_with(uint64_t bytes) const { return wants_answer(bytes); }  // its former name

  // So much may go now in packets of any size without asking again, and none of them wants an answer. May be
  // said to be 0 although single packets may go.
  uint64_t surely_open(Nanoseconds now) const {
    return call([now](const auto& state) { return state.surely_open(now); });
  }

  // The NSCC inside, if there is one; for counters and traces.
  const Nscc* nscc() const {
    if (const auto* nscc = std::get_if<Nscc>(&state_)) return nscc;
    if (const auto* aware = std::get_if<ReceiverAware>(&state_)) return &aware->nscc();
    return nullptr;
  }

 private:
  // The order is that of CongestionAlgorithm.
  std::variant<FixedController, Nscc, ReceiverAware> state_;
};

}  // namespace mrc
