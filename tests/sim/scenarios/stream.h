// SPDX-License-Identifier: BSD-2-Clause
// Messages from one host to another: so many bytes each, so many at once, over one or several queue pairs;
// and the application of a host that hands completions to its streams.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/sim/fabric/fabric.h"
#include "tests/sim/host/host.h"
#include "tests/sim/workload/connection.h"

namespace mrc::sim {

class Application;

class CompletionHandler {
 public:
  virtual ~CompletionHandler() = default;
  virtual void on_completion(const Completion& completion) = 0;
};

struct StreamConfig {
  uint64_t message_bytes = 1 << 20;
  uint64_t messages = 1;  // 0 = without end
  uint32_t depth = 2;     // messages under way
  Picoseconds start = 0;
  uint32_t queue_pairs = 1;      // each carries its part of every message
  bool immediate = false;        // the receiver is told of every message
  bool manual = false;           // messages go out when send() says so
  uint32_t receive_entries = 0;  // at least depth if immediate
  Nanoseconds timeout = kMillisecond;
};

// Told when a message has arrived (streams with an immediate).
class StreamListener {
 public:
  virtual ~StreamListener() = default;
  virtual void on_message(class Stream& stream, uint64_t number) = 0;
};

class Stream : private AlarmListener {
 public:
  Stream(Fabric& fabric, Application& from, Application& to, const StreamConfig& config, uint32_t mtu,
         uint64_t seed);

  uint32_t from() const;
  uint32_t to() const;
  const StreamConfig& config() const { return config_; }
  QueuePair& queue_pair(size_t index = 0) { return *ends_[index].sender; }
  void set_listener(StreamListener* listener) { listener_ = listener; }
  // Manual streams: one more message.
  void send();
  // Posts nothing any more: done when what is under way is.
  void finish();

  bool done() const { return failed_ || (config_.messages != 0 && completed_ == config_.messages); }
  bool failed() const { return failed_; }
  uint64_t completed() const { return completed_; }
  uint64_t completed_bytes() const { return completed_ * config_.message_bytes; }
  Picoseconds started_at() const { return config_.start; }
  Picoseconds finished_at() const { return last_completion_; }
  // From posting to completion, in microseconds, message by message.
  const std::vector<double>& latencies() const { return latencies_; }
  // How long those take already that have not completed; with a failure they never will.
  std::vector<double> ages() const;
  double goodput_gigabits() const;

 private:
  struct End {
    QueuePair* sender = nullptr;
    QueuePair* receiver = nullptr;
    uint64_t parts_received = 0;
    std::unique_ptr<CompletionHandler> handlers[2];
  };
  class Sent;
  class Received;

  void on_alarm(uint32_t) override { post(); }
  void post();
  void post_one();
  void post_receive(End& end);
  void on_sent(const Completion& completion);
  void on_received(End& end, const Completion& completion);
  uint32_t part_bytes(size_t part) const;

  Fabric& fabric_;
  Application& from_;
  Application& to_;
  StreamConfig config_;
  std::vector<End> ends_;
  StreamListener* listener_ = nullptr;
  uint64_t allowed_ = 0;  // manual: messages that may go out
  uint64_t posted_ = 0;
  uint64_t completed_ = 0;
  uint64_t told_ = 0;
  bool failed_ = false;
  Picoseconds last_completion_ = 0;
  struct Under {
    Picoseconds posted_at = 0;
    uint32_t parts_left = 0;
  };
  std::vector<Under> under_way_;  // by message number modulo depth
  std::vector<double> latencies_;
};

class Application : public HostListener {
 public:
  Application(Host& host, uint32_t queue_pairs, uint32_t completion_entries, std::vector<uint8_t>& source,
              std::vector<uint8_t>& target);

  Host& host() { return host_; }
  CompletionQueue& queue() { return queue_; }
  void route(const QueuePair& qp, CompletionHandler* sent, CompletionHandler* received);
  MemoryKey source_key() const { return source_key_; }
  MemoryKey target_key() const { return target_key_; }
  uint64_t source_address() const { return source_address_; }

  static constexpr uint64_t kTargetAddress = 0x7000'0000'0000;
  static constexpr ProtectionDomain kDomain{1};

  void on_completions(CompletionQueue& queue) override;

 private:
  struct Route {
    CompletionHandler* sent = nullptr;
    CompletionHandler* received = nullptr;
  };
  Host& host_;
  CompletionQueue queue_;
  std::vector<Route> routes_;  // by QPN
  uint32_t first_qpn_;
  MemoryKey source_key_{};
  MemoryKey target_key_{};
  uint64_t source_address_ = 0;
};

}  // namespace mrc::sim
