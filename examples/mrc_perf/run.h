// SPDX-License-Identifier: BSD-2-Clause
// How the two sides of the benchmark agree over TCP, and what they measure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "examples/mrc_perf/side.h"

namespace perf {

// What the client wants; the server does the same. Sent as it is: both run this program.
struct Plan {
  static constexpr uint32_t kMagic = 0x4D525031;  // "MRP1"
  uint32_t magic = kMagic;
  Api api = Api::kMrc;
  Operation operation = Operation::kWrite;
  uint32_t queue_pairs = 1;
  uint32_t depth = 128;
  uint32_t both = 0;         // directions
  uint32_t duration_ms = 0;  // 0: by the number of iterations
  uint32_t warm_up = 0;      // iterations that are not measured
  uint64_t iterations = 1000;
  uint64_t size_min = 65536;
  uint64_t size_max = 65536;
  uint64_t step = 2;
};

struct Row {
  uint64_t bytes = 0;
  uint64_t operations = 0;
  double seconds = 0;
};

// A TCP connection; the server's waits for one client.
class Line {
 public:
  static Line listen(uint16_t port);
  static Line connect(const std::string& host, uint16_t port);
  Line(Line&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  ~Line();
  void send(const void* data, size_t bytes) const;
  void receive(void* data, size_t bytes) const;
  bool readable() const;

 private:
  explicit Line(int fd) : fd_(fd) {}
  int fd_;
};

// What has been sent and what receives were posted by each queue pair since the beginning: credits count from
// there.
struct Totals {
  std::vector<uint64_t> sent;
  std::vector<uint64_t> posted;
};
// Once the queue pairs are connected.
Totals begin(const Plan& plan, Side& side);

// One size, on both sides at the same time; what was moved in both directions together.
Row measure(const Line& line, Side& side, const Plan& plan, uint64_t bytes, bool sends, Totals* totals);

}  // namespace perf
