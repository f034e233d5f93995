// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/scenarios/stream.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace mrc::sim {

// -------------------------------------------------------------------------------------------- application

Application::Application(Host& host, uint32_t queue_pairs, uint32_t completion_entries,
                         std::vector<uint8_t>& source, std::vector<uint8_t>& target)
    : host_(host),
      queue_(completion_entries),
      routes_(queue_pairs),
      first_qpn_(EngineConfig{}.first_qpn.value()),
      source_address_(reinterpret_cast<uint64_t>(source.data())) {
  host.set_listener(this);
  MemoryTable& memory = host.engine().memory();
  source_key_ = memory.add(kDomain, source.data(), source.size(), source_address_, 0);
  target_key_ = memory.add(kDomain, target.data(), target.size(), kTargetAddress, kLocalWrite | kRemoteWrite);
}

void Application::route(const QueuePair& qp, CompletionHandler* sent, CompletionHandler* received) {
  routes_.at(qp.qpn().value() - first_qpn_) = {sent, received};
}

void Application::on_completions(CompletionQueue& queue) {
  std::array<Completion, 32> completions;
  for (size_t count; (count = queue.poll(completions)) > 0;) {
    for (size_t i = 0; i < count; ++i) {
      const Route& route = routes_[completions[i].qpn.value() - first_qpn_];
      const bool received = completions[i].kind == CompletionKind::kReceive ||
                            completions[i].kind == CompletionKind::kReceiveRdmaImmediate;
      (received ? route.received : route.sent)->on_completion(completions[i]);
    }
  }
}

// ------------------------------------------------------------------------------------------------- stream

class Stream::Sent : public CompletionHandler {
 public:
  explicit Sent(Stream& stream) : stream_(stream) {}
  void on_completion(const Completion& completion) override { stream_.on_sent(completion); }

 private:
  Stream& stream_;
};

class Stream::Received : public CompletionHandler {
 public:
  Received(Stream& stream, size_t end) : stream_(stream), end_(end) {}
  void on_completion(const Completion& completion) override {
    stream_.on_received(stream_.ends_[end_], completion);
  }

 private:
  Stream& stream_;
  size_t end_;
};

Stream::Stream(Fabric& fabric, Application& from, Application& to, const StreamConfig& config, uint32_t mtu,
               uint64_t seed)
    : fabric_(fabric),
      from_(from),
      to_(to),
      config_(config),
      ends_(config.queue_pairs),
      under_way_(config.depth) {
  Random random(seed);
  ConnectionConfig connection;
  connection.domain = Application::kDomain;
  connection.mtu = mtu;
  connection.timeout = config.timeout;
  connection.retry_linear = 7;
  connection.retry_exponential = 7;
  for (int side = 0; side < 2; ++side) {
    EndConfig& end = connection.end[side];
    CompletionQueue& queue = (side == 0 ? from : to).queue();
    end.send_completions = end.receive_completions = &queue;
    end.send_entries = side == 0 ? config.depth : 1;
    end.receive_entries = config.immediate ? std::max(config.depth, config.receive_entries) : 1;
  }
  for (size_t i = 0; i < ends_.size(); ++i) {
    for (EndConfig& end : connection.end) end.first_psn = Psn(static_cast<uint32_t>(random.next()));
    const QueuePairs pairs = connect(from.host(), to.host(), connection);
    ends_[i].sender = pairs.end[0];
    ends_[i].receiver = pairs.end[1];
    ends_[i].handlers[0] = std::make_unique<Sent>(*this);
    ends_[i].handlers[1] = std::make_unique<Received>(*this, i);
    from.route(*pairs.end[0], ends_[i].handlers[0].get(), nullptr);
    to.route(*pairs.end[1], nullptr, ends_[i].handlers[1].get());
    for (uint32_t n = 0; config.immediate && n < connection.end[1].receive_entries; ++n)
      post_receive(ends_[i]);
  }
  fabric.set_alarm(config.start, *this, 0);
}

uint32_t Stream::from() const {
  return from_.host().number();
}
uint32_t Stream::to() const {
  return to_.host().number();
}

double Stream::goodput_gigabits() const {
  const Picoseconds taken = last_completion_ - config_.start;
  return taken == 0 ? 0 : static_cast<double>(completed_bytes()) * 8000.0 / static_cast<double>(taken);
}

void Stream::send() {
  ++allowed_;
  if (fabric_.now() >= config_.start) post();
}

void Stream::finish() {
  assert(posted_ > 0 && "a stream without messages would be one without end");
  config_.messages = posted_;
}

std::vector<double> Stream::ages() const {
  const Picoseconds until = failed_ ? last_completion_ : fabric_.now();
  std::vector<double> ages;
  for (const Under& message : under_way_)
    if (message.parts_left > 0) ages.push_back(to_microseconds(until - message.posted_at));
  return ages;
}

void Stream::post() {
  const uint64_t limit = config_.manual ? allowed_ : config_.messages != 0 ? config_.messages : UINT64_MAX;
  bool posted = false;
  while (!failed_ && posted_ < limit && posted_ - completed_ < config_.depth) {
    post_one();
    posted = true;
  }
  if (posted) from_.host().wake();
}

uint32_t Stream::part_bytes(size_t part) const {
  const uint64_t share = config_.message_bytes / ends_.size();
  return static_cast<uint32_t>(part + 1 == ends_.size() ? config_.message_bytes - share * part : share);
}

void Stream::post_one() {
  under_way_[posted_ % config_.depth] = {fabric_.now(), static_cast<uint32_t>(ends_.size())};
  uint64_t at = 0;
  for (size_t i = 0; i < ends_.size(); ++i) {
    QueuePair& qp = *ends_[i].sender;
    SendRequest* request = qp.send_queue().reserve();
    assert(request != nullptr);
    request->work_id = posted_;
    request->operation = config_.immediate ? Operation::kWriteImm : Operation::kWrite;
    request->flags = kSignaled;
    request->remote_address = Application::kTargetAddress + at;
    request->remote_key = to_.target_key();
    request->immediate = static_cast<uint32_t>(posted_);
    request->bytes = part_bytes(i);
    request->segment_count = 1;
    request->segments()[0] = {from_.source_address() + at, request->bytes, from_.source_key()};
    at += request->bytes;
    qp.send_queue().publish(1);
    from_.host().engine().ring_doorbell(qp);
  }
  ++posted_;
}

void Stream::post_receive(End& end) {
  ReceiveRequest* request = end.receiver->receive_queue().reserve();
  assert(request != nullptr);
  request->work_id = 0;
  request->segment_count = 0;
  request->bytes = 0;
  end.receiver->receive_queue().publish(1);
  to_.host().engine().ring_doorbell(*end.receiver);
}

void Stream::on_sent(const Completion& completion) {
  if (completion.status != CompletionStatus::kSuccess) {
    failed_ = true;
    last_completion_ = fabric_.now();
    return;
  }
  Under& message = under_way_[completion.work_id % config_.depth];
  if (--message.parts_left > 0) return;
  latencies_.push_back(to_microseconds(fabric_.now() - message.posted_at));
  ++completed_;
  last_completion_ = fabric_.now();
  post();
}

void Stream::on_received(End& end, const Completion& completion) {
  if (completion.status != CompletionStatus::kSuccess) return;
  post_receive(end);
  to_.host().wake();
  ++end.parts_received;
  // Queue pairs run ahead of each other: a message is here when the slowest of them has brought its part.
  const auto slowest = std::min_element(ends_.begin(), ends_.end(), [](const End& a, const End& b) {
    return a.parts_received < b.parts_received;
  });
  while (listener_ != nullptr && told_ < slowest->parts_received) listener_->on_message(*this, told_++);
}

}  // namespace mrc::sim
