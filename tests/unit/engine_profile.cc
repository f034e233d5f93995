// SPDX-License-Identifier: BSD-2-Clause
// engine_profile BYTES COUNT: that many WRITEs of so many bytes, in packets of up to 4 KiB, from a queue pair
// of one engine to one of another, over 4 planes with 16 paths each. All that an engine does happens in
// sender_turn() or in receiver_turn(), so that callgrind can count each side by itself
// (instruction_profile.py). Frames have no ICRC, as between processes of one host.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tests/unit/engine_loop.h"

namespace mrc::test {

constexpr uint32_t kAtOnce = 64;

struct End {
  End() : loop(4, 16, CongestionAlgorithm::kNone, true) {
    QueuePairConfig config;
    config.domain = Loop::kDomain;
    config.send_completions = config.receive_completions = &loop.completions;
    config.send_entries = config.receive_entries = kAtOnce;
    qp = loop.engine->create(config);
    require(qp != nullptr, "qp");
  }
  Loop loop;
  QueuePair* qp;
};

struct Work {
  Segment from;
  Segment to;
  size_t apart;
  uint32_t bytes;
};

}  // namespace mrc::test

using namespace mrc::test;

// C names, which callgrind is told. Returns how many messages are complete.
extern "C" [[gnu::noinline]] uint32_t sender_turn(End& end, const Work& work, uint32_t posted) {
  for (uint32_t i = 0; i < posted; ++i)
    end.loop.post(*end.qp, mrc::Operation::kWrite, work.from,
                  {work.to.address + i * work.apart, work.bytes, work.to.key}, work.bytes);
  end.loop.now += mrc::kMicrosecond;
  end.loop.engine->progress(end.loop.now);
  mrc::Completion done[kAtOnce];
  const auto count = static_cast<uint32_t>(end.loop.completions.poll(done));
  for (uint32_t i = 0; i < count; ++i)
    require(done[i].status == mrc::CompletionStatus::kSuccess, "a request failed");
  return count;
}

extern "C" [[gnu::noinline]] void receiver_turn(End& end) {
  end.loop.now += mrc::kMicrosecond;
  end.loop.engine->progress(end.loop.now);
}

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: engine_profile BYTES COUNT\n");
    return 2;
  }
  const auto bytes = static_cast<uint32_t>(std::strtoul(argv[1], nullptr, 10));
  const uint64_t count = std::strtoull(argv[2], nullptr, 10);
  End sender;
  End receiver;
  for (size_t i = 0; i < sender.loop.ports.size(); ++i) {
    sender.loop.ports[i]->to = receiver.loop.ports[i].get();
    receiver.loop.ports[i]->to = sender.loop.ports[i].get();
  }
  sender.loop.connect(*sender.qp, *receiver.qp);
  receiver.loop.connect(*receiver.qp, *sender.qp);

  // Each to a page of its own, as in engine_budget.
  const size_t apart = (bytes + size_t{4095}) / 4096 * 4096;
  std::vector<uint8_t> source(bytes);
  std::vector<uint8_t> target(kAtOnce * apart);
  const Work work{sender.loop.segment(source.data(), bytes),
                  receiver.loop.segment(target.data(), static_cast<uint32_t>(target.size())), apart, bytes};
  for (uint64_t done = 0; done < count; done += kAtOnce) {
    uint32_t complete = 0;
    for (uint32_t turns = 0; complete < kAtOnce; ++turns) {
      require(turns < 200'000, "completions do not come");
      complete += sender_turn(sender, work, turns == 0 ? kAtOnce : 0);
      receiver_turn(receiver);
    }
  }
}
