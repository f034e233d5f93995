// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/scenarios/world.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <stdexcept>

#include "tests/sim/core/frame_headers.h"

namespace mrc::sim {

namespace {

// Paths by uSIDs: every choice of spine and core, or as many as are asked for.
class UsidPaths : public PathSource {
 public:
  // `any`: of more than are asked for, any will do; otherwise they are the first.
  UsidPaths(const Fabric& fabric, uint32_t host, uint32_t paths, bool any)
      : fabric_(fabric), host_(host), paths_(paths), any_(any) {}
  std::vector<EvEntry> paths_to(const IpAddress& destination) override {
    return paths(host_, number_of(destination));
  }
  // If they have as many there.
  std::vector<EvEntry> paths_from(const IpAddress& source) override {
    return paths(number_of(source), host_);
  }

 private:
  static uint32_t number_of(const IpAddress& host) {
    return static_cast<uint32_t>(host.bytes[13]) << 16 | static_cast<uint32_t>(host.bytes[14]) << 8 |
           host.bytes[15];
  }
  std::vector<EvEntry> paths(uint32_t from, uint32_t to) const {
    const TopologyConfig& topology = fabric_.config();
    const uint32_t choices = topology.spines * (topology.tiers == 3 ? topology.cores_per_spine : 1);
    const uint32_t count = std::min(paths_, choices);
    std::vector<EvEntry> entries;
    entries.reserve(size_t{topology.planes} * count);
    for (uint32_t id = 0; id < topology.planes; ++id) {
      const auto plane = static_cast<Plane>(id);
      for (uint32_t path = 0; path < count; ++path) {
        const uint32_t choice = any_ && count < choices ? spread(from, path, count, choices) : path;
        entries.push_back({.entropy = make_entropy(plane, path),
                           .plane = plane,
                           .has_outer = true,
                           .outer_destination = fabric_.usid_path(from, to, plane, choice)});
      }
    }
    return entries;
  }
  // Some of many: on all spines alike, and others for another host.
  static uint32_t spread(uint32_t host, uint32_t path, uint32_t count, uint32_t choices) {
    return static_cast<uint32_t>((mix(host) % choices + uint64_t{path} * choices / count) % choices);
  }

  const Fabric& fabric_;
  uint32_t host_;
  uint32_t paths_;
  bool any_;
};

// Where nothing is lost a timeout is nothing but wrong, and DCQCN may hold a flow back for long: the value
// that is usual where RoCE is run (IBTA code 14).
constexpr Nanoseconds kLosslessTimeout = Nanoseconds{4096} << 14;
constexpr uint32_t kLosslessWindow = 512;  // packets

}  // namespace

StreamConfig endless(const WorldConfig& config) {
  StreamConfig stream;
  stream.message_bytes = config.buffer_bytes;
  stream.messages = 0;
  stream.depth = 16;
  return stream;
}

std::string Transport::name() const {
  if (protocol == Protocol::kMrc) return "mrc";
  constexpr const char* kNetworks[] = {"", "pfc_", "dcqcn_"};
  return std::string("rc_") + kNetworks[static_cast<size_t>(network)] + std::to_string(queue_pairs) + "qp";
}

namespace {

std::vector<Transport> rc_in(RcNetwork network, std::initializer_list<uint32_t> queue_pairs,
                             const ScenarioOptions& options) {
  std::vector<Transport> all;
  if (options.rc.value_or(true))
    for (const uint32_t each : queue_pairs) all.push_back({Protocol::kRc, each, network});
  return all;
}

void append(std::vector<Transport>* all, const std::vector<Transport>& more) {
  all->insert(all->end(), more.begin(), more.end());
}

}  // namespace

std::vector<Transport> rc_transports(const ScenarioOptions& options) {
  return rc_in(RcNetwork::kPlain, {1, 8, 16}, options);
}

std::vector<Transport> dcqcn_transports(const ScenarioOptions& options) {
  return rc_in(RcNetwork::kDcqcn, {1, 8, 16}, options);
}

std::vector<Transport> all_transports(const ScenarioOptions& options, bool dcqcn) {
  std::vector<Transport> all = {Transport{}};
  append(&all, rc_transports(options));
  if (dcqcn) append(&all, dcqcn_transports(options));
  return all;
}

std::vector<Transport> baselines(const ScenarioOptions& options, bool few) {
  std::vector<Transport> all = rc_transports(options);
  append(&all, rc_in(RcNetwork::kPfc, {1, 8}, options));
  append(&all, dcqcn_transports(options));
  if (few) std::erase_if(all, [](const Transport& each) { return each.lossless() && each.queue_pairs > 1; });
  return all;
}

void WorldConfig::apply(const ScenarioOptions& options) {
  seed = options.seed;
  if (options.planes) topology.planes = *options.planes;
  if (options.paths) paths = *options.paths;
  if (options.rate) topology.host_gigabits = topology.spine_gigabits = topology.core_gigabits = *options.rate;
  if (options.trimming) trimming = *options.trimming;
  if (options.ecn_last_hop) ecn_last_hop = *options.ecn_last_hop;
  if (options.srv6) srv6 = *options.srv6;
  if (options.controller)
    controller = *options.controller == "none"   ? CongestionAlgorithm::kNone
                 : *options.controller == "nscc" ? CongestionAlgorithm::kNscc
                                                 : CongestionAlgorithm::kReceiverAware;
  if (options.rtt) rtt = from_microseconds(*options.rtt);
  fit_network();
}

void WorldConfig::fit_network() {
  TopologyConfig wires = topology;
  wires.host_delay = wires.spine_delay = wires.core_delay = 0;
  if (wires.base_rtt(mtu) >= rtt) {
    char text[160];
    std::snprintf(text, sizeof text,
                  "a round trip of %g us is too short: at this rate the wires alone take %g us",
                  to_microseconds(rtt), to_microseconds(wires.base_rtt(mtu)));
    throw std::invalid_argument(text);
  }
  topology.set_rtt(rtt, mtu);
  topology.set_queues(mtu, trimming, ecn_last_hop);
}

WorldConfig WorldConfig::speaking(const Transport& wanted) const {
  WorldConfig config = *this;
  if (wanted.protocol == Protocol::kRc) {
    for (double* rate :
         {&config.topology.host_gigabits, &config.topology.spine_gigabits, &config.topology.core_gigabits})
      *rate *= topology.planes;
    config.topology.planes = 1;
  }
  return config.speaking_on_planes(wanted);
}

WorldConfig WorldConfig::speaking_on_planes(const Transport& wanted) const {
  WorldConfig config = *this;
  config.transport = wanted;
  if (wanted.protocol == Protocol::kMrc) return config;
  config.queue_pairs_per_host *= wanted.queue_pairs;
  for (auto& [host, queue_pairs] : config.queue_pairs_at) queue_pairs *= wanted.queue_pairs;
  config.trimming = config.srv6 = false;
  config.fit_network();
  if (wanted.lossless()) config.topology.set_lossless_queues(mtu, wanted.network == RcNetwork::kDcqcn);
  return config;
}

World::World(const WorldConfig& config) : config_(config) {
  fabric_ = std::make_unique<Fabric>(config.topology, mix(config.seed + 0xFAB));
  faults_ = std::make_unique<FaultPlan>(*fabric_);
  source_.assign(config.buffer_bytes, 0x5A);
  target_.assign(config.buffer_bytes, 0);
  std::vector<uint32_t> hosts = config.hosts;
  if (hosts.empty()) {
    hosts.resize(fabric_->host_count());
    std::iota(hosts.begin(), hosts.end(), 0);
  }
  applications_.resize(fabric_->host_count());
  path_sources_.resize(fabric_->host_count());
  Random random(mix(config.seed + 0x4057));
  for (const uint32_t number : hosts) {
    Host& host = fabric_->add_host(number, host_config(number, random.next()));
    const uint32_t queue_pairs = queue_pairs_of(number);
    applications_[number] =
        std::make_unique<Application>(host, queue_pairs, 64 + 64 * queue_pairs, source_, target_);
  }
}

World::~World() = default;

uint32_t World::queue_pairs_of(uint32_t host) const {
  const auto at = config_.queue_pairs_at.find(host);
  return at != config_.queue_pairs_at.end() ? at->second : config_.queue_pairs_per_host;
}

// What an administrator would set for this network.
HostConfig World::host_config(uint32_t number, uint64_t seed) {
  HostConfig host;
  host.engine.seed = seed;
  host.engine.qpn_count = queue_pairs_of(number);
  host.engine.profiles = config_.profiles;
  const Nanoseconds base_rtt = to_nanoseconds(rtt());
  TransportConfig& transport = host.engine.transport;
  const bool rc = config_.transport.protocol == Protocol::kRc;
  if (rc) transport.transport = mrc::Transport::kRc;
  if (config_.transport.network == RcNetwork::kDcqcn)
    host.dcqcn = DcqcnSettings::for_line(config_.topology.host_gigabits);
  transport.congestion = config_.controller;
  transport.receiver_penalty = config_.receiver_penalty;
  transport.expected_senders = config_.expected_senders;
  const uint32_t planes_at_once = rc ? 1 : config_.topology.planes;  // of one queue pair
  transport.link_rate_bps = static_cast<uint64_t>(planes_at_once * config_.topology.host_gigabits * 1e9);
  transport.nscc = nscc_defaults(transport.link_rate_bps, base_rtt, config_.mtu, config_.trimming);
  transport.window_bytes = static_cast<uint32_t>(transport.nscc.max_cwnd);
  transport.paths_per_plane = config_.paths;
  transport.backups_per_plane = config_.backups;
  transport.window_packets = config_.window_packets;
  if (config_.transport.lossless()) {  // pauses or DCQCN hold it back, and no window: the engine's largest
    transport.window_packets = kLosslessWindow;
    transport.window_bytes = kLosslessWindow * kMtuMax;
  }
  transport.reorder_window_min = transport.nscc.target_delay + base_rtt / 4;  // MRC 3.3 (b)
  transport.silence_min = 2 * base_rtt;
  transport.spare_copies = config_.spare_copies;
  transport.probe_interval = 50 * kMicrosecond;  // MRC 4.5 [P]: for simulation
  transport.probe_interval_max = kMillisecond;
  transport.coarse_timestamps = false;
  if (const auto other = config_.interop_at.find(number); other != config_.interop_at.end())
    transport.interop = other->second;
  if (config_.trimming) {
    transport.dscp_data = Dscp::kTrimmable;
    transport.dscp_retransmission = Dscp::kTrimmableRetransmission;
  }
  if (config_.srv6) {
    const auto fewer = config_.paths_at.find(number);
    const bool bound = fewer != config_.paths_at.end();
    const uint32_t paths = bound ? fewer->second : config_.paths + transport.backups_for(config_.paths);
    path_sources_[number] = std::make_unique<UsidPaths>(*fabric_, number, paths, !bound);
    host.engine.path_source = path_sources_[number].get();
    if (const auto links = config_.denied_at.find(number); links != config_.denied_at.end()) {
      allowed_paths_.push_back(std::make_unique<AllowedPaths>(*path_sources_[number], *links->second));
      host.engine.path_source = allowed_paths_.back().get();
      transport.tell_denied = true;
    }
  }
  return host;
}

Stream& World::add_stream(uint32_t from, uint32_t to, const StreamConfig& config) {
  StreamConfig wanted = config;
  wanted.queue_pairs = config_.transport.queue_pairs;
  if (config_.transport.lossless() && !config_.lossy_wires) wanted.timeout = kLosslessTimeout;
  streams_.push_back(std::make_unique<Stream>(*fabric_, *applications_[from], *applications_[to], wanted,
                                              config_.mtu, mix(config_.seed * 7919 + streams_.size())));
  return *streams_.back();
}

bool World::run_until_done(Picoseconds deadline) {
  constexpr int kStepsAtOnce = 256;
  size_t waiting_for = 0;
  for (;;) {
    while (waiting_for < streams_.size() && streams_[waiting_for]->done()) ++waiting_for;
    if (waiting_for == streams_.size()) return true;
    bool more = true;
    for (int i = 0; more && i < kStepsAtOnce; ++i) more = fabric_->step(deadline);
    if (!more) return all_done();
  }
}

bool World::all_done() const {
  return std::all_of(streams_.begin(), streams_.end(), [](const auto& stream) { return stream->done(); });
}

uint32_t World::failures() const {
  uint32_t count = 0;
  for (const auto& stream : streams_) count += stream->failed() ? 1 : 0;
  return count;
}

Counters World::counters() {
  Counters sum;
  for (uint32_t i = 0; i < fabric_->host_count(); ++i) {
    if (!fabric_->has_host(i)) continue;
    const Counters& one = fabric_->host(i).engine().counters();
    sum.frames_sent += one.frames_sent;
    sum.data_packets_sent += one.data_packets_sent;
    sum.payload_bytes_placed += one.payload_bytes_placed;
    sum.retransmits_same_path += one.retransmits_same_path;
    sum.retransmits_reordering += one.retransmits_reordering;
    sum.retransmits_out_of_order += one.retransmits_out_of_order;
    sum.retransmits_timeout += one.retransmits_timeout;
    sum.retransmits_nack += one.retransmits_nack;
    sum.retransmits_ack_lost += one.retransmits_ack_lost;
    sum.retransmits_port_down += one.retransmits_port_down;
    sum.retransmits_sequence += one.retransmits_sequence;
    sum.paths_demoted += one.paths_demoted;
    sum.paths_restored += one.paths_restored;
    sum.duplicates += one.duplicates;
    sum.copies_sent += one.copies_sent;
  }
  return sum;
}

double World::payload_gigabits() const {
  // Ethernet to ICRC over IPv6; MRC adds METH, TSETH and RETH, SRv6 its outer header.
  const double mrc = config_.transport.protocol == Protocol::kMrc ? 4 + 4 + 16 : 0;
  const double frame = 14 + 40 + 8 + 12 + mrc + config_.mtu + 4 + (config_.srv6 ? 40 : 0);
  return config_.topology.planes * config_.topology.host_gigabits * config_.mtu /
         (frame + kWireOverheadBytes);
}

// ------------------------------------------------------------------------------------------------- meters

Meter::Meter(World& world, std::vector<uint32_t> hosts, Picoseconds interval)
    : world_(world), hosts_(std::move(hosts)), interval_(interval), start_(world.now()) {
  on_alarm(0);
}

void Meter::on_alarm(uint32_t) {
  uint64_t sum = 0;
  for (const uint32_t host : hosts_) sum += world_.placed(host);
  bytes_.push_back(sum);
  world_.fabric().set_alarm(world_.now() + interval_, *this, 0);
}

double Meter::rate(Picoseconds from, Picoseconds to) const {
  const auto sample = [this](Picoseconds time) {
    return std::min<size_t>(bytes_.size() - 1, (time - start_ + interval_ / 2) / interval_);
  };
  const size_t first = sample(from);
  const size_t last = sample(to);
  if (last <= first) return 0;
  return static_cast<double>(bytes_[last] - bytes_[first]) * 8000.0 /
         static_cast<double>((last - first) * interval_);
}

double Meter::lowest(Picoseconds from, Picoseconds to, Picoseconds window) const {
  double least = INFINITY;
  for (Picoseconds at = from; at + window <= to; at += interval_)
    least = std::min(least, rate(at, at + window));
  return least;
}

Series Meter::series(const std::string& name, Picoseconds until) const {
  Series series;
  series.name = name;
  for (size_t i = 1; i < bytes_.size() && start_ + i * interval_ <= until; ++i)
    series.points.emplace_back(
        to_microseconds(start_ + i * interval_) / 1000,
        static_cast<double>(bytes_[i] - bytes_[i - 1]) * 8000.0 / static_cast<double>(interval_));
  return series;
}

// --------------------------------------------------------------------------------------------- statistics

void add_pauses(ScenarioResult* result, const std::string& name, World& world, bool whole) {
  if (!world.config().transport.lossless()) return;
  const PauseTotals totals = world.fabric().pause_totals();
  result->add(name + "pauses", static_cast<double>(totals.pauses));
  result->add(name + "paused_links_between_switches", totals.between);
  result->add(name + "paused_time", to_microseconds(totals.time), "us");
  if (!whole) return;
  const Trace& trace = world.fabric().core().trace;
  result->add_at_most(name + "lost", static_cast<double>(trace.gone()), 0);
  result->add_at_most(name + "repeated", static_cast<double>(world.counters().retransmits()), 0);
}

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto index = static_cast<size_t>(std::ceil(share * static_cast<double>(values.size())));
  return values[std::min(values.size() - 1, index == 0 ? 0 : index - 1)];
}

void add_percentiles(ScenarioResult* result, const std::string& name, const std::vector<double>& values,
                     const std::string& unit) {
  result->add(name + "_p50", percentile(values, 0.5), unit);
  result->add(name + "_p99", percentile(values, 0.99), unit);
  result->add(name + "_p99.9", percentile(values, 0.999), unit);
}

Series cdf(const std::string& name, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  Series series;
  series.name = name;
  const size_t step = std::max<size_t>(1, values.size() / 400);
  for (size_t i = 0; i < values.size(); i += step)
    series.points.emplace_back(values[i], static_cast<double>(i + 1) / static_cast<double>(values.size()));
  if (!values.empty()) series.points.emplace_back(values.back(), 1.0);
  return series;
}

}  // namespace mrc::sim
