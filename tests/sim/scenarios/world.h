// SPDX-License-Identifier: BSD-2-Clause
// A network with engines that fit it, and streams between its hosts: what every scenario starts from.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libmrc/path/denied_links.h"
#include "libmrc/path/path_source.h"
#include "tests/sim/fabric/fabric.h"
#include "tests/sim/fabric/faults.h"
#include "tests/sim/scenarios/scenario.h"
#include "tests/sim/scenarios/stream.h"

namespace mrc::sim {

// Which protocol the streams speak. RC is plain RoCEv2, go-back-N on one path per queue pair.
enum class Protocol : uint8_t { kMrc, kRc };

// What keeps RC from congestion: nothing but its window; a network that pauses links instead of dropping
// (PFC); or that, and NICs with DCQCN, which is what is run in practice.
enum class RcNetwork : uint8_t { kPlain, kPfc, kDcqcn };

struct Transport {
  Protocol protocol = Protocol::kMrc;
  uint32_t queue_pairs = 1;  // per stream
  RcNetwork network = RcNetwork::kPlain;
  std::string name() const;
  bool lossless() const { return network != RcNetwork::kPlain; }
};
// RC with 1, 8 and 16 queue pairs. In all of these: none if the options want no RC.
std::vector<Transport> rc_transports(const ScenarioOptions& options);
// The same with DCQCN over PFC.
std::vector<Transport> dcqcn_transports(const ScenarioOptions& options);
// MRC and plain RC; and with DCQCN, if asked for.
std::vector<Transport> all_transports(const ScenarioOptions& options, bool dcqcn);
// All that is not MRC: plain RC, RC over PFC alone with 1 and 8 queue pairs, and with DCQCN. `few`: of those
// in a network with PFC only the ones with 1 queue pair.
std::vector<Transport> baselines(const ScenarioOptions& options, bool few);

struct WorldConfig {
 public:
  TopologyConfig topology;
  Transport transport;
  uint64_t seed = 1;
  uint32_t mtu = 4096;
  uint32_t paths = 16;                               // per plane, in use
  uint32_t backups = TransportConfig::kBackupsAuto;  // per plane
  uint32_t window_packets = 1024;
  uint32_t queue_pairs_per_host = 4;
  std::map<uint32_t, uint32_t> queue_pairs_at;  // hosts that have more
  uint64_t buffer_bytes = 1 << 20;              // largest message
  CongestionAlgorithm controller = CongestionAlgorithm::kNscc;
  bool receiver_penalty = false;
  bool spare_copies = true;
  uint32_t expected_senders = 0;  // the hint of the receiver-aware controller
  bool trimming = true;
  bool ecn_last_hop = false;
  bool srv6 = false;                                 // paths by uSIDs instead of hashing
  std::map<uint32_t, uint32_t> paths_at;             // hosts that have fewer; with SRv6 only
  std::map<uint32_t, InteropConfig> interop_at;      // hosts that read MRC in another way
  std::map<uint32_t, const DeniedLinks*> denied_at;  // hosts that tell senders what is denied; with SRv6
  ProfileSource* profiles = nullptr;                 // of a controller; outlives the world
  std::vector<uint32_t> hosts;                       // those that get an engine; empty = all
  bool lossy_wires = false;  // RC over PFC: the timeout of all others, for the usual one is long

  Picoseconds rtt = 12 * kPerMicrosecond;  // unloaded

  // What the command line says instead.
  void apply(const ScenarioOptions& options);
  // The streams speak this. RC gets the network it likes best: one plane, whose links are as fast as those of
  // all planes together; it cannot use trimmed packets or uSIDs. The network pauses and marks as it likes.
  WorldConfig speaking(const Transport& transport) const;
  // The same, but the network keeps its planes, and every queue pair of RC is bound to one of them.
  WorldConfig speaking_on_planes(const Transport& transport) const;

 private:
  void fit_network();
};

// A stream that keeps 16 messages under way and never ends.
StreamConfig endless(const WorldConfig& config);

class World {
 public:
  explicit World(const WorldConfig& config);
  ~World();

  const WorldConfig& config() const { return config_; }
  Fabric& fabric() { return *fabric_; }
  FaultPlan& faults() { return *faults_; }
  Picoseconds now() const { return fabric_->now(); }
  Picoseconds rtt() const { return config_.topology.base_rtt(config_.mtu); }
  Application& application(uint32_t host) { return *applications_[host]; }

  Stream& add_stream(uint32_t from, uint32_t to, const StreamConfig& config);
  std::deque<std::unique_ptr<Stream>>& streams() { return streams_; }

  // Until all streams are done; false if they are not by then.
  bool run_until_done(Picoseconds deadline);
  void run_until(Picoseconds end) { fabric_->run_until(end); }
  bool all_done() const;
  // How many streams ended with an error.
  uint32_t failures() const;
  // Sum over all engines.
  Counters counters();
  // Payload bytes that have reached the memory of this host.
  uint64_t placed(uint32_t host) { return fabric_->host(host).engine().counters().payload_bytes_placed; }

  // Payload rate of one host's ports together when nothing is in the way.
  double payload_gigabits() const;

 private:
  HostConfig host_config(uint32_t number, uint64_t seed);
  uint32_t queue_pairs_of(uint32_t host) const;

  WorldConfig config_;
  std::unique_ptr<Fabric> fabric_;
  std::unique_ptr<FaultPlan> faults_;
  std::vector<std::unique_ptr<PathSource>> path_sources_;   // by host
  std::vector<std::unique_ptr<PathSource>> allowed_paths_;  // of those that deny some
  std::vector<uint8_t> source_;                             // of all streams
  std::vector<uint8_t> target_;
  std::vector<std::unique_ptr<Application>> applications_;  // by host
  std::deque<std::unique_ptr<Stream>> streams_;
};

// Goodput over time: how many payload bytes reached some hosts in each interval.
class Meter : private AlarmListener {
 public:
  Meter(World& world, std::vector<uint32_t> hosts, Picoseconds interval);
  // Gigabits per second in [from, to), which should be whole intervals.
  double rate(Picoseconds from, Picoseconds to) const;
  double lowest(Picoseconds from, Picoseconds to, Picoseconds window) const;
  Series series(const std::string& name, Picoseconds until = kForever) const;  // ms, Gb/s

 private:
  void on_alarm(uint32_t) override;

  World& world_;
  std::vector<uint32_t> hosts_;
  Picoseconds interval_;
  Picoseconds start_;
  std::vector<uint64_t> bytes_;  // sum at every sample
};

// What a network with PFC did; nothing if it has none. It must not drop, and RC must not repeat, unless wires
// lose (`whole`: they do not).
void add_pauses(ScenarioResult* result, const std::string& name, World& world, bool whole = true);

// Percentiles of what is there; 0 if there is nothing.
double percentile(std::vector<double> values, double share);
void add_percentiles(ScenarioResult* result, const std::string& name, const std::vector<double>& values,
                     const std::string& unit);
Series cdf(const std::string& name, std::vector<double> values);

}  // namespace mrc::sim
