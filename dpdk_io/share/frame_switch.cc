// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/share/frame_switch.h"

#include <algorithm>

#include "dpdk_io/wire/frame_filter.h"
#include "libmrc/port/station.h"
#include "libmrc/wire/ethernet.h"

namespace mrc {
namespace {

// Programs wait while a wire is full: they hold their frames back. But one that stays full keeps nobody.
constexpr Nanoseconds kPatienceWithWire = 5 * kMillisecond;
// A program that has sent nothing for so many turns is looked at in every sixteenth.
constexpr uint32_t kTurnsUntilIdle = 1024;
constexpr uint32_t kIdleTurns = 16;
// What a program that ends may have left: a ring.
constexpr int kLastBursts = 8;

}  // namespace

void FrameSwitch::add_wire(Plane plane, Carrier& carrier) {
  wires_[plane] = std::make_unique<Wire>(carrier);
}

void FrameSwitch::set_up(Plane plane, bool up) {
  if (wires_[plane] != nullptr) wires_[plane]->up = up;
}

void FrameSwitch::add_program(uint32_t slot, Carrier& carrier, bool sends) {
  programs_.push_back(std::make_unique<Program>(slot, carrier, sends));
  by_slot_[slot] = programs_.back().get();
}

void FrameSwitch::remove_program(uint32_t slot, Nanoseconds now) {
  Program* program = by_slot_[slot];
  if (program == nullptr) return;
  for (int i = 0; i < kLastBursts && program->sends && from_program(*program, now) > 0; ++i) {
  }
  by_slot_[slot] = nullptr;
  std::erase_if(programs_, [program](const auto& other) { return other.get() == program; });
}

size_t FrameSwitch::turn(Nanoseconds now, bool all) {
  size_t moved = 0;
  for (Plane plane = 0; plane < kPlanesMax; ++plane)
    if (wires_[plane] != nullptr) moved += from_wire(plane, *wires_[plane]);
  if (moved > 0)
    for (const auto& program : programs_) program->out.flush();
  return moved + from_programs(now, all);
}

size_t FrameSwitch::from_wire(Plane plane, Wire& wire) {
  RxFrame frames[kBurst];
  const size_t count = wire.carrier.receive(frames);
  for (const RxFrame& frame : std::span(frames, count)) {
    const std::span<const uint8_t> bytes(frame.data, frame.length);
    const auto slot = destination_slot(bytes);
    // Station addresses mean processes of this host: nobody on the wire has one.
    if (!slot || is_same_host(frame.data + 6) || (*slot != 0 && by_slot_[*slot] == nullptr))
      ++counters_.for_nobody;
    else if (*slot != 0)
      hand_to(*by_slot_[*slot], plane, bytes);
    else
      for (const auto& program : programs_) hand_to(*program, plane, bytes);
  }
  if (count > 0) wire.carrier.release({frames, count});
  return count;
}

void FrameSwitch::hand_to(Program& program, Plane plane, std::span<const uint8_t> frame) {
  if (program.out.copy(frame).empty()) {
    ++counters_.no_room;
    return;
  }
  program.out.commit(plane);
  ++counters_.to_programs;
}

bool FrameSwitch::wires_have_room(Nanoseconds now) {
  bool all = true;
  for (const auto& wire : wires_) {
    if (wire == nullptr || !wire->up) continue;
    if (wire->carrier.transmit_room({}) > 0) {
      wire->full_since = 0;
      continue;
    }
    if (wire->full_since == 0) wire->full_since = now;
    all = all && now >= wire->full_since + kPatienceWithWire;
  }
  return all;
}

size_t FrameSwitch::from_programs(Nanoseconds now, bool all) {
  size_t moved = 0;
  if (first_ >= programs_.size()) first_ = 0;
  for (size_t i = 0; i < programs_.size(); ++i) {
    Program& program = *programs_[(first_ + i) % programs_.size()];
    if (!program.sends) continue;
    if (program.idle_turns >= kTurnsUntilIdle && ++program.idle_turns % kIdleTurns != 0 && !all) continue;
    if (!wires_have_room(now)) break;
    moved += from_program(program, now);
  }
  ++first_;
  return moved;
}

size_t FrameSwitch::from_program(Program& program, Nanoseconds now) {
  RxFrame frames[kBurst];
  const size_t count = program.carrier.receive(frames);
  if (count == 0) {
    if (program.idle_turns < kTurnsUntilIdle) ++program.idle_turns;
    return 0;
  }
  program.idle_turns = 0;
  for (const RxFrame& frame : std::span(frames, count)) put_on_wire(program, frame, now);
  program.carrier.release({frames, count});
  for (const auto& wire : wires_)
    if (wire != nullptr) wire->out.flush();
  return count;
}

// The program may write to its memory at any time: what is looked at is the copy that leaves.
void FrameSwitch::put_on_wire(const Program& program, const RxFrame& frame, Nanoseconds now) {
  Wire* wire = frame.plane < kPlanesMax ? wires_[frame.plane].get() : nullptr;
  if (wire == nullptr || !wire->up) {
    ++counters_.without_wire;
    return;
  }
  const std::span<const uint8_t> copy = wire->out.copy({frame.data, frame.length});
  if (copy.empty()) {
    ++counters_.no_room;
  } else if (!gate_.lets_out(program.slot, frame.plane, copy, now)) {
    ++counters_.not_let_out;  // the buffer is used for the next
  } else {
    wire->out.commit(frame.plane);
    ++counters_.to_wires;
  }
}

}  // namespace mrc
