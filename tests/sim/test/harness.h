// SPDX-License-Identifier: BSD-2-Clause
// For the tests of the fabric: frames made by hand, sent from bare hosts, and a record of what arrived.
#pragma once

#include <cstdint>
#include <vector>

#include "libmrc/wire/frame.h"
#include "tests/sim/core/frame_headers.h"
#include "tests/sim/fabric/fabric.h"
#include "tests/sim/fabric/faults.h"

namespace mrc::sim {

struct Arrival {
  Picoseconds time;
  uint32_t host;
  Plane plane;
  uint32_t entropy;
  std::vector<uint8_t> bytes;
};

class Recorder : public FrameTap {
 public:
  explicit Recorder(Fabric& fabric) : fabric_(fabric) { fabric.set_tap(this); }
  void on_frame(uint32_t host, Plane plane, const Frame& frame) override {
    arrivals.push_back(
        {fabric_.now(), host, plane, frame.entropy, {frame.bytes(), frame.bytes() + frame.length}});
  }
  std::vector<Arrival> arrivals;

 private:
  Fabric& fabric_;
};

struct FrameSpec {
  uint32_t from = 0;
  uint32_t to = 1;
  Plane plane = 0;
  uint32_t payload = 1024;  // a multiple of four
  uint32_t entropy = 0xC000;
  uint8_t dscp = Dscp::kNoTrim;
  Ecn ecn = Ecn::kEct0;
  bool v4 = false;
  bool srv6 = false;
  IpAddress outer_destination;
  uint8_t hop_limit = 64;
};

// A WRITE of one packet; returns its length. It leaves now.
inline uint32_t send_frame(Fabric& fabric, const FrameSpec& spec) {
  NetworkHeader network;
  network.source = address_of(spec.from, spec.v4);
  network.destination = address_of(spec.to, spec.v4);
  network.srv6 = spec.srv6;
  network.outer_source = address_of(spec.from, false);
  network.outer_destination = spec.outer_destination;
  network.hop_limit = spec.hop_limit;
  std::vector<uint8_t> bytes(kFrameBytesMax);
  const size_t transport = Bth::kBytes + Meth::kBytes + Tseth::kBytes + Reth::kBytes + spec.payload;
  FrameWriter writer(bytes.data(), network, Entropy{spec.entropy}, spec.dscp, spec.ecn, transport);
  Bth bth;
  bth.opcode = Opcode::kWriteOnly;
  bth.has_timestamp = true;
  writer.add(bth);
  writer.add(Meth{});
  writer.add(Tseth{});
  writer.add(Reth{0, MemoryKey{1}, spec.payload});
  writer.end_headers();
  const std::vector<uint8_t> payload(spec.payload, 0x77);
  writer.add_payload(payload.data(), payload.size());
  const auto length = static_cast<uint32_t>(writer.finish(0));
  Frame* frame = fabric.core().frames.keep(bytes.data(), length);  // as ports do
  read_headers(frame);
  Channel& out = fabric.channel(fabric.host_link(spec.from, spec.plane).up_channel);
  fabric.core().trace.note(fabric.now(), out.id(), *frame, Fate::kSent);
  out.send(frame);
  return length;
}

// Two hosts at one leaf, 100 Gb/s, 1 us per link.
inline TopologyConfig one_leaf() {
  TopologyConfig config;
  config.tiers = 1;
  config.hosts_per_leaf = 2;
  config.host_delay = kPerMicrosecond;
  return config;
}

inline TopologyConfig two_tiers(uint32_t spines) {
  TopologyConfig config;
  config.tiers = 2;
  config.leaves = 2;
  config.hosts_per_leaf = 2;
  config.spines = spines;
  return config;
}

}  // namespace mrc::sim
