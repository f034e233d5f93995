// SPDX-License-Identifier: BSD-2-Clause
// Makes things go wrong on purpose, by rules and from a seed: frames between the engine and its ports, and
// requests and completions. The same in the simulator and in the device. Under the engine's lock, as all of
// the engine; it is there only while there are rules.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "libmrc/fault/fault_rule.h"
#include "libmrc/fault/held_completions.h"
#include "libmrc/fault/held_frames.h"
#include "libmrc/fault/rule_state.h"
#include "libmrc/port/carrier.h"
#include "libmrc/port/counters.h"
#include "libmrc/wire/packet.h"
#include "libmrc/wire/time.h"
#include "libmrc/work/completion_faults.h"
#include "libmrc/work/completion_sink.h"
#include "libmrc/work/disorder.h"

namespace mrc {

class FaultInjector final : public CompletionFaults, public Disorder {
 public:
  struct Counted {
    FaultRule rule;
    std::atomic<uint64_t>* hits = nullptr;  // outlives the injector
  };
  struct Config {
    uint8_t dscp_trimmed = 0;
    uint64_t salt = 0;  // tells engines of a process apart
  };
  // Rules that concern no engine (calls, events) are passed over. Allocates what the rules may need.
  FaultInjector(std::span<const Counted> rules, const Config& config);

  // Rules that were there before go on where they were, with what they hold back.
  void take_over(FaultInjector& before);

  void set_now(Nanoseconds now) { now_ = now; }
  // When something that is held back has to go; kNever: nothing is.
  Nanoseconds next_deadline() const;

  // --- frames ---
  // Frames of a burst leave: instead of Carrier::transmit().
  void leave(Carrier& carrier, std::span<const TxFrame> frames, bool intact, Counters& counters);
  // A frame has arrived. What is to be looked at of it now, valid until the next call: none, one or two.
  struct Arrivals {
    std::array<RxFrame, 2> frames;
    size_t count = 0;
  };
  Arrivals arrive(const RxFrame& frame, Plane plane, Counters& counters);
  // Sends what was held back and is due, and hands over what has arrived: deliver(plane, frame).
  template <typename Deliver>
  void release(Deliver&& deliver) {
    if (frames_.empty()) return;
    frames_.release(now_, [&](const HeldFrame& held) {
      if (held.carrier != nullptr) return send(held);
      const std::span<uint8_t> bytes = frames_.bytes_of(held);
      deliver(held.plane, RxFrame{bytes.data(), held.length, nullptr, held.plane, held.intact});
      return true;
    });
  }

  // --- requests and completions ---
  std::optional<CompletionStatus> on_request(Qpn qpn) override;
  Fate on_completion(CompletionQueue& queue, const Completion& completion) override;
  void give_back(CompletionSink& sink) override { hand_over(kNever, sink); }
  // Pushes what is due. The sink must not ask us again.
  void release(CompletionSink& sink);
  void forget(Qpn qpn) { completions_.forget(qpn); }

  // --- disorder ---
  bool disorders() const { return !disorder_rules_.empty(); }
  std::optional<Held> on_write(Qpn qpn, uint32_t bytes, bool ends_message) override;
  // The queue pairs with WRITEs that are to be placed now: go(qpn).
  template <typename Go>
  void release_writers(Go&& go) {
    for (size_t i = 0; i < writers_.size();) {
      if (writers_[i].until > now_) {
        ++i;
        continue;
      }
      const Qpn qpn = writers_[i].qpn;
      writers_[i] = writers_.back();
      writers_.pop_back();
      go(qpn);
    }
  }

  void set_counters(Counters* counters) { counters_ = counters; }

 private:
  RuleState* choose(std::span<const uint8_t> bytes, Plane plane, uint8_t direction);
  bool matches(const FaultRule& rule, std::span<const uint8_t> bytes, Plane plane, uint8_t direction);
  bool hold(RuleState& rule, HeldFrame frame, const uint8_t* bytes);
  bool damage(RuleState& rule, std::span<uint8_t> bytes, uint32_t* length);
  bool send(const HeldFrame& held);
  void hand_over(Nanoseconds due, CompletionSink& sink);
  void count(FaultKind kind);

  const Config config_;
  std::vector<RuleState> frame_rules_;
  std::vector<RuleState> request_rules_;
  std::vector<RuleState> completion_rules_;
  std::vector<RuleState> disorder_rules_;
  struct Writer {
    Qpn qpn;
    Nanoseconds until;
  };
  std::vector<Writer> writers_;  // with WRITEs that are held back
  HeldFrames frames_;
  HeldCompletions completions_;
  std::array<uint8_t, kFrameBytesMax> scratch_;
  Packet packet_;
  bool read_ = false;      // packet_ was filled for the frame that is looked at...
  bool readable_ = false;  // ...and it is one
  Counters* counters_ = nullptr;
  Nanoseconds now_ = 0;
};

}  // namespace mrc
