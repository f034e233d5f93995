// SPDX-License-Identifier: BSD-2-Clause
// engine_budget BYTES COUNT: that many WRITEs of so many bytes from one queue pair to another, in one engine,
// over 4 planes with 16 paths each. For instruction_budget.py, which counts what they cost. Packets are small
// and have no ICRC: how bytes are copied and summed depends on the machine, the rest does not.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tests/unit/engine_loop.h"

int main(int argc, char** argv) {
  using namespace mrc;
  if (argc != 3) {
    std::fprintf(stderr, "usage: engine_budget BYTES COUNT\n");
    return 2;
  }
  const auto bytes = static_cast<uint32_t>(std::strtoul(argv[1], nullptr, 10));
  const uint64_t count = std::strtoull(argv[2], nullptr, 10);
  constexpr uint32_t kAtOnce = 64;
  test::Loop loop(4, 16, CongestionAlgorithm::kNone, true);
  loop.mtu = 256;
  loop.add_pair(kAtOnce);
  // Each to a page of its own: who comes late must not be compared with all that have overtaken it.
  const size_t apart = (bytes + size_t{4095}) / 4096 * 4096;
  std::vector<uint8_t> memory((kAtOnce + 1) * apart);
  const auto all = static_cast<uint32_t>(memory.size());
  const Segment from = loop.segment(memory.data(), all);
  for (uint64_t done = 0; done < count; done += kAtOnce) {
    for (uint32_t i = 0; i < kAtOnce; ++i)
      loop.post(*loop.qps[0], Operation::kWrite, from, {from.address + (i + 1) * apart, bytes, from.key},
                bytes);
    loop.await(kAtOnce);
  }
}
