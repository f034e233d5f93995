// SPDX-License-Identifier: BSD-2-Clause
// Hands frames on between the wires of mrcd and the programs that share them: what arrives to the program
// whose slot its QP number names, or to all; what programs send to the wire of its plane, if the gate lets it
// out. Nothing else of a packet is looked at.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dpdk_io/host/slot_number.h"
#include "dpdk_io/share/frame_gate.h"
#include "dpdk_io/share/staged_frames.h"
#include "libmrc/port/carrier.h"
#include "libmrc/wire/time.h"

namespace mrc {

class FrameSwitch {
 public:
  struct Counters {
    uint64_t to_programs = 0;
    uint64_t to_wires = 0;
    uint64_t for_nobody = 0;    // none of ours, or the slot of no program here
    uint64_t not_let_out = 0;   // see FrameGate
    uint64_t without_wire = 0;  // of a plane that has no port, or whose port is down
    uint64_t no_room = 0;       // no buffer
  };

  explicit FrameSwitch(FrameGate& gate) : gate_(gate) {}

  void add_wire(Plane plane, Carrier& carrier);
  void set_up(Plane plane, bool up);
  // The carrier leads to the program of that slot. It outlives its time here. Several switches may lead to
  // one program if the carrier allows for it; one of them sends what comes from there, in its order.
  void add_program(uint32_t slot, Carrier& carrier, bool sends = true);
  // What the program has sent before its end still leaves.
  void remove_program(uint32_t slot, Nanoseconds now);
  size_t program_count() const { return programs_.size(); }

  // Moves a burst of each; how many frames. `all`: also of programs that have sent nothing for long, which
  // are looked at now and then otherwise.
  size_t turn(Nanoseconds now, bool all);

  const Counters& counters() const { return counters_; }

 private:
  struct Wire {
    explicit Wire(Carrier& wire) : carrier(wire), out(wire) {}
    Carrier& carrier;
    StagedFrames out;
    bool up = true;
    Nanoseconds full_since = 0;  // 0: it is not
  };
  struct Program {
    Program(uint32_t number, Carrier& program, bool heard)
        : slot(number), sends(heard), carrier(program), out(program) {}
    const uint32_t slot;
    const bool sends;
    Carrier& carrier;
    StagedFrames out;
    uint32_t idle_turns = 0;
  };

  size_t from_wire(Plane plane, Wire& wire);
  void hand_to(Program& program, Plane plane, std::span<const uint8_t> frame);
  size_t from_programs(Nanoseconds now, bool all);
  size_t from_program(Program& program, Nanoseconds now);
  void put_on_wire(const Program& program, const RxFrame& frame, Nanoseconds now);
  bool wires_have_room(Nanoseconds now);

  FrameGate& gate_;
  std::array<std::unique_ptr<Wire>, kPlanesMax> wires_;
  std::vector<std::unique_ptr<Program>> programs_;
  std::array<Program*, kSlotMax + 1> by_slot_{};
  size_t first_ = 0;  // whose turn it is
  Counters counters_;
};

}  // namespace mrc
