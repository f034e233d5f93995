// SPDX-License-Identifier: BSD-2-Clause
// The congestion controller of one peer and traffic class (MRC 11.20): one of three behind one non-virtual
// interface, so that the requester is the same for all.
#pragma once

#include <cstdint>
#include <utility>
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

// 'none': a window that never moves, with the same book-keeping as the others.
class FixedController {
 public:
  void reset(uint64_t window_bytes) {
    window_.reset(window_bytes);
    inflight_ = 0;
  }
  bool may_send() const { return window_.may_send(inflight()); }
  void add(uint64_t bytes) { inflight_ += static_cast<int64_t>(bytes); }
  void take(uint64_t bytes) { inflight_ -= static_cast<int64_t>(bytes); }
  void on_idle() { inflight_ = 0; }
  uint64_t cwnd() const { return window_.bytes(); }
  uint64_t inflight() const { return static_cast<uint64_t>(inflight_ > 0 ? inflight_ : 0); }

 private:
  FixedWindow window_;
  int64_t inflight_ = 0;
};

class CongestionController {
 public:
  // `expected_senders`: the hint of the incast degree at the target; 0 = unknown.
  void reset(const CongestionConfig& config, uint32_t expected_senders = 0);
  CongestionAlgorithm algorithm() const { return static_cast<CongestionAlgorithm>(state_.index()); }

  bool may_send(Nanoseconds now) const;
  // When may_send can turn true by time alone: 0 = it is, kNever = only news from the peer can do it. Goes
  // into the requester's next deadline.
  Nanoseconds next_send_at() const;

  void on_sent(Nanoseconds now, uint64_t bytes);
  void on_sack(const SackSignal& sack);
  void on_trim_nack(Nanoseconds now, uint64_t bytes, bool last_hop);
  void on_resource_nack(uint64_t bytes);
  void on_loss(uint64_t bytes);
  void on_timeout(uint64_t bytes);
  void on_idle();

  uint64_t cwnd() const;
  uint64_t inflight() const;
  // MRC 3.1: the window is nearly used up, so an answer should be asked for.
  bool nearly_closed(uint64_t next_bytes) const { return inflight() + next_bytes >= cwnd(); }

  const Nscc* nscc() const;

 private:
  // The order is that of CongestionAlgorithm.
  std::variant<FixedController, Nscc, ReceiverAware> state_;
};

}  // namespace mrc
