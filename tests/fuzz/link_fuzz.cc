// SPDX-License-Identifier: BSD-2-Clause
// A peer that writes anything into its side of a same-host link: every frame that is received lies within its
// arena, every frame of ours is in one place, and a peer beside it notices nothing.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "dpdk_io/link/host_link.h"
#include "libmrc/port/station.h"
#include "tests/fuzz/input.h"

namespace {

using namespace mrc;

constexpr uint32_t kOwn = 1, kHostile = 2, kHonest = 3;

void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

// A peer's two memories, and our link to it.
struct Peer {
  Peer(LinkState& state, uint32_t slot) : slot(slot), numbers{kOwn, slot, 100 + slot, 200 + slot} {
    std::string error;
    must(memory.create(&error), "memory");
    memory.arena->header = {Arena::kMagic, Arena::kVersion, slot, 4, slot};
    must(mapped.map(memory.arena_fd, memory.bells_fd, slot, slot), "the peer's memory");
    memory.arena->rings[kOwn].reader = numbers.number;
    link = std::make_unique<Link>(numbers, state.memory, mapped);
  }
  bool contains(const RxFrame& frame) const {
    const auto* begin = mapped.arena->frames[0];
    return frame.data >= begin && frame.data + frame.length <= begin + sizeof(mapped.arena->frames);
  }
  const uint32_t slot;
  const Link::Ends numbers;
  OwnMemory memory;
  PeerMemory mapped;
  std::unique_ptr<Link> link;
};

// Made once: to map all that takes longer than a hundred inputs.
struct World {
  World() {
    std::string error;
    state.own_slot = kOwn;
    state.planes = 4;
    state.faults = &faults;
    must(state.memory.create(&error), "own memory");
    hostile = std::make_unique<Peer>(state, kHostile);
    honest = std::make_unique<Peer>(state, kHonest);
    table.number = 1;
    table.count = 2;
    table.links = {hostile->link.get(), honest->link.get()};
    table.by_slot[kHostile] = 1;
    table.by_slot[kHonest] = 2;
    state.table = &table;
    link = std::make_unique<HostLink>(state);
  }
  FaultPage faults{};
  LinkState state;
  LinkTable table;
  std::unique_ptr<Peer> hostile, honest;
  std::unique_ptr<HostLink> link;
  uint32_t hostile_next = 0, honest_next = 0, honest_heard = 0;
};

World& world() {
  static auto* made = new World;
  return *made;
}

void receive(World& w) {
  RxFrame frames[kBurst];
  const size_t count = w.link->receive(frames);
  for (size_t i = 0; i < count; ++i) {
    must(frames[i].plane < 4 && frames[i].length >= 14 && frames[i].length <= kFrameBytesMax + 64, "lengths");
    const bool honest = frames[i].handle == w.honest->link.get();
    must((honest ? w.honest : w.hostile)->contains(frames[i]), "a frame within its arena");
    if (honest) must(frames[i].length == 60 + w.honest_heard++ % 100, "the other peer's frames in order");
  }
  w.link->release({frames, count});
}

void honest_sends(World& w) {
  const Descriptor descriptor{w.honest_next % 64, static_cast<uint16_t>(60 + w.honest_next % 100), 1, false,
                              static_cast<uint8_t>(w.honest_next / Arena::kRingFrames + 1)};
  w.honest->memory.arena->rings[kOwn].entries[w.honest_next++ % Arena::kRingFrames] = descriptor.pack();
}

// Frames given out are told apart by their addresses.
void send(World& w, size_t count, uint32_t to) {
  std::vector<TxFrame> frames(std::min<size_t>(count, kBurst));
  frames.resize(w.link->acquire(frames));
  for (size_t i = 0; i < frames.size(); ++i)
    for (size_t j = 0; j < i; ++j) must(frames[i].data != frames[j].data, "a frame is given out once");
  for (TxFrame& frame : frames) {
    const MacAddress station = station_of(to, 0);
    std::copy(station.bytes.begin(), station.bytes.end(), frame.data);
    frame.length = 100;
  }
  w.link->transmit(frames);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  World& w = world();
  fuzz::Input input(data, bytes);
  Arena& theirs = *w.hostile->memory.arena;
  while (!input.empty()) {
    const uint8_t choice = input.byte();
    switch (choice % 7) {
      case 0:  // any word, but most often with the turn that is looked for
        for (uint32_t left = 1 + choice / 16; left > 0; --left) {
          uint64_t word = input.any64();
          if ((choice & 8) != 0)
            word = (word & ~uint64_t{0xFF}) | static_cast<uint8_t>(w.hostile_next / 256 + 1);
          theirs.rings[kOwn].entries[w.hostile_next++ % Arena::kRingFrames] = word;
        }
        break;
      case 1:  // any count of taken frames, with or without the right tag
        theirs.taken[kOwn].count =
            (choice & 8) != 0
                ? uint64_t{static_cast<uint32_t>(w.hostile->numbers.number)} << 32 | input.word()
                : input.any64();
        break;
      case 2:  // bells
        w.state.memory.bells->rung[0] = input.any64();
        w.state.memory.bells->any = input.byte();
        break;
      case 3:
        send(w, choice / 8, kHostile);
        break;
      case 4:
        if (w.honest_next - w.honest_heard < 100) honest_sends(w);
        break;
      default:
        receive(w);
    }
  }
  // The peer beside it is heard in the end, whatever the bells say.
  for (int turns = 0; turns < 10 && w.honest_heard != w.honest_next; ++turns) receive(w);
  must(w.honest_heard == w.honest_next, "the other peer is heard");
  return 0;
}
