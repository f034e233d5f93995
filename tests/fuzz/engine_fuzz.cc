// SPDX-License-Identifier: BSD-2-Clause
// A live pair of engines: the input says in which states the two queue pairs are, what their owners do, and
// what a hostile peer or a stranger sends to either. Afterwards everything that was posted has ended, the
// innocent beside them have not noticed, and memory that was not granted is untouched.
//
// Worlds are used again, because making one takes longer than most inputs. A new one is made now and then, so
// that nothing can pile up unseen; see history.h for what to do if an input alone does not show what it
// found.
#include <array>
#include <memory>
#include <span>

#include "tests/fuzz/forge.h"
#include "tests/fuzz/history.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/world.h"

namespace {

using namespace mrc;
using namespace mrc::fuzz;

constexpr QueuePairState kStates[] = {QueuePairState::kReadyToSend, QueuePairState::kReadyToReceive,
                                      QueuePairState::kInit,        QueuePairState::kReset,
                                      QueuePairState::kDraining,    QueuePairState::kError};
constexpr Transport kTransports[] = {Transport::kMrc, Transport::kMrc, Transport::kMrcStrict, Transport::kRc};
constexpr Victim kKinds[] = {Victim::kOwnReceives, Victim::kSharedReceives, Victim::kDatagram,
                             Victim::kLossy};
constexpr Operation kOperations[] = {
    Operation::kWrite,      Operation::kWriteImm,       Operation::kSend,     Operation::kSendImm,
    Operation::kRead,       Operation::kCompareSwap,    Operation::kFetchAdd, Operation::kSendInvalidate,
    Operation::kBindWindow, Operation::kLocalInvalidate};
constexpr CongestionAlgorithm kAlgorithms[] = {CongestionAlgorithm::kNone, CongestionAlgorithm::kNscc,
                                               CongestionAlgorithm::kReceiverAware};
constexpr uint32_t kActionsMax = 64;
// Of what takes long; or inputs that do nothing else would take most of the time.
struct Budget {
  int32_t skips = 32;
  int32_t changes = 2;
};
constexpr uint32_t kInputsPerWorld = 1024;

std::array<std::unique_ptr<World>, std::size(kAlgorithms)> g_worlds;
History g_history;
uint32_t g_inputs = 0;

void change_owner(World& world, End& end, uint8_t how) {
  switch (how % 4) {
    case 0:
      world.withdraw_memory(end);
      break;
    case 1:
      world.replace_victim(end);
      [[fallthrough]];
    default:
      world.connect_victim(end, kStates[how / 4 % 6]);
  }
}

void act(World& world, Input& input, Budget* budget) {
  const uint8_t action = input.byte();
  End& end = world.end(action);
  switch (action >> 1 & 15) {
    case 0:
    case 1: {
      Work work;
      work.operation = kOperations[input.below(std::size(kOperations))];
      work.bytes = input.byte() * 8u;
      work.how = input.byte();
      work.offset = input.byte() * 8u + (work.how >> 6);
      world.post(end, work);
      break;
    }
    case 2:
      world.post_receive(end, input.byte() * 8u);
      break;
    case 3:
      world.step(input.byte() * kMicrosecond);
      break;
    case 4:
      for (uint32_t turns = input.below(8); turns > 0 && budget->skips > 0; --turns, --budget->skips)
        world.skip();
      break;
    case 5: {
      const uint8_t which = input.byte();
      world.set_faults(end, which & 1, which >> 1 & 0x3F);
      break;
    }
    case 6:
      world.drop(end, input.below(8));
      break;
    case 7: {
      const uint8_t how = input.byte();
      if (how < 0x40)
        world.set_state(end, kStates[how % 6]);
      else if (budget->changes-- > 0)
        change_owner(world, end, how);
      break;
    }
    default:
      send_forged(world, end, input);
      if ((action & 0x80) != 0) world.step(kMicrosecond);
      break;
  }
}

// A second of virtual time takes as long as many inputs. So most of those that would need it are cut short,
// which is how work that is outstanding gets into RESET. Which ones follows from the input, so that it is the
// same again.
bool is_patient(std::span<const uint8_t> input) {
  uint32_t hash = 0;
  for (const uint8_t byte : input) hash = hash * 31 + byte;
  return (hash ^ hash >> 16) % 32 == 0;
}

void run(const uint8_t* data, size_t bytes) {
  if (g_inputs++ % kInputsPerWorld == 0) {
    for (auto& world : g_worlds) world.reset();
    g_history.clear();
  }
  g_history.add({data, bytes});
  Input input(data, bytes);
  WorldOptions options;
  const uint8_t kind = input.byte();
  options.transport = kTransports[kind & 3];
  options.ipv6 = (kind & 4) != 0;
  options.victim = kKinds[kind >> 3 & 3];
  options.plain_innocents = (kind & 0x20) != 0;
  const size_t algorithm = (kind >> 6) % std::size(kAlgorithms);
  const uint8_t states = input.byte();
  options.states = {kStates[states % 6], kStates[states / 6 % 6]};
  std::unique_ptr<World>& world = g_worlds[algorithm];
  if (world == nullptr) world = std::make_unique<World>(kAlgorithms[algorithm]);
  world->start(options);
  Budget budget;
  for (uint32_t actions = 0; actions < kActionsMax && !input.empty(); ++actions) act(*world, input, &budget);
  world->finish(is_patient({data, bytes}));
}

}  // namespace

// Connections come and go with every input: what they leave is not kept for long, and where it came from is
// told briefly. Worlds stay until the end.
extern "C" const char* __asan_default_options() {
  return "quarantine_size_mb=1:malloc_context_size=1:max_malloc_fill_size=0:detect_leaks=0";
}

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  g_history.open(*argc, *argv);
  History::replay([](std::span<const uint8_t> input) { run(input.data(), input.size()); });
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  run(data, bytes);
  return 0;
}
