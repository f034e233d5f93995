// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrc_bench/bare.h"

#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "dpdk_io/device_ports.h"
#include "dpdk_io/host/process_slot.h"
#include "examples/mrc_bench/memif.h"
#include "examples/mrc_bench/ping_pong.h"
#include "examples/shared/child_process.h"
#include "libmrc/wire/copy_out.h"

namespace mrc::bench {
namespace {

constexpr uint32_t kHeaderBytes = 64;  // about what the transport puts before the payload
constexpr uint32_t kPayloadBytes = 4096;
constexpr uintptr_t kCacheLine = 64;
constexpr uint32_t kPacketsPerAck = 32;
constexpr uint64_t kWindowPackets = 256;  // as the transport's 1 MiB

// The device with its background thread, as the provider has it.
class Node {
 public:
  Node() {
    DeviceConfig config;
    std::string error;
    if (load_device_config(&config, &error)) ports_ = DevicePorts::open(config, &error);
    if (ports_ == nullptr) {
      std::fprintf(stderr, "%s\n", error.c_str());
      std::exit(1);
    }
    service_ = std::thread([this] {
      while (!stop_) {
        pollfd waited{ports_->event_fd(), POLLIN, 0};
        poll(&waited, 1, 20);
        ports_->service();
      }
    });
  }
  ~Node() {
    stop_ = true;
    service_.join();
  }

  uint32_t slot() const { return ports_->slot(); }
  size_t planes() const { return ports_->ports().size(); }
  Port& port(size_t plane) { return *ports_->ports()[plane]; }
  Carrier& link() { return *port(0).same_host(); }  // of all planes

  bool connect(uint32_t slot) {
    next_hops_.resize(planes());
    for (size_t plane = 0; plane < planes(); ++plane)
      if (!port(plane).resolve({}, first_qpn_of(slot), &next_hops_[plane])) return false;
    for (const double until = seconds_now() + 5; seconds_now() < until; sched_yield())
      if (link().transmit_room(next_hops_[0]) > 0) return true;
    return false;
  }
  const MacAddress& next_hop(size_t plane) const { return next_hops_[plane]; }

 private:
  std::unique_ptr<DevicePorts> ports_;
  std::vector<MacAddress> next_hops_;
  std::atomic<bool> stop_{false};
  std::thread service_;
};

uint8_t* next_cache_line(uint8_t* at) {
  return at + (kCacheLine - reinterpret_cast<uintptr_t>(at) % kCacheLine) % kCacheLine;
}

// A region that is walked through block by block.
class Region {
 public:
  explicit Region(size_t bytes)
      : memory_(bytes + kCacheLine, 7), start_(next_cache_line(memory_.data())), bytes_(bytes) {}
  uint8_t* next() {
    uint8_t* block = start_ + at_;
    at_ = at_ + 2 * kPayloadBytes <= bytes_ ? at_ + kPayloadBytes : 0;
    return block;
  }

 private:
  std::vector<uint8_t> memory_;
  uint8_t* const start_;
  const size_t bytes_;
  size_t at_ = 0;
};

// One burst of packets; returns how many.
size_t send_burst(Node& node, size_t plane, Region* region, size_t count) {
  Carrier& link = node.link();
  std::array<TxFrame, kBurst> frames;
  count = std::min(count, link.transmit_room(node.next_hop(plane)));
  if (count == 0) return 0;
  count = link.acquire({frames.data(), std::min(count, kBurst)});
  for (size_t i = 0; i < count; ++i) {
    frames[i].plane = static_cast<Plane>(plane);
    std::memcpy(frames[i].data, node.next_hop(plane).bytes.data(), 6);
    // It begins a cache line, as the transport's does.
    uint8_t* payload = next_cache_line(frames[i].data + kHeaderBytes);
    copy_out(payload, region->next(), kPayloadBytes);
    frames[i].length = static_cast<uint32_t>(payload - frames[i].data) + kPayloadBytes;
  }
  link.transmit({frames.data(), count});
  return count;
}

uint64_t take_acks(Node& node, uint64_t acknowledged) {
  RxFrame frames[kBurst];
  const size_t count = node.link().receive(frames);
  for (size_t i = 0; i < count; ++i) acknowledged = std::max(acknowledged, number_in(frames[i]));
  node.link().release({frames, count});
  return acknowledged;
}

int send_stream(uint32_t slot, double seconds, size_t region_bytes) {
  Node node;
  Idle idle(false);
  if (!node.connect(slot)) return 1;
  Region region(region_bytes);
  uint64_t sent = 0, acknowledged = 0, at_start = 0;
  const double warm = seconds_now() + 0.1;
  double start = 0;
  for (size_t plane = 0;; plane = plane + 1 < node.planes() ? plane + 1 : 0) {
    const uint64_t before = acknowledged;
    acknowledged = take_acks(node, acknowledged);
    const size_t burst = std::min<uint64_t>(kBurst, kWindowPackets - (sent - acknowledged));
    const size_t count = burst > 0 ? send_burst(node, plane, &region, burst) : 0;
    sent += count;
    if (count == 0 && acknowledged == before) idle();
    const double now = seconds_now();
    if (start == 0 && now > warm) {
      start = now;
      at_start = acknowledged;
    }
    if (start == 0 || now - start < seconds) continue;
    std::printf("%.3f\n",
                static_cast<double>(acknowledged - at_start) * kPayloadBytes * 8e-9 / (now - start));
    send_end(node.link(), node.next_hop(0));
    return 0;
  }
}

int receive_stream(size_t region_bytes) {
  Node node;
  Idle idle(false);
  std::printf("%u\n", node.slot());
  std::fflush(stdout);
  Region region(region_bytes);
  uint64_t received = 0, acknowledged = 0;
  double last = seconds_now() + 5;
  while (seconds_now() < last + kIdleEnd) {
    RxFrame frames[kBurst];
    const size_t count = node.link().receive(frames);
    MacAddress back;
    bool over = false;
    for (size_t i = 0; i < count; ++i) {
      over = frames[i].length == kSmallFrameBytes;
      if (over) break;
      std::memcpy(region.next(), frames[i].data + frames[i].length - kPayloadBytes, kPayloadBytes);
      std::memcpy(back.bytes.data(), frames[i].data + 6, 6);
    }
    node.link().release({frames, count});
    if (over) return 0;
    received += count;
    if (received - acknowledged >= kPacketsPerAck && count > 0)
      send_small(node.link(), back, acknowledged = received);
    if (count > 0)
      last = seconds_now();
    else
      idle();
  }
  return 0;
}

int ping(uint32_t slot, double seconds, bool yields) {
  Node node;
  return node.connect(slot) && print_half_round_trip(node.link(), node.next_hop(0), seconds, yields) ? 0 : 1;
}

int pong(bool yields) {
  Node node;
  std::printf("%u\n", node.slot());
  std::fflush(stdout);
  answer_pings(node.link(), yields);
  return 0;
}

// Starts both ends and reads the number that the active one prints.
double run_pair(const BareRun& run, const std::vector<std::string>& passive,
                const std::vector<std::string>& active) {
  const double seconds_max = run.seconds * 2 + 30;
  const auto words = [&](const std::vector<std::string>& role, const std::string& slot) {
    std::vector<std::string> all = {run.program, "--role", role[0]};
    if (!slot.empty()) all.push_back(slot);
    all.insert(all.end(), role.begin() + 1, role.end());
    return all;
  };
  Process other(words(passive, ""), run.passive_cpu, seconds_max);
  std::string line;
  if (!other.read_line(&line) || std::atoi(line.c_str()) <= 0) {
    std::fprintf(stderr, "mrc_bench: the passive end did not start: %s\n", line.c_str());
    return 0;
  }
  Process self(words(active, line), run.active_cpu, seconds_max);
  const std::string output = self.read_all();
  if (self.wait() == 0) {
    other.wait();
    return std::atof(output.c_str());
  }
  std::fprintf(stderr, "mrc_bench: the bare run failed: %s\n", output.c_str());
  return 0;
}

}  // namespace

double bare_gigabits(const BareRun& run) {
  const std::string bytes = std::to_string(run.region_bytes);
  return run_pair(run, {"receive", bytes}, {"send", std::to_string(run.seconds), bytes});
}

double bare_half_round_trip_us(const BareRun& run) {
  // Two spinning processes on one CPU would wait for the end of each other's time slice.
  const std::string yields = run.passive_cpu == run.active_cpu ? "1" : "0";
  return run_pair(run, {"pong", yields}, {"ping", std::to_string(run.seconds), yields});
}

double memif_half_round_trip_us(const BareRun& run, const std::string& socket) {
  return run_pair(run, {"memif-pong", socket}, {"memif-ping", std::to_string(run.seconds), socket});
}

int run_bare_role(int count, char** words) {
  const auto number = [&](int i) { return i < count ? std::atof(words[i]) : 0; };
  const auto slot = [&] { return static_cast<uint32_t>(number(3)); };
  const std::string role = words[2];
  if (role == "receive") return receive_stream(static_cast<size_t>(number(3)));
  if (role == "send") return send_stream(slot(), number(4), static_cast<size_t>(number(5)));
  if (role == "pong") return pong(number(3) != 0);
  if (role == "ping") return ping(slot(), number(4), number(5) != 0);
  if (role == "memif-pong") return memif_pong(words[3]);
  if (role == "memif-ping") return memif_ping(words[5], number(4));
  return 2;
}

}  // namespace mrc::bench
