// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/fault/fault_injector.h"

#include <algorithm>
#include <utility>

#include "libmrc/wire/ethernet.h"
#include "libmrc/wire/switch_change.h"

namespace mrc {
namespace {

constexpr uint32_t kOvertakersMax = 8;
constexpr Nanoseconds kDisorderHold = kMillisecond;
constexpr size_t kWritersMax = 4096;
constexpr uint32_t kTailMax = 64;
constexpr Nanoseconds kReorderPatience = kMillisecond;  // if nobody overtakes

Nanoseconds hold_of(const FaultRule& rule) {
  return rule.delay_ns != 0 ? rule.delay_ns : kDisorderHold;
}

bool holds_frames(FaultKind kind) {
  return kind == FaultKind::kDelay || kind == FaultKind::kReorder;
}

// Of the payload or the ICRC, so that it is still an MRC packet but not the one that was sent: switches
// change some fields of the headers, and nobody would notice.
bool flip_bit(uint64_t chance, std::span<uint8_t> bytes) {
  Packet packet;
  if (decode(bytes, &packet) != DecodeError::kNone) return false;
  const uint8_t* const first = packet.payload.empty() ? packet.icrc_end : packet.payload.data();
  const auto at = static_cast<size_t>(first - bytes.data());
  const uint64_t bits = (static_cast<size_t>(packet.icrc_end - first) + kIcrcBytes) * 8;
  bytes[at + chance % bits / 8] ^= static_cast<uint8_t>(1u << chance % 8);
  return true;
}

void transmit(Carrier& carrier, std::span<const TxFrame> frames) {
  for (; !frames.empty(); frames = frames.subspan(std::min(frames.size(), kBurst)))
    carrier.transmit(frames.first(std::min(frames.size(), kBurst)));
}

}  // namespace

FaultInjector::FaultInjector(std::span<const Counted> rules, const Config& config) : config_(config) {
  for (const Counted& each : rules) {
    const FaultKind kind = each.rule.kind;
    RuleState state(each.rule, each.hits, config.salt);
    if (is_of_frames(kind)) {
      frame_rules_.push_back(state);
      if (holds_frames(kind)) frames_.make_room();
    } else if (kind == FaultKind::kRequest) {
      request_rules_.push_back(state);
    } else if (kind == FaultKind::kDisorder) {
      disorder_rules_.push_back(state);
      writers_.reserve(kWritersMax);
      completions_.make_room();
    } else if (kind == FaultKind::kSlowCq || kind == FaultKind::kFullCq) {
      completion_rules_.push_back(state);
      if (kind == FaultKind::kSlowCq) completions_.make_room();
    }
  }
}

void FaultInjector::take_over(FaultInjector& before) {
  const auto go_on = [](std::vector<RuleState>& rules, const std::vector<RuleState>& earlier) {
    for (RuleState& rule : rules)
      for (const RuleState& same : earlier)
        if (rule.is_same(same)) rule.go_on(same);
  };
  go_on(frame_rules_, before.frame_rules_);
  go_on(request_rules_, before.request_rules_);
  go_on(completion_rules_, before.completion_rules_);
  go_on(disorder_rules_, before.disorder_rules_);
  if (disorders()) std::swap(writers_, before.writers_);
  // What waits goes on waiting, although its rule may be gone.
  if (!before.frames_.empty()) std::swap(frames_, before.frames_);
  if (!before.completions_.empty()) std::swap(completions_, before.completions_);
  now_ = before.now_;
}

Nanoseconds FaultInjector::next_deadline() const {
  Nanoseconds first = std::min(frames_.next_due(), completions_.next_due());
  for (const Writer& writer : writers_) first = std::min(first, writer.until);
  return first;
}

void FaultInjector::count(FaultKind kind) {
  if (counters_ != nullptr) ++counters_->faults_injected[static_cast<size_t>(kind)];
}

// -------------------------------------------------------------------------------------------------- frames

bool FaultInjector::matches(const FaultRule& rule, std::span<const uint8_t> bytes, Plane plane,
                            uint8_t direction) {
  if ((rule.direction & direction) == 0 || (rule.planes >> plane & 1) == 0) return false;
  const bool trims = rule.kind == FaultKind::kTrim;
  if (trims && bytes.size() <= kTrimmedBytes) return false;
  if (!trims && !rule.reads_frame()) return true;
  if (!std::exchange(read_, true)) readable_ = decode(bytes, &packet_) == DecodeError::kNone;
  if (!readable_) return false;
  const uint32_t psn = packet_.bth.psn.value();
  if (trims && !is_request(packet_.bth.opcode)) return false;  // MRC 7: only these can be asked for again
  return rule.takes_opcode(static_cast<uint8_t>(packet_.bth.opcode)) &&
         (rule.qpn == 0 || packet_.bth.destination == Qpn{rule.qpn}) && psn >= rule.psn_first &&
         psn <= rule.psn_last &&
         ((static_cast<uint32_t>(packet_.entropy) ^ rule.entropy) & rule.entropy_mask) == 0;
}

// The first rule that hits decides. Null: nothing happens to it.
RuleState* FaultInjector::choose(std::span<const uint8_t> bytes, Plane plane, uint8_t direction) {
  read_ = false;
  for (RuleState& state : frame_rules_)
    if (matches(state.rule(), bytes, plane, direction) && state.hits()) return &state;
  return nullptr;
}

bool FaultInjector::hold(RuleState& state, HeldFrame frame, const uint8_t* bytes) {
  const FaultRule& rule = state.rule();
  if (rule.kind == FaultKind::kReorder) {
    frame.overtaken_by = 2 + static_cast<uint32_t>(state.next() % kOvertakersMax);
    frame.due = now_ + (rule.delay_ns != 0 ? rule.delay_ns : kReorderPatience);
  } else {
    frame.due = now_ + rule.delay_ns;
  }
  return frames_.hold(frame, bytes);
}

// Changes the bytes as the rule says. False: it cannot be done to this one.
bool FaultInjector::damage(RuleState& state, std::span<uint8_t> bytes, uint32_t* length) {
  switch (state.rule().kind) {
    case FaultKind::kMark:
      return mark_congestion(bytes);
    case FaultKind::kTrim:
      if (!trim_frame(bytes, config_.dscp_trimmed)) return false;
      *length = static_cast<uint32_t>(kTrimmedBytes);
      return true;
    default:
      return flip_bit(state.next(), bytes);
  }
}

void FaultInjector::leave(Carrier& carrier, std::span<const TxFrame> frames, bool intact,
                          Counters& counters) {
  counters_ = &counters;
  std::array<TxFrame, 2 * kBurst> go;
  size_t count_to_go = 0;
  for (TxFrame frame : frames) {
    const std::span<uint8_t> bytes{frame.data, frame.length};
    RuleState* state = choose(bytes, frame.plane, FaultRule::kSend);
    bool goes = true;
    bool done = state != nullptr;
    switch (state != nullptr ? state->rule().kind : FaultKind::kEvent) {
      case FaultKind::kDrop:
      case FaultKind::kBlackHole:
        goes = false;
        break;
      case FaultKind::kDelay:
      case FaultKind::kReorder:
        done = hold(*state, {&carrier, frame.plane, intact, frame.length}, frame.data);
        goes = !done;
        break;
      case FaultKind::kDuplicate: {
        TxFrame twin{};
        done = carrier.acquire({&twin, 1}) == 1;
        if (!done) break;
        std::copy(bytes.begin(), bytes.end(), twin.data);
        twin.length = frame.length;
        twin.plane = frame.plane;
        go[count_to_go++] = twin;
        break;
      }
      case FaultKind::kCorrupt:
      case FaultKind::kMark:
      case FaultKind::kTrim:
        done = damage(*state, bytes, &frame.length);
        frame.damaged = done && state->rule().kind == FaultKind::kCorrupt;
        break;
      default:
        break;
    }
    if (done)
      count(state->rule().kind);
    else if (state != nullptr)
      state->take_back();
    if (goes) {
      go[count_to_go++] = frame;
      if (!frames_.empty()) frames_.overtake(true, frame.plane);
    } else {
      carrier.discard({&frame, 1});
    }
  }
  transmit(carrier, {go.data(), count_to_go});
}

// A frame that was held back leaves. False: the carrier has no buffer now.
bool FaultInjector::send(const HeldFrame& held) {
  TxFrame frame{};
  if (held.carrier->acquire({&frame, 1}) != 1) return false;
  const std::span<uint8_t> bytes = frames_.bytes_of(held);
  std::copy(bytes.begin(), bytes.end(), frame.data);
  frame.length = held.length;
  frame.plane = held.plane;
  held.carrier->transmit({&frame, 1});
  return true;
}

FaultInjector::Arrivals FaultInjector::arrive(const RxFrame& frame, Plane plane, Counters& counters) {
  counters_ = &counters;
  Arrivals arrivals{{frame, frame}, 1};
  RuleState* state = choose({frame.data, frame.length}, plane, FaultRule::kReceive);
  if (state != nullptr) {
    bool done = true;
    switch (state->rule().kind) {
      case FaultKind::kDrop:
      case FaultKind::kBlackHole:
        arrivals.count = 0;
        break;
      case FaultKind::kDuplicate:
        arrivals.count = 2;
        break;
      case FaultKind::kDelay:
      case FaultKind::kReorder:
        done = hold(*state, {nullptr, plane, frame.intact, frame.length}, frame.data);
        arrivals.count = done ? 0 : 1;
        break;
      default: {
        done = frame.length <= scratch_.size();
        if (!done) break;
        std::copy_n(frame.data, frame.length, scratch_.data());
        RxFrame& changed = arrivals.frames[0];
        changed.data = scratch_.data();
        done = damage(*state, {scratch_.data(), frame.length}, &changed.length);
        if (state->rule().kind == FaultKind::kCorrupt) changed.intact = false;
        break;
      }
    }
    if (done)
      count(state->rule().kind);
    else
      state->take_back();
  }
  if (arrivals.count > 0 && !frames_.empty()) frames_.overtake(false, plane);
  return arrivals;
}

// --------------------------------------------------------------------------------- requests and completions

std::optional<CompletionStatus> FaultInjector::on_request(Qpn qpn) {
  for (RuleState& state : request_rules_) {
    if (state.rule().qpn != 0 && qpn != Qpn{state.rule().qpn}) continue;
    if (!state.hits()) continue;
    count(FaultKind::kRequest);
    return static_cast<CompletionStatus>(state.rule().value);
  }
  return std::nullopt;
}

CompletionFaults::Fate FaultInjector::on_completion(CompletionQueue& queue, const Completion& completion) {
  for (RuleState& state : completion_rules_) {
    if (state.rule().qpn != 0 && completion.qpn != Qpn{state.rule().qpn}) continue;
    if (!state.hits()) continue;
    if (state.rule().kind == FaultKind::kFullCq) {
      count(FaultKind::kFullCq);
      return Fate::kOverrun;
    }
    if (completions_.full()) {
      state.take_back();
      continue;
    }
    count(FaultKind::kSlowCq);
    completions_.hold(queue, completion, now_ + state.rule().delay_ns);
    return Fate::kTaken;
  }
  for (RuleState& state : disorder_rules_) {
    if ((state.rule().qpn != 0 && completion.qpn != Qpn{state.rule().qpn}) || completions_.full()) continue;
    // Some at once, some late: who waits for one thing must not conclude another from it.
    if (state.next() % 2 == 0) continue;
    completions_.hold(queue, completion, now_ + state.next() % hold_of(state.rule()));
    return Fate::kTaken;
  }
  if (!completions_.holds_of(queue)) return Fate::kPass;
  if (completions_.full()) return Fate::kPassBehindKept;  // it must not overtake
  completions_.hold(queue, completion, now_);
  return Fate::kTaken;
}

// The last bytes of a message are there at once, whatever is before them is not; and of all packets none
// knows when the others come.
std::optional<Disorder::Held> FaultInjector::on_write(Qpn qpn, uint32_t bytes, bool ends_message) {
  for (RuleState& state : disorder_rules_) {
    if (state.rule().qpn != 0 && qpn != Qpn{state.rule().qpn}) continue;
    if (writers_.size() == writers_.capacity() || !state.hits()) continue;
    count(FaultKind::kDisorder);
    const Nanoseconds hold = hold_of(state.rule());
    const Nanoseconds until = now_ + hold / 2 + state.next() % (hold / 2 + 1);
    const uint32_t tail = ends_message ? 1 + static_cast<uint32_t>(state.next() % kTailMax) : 0;
    writers_.push_back({qpn, until});
    return Held{std::min(tail, bytes), until};
  }
  return std::nullopt;
}

void FaultInjector::hand_over(Nanoseconds due, CompletionSink& sink) {
  completions_.release(
      due, [&](CompletionQueue& queue, const Completion& completion) { sink.push_now(&queue, completion); });
}

void FaultInjector::release(CompletionSink& sink) {
  hand_over(now_, sink);
}

}  // namespace mrc
