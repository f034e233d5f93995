// SPDX-License-Identifier: BSD-2-Clause
// Turns send requests (and the answers the responder owes) into packets, keeps the window, learns from SACK,
// NACK, ACK and silence what arrived and what was lost, repeats the lost, and completes requests in order.
// requester.cc sends, requester_runs.cc many small messages at once, requester_packets.cc writes what is
// sent, requester_copies.cc sends what may be lost twice, requester_feedback.cc hears, requester_losses.cc
// judges what was not heard of, requester_questions.cc asks early, requester_timers.cc waits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "libmrc/congestion/controller.h"
#include "libmrc/containers/growing_ring.h"
#include "libmrc/mrc/answers.h"
#include "libmrc/path/retransmit_cause.h"
#include "libmrc/peer/loss_memory.h"
#include "libmrc/reliability/arrivals_by_path.h"
#include "libmrc/reliability/excused_timer.h"
#include "libmrc/reliability/plane_rtt.h"
#include "libmrc/reliability/retry.h"
#include "libmrc/reliability/rtt_estimator.h"
#include "libmrc/reliability/sent_packets.h"
#include "libmrc/wire/packet.h"
#include "libmrc/work/context.h"
#include "libmrc/work/receiver_not_ready.h"
#include "libmrc/work/request_order.h"

namespace mrc {

class LaneRoom;

class Requester {
 public:
  explicit Requester(Answers& answers) : answers_(&answers) {}  // which outlive it
  // `control` is the peer's or the queue pair's own, `losses` the peer's; both outlive the requester.
  void reset(const TransportConfig& config, CongestionController* control, LossMemory* losses, Psn first);
  void skip_to(uint64_t send_index) { requests_.skip_to(send_index); }  // requests before it are gone
  // Takes what is in flight out of congestion control's books; nothing will be heard of it any more.
  void abandon(PathSet& paths);
  RetryPolicy& retry() { return retry_; }

  struct Burst {
    size_t packets = 0;
    PathId last_path = kNoPath;  // of the last data packet
    bool blocked = false;        // more could go, but the ports have no room now
    bool window_closed = false;  // more could go, but congestion control does not let it
  };
  // `first_path`: of the first packet, if it can be.
  Burst transmit(Context& cx, size_t budget, PathId first_path = kNoPath);
  // What is sent next is a message that the peer's program is told of and that has no room for an
  // acknowledgement.
  bool next_writes_immediate(const Context& cx) const;

  void on_sack(Context& cx, const Packet& packet);
  void on_nack(Context& cx, const Packet& packet);
  void on_acknowledge(Context& cx, const Packet& packet);
  // A message of the peer's says that everything up to here is done.
  void on_done_word(Context& cx, uint32_t word);
  // The answer to this READ or atomic is complete.
  void on_answer(Context& cx, uint16_t msn);
  void on_timer(Context& cx);
  // This host did not run until now, for longer than it should.
  void on_pause(Nanoseconds away, Nanoseconds now);
  // MRC 12.S12, 4.5, reverse set: data came in. If nothing of ours tells which paths work, ask by one of
  // them.
  void refresh_reverse_path(Context& cx) {
    if (const PathId path = cx.paths.take_reverse_probe(cx.now); path != kNoPath) send_probe(cx, path);
  }
  // By those that are due.
  void ask_about_paths(Context& cx);
  // Nothing that was asked or repeated is without an answer.
  bool hears() const { return silences_ == 0 && retry_.attempts() == 0 && !failure(); }
  // What is under way by this plane will not arrive.
  void on_port_down(Context& cx, Plane plane);

  // Set when the connection cannot go on: the status of the oldest request that is not complete.
  std::optional<CompletionStatus> failure() const { return requests_.failure(); }
  // Set when the memory of an answer has gone: the PSN of the peer's request.
  std::optional<Psn> response_fault() const { return response_fault_; }
  // Completes everything that is left: the oldest with `first`, the rest as flushed.
  void flush(Context& cx, CompletionStatus first);

  bool has_work(const Context& cx) const;  // whatever the window says
  // Whether the next request waits until it is known what the peer speaks.
  bool awaits_negotiation(const Context& cx) const {
    if (cx.connection.knows_extension(cx.now) || !requests_.has_next(cx)) return false;
    const Operation next = requests_.next_request(cx).operation;
    return !is_local(next) && !is_strict_mrc(next);
  }
  // Into the cache: where the next packets are noted down.
  [[gnu::always_inline]] void fetch_next() const { sent_.fetch_next(); }
  // There is something to send, or something to settle about what could not be sent.
  bool wants_turn(const Context& cx) const {
    return has_work(cx) || stranded_ || held_up_ || awaits_negotiation(cx);
  }
  // MRC 2: PSNs beyond the cumulative one that may be sent, as far as the peer has said.
  uint32_t mpr() const { return mpr_; }
  Nanoseconds recent_rtt(Plane plane) const { return plane_rtt_.recent(plane); }
  void set_mpr(uint32_t packets) { mpr_ = packets; }
  bool wants_to_send(const Context& cx) const { return has_work(cx) && control_->may_send(cx.now); }
  // No request is under way (those not started do not count).
  bool drained(const Context& cx) const { return !started_ && requests_.all_done(cx); }
  Nanoseconds next_deadline() const;

  // What it waits for, for whoever looks into a connection that does not move.
  struct Waiting {
    uint32_t unfinished = 0;  // requests of which something was sent
    uint32_t unanswered = 0;  // of these, all was sent
    uint64_t window = 0;      // of congestion control, in bytes
    uint64_t window_used = 0;
    Nanoseconds retransmission_at = kNever;
    Nanoseconds asks_at = kNever;
    uint32_t attempts = 0;  // of the retransmission timer
    uint32_t silences = 0;  // questions that had no answer
    uint32_t not_ready_count = 0;
    Nanoseconds not_ready_until = 0;
  };
  Waiting waiting() const;

  const SentPackets& sent() const { return sent_; }
  const RttEstimator& rtt() const { return rtt_; }
  const RetransmitCounts& retransmits() const { return retransmits_; }
  // Packets of data, first or again, and how many of them were taken for lost. They wrap.
  uint32_t packets_sent() const { return packets_sent_; }
  uint32_t packets_lost() const { return packets_lost_; }

 private:
  // One message of the outgoing stream: a request of ours, or an answer to one of the peer's.
  struct Message {
    bool is_response = false;
    uint64_t index = 0;  // in the send queue or the response queue
    Psn first_psn;
    Psn last_psn;
    uint32_t bytes = 0;  // of payload
    uint16_t msn = 0;
    uint16_t receive_msn = 0;
  };
  // What one packet has of its message, and how it goes.
  struct Part {
    Psn psn;
    uint32_t offset;
    uint32_t bytes;
    bool first;
    bool last;
    bool again = false;
    bool ack_request = false;
    const uint8_t* place = nullptr;  // of these bytes, if it is known; else gather() finds it
  };
  struct Probe {
    PathId path = kNoPath;
    uint16_t id = 0;
    uint64_t order = 0;
    Nanoseconds sent_at = 0;
  };
  static constexpr uint32_t kNotReadyWindow = 8;  // packets
  static constexpr size_t kProbesMin = 8;         // power of two: remembered probes
  static constexpr size_t kProbesMax = 256;
  static constexpr Nanoseconds kProbeLife = 10 * kMillisecond;  // older ones give way

  // Sending.
  uint64_t plane_share_max(const Context& cx) const;
  bool prepare_next_message(Context& cx);
  bool start_response(Context& cx);
  bool start_request(Context& cx);
  bool may_start(const Context& cx, const SendRequest& request) const;
  CompletionStatus check(const Context& cx, const SendRequest& request);
  bool send_new(Context& cx, PathId path, uint8_t* buffer);
  bool send_again(Context& cx, Psn psn, PathId path, uint8_t* buffer);
  bool can_follow(const Context& cx) const;

  // Runs, see requester_runs.cc.
  uint32_t run_limit(const Context& cx, size_t budget) const;
  bool make_room_for_run(uint32_t packets);
  void send_run(Context& cx, size_t budget, uint64_t share_max, LaneRoom* room, PlaneMask* usable,
                Burst* burst);
  void note_in_run(Context& cx, SendRequest* request, PathId path, Plane plane);
  void end_run(Context& cx, uint32_t packets, uint64_t bytes, bool was_busy);

  // Copies, see requester_copies.cc.
  bool copies_help(const Context& cx) const {
    return losses_->remembers() || cx.services.lossy_peers.several(cx.services.counters.data_packets_sent);
  }
  // Of what begins here; so many packets of it are new.
  void plan_copies(const Context& cx, Psn from, uint32_t packets) {
    if (!copies_help(cx)) [[likely]]
      return;
    losses_->sent(packets);
    if (from < copies_end_) begin_copies(from);
    if (!copies_due_) copy_at_ = std::min(copy_at_, cx.now + copy_delay());
  }
  void put_off_copies(Nanoseconds now) {
    if (copies_due_) copy_at_ = now + copy_delay();
    copies_due_ = false;
  }
  void begin_copies(Psn from) {
    if (from < copies_from_) copies_from_ = from;
    copies_end_ = behind_copy_ = copies_from_;
  }
  void forget_copies(Psn next) { copies_from_ = copies_end_ = behind_copy_ = next; }
  bool seek_copy();
  Nanoseconds copy_delay() const;
  bool may_be_copied(const Context& cx, Psn psn) const;
  bool find_copy(const Context& cx);
  bool find_overtaken(const Context& cx);
  bool send_copy(Context& cx, PathId path, uint8_t* buffer);
  bool is_news_of_first(const SentPacket& packet, Nanoseconds now) const;
  void note_lateness(Context& cx, const SentPacket& packet) const;
  void on_news_of_copy(Context& cx, const SentPacket& packet);
  Nanoseconds copied_at(const SentPacket& packet) const;
  void note_loss(Context& cx) const;

  // Packets, see requester_packets.cc. False: memory has gone; nothing is to be sent.
  bool write_again(Context& cx, const Message& message, Psn psn, PathId path, uint8_t* buffer);
  bool write_request(Context& cx, const Message& message, const SendRequest& request, const Part& part,
                     PathId path, uint8_t* buffer);
  bool write_gathered(Context& cx, const SendRequest& request, const Part& part, Plane plane,
                      FrameWriter frame);
  bool lose_memory();
  bool write_question(Context& cx, const Message& message, const SendRequest& request, const Part& part,
                      PathId path, uint8_t* buffer);
  bool write_response(Context& cx, const Message& message, const Part& part, PathId path, uint8_t* buffer);
  Message& message_at(uint64_t number) { return messages_.at(number); }
  const Message& message_at(uint64_t number) const { return messages_.at(number); }
  const uint8_t* place_of_message(const Context& cx) const;

  // Hearing.
  bool was_sent(Psn psn) const;
  [[gnu::always_inline]] void arrived(Context& cx, PathId path, uint64_t order) {
    if (arrivals_.note(path, order, cx.paths.size())) cx.paths.delivered(path, order);
  }
  bool credit(Context& cx, Psn psn);
  void needless(Nanoseconds now);
  void credit_up_to(Context& cx, Psn psn);
  void learn_from_trigger(Context& cx, const Packet& packet);
  bool nobody_overtaken(const Sack& sack) const;
  void find_losses(Context& cx, const Sack& sack);
  void judge_by_count(Context& cx, uint32_t out_of_order);
  void judge_unheard(Context& cx, uint32_t out_of_order);
  bool is_timestamp_of(const SentPacket& sent, uint16_t timestamp) const;
  bool names_last_transmission(const Context& cx, const Neth& neth) const;
  void judge(Context& cx, Psn psn);
  void suspect(Psn psn);
  void judge_suspects(Context& cx);
  bool others_than_suspects_under_way() const;
  void look_at_late_suspects(Context& cx);
  void give_up_late_suspects(Context& cx);
  bool overtaken(const Context& cx, const SentPacket& packet, Nanoseconds patience) const;
  // Two that went by different paths are not likely to be late both.
  Nanoseconds patience_with_both() const { return reorder_window() / 8; }
  bool both_overtaken(const Context& cx, const SentPacket& packet) const;
  Nanoseconds late_at(const SentPacket& packet) const;
  Nanoseconds measure(Nanoseconds now, Nanoseconds sent_at);
  void lose(Context& cx, Psn psn, uint64_t* cause, TraceEvent why);
  void count_retransmit(Context& cx, RetransmitCause cause, PathId path);
  void settle(PathSet& paths, Psn psn) const;
  void count_sent(Context& cx, PathId path) {
    cx.paths.count_sent(path);
    ++packets_sent_;
  }
  void on_receiver_not_ready(Context& cx, Psn psn, uint8_t timer);
  void acknowledged(Context& cx, Psn psn);
  void complete_ready(Context& cx);
  void heard(Context& cx);
  void tell_control(Context& cx, SackSignal signal);

  // Asking before anything is missed, see requester_questions.cc.
  bool answer_under_way() const;
  void ask_at_the_latest(Nanoseconds at) { ask_at_ = std::min(ask_at_, at); }
  void ask_when_all_may_be_there(const Context& cx);
  void ask_early(Context& cx);

  // Waiting.
  void ask(Context& cx, uint32_t gone);
  void send_probe(Context& cx, PathId path);
  void remember(const Probe& probe) noexcept;
  void nudge(Context& cx);
  // MRC 12.R2, 2: no PSN is sent beyond it, new or again.
  bool within_mpr(Psn psn) const { return static_cast<uint32_t>(psn - sent_.oldest()) < mpr_; }
  bool lost_within_mpr() const {
    return sent_.lost() > 0 && (mpr_ >= config_->window_packets || within_mpr(sent_.first_lost()));
  }
  bool window_full() const { return sent_.full() || !within_mpr(sent_.next()); }
  // After a not-ready answer a few packets show whether the peer is ready now. A whole window of them, all
  // refused, would keep it from becoming so.
  bool tries_whether_ready() const { return not_ready_.count() > 0 && sent_.in_flight() >= kNotReadyWindow; }
  // The peer owes an answer. Not so if the rest of a message only waits for the window to open.
  bool busy() const { return sent_.outstanding() > 0 || unanswered_ > 0 || stranded_ || held_up_; }
  // Whether it is not yet as long since anything moved as requests are repeated to one who is silent.
  bool may_take_its_time(Nanoseconds now) const;
  void restart_timers(Nanoseconds at) {
    unmoved_.restart(at);
    quiet_.restart(at);
  }
  void strand(const Context& cx);
  void hold_up(const Context& cx);
  Nanoseconds silence_allowed() const;
  Nanoseconds reorder_window() const;
  bool taken_for_lost(Psn psn) const;

  Answers* answers_;
  const TransportConfig* config_ = nullptr;
  SentPackets sent_;
  CongestionController* control_ = nullptr;
  LossMemory* losses_ = nullptr;
  RetryPolicy retry_;
  RttEstimator rtt_;
  PlaneRtt plane_rtt_;

  // Turning messages into packets.
  GrowingRing<Message> messages_;  // by number; those not cumulatively acknowledged, and one more
  uint64_t message_ = 0;           // number of the message being sent
  uint64_t oldest_message_ = 0;    // the first of which a packet is outstanding
  uint32_t offset_ = 0;            // bytes of it that have been sent
  bool started_ = false;           // it has its PSNs
  // Its data, if they are in one piece, and that was looked at in this turn.
  const uint8_t* place_ = nullptr;
  RequestOrder requests_;
  uint64_t next_response_ = 0;  // response queue index of the next answer to start
  uint32_t unfinished_ = 0;     // requests of which something was sent, not complete
  uint32_t unanswered_ = 0;     // requests of which everything was sent, not complete
  uint16_t msn_ = 0;
  uint16_t receive_msn_ = 0;
  uint16_t consuming_ = 0;  // requests in flight that use up a receive request

  // Copies of what is under way.
  Psn copies_from_;               // nothing below it is to be copied
  Psn copies_end_;                // behind the message that is being copied
  Psn behind_copy_;               // of that, the one before this is next
  Psn copy_;                      // what find_copy() has found
  size_t suspects_passed_ = 0;    // of those that were overtaken, so many have been looked at
  Nanoseconds copy_at_ = kNever;  // when to look for something...
  bool copies_due_ = false;       // ...which is now

  // What is known of deliveries.
  ArrivalsByPath arrivals_;
  Nanoseconds newest_delivery_ = 0;  // send time of the latest-sent packet known to have arrived
  uint32_t received_units_ = 0;
  uint32_t mpr_ = UINT32_MAX;
  bool sack_seen_ = false;
  std::vector<Psn> suspects_;              // reported missing once, not heard of since
  Nanoseconds suspects_late_at_ = kNever;  // when the first of them is lost, whatever is heard
  bool suspects_waited_ = false;           // once longer than that
  uint32_t reorder_scale_ = 1;             // grows when a retransmission turns out to have been needless
  Nanoseconds last_needless_ = 0;
  std::optional<Psn> acknowledged_;  // everything up to here is done at the peer
  // The newest packet that a message of the peer's acknowledged: the ACK behind it brings the round trip.
  Psn done_by_message_;
  Nanoseconds done_by_message_sent_at_ = 0;  // 0 = none
  uint64_t newly_bytes_ = 0;                 // credited since congestion control was told
  uint32_t newly_packets_ = 0;               // credited by the SACK being worked on
  Nanoseconds newest_rtt_ = 0;               // sample of the SACK being worked on; 0 = none
  bool newest_rtt_short_ = false;            // of a packet that was not full

  RetransmitCounts retransmits_{};
  uint32_t packets_sent_ = 0;
  uint32_t packets_lost_ = 0;

  ReceiverNotReady not_ready_;

  // Questions.
  Psn asked_;                    // the newest packet that asked for an answer, or was there when we asked
  Nanoseconds ask_at_ = kNever;  // when to ask, if nothing under way has done it by then

  // Timers.
  bool held_up_ = false;         // there is something to send, and the peer does not take what is there
  bool stranded_ = false;        // there is something to send, and no plane leads to the peer
  ExcusedTimer unmoved_;         // of retransmissions
  ExcusedTimer quiet_;           // of probes
  Nanoseconds moved_at_ = 0;     // when the peer last did something for us, or there was nothing to do
  Nanoseconds asked_at_ = 0;     // the last question to one that owes us a completion only
  uint64_t answers_placed_ = 0;  // packets of answers until then
  uint32_t silences_ = 0;        // questions since anything was heard, or since anything moved
  Nanoseconds awake_since_ = 0;  // the end of the last pause
  Nanoseconds away_ = 0;         // how long the last ones were

  uint16_t next_probe_id_ = 1;
  std::vector<Probe> probes_;  // by the low bits of their id; none until there is one

  std::optional<Psn> response_fault_;
};

}  // namespace mrc
