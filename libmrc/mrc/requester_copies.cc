// SPDX-License-Identifier: BSD-2-Clause
// [P] What is sent twice. A loss is heard of after a round trip, and repaired after another one.
// Behind the end of what there is to send nothing even shows that something is missing. So where packets
// are lost, and there is nothing new to send, what is under way goes once more, by other paths. That costs
// what nobody else asked for: not more than is under way, not where that is more than five eighths of the
// window, and only until something is heard of it.
#include <algorithm>
#include <bit>

#include "libmrc/mrc/requester.h"

namespace mrc {

namespace {
// Of the shortest round trip. As long as this a copy waits, so that the answer to the first can be told from
// its own, and the paths can still be judged.
constexpr Nanoseconds kDelayShare = 8;
// Of the window: more than that under way, and copies wait. With half of it, two messages at once, as behind
// a step of a collective that was late, were not copied before they were acknowledged.
constexpr uint64_t kWindowEighths = 5;
// Copies hide what becomes of the first. Where nothing is known to have arrived for so many turns of a path,
// a packet goes once only, so that it tells. Not sooner, for if it is lost, that costs round trips.
constexpr uint64_t kTurnsUnknown = 1024;
constexpr uint8_t kCopiedAfterMax = 31;  // or later

bool is_witness(const PathSet& paths, const SentPacket& packet) {
  const uint64_t known = paths.at(packet.path).delivered_order;
  return packet.order > known + kTurnsUnknown * paths.places();
}
}  // namespace

void Requester::note_loss(Context& cx) const {
  if (!config_->spare_copies) return;
  losses_->lost();
  cx.services.lossy_peers.lost(losses_, cx.services.counters.data_packets_sent);
}

Nanoseconds Requester::copy_delay() const {
  const Nanoseconds round_trip = rtt_.known() ? rtt_.least() : config_->silence_min;
  return std::max<Nanoseconds>(round_trip / kDelayShare, 1);
}

// Message after message, the end of each first. Where queues differ the last packets are what a message waits
// for: a copy that goes right behind them may come sooner than they do. Those sent first have had time for
// their queues while the rest was sent. (A loss costs the same in either order.) False: there is nothing
// left.
bool Requester::seek_copy() {
  if (copies_from_ < sent_.oldest()) copies_from_ = sent_.oldest();
  if (behind_copy_ > copies_from_ && behind_copy_ <= sent_.next()) return true;
  if (copies_from_ < copies_end_) copies_from_ = copies_end_;
  if (copies_from_ >= sent_.next()) return false;
  copies_end_ = std::min(message_at(sent_.at(copies_from_).request).last_psn + 1, sent_.next());
  behind_copy_ = copies_end_;
  return true;
}

bool Requester::may_be_copied(const Context& cx, Psn psn) const {
  const SentPacket& packet = sent_.at(psn);
  return packet.state == PacketState::kInFlight && packet.copied_after == 0 && within_mpr(psn) &&
         !is_witness(cx.paths, packet);
}

// Makes copy_ a packet that may go once more now. False: there is none; copy_at_ says when to look again.
bool Requester::find_copy(const Context& cx) {
  if (!copies_due_) return false;
  const bool help = copies_help(cx);
  const bool fits = 8 * control_->inflight() <= kWindowEighths * control_->cwnd();
  if (help && fits && find_overtaken(cx)) return true;
  for (; help && seek_copy(); behind_copy_ = behind_copy_ - 1) {
    copy_ = behind_copy_ - 1;
    if (!may_be_copied(cx, copy_)) continue;
    const Nanoseconds due = sent_.at(copy_).sent_at + copy_delay();
    if (fits && cx.now >= due) return true;
    copy_at_ = fits ? due : std::max(due, cx.now + copy_delay());
    break;
  }
  copies_due_ = false;
  return false;
}

// What others have overtaken is likely lost, and goes before what nothing is known of: to be sure of it takes
// the rest of the time in which packets may overtake each other.
bool Requester::find_overtaken(const Context& cx) {
  for (; suspects_passed_ < suspects_.size(); ++suspects_passed_) {
    copy_ = suspects_[suspects_passed_];
    if (sent_.contains(copy_) && sent_.at(copy_).transmissions == 1 && may_be_copied(cx, copy_)) return true;
  }
  return false;
}

bool Requester::send_copy(Context& cx, PathId path, uint8_t* buffer) {
  const Psn psn = copy_;
  SentPacket& packet = sent_.at(psn);
  packet.copied_after = static_cast<uint8_t>(
      std::min<Nanoseconds>((cx.now - packet.sent_at) / copy_delay() + 1, kCopiedAfterMax));
  if (!write_again(cx, message_at(packet.request), psn, path, buffer)) {
    // Its memory has gone. That is no fault before it is known to be needed.
    requests_.excuse();
    response_fault_.reset();
    return false;
  }
  count_sent(cx, path);
  cx.paths.next_order();
  ++cx.services.counters.copies_sent;
  cx.note(TraceEvent::kSentAgain, psn, path, packet.transmissions);
  return true;
}

// When the copy had been sent; kNever if there is none, or it was sent much later.
Nanoseconds Requester::copied_at(const SentPacket& packet) const {
  if (packet.copied_after == 0 || packet.copied_after >= kCopiedAfterMax) return kNever;
  return packet.sent_at + packet.copied_after * copy_delay();
}

// Whether it is too soon to have heard of the copy.
bool Requester::is_news_of_first(const SentPacket& packet, Nanoseconds now) const {
  return now - packet.sent_at < rtt_.least() + copy_delay();
}

// Copies go by paths whose answers come soon. What is heard sooner than a copy could be heard of tells of the
// first; of the others nobody knows which path they took. In units of 1/128 to 1/64 of the shortest round
// trip.
void Requester::note_lateness(Context& cx, const SentPacket& packet) const {
  constexpr int kUnitsWidth = 7;
  if (packet.transmissions != 1 || !rtt_.known()) return;
  const Nanoseconds soonest = packet.sent_at + rtt_.least();
  if (packet.copied_after != 0 && cx.now >= soonest + (packet.copied_after - 1) * copy_delay()) return;
  const Nanoseconds late = cx.now > soonest ? cx.now - soonest : 0;
  const int shift = std::max(static_cast<int>(std::bit_width(rtt_.least())) - kUnitsWidth, 0);
  cx.paths.answered_after(packet.path, static_cast<uint8_t>(std::min<Nanoseconds>(late >> shift, UINT8_MAX)));
}

// The copy has made the peer speak, and nothing had been heard of the first: it was lost. That is not held
// against its path, for some are just late. It also tells of all that was sent before the copy.
void Requester::on_news_of_copy(Context& cx, const SentPacket& packet) {
  if (packet.copied_after < kCopiedAfterMax && packet.transmissions == 1)
    newest_delivery_ = std::max(newest_delivery_, packet.sent_at + (packet.copied_after - 1) * copy_delay());
  if (packet.state == PacketState::kInFlight && packet.transmissions == 1) note_loss(cx);
}

}  // namespace mrc
