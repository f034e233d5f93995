// SPDX-License-Identifier: BSD-2-Clause
// The whole simulated network: channels, switches and hosts wired up by a TopologyConfig, and the loop that
// takes events one after the other.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "tests/sim/core/channel.h"
#include "tests/sim/fabric/switch.h"
#include "tests/sim/fabric/topology.h"
#include "tests/sim/host/host.h"

namespace mrc::sim {

class FaultPlan;

// A cable: towards the core, and back.
struct Link {
  enum class Kind : uint8_t { kHost, kSpine, kCore };  // by its upper end (a host link's is a leaf)
  Kind kind;
  Plane plane;
  uint32_t lower;  // host, leaf or spine number
  uint32_t upper;  // leaf, spine or core number
  uint32_t up_channel;
  uint32_t down_channel;
};

class AlarmListener {
 public:
  virtual ~AlarmListener() = default;
  virtual void on_alarm(uint32_t id) = 0;
};

// Sees the frames that arrive at hosts without an engine.
class FrameTap {
 public:
  virtual ~FrameTap() = default;
  virtual void on_frame(uint32_t host, Plane plane, const Frame& frame) = 0;
};

// What priority flow control did, all channels together.
struct PauseTotals {
  uint64_t pauses = 0;
  uint32_t channels = 0;  // that were paused at least once
  uint32_t between = 0;   // of those, between switches: congestion that has spread
  Picoseconds time = 0;   // of all of them
};

class Fabric {
 public:
  Fabric(const TopologyConfig& config, uint64_t seed);
  ~Fabric();
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  Core& core() { return core_; }
  Picoseconds now() const { return core_.events.now(); }
  const TopologyConfig& config() const { return config_; }

  // Puts an engine behind the ports of this host. A host without one only shows its frames to the tap.
  Host& add_host(uint32_t number, const HostConfig& config);
  Host& host(uint32_t number) { return *hosts_[number]; }
  bool has_host(uint32_t number) const { return hosts_[number] != nullptr; }
  uint32_t host_count() const { return static_cast<uint32_t>(hosts_.size()); }
  void set_tap(FrameTap* tap) { tap_ = tap; }
  // Ends all engines; the frames they held go back to the pool.
  void remove_hosts();

  Channel& channel(uint32_t id) { return *channels_[id]; }
  uint32_t channel_count() const { return static_cast<uint32_t>(channels_.size()); }
  std::vector<Link>& links() { return links_; }
  const Link& host_link(uint32_t host, Plane plane) const { return links_[host * config_.planes + plane]; }
  const Link* find_link(Link::Kind kind, Plane plane, uint32_t lower, uint32_t upper) const;
  Switch& switch_at(Tier tier, Plane plane, uint32_t index);
  const std::vector<std::unique_ptr<Switch>>& switches() const { return switches_; }
  // All channels that begin or end at the switch.
  std::vector<uint32_t> channels_of(Tier tier, Plane plane, uint32_t index) const;
  std::string channel_name(uint32_t id) const;
  void print_trace_to(std::FILE* out);

  // Null: no priority flow control.
  const PauseControl* pause_control() const { return pauses_.get(); }
  PauseTotals pause_totals() const;

  // A channel went down or came up: its switch may leave it out.
  void set_channel_down(uint32_t id, bool down);

  void set_alarm(Picoseconds time, AlarmListener& listener, uint32_t id);
  void set_faults(FaultPlan* faults) { faults_ = faults; }

  // Runs the next event; false if there is none up to `end`.
  bool step(Picoseconds end);
  void run_until(Picoseconds end) {
    while (step(end)) {
    }
    core_.events.skip_to(end);
  }
  uint64_t events_run() const { return events_run_; }
  // Frames in queues, on wires and in receive rings.
  uint64_t frames_inside() const;

  // The outer destination that leads from one host to another by chosen switches, for SRv6. `choice` picks
  // spine and core.
  IpAddress usid_path(uint32_t from, uint32_t to, Plane plane, uint32_t choice) const;

 private:
  // Where a channel ends.
  struct End {
    bool is_host;
    Plane plane;
    uint32_t index;  // in hosts_ or switches_
  };
  struct Alarm {
    AlarmListener* listener;
    uint32_t id;
  };

  void build_plane(Plane plane, uint64_t seed);
  uint32_t add_channel(const Wire& wire, const QueueSettings& queue, End from, End to, uint64_t seed);
  void add_link(Link::Kind kind, Plane plane, uint32_t lower, uint32_t upper, const Wire& wire,
                Random& random);
  FabricPlace place_of(uint32_t host) const {
    return {host / config_.hosts_per_leaf, host % config_.hosts_per_leaf};
  }
  uint32_t switch_index(Tier tier, Plane plane, uint32_t index) const;
  std::string end_name(const End& end) const;
  void arrive(uint32_t channel, Frame* frame);
  void forward(uint32_t channel, Frame* frame);
  void tell_host(uint32_t channel);
  void control_pauses();

  TopologyConfig config_;
  FabricShape shape_;
  Core core_;
  std::unique_ptr<PauseControl> pauses_;  // outlives the channels
  std::vector<std::unique_ptr<Channel>> channels_;
  std::vector<End> from_;  // by channel
  std::vector<End> to_;    // by channel
  std::vector<std::unique_ptr<Switch>> switches_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<Link> links_;  // host links first: host * planes + plane
  std::vector<Alarm> alarms_;
  std::vector<uint32_t> free_alarms_;
  FaultPlan* faults_ = nullptr;
  FrameTap* tap_ = nullptr;
  uint64_t events_run_ = 0;
};

}  // namespace mrc::sim
