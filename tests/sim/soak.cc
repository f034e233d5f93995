// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/soak.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "tests/sim/host.h"

namespace mrc::sim {

namespace {

constexpr Nanoseconds kDeadline = 60 * kSecond;  // virtual; a healthy run of any seed takes far less
constexpr uint8_t kUntouched = 0xA5;
constexpr size_t kGuardBytes = 8192;

// A buffer with guards on both sides; only the middle is registered.
struct GuardedBuffer {
  explicit GuardedBuffer(size_t size) : memory(size + 2 * kGuardBytes, kUntouched), bytes(size) {}
  uint8_t* data() { return memory.data() + kGuardBytes; }
  std::vector<uint8_t> memory;
  size_t bytes;
};

struct Message {
  bool immediate;
  bool signaled;
  uint32_t bytes;
  uint64_t source_at;
  uint64_t target_at;
};

// Draws sizes that meet every edge: empty, one byte, around the MTU, several packets, many packets.
uint32_t draw_size(Random& random, uint32_t mtu) {
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
      return static_cast<uint32_t>(random.between(8 * mtu, 64 * mtu));
  }
}

// One direction of one connection: what is sent, where it must land, in which order it must be told.
class Flow {
 public:
  Flow(Random& random, uint32_t mtu, size_t messages) : random_(random.next()) {
    uint64_t target = 0;
    uint64_t source = 0;
    for (size_t i = 0; i < messages; ++i) {
      Message message{};
      message.bytes = draw_size(random_, mtu);
      message.immediate = random_.chance(0.3);
      message.signaled = random_.chance(0.7) || i + 1 == messages;
      target += random_.below(100);  // gaps that must stay untouched
      message.source_at = source;
      message.target_at = target;
      source += message.bytes;
      target += message.bytes;
      total_ += message.bytes;
      messages_.push_back(message);
    }
    source_ = std::make_unique<GuardedBuffer>(source + 1);
    target_ = std::make_unique<GuardedBuffer>(target + 1);
    expected_ = target_->memory;
    for (size_t i = 0; i < source; ++i) source_->data()[i] = static_cast<uint8_t>(random_.next());
    for (const Message& message : messages_)
      std::memcpy(expected_.data() + kGuardBytes + message.target_at, source_->data() + message.source_at,
                  message.bytes);
  }

  void open(Host& from, Host& to, QueuePair& sender, QueuePair& receiver, ProtectionDomain domain) {
    from_ = &from;
    to_ = &to;
    sender_ = &sender;
    receiver_ = &receiver;
    source_key_ = from.engine().memory().add(domain, source_->data(), source_->bytes,
                                             reinterpret_cast<uint64_t>(source_->data()), 0);
    target_key_ = to.engine().memory().add(domain, target_->data(), target_->bytes, kTargetAddress,
                                           kLocalWrite | kRemoteWrite);
  }

  void post_receives() {
    bool posted = false;
    while (ReceiveRequest* request = receiver_->receive_queue().reserve()) {
      request->work_id = receives_posted_++;
      request->segment_count = 0;
      receiver_->receive_queue().publish(1);
      posted = true;
    }
    if (posted) to_->engine().ring_doorbell(*receiver_);
  }

  void post_sends() {
    bool posted = false;
    while (next_ < messages_.size()) {
      SendRequest* request = sender_->send_queue().reserve();
      if (request == nullptr) break;
      Message& message = messages_[next_];
      // The last free entry must bring a completion, or nothing would tell when to go on.
      if (sender_->send_queue().reserve(1) == nullptr) message.signaled = true;
      request->work_id = next_;
      request->operation = message.immediate ? Operation::kWriteImm : Operation::kWrite;
      request->flags = message.signaled ? kSignaled : 0;
      request->remote_address = kTargetAddress + message.target_at;
      request->remote_key = target_key_;
      request->immediate = static_cast<uint32_t>(next_);
      request->bytes = message.bytes;
      fill_segments(request, message);
      sender_->send_queue().publish(1);
      ++next_;
      posted = true;
    }
    if (posted) {
      from_->engine().ring_doorbell(*sender_);
      from_->wake();
    }
  }

  // Send completions: in order, successful, every signaled one exactly once.
  bool on_send(const Completion& completion, std::string* failure) {
    while (completed_ < messages_.size() && !messages_[completed_].signaled) ++completed_;
    if (completion.status != CompletionStatus::kSuccess)
      return fail(failure, "send completion with status %d", static_cast<int>(completion.status));
    if (completed_ >= messages_.size() || completion.work_id != completed_)
      return fail(failure, "send completion out of order: %d", static_cast<int>(completion.work_id));
    // What is complete has been placed.
    for (; checked_ <= completed_; ++checked_)
      if (!landed(messages_[checked_])) return fail(failure, "completed before it was placed: %d", checked_);
    ++completed_;
    return true;
  }
  // Receive completions: in the order of sending, and only when everything before is in memory.
  bool on_receive(const Completion& completion, std::string* failure) {
    while (told_ < messages_.size() && !messages_[told_].immediate) ++told_;
    if (completion.status != CompletionStatus::kSuccess)
      return fail(failure, "receive completion with status %d", static_cast<int>(completion.status));
    if (completion.work_id != receives_done_++) return fail(failure, "receive requests used out of order", 0);
    if (told_ >= messages_.size() || completion.immediate != told_ || !completion.has_immediate)
      return fail(failure, "immediate out of order: %d", static_cast<int>(completion.immediate));
    if (completion.byte_count != messages_[told_].bytes)
      return fail(failure, "immediate with a wrong length", 0);
    for (; received_ <= told_; ++received_)
      if (!landed(messages_[received_]))
        return fail(failure, "immediate before the data of message %d", received_);
    ++told_;
    return true;
  }

  bool done() const {
    size_t completed = completed_;
    while (completed < messages_.size() && !messages_[completed].signaled) ++completed;
    size_t told = told_;
    while (told < messages_.size() && !messages_[told].immediate) ++told;
    return completed == messages_.size() && told == messages_.size();
  }
  bool check_memory(std::string* failure) const {
    for (size_t i = 0; i < expected_.size(); ++i)
      if (target_->memory[i] != expected_[i])
        return fail(failure, "byte %d of the target is wrong",
                    static_cast<int>(i) - static_cast<int>(kGuardBytes));
    return true;
  }
  uint64_t total_bytes() const { return total_; }
  size_t message_count() const { return messages_.size(); }

 private:
  static constexpr uint64_t kTargetAddress = 0x7000'0000'0000;

  template <typename... Args>
  static bool fail(std::string* failure, const char* format, Args... args) {
    char text[160];
    std::snprintf(text, sizeof text, format, static_cast<int>(args)...);
    if (failure->empty()) *failure = text;
    return false;
  }
  bool landed(const Message& message) const {
    return std::memcmp(target_->data() + message.target_at, source_->data() + message.source_at,
                       message.bytes) == 0;
  }
  void fill_segments(SendRequest* request, const Message& message) {
    const uint32_t limit = sender_->config().send_segments_max;
    uint32_t count = message.bytes == 0 ? 0 : static_cast<uint32_t>(random_.between(1, limit));
    uint32_t at = 0;
    request->segment_count = static_cast<uint8_t>(count);
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t left = message.bytes - at;
      const uint32_t part = i + 1 == count ? left : static_cast<uint32_t>(random_.below(left + 1));
      request->segments()[i] = {reinterpret_cast<uint64_t>(source_->data()) + message.source_at + at, part,
                                source_key_};
      at += part;
    }
  }

  Random random_;
  std::vector<Message> messages_;
  std::unique_ptr<GuardedBuffer> source_;
  std::unique_ptr<GuardedBuffer> target_;
  std::vector<uint8_t> expected_;
  uint64_t total_ = 0;
  Host* from_ = nullptr;
  Host* to_ = nullptr;
  QueuePair* sender_ = nullptr;
  QueuePair* receiver_ = nullptr;
  MemoryKey source_key_{};
  MemoryKey target_key_{};
  size_t next_ = 0;
  size_t completed_ = 0;
  size_t checked_ = 0;
  size_t told_ = 0;
  size_t received_ = 0;
  uint64_t receives_posted_ = 0;
  uint64_t receives_done_ = 0;
};

struct Side : HostListener {
  Host* host = nullptr;
  std::deque<CompletionQueue> send_queues;
  std::deque<CompletionQueue> receive_queues;
  std::vector<QueuePair*> queue_pairs;
  std::vector<Flow*> outgoing;
  std::vector<Flow*> incoming;
  std::string* failure = nullptr;

  void on_completions(CompletionQueue& queue) override {
    Completion completions[16];
    for (size_t count; (count = queue.poll(completions)) > 0;) {
      for (size_t i = 0; i < count; ++i) handle(completions[i]);
    }
  }
  void handle(const Completion& completion) {
    for (size_t i = 0; i < queue_pairs.size(); ++i) {
      if (queue_pairs[i]->qpn() != completion.qpn) continue;
      if (completion.kind == CompletionKind::kRdmaWrite) {
        outgoing[i]->on_send(completion, failure);
        outgoing[i]->post_sends();
      } else {
        incoming[i]->on_receive(completion, failure);
        incoming[i]->post_receives();
      }
      return;
    }
    if (failure->empty()) *failure = "completion of an unknown queue pair";
  }
  void on_event(QueuePair&, QueuePairEvent event) override {
    if (event != QueuePairEvent::kConnected && failure->empty()) *failure = "queue pair event";
  }
};

class Soak {
 public:
  explicit Soak(uint64_t seed) : random_(seed) { draw(); }
  SoakResult run();

 private:
  void draw();
  void build();
  void connect(size_t index);
  bool done() const;

  Random random_;
  uint32_t planes_ = 1;
  uint32_t mtu_ = 4096;
  size_t connections_ = 1;
  EngineConfig config_;
  LinkFaults faults_;
  EventQueue events_;
  std::vector<std::unique_ptr<Link>> links_;  // [side * planes + plane]
  std::unique_ptr<Host> hosts_[2];
  Side sides_[2];
  std::vector<std::unique_ptr<Flow>> flows_;
  SoakResult result_;
};

void Soak::draw() {
  constexpr uint32_t kMtus[] = {256, 1024, 4096};
  planes_ = static_cast<uint32_t>(random_.between(1, 8));
  mtu_ = kMtus[random_.below(3)];
  connections_ = random_.between(1, 3);
  faults_.loss = random_.chance(0.2) ? 0 : random_.unit() * 0.10;
  faults_.duplication = random_.chance(0.3) ? 0 : random_.unit() * 0.10;
  faults_.corruption = random_.chance(0.3) ? 0 : random_.unit() * 0.05;
  faults_.reordering = random_.chance(0.3) ? 0 : random_.unit() * 0.30;
  faults_.reorder_delay = random_.between(1, 200) * kMicrosecond;
  config_.qpn_count = 64;
  config_.transport.paths_per_plane = static_cast<uint32_t>(random_.between(1, 16));
  config_.transport.window_packets = 64u << random_.below(5);
  config_.transport.window_bytes = static_cast<uint32_t>(random_.between(1, 512)) * 4096;
  config_.transport.immediates_max = static_cast<uint16_t>(random_.between(1, 64));
  char text[200];
  std::snprintf(
      text, sizeof text,
      "planes %u paths %u mtu %u connections %zu window %u packets %u bytes, loss %.3f dup %.3f corrupt "
      "%.3f reorder %.3f",
      planes_, config_.transport.paths_per_plane, mtu_, connections_, config_.transport.window_packets,
      config_.transport.window_bytes, faults_.loss, faults_.duplication, faults_.corruption,
      faults_.reordering);
  result_.setting = text;
}

void Soak::build() {
  for (uint32_t side = 0; side < 2; ++side) {
    std::vector<Link*> outgoing;
    for (uint32_t plane = 0; plane < planes_; ++plane) {
      const Nanoseconds delay = random_.between(500, 20'000);
      links_.push_back(std::make_unique<Link>(events_, random_.next(), 100.0, delay));
      links_.back()->faults() = faults_;
      if (planes_ > 1 && plane == 0 && random_.chance(0.3)) {
        links_.back()->faults().black_hole_from = random_.between(0, 500) * kMicrosecond;
        links_.back()->faults().black_hole_until = random_.between(1, 20) * kMillisecond;
      }
      outgoing.push_back(links_.back().get());
    }
    EngineConfig config = config_;
    config.seed = random_.next();
    hosts_[side] = std::make_unique<Host>(events_, side + 1, config, outgoing);
    sides_[side].host = hosts_[side].get();
    sides_[side].failure = &result_.failure;
    hosts_[side]->set_listener(&sides_[side]);
  }
  for (uint32_t side = 0; side < 2; ++side)
    for (uint32_t plane = 0; plane < planes_; ++plane)
      links_[side * planes_ + plane]->connect([this, side, plane](Frame frame) {
        hosts_[1 - side]->arrive(static_cast<Plane>(plane), std::move(frame));
      });
  for (size_t i = 0; i < connections_; ++i) connect(i);
}

void Soak::connect(size_t index) {
  const ProtectionDomain domain{static_cast<uint32_t>(index + 1)};
  QueuePair* pair[2];
  for (uint32_t side = 0; side < 2; ++side) {
    sides_[side].send_queues.emplace_back(1024);
    sides_[side].receive_queues.emplace_back(1024);
    QueuePairConfig config;
    config.domain = domain;
    config.send_completions = &sides_[side].send_queues.back();
    config.receive_completions = &sides_[side].receive_queues.back();
    config.send_entries = static_cast<uint32_t>(random_.between(1, 64));
    config.receive_entries = 200;
    config.send_segments_max = static_cast<uint32_t>(random_.between(1, 8));
    pair[side] = hosts_[side]->engine().create(config);
    sides_[side].queue_pairs.push_back(pair[side]);
  }
  const Psn psn[2] = {Psn(static_cast<uint32_t>(random_.next())),
                      random_.chance(0.5) ? Psn(0xFFFFF0) : Psn(static_cast<uint32_t>(random_.next()))};
  Flow* flows[2];
  for (Flow*& flow : flows) {
    flows_.push_back(std::make_unique<Flow>(random_, mtu_, random_.between(1, 60)));
    flow = flows_.back().get();
  }
  for (uint32_t side = 0; side < 2; ++side) {
    flows[side]->open(*hosts_[side], *hosts_[1 - side], *pair[side], *pair[1 - side], domain);
    sides_[side].outgoing.push_back(flows[side]);
    sides_[1 - side].incoming.push_back(flows[side]);
  }
  for (uint32_t side = 0; side < 2; ++side) {
    Engine& engine = hosts_[side]->engine();
    QueuePairAttributes attributes;
    attributes.state = QueuePairState::kInit;
    attributes.remote_access = kRemoteWrite;
    engine.modify(*pair[side], attributes, 0);
    attributes = {};
    attributes.state = QueuePairState::kReadyToReceive;
    attributes.source = hosts_[side]->address();
    attributes.destination = hosts_[1 - side]->address();
    attributes.destination_qpn = pair[1 - side]->qpn();
    attributes.mtu = mtu_;
    attributes.receive_psn = psn[1 - side];
    engine.modify(*pair[side], attributes, 0);
    attributes = {};
    attributes.state = QueuePairState::kReadyToSend;
    attributes.send_psn = psn[side];
    attributes.timeout = 16 * kMillisecond;
    attributes.retry_linear = 7;
    engine.modify(*pair[side], attributes, 0);
    flows[1 - side]->post_receives();
  }
  for (Flow* flow : flows) flow->post_sends();
}

bool Soak::done() const {
  return std::all_of(flows_.begin(), flows_.end(), [](const auto& flow) { return flow->done(); });
}

SoakResult Soak::run() {
  build();
  std::string& failure = result_.failure;
  while (failure.empty() && !done()) {
    if (!events_.step(kDeadline)) {
      failure = "no progress: the workload did not finish";
      break;
    }
  }
  const Nanoseconds finished = events_.now();
  // What is still under way must change nothing.
  while (failure.empty() && events_.step(finished + 100 * kMillisecond)) {
  }
  for (const auto& flow : flows_)
    if (failure.empty()) flow->check_memory(&failure);
  uint64_t bytes = 0;
  for (const auto& flow : flows_) {
    bytes += flow->total_bytes();
    result_.messages += flow->message_count();
  }
  uint64_t placed = 0;
  uint64_t sent = 0;
  for (const auto& host : hosts_) {
    const Counters& counters = host->engine().counters();
    placed += counters.payload_bytes_placed;
    sent += counters.payload_bytes_sent;
    result_.retransmits += counters.retransmits();
    result_.frames += counters.frames_sent;
  }
  if (failure.empty() && (placed != bytes || sent != bytes))
    failure = "bytes placed more than once, or not counted";
  for (const auto& link : links_) result_.trace = result_.trace * 31 + link->trace();
  result_.virtual_ns = finished;
  result_.ok = failure.empty();
  return result_;
}

}  // namespace

SoakResult run_soak_seed(uint64_t seed) {
  return Soak(seed).run();
}

}  // namespace mrc::sim
