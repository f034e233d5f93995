// SPDX-License-Identifier: BSD-2-Clause
// What a NIC with DCQCN has between its queue pairs and the wire: a short queue and a rate for every flow. A
// frame of a flow that is over its rate waits there, and nobody else's frame waits for it. Flows are told
// apart by the MAC address of their frames, which HostPort makes up for every remote queue pair.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "libmrc/wire/identifiers.h"
#include "tests/sim/core/channel.h"
#include "tests/sim/host/dcqcn.h"

namespace mrc::sim {

using FlowKey = uint64_t;  // the six bytes of the address

FlowKey flow_key(const uint8_t* mac);

class PacedSender {
 public:
  PacedSender(Core& core, Channel& out, const DcqcnSettings& settings, uint32_t frames_max);
  ~PacedSender();
  PacedSender(const PacedSender&) = delete;
  PacedSender& operator=(const PacedSender&) = delete;

  // Frames that this flow may still hand over.
  uint32_t room(FlowKey flow);
  // Takes the frame over. Data wait for their turn; everything else goes at once.
  void send(Frame* frame);
  void on_notification(FlowKey flow);
  // The wire has room, or a turn has come. True: there is room again where there was none.
  bool proceed();

  uint32_t frames_held() const { return held_; }
  uint64_t notifications() const { return notifications_; }
  const DcqcnSettings& settings() const { return settings_; }
  // 0: nothing was sent by it yet.
  double gigabits(FlowKey flow) const;

 private:
  // The wire gets them in small numbers, so that a pause or another flow finds the rest here.
  static constexpr uint32_t kAtWireMax = 2;

  struct Flow {
    DcqcnRate rate;
    FrameList waiting;
    Picoseconds next = 0;  // when the next frame may go
    bool full = false;     // somebody was told that there is no room
  };
  struct Turn {
    Picoseconds time;
    FlowKey key;
    Flow* flow;
    bool operator<(const Turn& other) const {
      return time != other.time ? time < other.time : key < other.key;
    }
  };
  Flow& flow(FlowKey key);
  void send_first(Flow& flow);
  void set_timer();

  Core& core_;
  Channel& out_;
  DcqcnSettings settings_;
  uint32_t frames_max_;  // of a flow
  std::map<FlowKey, Flow> flows_;
  std::set<Turn> turns_;  // of all flows with frames
  Picoseconds timer_ = kForever;
  bool wire_full_ = false;  // somebody was told so
  uint32_t held_ = 0;
  uint64_t notifications_ = 0;
};

}  // namespace mrc::sim
