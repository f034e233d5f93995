// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/mrc/requester.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "libmrc/mrc/lane_room.h"
#include "libmrc/work/gather.h"
#include "libmrc/work/message_form.h"

namespace mrc {

namespace {
constexpr uint64_t kPlanePacketsAlways = 8;
}

void Requester::reset(const TransportConfig& config, CongestionController* control, LossMemory* losses,
                      Psn first) {
  // Memory is kept: who connects again needs no more of it.
  Requester fresh(*answers_);
  fresh.retry_ = retry_;
  fresh.sent_ = std::move(sent_);
  fresh.messages_ = std::move(messages_);
  fresh.suspects_ = std::move(suspects_);
  fresh.arrivals_ = std::move(arrivals_);
  *this = std::move(fresh);
  retry_.progress();
  config_ = &config;
  sent_.reset(config.window_packets, first);
  asked_ = first - 1;
  forget_copies(first);
  control_ = control;
  losses_ = losses;
  messages_.clear();
  messages_.make_first();
  suspects_.clear();
  arrivals_.clear();
}

[[gnu::hot]] bool Requester::has_work(const Context& cx) const {
  if (failure() || response_fault_ || not_ready_.waits(cx.now) || tries_whether_ready()) return false;
  if (lost_within_mpr() || copies_due_) return true;
  if (window_full()) return false;
  if (started_ || next_response_ != answers_->owed.tail()) return true;
  return cx.start_requests && !requests_.next_failed() && requests_.has_next(cx) &&
         may_start(cx, requests_.next_request(cx));
}

bool Requester::next_writes_immediate(const Context& cx) const {
  return !started_ && requests_.has_next(cx) && requests_.next_request(cx).operation == Operation::kWriteImm;
}

[[gnu::hot]] Requester::Burst Requester::transmit(Context& cx, size_t budget, PathId first_path) {
  Burst burst;
  if (!has_work(cx)) {
    stranded_ = held_up_ = false;
    return burst;
  }
  // The program may have done anything with its memory since.
  place_ = started_ ? place_of_message(cx) : nullptr;
  Transmitter& transmitter = cx.services.transmitter;
  LaneRoom room(transmitter, cx.connection);
  const uint64_t share_max = plane_share_max(cx);
  // A port may be down of which this queue pair has not been told yet.
  PlaneMask usable = room.planes() & cx.services.ports_up;
  for (PlaneMask planes = usable; planes != 0; planes &= planes - 1) {
    const auto plane = static_cast<Plane>(std::countr_zero(planes));
    if (sent_.in_flight_by(plane) >= share_max) usable &= ~(PlaneMask{1} << plane);
  }
  while (burst.packets < budget && !failure() && !response_fault_) {
    if (tries_whether_ready()) break;
    if (first_path == kNoPath) {
      send_run(cx, budget - burst.packets, share_max, &room, &usable, &burst);
      if (burst.packets >= budget || failure()) break;
    }
    if (!control_->may_send(cx.now)) {  // MRC 12.R3, 5.1
      put_off_copies(cx.now);
      burst.window_closed = has_work(cx);
      if (burst.window_closed) ask_when_all_may_be_there(cx);
      break;
    }
    const bool again = lost_within_mpr();
    const bool copy = !again && !prepare_next_message(cx);
    if (copy && (failure() || !find_copy(cx))) break;
    PathId path = std::exchange(first_path, kNoPath);
    if (path == kNoPath || (usable >> cx.paths.at(path).plane & 1) == 0)
      path = copy ? cx.turns.select_sooner(cx.paths, usable) : cx.turns.select(cx.paths, usable);
    if (path == kNoPath && copy) {
      // A copy that waits for its timer again whenever the ports are full comes too late.
      burst.blocked = (cx.paths.active_planes() & cx.connection.resolved) != 0;
      if (!burst.blocked) put_off_copies(cx.now);
      break;
    }
    if (path == kNoPath) {
      if ((cx.paths.active_planes() & cx.connection.resolved) == 0) {
        strand(cx);
      } else {
        stranded_ = false;  // its port is back, but others were quicker
        hold_up(cx);
      }
      // Next hops are looked for as long as it comes; for ports there is news.
      burst.blocked = !stranded_ || (cx.paths.active_planes() & ~cx.connection.resolved) != 0;
      break;
    }
    const Plane plane = cx.paths.at(path).plane;
    uint8_t* buffer = begin_buffer(cx, plane);
    if (buffer == nullptr) {
      ++cx.services.counters.tx_no_buffer;
      usable &= ~(PlaneMask{1} << plane);
      continue;
    }
    stranded_ = held_up_ = false;
    const bool sent = again  ? send_again(cx, sent_.first_lost(), path, buffer)
                      : copy ? send_copy(cx, path, buffer)
                             : send_new(cx, path, buffer);
    if (!sent) break;
    ++burst.packets;
    burst.last_path = path;
    usable &= ~room.take(plane);
    if (sent_.in_flight_by(plane) >= share_max) usable &= ~(PlaneMask{1} << plane);
  }
  return burst;
}

// [P] How much may be under way by one plane. Turns are equal, so a plane that is slower than the others, for
// a moment or for good and with no switch to mark it, would gather the whole window in its queue, and they
// would run dry. A little more than its share each is enough to use all of the window.
uint64_t Requester::plane_share_max(const Context& cx) const {
  const int active = std::popcount(cx.paths.active_planes() & cx.connection.resolved);
  const auto planes = static_cast<uint64_t>(std::max(active, 1));
  const uint64_t free = control_->cwnd() - std::min(control_->cwnd(), control_->inflight());
  const uint64_t window = sent_.in_flight_nominal() + free;  // what this queue pair may have under way
  return std::max(window * 5 / (4 * planes), kPlanePacketsAlways * nominal_size(cx.connection.mtu));
}

// ------------------------------------------------------------------------------------- starting messages

// Makes a message ready to be cut into packets. False: there is none, or it has to wait.
bool Requester::prepare_next_message(Context& cx) {
  if (window_full()) return false;
  if (started_) return true;
  // The last one before them may have to be repeated, see nudge().
  if (!messages_.make_room(oldest_message_ - 1, message_ - oldest_message_ + 2)) return false;
  // Answers first: the peer waits for them, and there are never more than it asked for.
  if (next_response_ != answers_->owed.tail()) return start_response(cx);
  return start_request(cx);
}

// Of one that was begun in an earlier turn. Null: its packets have to look for their parts, each.
const uint8_t* Requester::place_of_message(const Context& cx) const {
  const Message& message = message_at(message_);
  return message.is_response ? nullptr : place_in_one(cx, cx.send_queue.at(message.index));
}

bool Requester::start_response(Context& cx) {
  const Response& response = answers_->owed.at(next_response_);
  const uint32_t bytes = response.atomic ? 0 : response.bytes;
  place_ = nullptr;
  Message& message = message_at(message_);
  message = {true, next_response_, sent_.next(), sent_.next(), bytes, response.msn, receive_msn_};
  message.last_psn = message.first_psn + static_cast<int32_t>(packet_count(bytes, cx.connection.mtu) - 1);
  ++next_response_;
  started_ = true;
  offset_ = 0;
  return true;
}

// What the order of operations, the peer and what is under way demand of the next request.
[[gnu::hot]] bool Requester::may_start(const Context& cx, const SendRequest& request) const {
  const Operation operation = request.operation;
  if (!is_strict_mrc(operation) && !is_local(operation) && !cx.connection.knows_extension(cx.now))
    return false;
  // MRC 12.R4, 2: never more than max_wimm in flight.
  if (consumes_receive(operation) && consuming_ >= cx.connection.immediates_max) return false;
  return requests_.may_start(cx, request, answers_->awaited.outstanding());
}

CompletionStatus Requester::check(const Context& cx, const SendRequest& request) {
  if (!is_strict_mrc(request.operation) && cx.connection.extension == PeerExtension::kRefused)
    return CompletionStatus::kLocalQpOperationError;
  if (!is_strict_mrc(request.operation) && cx.connection.extension == PeerExtension::kUnanswered)
    return CompletionStatus::kRetryExceeded;
  return check_local_memory(cx, request, &place_);
}

bool Requester::start_request(Context& cx) {
  if (!cx.start_requests || requests_.next_failed() || !requests_.has_next(cx)) return false;
  if (is_local(requests_.next_request(cx).operation)) [[unlikely]]
    if (!requests_.pass_local_operations(cx) || !requests_.has_next(cx)) return false;
  SendRequest& request = requests_.next_request(cx);
  if (!may_start(cx, request)) return false;
  const CompletionStatus status = check(cx, request);
  if (status != CompletionStatus::kSuccess) {
    requests_.fail_next(cx, status);
    return false;
  }
  if (awaits_answer(request.operation)) {
    if (!answers_->awaited.has_memory()) {
      requests_.fail_next(cx, CompletionStatus::kGeneralError);
      return false;
    }
    if (!answers_->awaited.add(msn_, requests_.next())) return false;
  }
  Message& message = message_at(message_);
  message = {false, requests_.next(), sent_.next(), sent_.next(), request.bytes, msn_, receive_msn_};
  if (!awaits_answer(request.operation))
    message.last_psn =
        message.first_psn + static_cast<int32_t>(packet_count(request.bytes, cx.connection.mtu) - 1);
  request.first_psn = message.first_psn;
  request.last_psn = message.last_psn;
  request.msn = msn_++;
  request.receive_msn = receive_msn_;
  request.answered = false;
  if (consumes_receive(request.operation)) {
    ++receive_msn_;
    ++consuming_;
  }
  requests_.start();
  started_ = true;
  offset_ = 0;
  return true;
}

// ------------------------------------------------------------------------------------------ sending packets

[[gnu::hot]] bool Requester::send_new(Context& cx, PathId path, uint8_t* buffer) {
  const Message& message = message_at(message_);
  const Psn psn = sent_.next();
  const SendRequest* const request = message.is_response ? nullptr : &cx.send_queue.at(message.index);
  const bool answer_awaited = request != nullptr && awaits_answer(request->operation);
  const uint32_t bytes = answer_awaited ? 0 : std::min(cx.connection.mtu, message.bytes - offset_);
  Part part{psn, offset_, bytes, psn == message.first_psn, psn == message.last_psn};
  // MRC 3.1: an answer is asked for when a completion waits for it, when nothing follows, and when the window
  // closes; and where windows are small, if nothing else that is under way does.
  const bool signaled = request != nullptr && (cx.signal_all || (request->flags & kSignaled) != 0);
  const bool window_closes = sent_.outstanding() + 1 >= std::min(config_->window_packets, mpr_) ||
                             (control_->cwnd() < uint64_t{2} * config_->sack_threshold_bytes &&
                              (control_->closes_with(nominal_size(bytes)) || !answer_under_way()));
  part.place = place_ != nullptr ? place_ + offset_ : nullptr;
  part.ack_request = window_closes || (part.last && (signaled || !can_follow(cx)));
  if (!busy()) {
    restart_timers(cx.now);
    moved_at_ = cx.now;
  }
  const bool written = request != nullptr ? write_request(cx, message, *request, part, path, buffer)
                                          : write_response(cx, message, part, path, buffer);
  if (!written) return false;
  if (part.ack_request) asked_ = psn;
  if (answer_awaited) answers_->awaited.sent(message.msn);
  count_sent(cx, path);
  sent_.add({cx.now, cx.paths.next_order(), message_, path, static_cast<uint16_t>(bytes),
             PacketState::kInFlight, 1, cx.paths.at(path).plane});
  control_->on_sent(cx.now, nominal_size(bytes));
  cx.note(TraceEvent::kSent, psn, path, bytes);
  ++cx.services.counters.data_packets_sent;
  cx.services.counters.payload_bytes_sent += bytes;
  offset_ += bytes;
  if (request != nullptr) {
    unfinished_ += part.first ? 1 : 0;
    unanswered_ += part.last ? 1 : 0;
  }
  if (part.last) {
    ++message_;
    started_ = false;
    plan_copies(cx, message.first_psn, static_cast<uint32_t>(psn - message.first_psn) + 1);
  }
  return true;
}

// Whether something could be sent right behind the message being sent.
bool Requester::can_follow(const Context& cx) const {
  if (next_response_ != answers_->owed.tail()) return true;
  return requests_.has_next(cx) && may_start(cx, requests_.next_request(cx));
}

// MRC 3.4: the same packet on a fresh path, marked as a retransmission.
bool Requester::send_again(Context& cx, Psn psn, PathId path, uint8_t* buffer) {
  if (!write_again(cx, message_at(sent_.at(psn).request), psn, path, buffer)) return false;
  asked_ = psn;
  count_sent(cx, path);
  sent_.resend(psn, path, cx.paths.at(path).plane, cx.paths.next_order(), cx.now);
  control_->on_sent(cx.now, nominal_size(sent_.at(psn).bytes));
  cx.note(TraceEvent::kSentAgain, psn, path, sent_.at(psn).transmissions);
  ++cx.services.counters.retransmissions_sent;
  plan_copies(cx, psn, 0);
  // Who says again and again that it is missing, and never takes it, is given up in the end.
  if (psn == sent_.oldest() && may_take_its_time(cx.now)) unmoved_.restart(cx.now);
  return true;
}

}  // namespace mrc
