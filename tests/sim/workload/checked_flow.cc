// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/workload/checked_flow.h"

#include <algorithm>
#include <cstring>

namespace mrc::sim {

namespace {
constexpr uint64_t kTargetAddress = 0x7000'0000'0000;
constexpr uint8_t kConsumed = 0x3C;
constexpr uint32_t kCells = 4;

uint64_t load_cell(const uint8_t* from) {
  uint64_t value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
void store_cell(uint8_t* to, uint64_t value) {
  std::memcpy(to, &value, sizeof value);
}
}  // namespace

// ----------------------------------------------------------------------------------------------- planning

CheckedFlow::CheckedFlow(const FlowConfig& config, uint64_t seed) : config_(config), random_(seed) {
  Random random(random_.next());
  plan(config.messages, random);
  fill(random);
}

// Sizes that meet every edge: empty, one byte, around the MTU, several packets, many packets.
uint32_t CheckedFlow::draw_size(Random& random) const {
  const uint32_t mtu = config_.mtu;
  switch (random.below(8)) {
    case 0:
      return static_cast<uint32_t>(random.below(2));
    case 1:
      return static_cast<uint32_t>(random.between(2, 64));
    case 2:
      return mtu - 1 + static_cast<uint32_t>(random.below(3));
    case 3:
    case 4:
      return static_cast<uint32_t>(random.between(1, mtu));
    case 5:
    case 6:
      return static_cast<uint32_t>(random.between(mtu, 8 * mtu));
    default:
      return static_cast<uint32_t>(random.between(mtu, std::max(config_.packets_max, 2u) * mtu));
  }
}

void CheckedFlow::plan(uint32_t count, Random& random) {
  std::vector<const OperationInfo*> operations;
  for (size_t i = 0; i < kOperations.size(); ++i)
    if ((config_.operations >> i & 1) != 0) operations.push_back(&kOperations[i]);
  uint64_t source = 0;
  uint64_t target = kCells * sizeof(uint64_t);
  uint64_t result = 0;
  for (uint32_t i = 0; i < count; ++i) {
    Message message;
    message.info = operations[random.below(operations.size())];
    const bool flushes = message.info->operation == Operation::kFlush;
    message.bytes = message.info->atomic ? sizeof(uint64_t) : flushes ? 0 : draw_size(random);
    message.signaled = random.chance(0.7) || i + 1 == count;
    target += random.below(100);  // gaps that must stay untouched
    result += random.below(100);
    message.source_at = source;
    message.target_at = message.info->atomic ? random.below(kCells) * sizeof(uint64_t) : target;
    message.result_at = result;
    if (message.info->receives) {
      message.receive = receives_++;
      receiving_.push_back(i);
    }
    if (message.info->fetches) {
      result += message.bytes;
      if (!message.info->atomic) target += message.bytes;
    } else {
      source += message.bytes;
      target += message.bytes;
    }
    account_for(message);
    messages_.push_back(message);
  }
  source_.resize(source + 1);
  target_.resize(target + 1);
  result_.resize(result + 1);
}

// What it takes when every packet is sent once. The result of an atomic stands in a header.
void CheckedFlow::account_for(const Message& message) {
  const bool flushes = message.info->operation == Operation::kFlush;
  (message.info->atomic ? atomics_ : flushes ? flushes_ : reads_) += message.info->fetches ? 1 : 0;
  if (message.info->fetches) ++packets_;
  if (!message.info->atomic) payload_bytes_ += message.bytes;
  packets_ +=
      message.info->atomic || message.bytes == 0 ? 1 : (message.bytes + config_.mtu - 1) / config_.mtu;
}

void CheckedFlow::fill(Random& random) {
  for (size_t i = 0; i < source_.bytes(); ++i) source_.data()[i] = static_cast<uint8_t>(random.next());
  for (uint32_t cell = 0; cell < kCells; ++cell)
    store_cell(target_.data() + cell * sizeof(uint64_t), random.next());
  for (const Message& message : messages_) {
    if (!message.info->fetches || message.info->atomic) continue;
    for (uint32_t i = 0; i < message.bytes; ++i)
      target_.data()[message.target_at + i] = static_cast<uint8_t>(random.next());
  }
  original_.assign(source_.data(), source_.data() + source_.bytes());
  before_.assign(target_.data(), target_.data() + target_.bytes());
  consumed_ = before_;
  fetched_.assign(result_.data(), result_.data() + result_.bytes());
  for (Message& message : messages_) {
    if (message.info->atomic) plan_atomic(&message, random);
    if (message.info->fetches && !message.info->atomic)
      std::memcpy(fetched_.data() + message.result_at, before_.data() + message.target_at, message.bytes);
  }
}

// Requests of one connection execute in order, so that every result is known in advance.
void CheckedFlow::plan_atomic(Message* message, Random& random) {
  uint8_t* cell = consumed_.data() + message->target_at;
  const uint64_t value = load_cell(cell);
  store_cell(fetched_.data() + message->result_at, value);
  if (message->info->operation == Operation::kFetchAdd) {
    message->compare_add = random.next();
    store_cell(cell, value + message->compare_add);
    return;
  }
  message->compare_add = random.chance(0.7) ? value : random.next();
  message->swap = random.next();
  if (message->compare_add == value) store_cell(cell, message->swap);
}

void CheckedFlow::open(Host& from, Host& to, QueuePair& sender, QueuePair& receiver,
                       ProtectionDomain domain) {
  from_ = &from;
  to_ = &to;
  sender_ = &sender;
  receiver_ = &receiver;
  MemoryTable& local = from.engine().memory();
  source_key_ =
      local.add(domain, source_.data(), source_.bytes(), reinterpret_cast<uint64_t>(source_.data()), 0);
  result_key_ = local.add(domain, result_.data(), result_.bytes(), reinterpret_cast<uint64_t>(result_.data()),
                          kLocalWrite);
  target_key_ =
      to.engine().memory().add(domain, target_.data(), target_.bytes(), kTargetAddress,
                               kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic | kRemoteFlush);
}

// ------------------------------------------------------------------------------------------------ posting

void CheckedFlow::post_receives() {
  if (shared_ != nullptr) return;  // they come back one by one
  bool posted = false;
  while (posted_receives_ < receives_) {
    ReceiveRequest* request = receiver_->receive_queue().reserve();
    if (request == nullptr) break;
    const Message& message = messages_[receiving_[posted_receives_]];
    request->work_id = posted_receives_++;
    request->segment_count = 0;
    request->bytes = 0;
    if (message.info->received == CompletionKind::kReceive && message.bytes > 0) {
      request->segment_count = 1;
      request->bytes = message.bytes;
      request->segments()[0] = {kTargetAddress + message.target_at, message.bytes, target_key_};
    }
    receiver_->receive_queue().publish(1);
    posted = true;
  }
  if (!posted) return;
  to_->engine().ring_doorbell(*receiver_);
  to_->wake();
}

void CheckedFlow::post_sends() {
  bool posted = false;
  while (!failed_ && next_ < messages_.size()) {
    SendRequest* request = sender_->send_queue().reserve();
    if (request == nullptr) break;
    Message& message = messages_[next_];
    // The last free entry must bring a completion, or nothing would tell when to go on.
    if (sender_->send_queue().reserve(1) == nullptr) message.signaled = true;
    request->work_id = next_;
    request->operation = message.info->operation;
    request->flags = static_cast<uint8_t>(message.signaled ? kSignaled : 0);
    if (random_.chance(0.2)) request->flags |= kSolicited;
    if (random_.chance(0.05)) request->flags |= kFence;
    request->remote_address = kTargetAddress + message.target_at;
    request->remote_key = target_key_;
    request->immediate = next_;
    request->bytes = message.bytes;
    request->compare_add = message.compare_add;
    request->swap = message.swap;
    if (message.info->operation == Operation::kFlush) name_flushed(request, message);
    fill_segments(request, message);
    message.posted = true;
    message.proves = reverse_ != nullptr ? reverse_->told_ : 0;
    sender_->send_queue().publish(1);
    ++next_;
    posted = true;
  }
  if (!posted) return;
  from_->engine().ring_doorbell(*sender_);
  from_->wake();
}

// All of the target before its place, or the whole of it.
void CheckedFlow::name_flushed(SendRequest* request, const Message& message) {
  request->remote_address = kTargetAddress;
  const bool region = random_.chance(0.3);
  request->set_flush(Feth::kGlobal, region ? Feth::kRegion : Feth::kRange,
                     static_cast<uint32_t>(message.target_at));
}

void CheckedFlow::fill_segments(SendRequest* request, const Message& message) {
  const bool fetches = message.info->fetches;
  const uint64_t start = fetches ? reinterpret_cast<uint64_t>(result_.data()) + message.result_at
                                 : reinterpret_cast<uint64_t>(source_.data()) + message.source_at;
  if (!fetches && message.bytes <= config_.inline_bytes_max && random_.chance(0.5)) {
    request->flags |= kInline;
    request->segment_count = 0;
    std::memcpy(request->inline_data(), original_.data() + message.source_at, message.bytes);
    return;
  }
  uint32_t count = 0;
  if (message.bytes > 0)
    count = message.info->atomic ? 1 : static_cast<uint32_t>(random_.between(1, config_.segments_max));
  uint32_t at = 0;
  request->segment_count = static_cast<uint8_t>(count);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t left = message.bytes - at;
    const uint32_t part = i + 1 == count ? left : static_cast<uint32_t>(random_.below(left + 1));
    request->segments()[i] = {start + at, part, fetches ? result_key_ : source_key_};
    at += part;
  }
}

// ----------------------------------------------------------------------------------------------- checking

bool CheckedFlow::fail(const std::string& what, uint64_t number) {
  if (failure_.empty())
    failure_ = what + " (" +
               (number < messages_.size()
                    ? "message " + std::to_string(number) + ", " + messages_[number].info->name + ", "
                    : "") +
               where() + ")";
  return false;
}

std::string CheckedFlow::where() const {
  return "h" + std::to_string(from_->number()) + " > h" + std::to_string(to_->number()) + " qpn " +
         std::to_string(receiver_->qpn().value());
}

OperationSet CheckedFlow::operations_completed() const {
  OperationSet set = 0;
  for (uint32_t i = 0; i < completed_; ++i) set |= 1u << (messages_[i].info - kOperations.data());
  return set;
}

bool CheckedFlow::landed(const Message& message) const {
  if (message.complete) return true;  // was looked at then
  if (message.info->fetches)
    return std::memcmp(result_.data() + message.result_at, fetched_.data() + message.result_at,
                       message.bytes) == 0;
  return std::memcmp(target_.data() + message.target_at, original_.data() + message.source_at,
                     message.bytes) == 0;
}

// Both buffers are the application's again: it writes something else there, and that must stay.
void CheckedFlow::consume(Message& message) {
  message.complete = true;
  if (message.info->fetches) return;
  std::memset(source_.data() + message.source_at, kConsumed, message.bytes);
  std::memset(target_.data() + message.target_at, kConsumed, message.bytes);
  std::memset(consumed_.data() + message.target_at, kConsumed, message.bytes);
}

// In order, successful, every signaled one exactly once, and only when everything before has landed.
bool CheckedFlow::on_sent(const Completion& completion) {
  if (completion.status != CompletionStatus::kSuccess) {
    if (!may_fail_)
      return fail("send completion with status " + std::to_string(static_cast<int>(completion.status)),
                  completion.work_id);
    const bool first = !failed_;
    failed_ = true;
    if (first && completion.status != CompletionStatus::kRetryExceeded &&
        completion.status != CompletionStatus::kFlushed)
      return fail("connection ended with status " + std::to_string(static_cast<int>(completion.status)),
                  completion.work_id);
    return true;
  }
  if (failed_) return fail("success after an error", completion.work_id);
  uint32_t expected = completed_;
  while (expected < next_ && !messages_[expected].signaled) ++expected;
  if (expected >= next_ || completion.work_id != expected)
    return fail("send completion out of order", completion.work_id);
  if (completion.kind != messages_[expected].info->sent)
    return fail("send completion of a wrong kind", completion.work_id);
  for (; completed_ <= expected; ++completed_) {
    Message& message = messages_[completed_];
    const bool told = !message.info->receives || message.receive < told_;
    // What was not told yet may still be in a buffer of the shared queue.
    const bool elsewhere = late_receives_ && !told && shared_ != nullptr;
    if (!elsewhere && !landed(message)) return fail("completed before its data were there", completed_);
    if (!told && !late_receives_) return fail("completed before the peer was told", completed_);
    consume(message);
  }
  return true;
}

// In the order of sending, with the right value and length, and only when everything before is in memory.
bool CheckedFlow::on_received(const Completion& completion) {
  if (completion.status != CompletionStatus::kSuccess) {
    if (shared_ != nullptr) shared_->give_back(completion.work_id);
    if (may_fail_ && completion.status == CompletionStatus::kFlushed) return true;
    return fail("receive completion with status " + std::to_string(static_cast<int>(completion.status)),
                told_ < receives_ ? receiving_[told_] : messages_.size());
  }
  if (shared_ == nullptr && completion.work_id != told_)
    return fail("receive requests used out of order", messages_.size());
  if (told_ >= receives_) return fail("more receives than were sent", messages_.size());
  const uint32_t index = receiving_[told_++];
  const Message& message = messages_[index];
  if (completion.kind != message.info->received) return fail("receive completion of a wrong kind", index);
  if (completion.has_immediate != message.info->immediate)
    return fail("immediate where none was sent", index);
  if (message.info->immediate && completion.immediate != index) return fail("immediate out of order", index);
  if (completion.byte_count != message.bytes) return fail("received with a wrong length", index);
  if (shared_ != nullptr && !take_from_shared(completion, message))
    return fail("a buffer of the shared queue holds something else", index);
  if (!reply_is_in_order(message)) return fail("reported before what it answers is complete", index);
  for (uint32_t i = completed_; i <= index; ++i)
    if (!messages_[i].info->fetches && !landed(messages_[i]))
      return fail("told before the data were there", i);
  return true;
}

// What was received into a buffer of the shared queue goes to where it would have been received otherwise.
bool CheckedFlow::take_from_shared(const Completion& completion, const Message& message) {
  if (completion.work_id >= shared_->count()) return false;
  const uint8_t* buffer = shared_->buffer(completion.work_id);
  const bool sent = message.info->received == CompletionKind::kReceive;
  const bool same = !sent || std::memcmp(buffer, original_.data() + message.source_at, message.bytes) == 0;
  if (sent && same && !message.complete)
    std::memcpy(target_.data() + message.target_at, buffer, message.bytes);
  shared_->give_back(completion.work_id);
  return same;
}

// Only a SEND has room for the proof; a WRITE with immediate goes behind it, which does not help if that is
// lost.
bool CheckedFlow::reply_is_in_order(const Message& message) const {
  if (reverse_ == nullptr || message.proves == 0 || reverse_->failed_) return true;
  if (message.info->received != CompletionKind::kReceive) return true;
  const Message& answered = reverse_->messages_[reverse_->receiving_[message.proves - 1]];
  return answered.complete || !answered.signaled;
}

bool CheckedFlow::done() const {
  if (failed_) return true;
  return completed_ == messages_.size() && told_ == receives_;
}

uint64_t CheckedFlow::position() const {
  uint64_t position = uint64_t{completed_} << 32 | sender_->oldest_unacknowledged().value();
  // What is fetched comes with the stream of the other direction.
  const auto fetches = [](const Message& message) { return message.posted && message.info->fetches; };
  if (std::any_of(messages_.begin() + completed_, messages_.begin() + next_, fetches))
    position += uint64_t{receiver_->oldest_unacknowledged().value()} << 16;
  return position;
}

// The message to which this byte of the target belongs.
size_t CheckedFlow::message_at(uint64_t byte) const {
  const auto holds = [byte](const Message& message) {
    return byte >= message.target_at && byte < message.target_at + message.bytes;
  };
  return static_cast<size_t>(std::find_if(messages_.begin(), messages_.end(), holds) - messages_.begin());
}

bool CheckedFlow::check_memory() {
  for (const auto& [buffer, name] :
       {std::pair{&source_, "source"}, {&target_, "target"}, {&result_, "result"}})
    if (!buffer->guards_intact())
      return fail(std::string("memory outside the ") + name + " region was written", messages_.size());
  // What the connection did not finish may be there in part, but with the right bytes only.
  std::vector<uint8_t> partial = consumed_;
  for (const Message& message : messages_) {
    if (message.complete || message.info->fetches) continue;
    std::memcpy(partial.data() + message.target_at, original_.data() + message.source_at, message.bytes);
  }
  const bool cells_known = completed_ == messages_.size();
  for (size_t i = cells_known ? 0 : kCells * sizeof(uint64_t); i < partial.size(); ++i) {
    const uint8_t now = target_.data()[i];
    if (now == partial[i]) continue;
    if (partial[i] == consumed_[i] || now != before_[i])
      return fail("byte " + std::to_string(i) + " of the target is wrong", message_at(i));
  }
  for (size_t i = 0; i < fetched_.size(); ++i)
    if (completed_ == messages_.size() && result_.data()[i] != fetched_[i])
      return fail("byte " + std::to_string(i) + " of what was fetched is wrong", messages_.size());
  return true;
}

}  // namespace mrc::sim
