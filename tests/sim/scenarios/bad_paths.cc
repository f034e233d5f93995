// SPDX-License-Identifier: BSD-2-Clause
// R2: a path that loses some packets, and one that swallows all. How soon is it out of use, and what does it
// cost?
#include <utility>

#include "tests/sim/scenarios/rc_baseline.h"
#include "tests/sim/scenarios/two_hosts.h"

namespace mrc::sim {

namespace {

constexpr const char* kBandwidth = "MRC paper, 5.2.1, 8 x 100 Gb/s";
constexpr const char* kDrops = "MRC paper, 5.2.4";
constexpr const char* kBypass = "MRC paper, 2.1";
constexpr Picoseconds kSpoiledAt = 500 * kPerMicrosecond;

Fault lossy_path(World& world, const Path& path, double drop) {
  Fault fault;
  fault.kind = FaultKind::kEntropyLoss;
  fault.probability = drop;
  fault.begin = kSpoiledAt;
  fault.entropies = {static_cast<uint32_t>(path.entropy)};
  fault.channels = {world.fabric().host_link(0, path.plane).up_channel};
  return fault;
}

Fault black_hole(const Link& link) {
  Fault fault;
  fault.kind = FaultKind::kBlackHole;
  fault.begin = kSpoiledAt;
  fault.channels = {link.up_channel, link.down_channel};
  return fault;
}

double steady_goodput(const WorldConfig& config, Picoseconds length) {
  World world(config);
  world.add_stream(0, 1, endless(config));
  Meter meter(world, {1}, 10 * kPerMicrosecond);
  world.run_until(kSpoiledAt + length);
  return meter.rate(kSpoiledAt, kSpoiledAt + length);
}

}  // namespace

ScenarioResult run_bad_ev(const ScenarioOptions& options) {
  ScenarioResult result;
  WorldConfig config = two_fast_hosts(2, options);
  config.backups = 2;
  const double drop = options.loss.value_or(0.2);
  const Picoseconds length = (options.quick ? 4 : 20) * kPerMillisecond;
  const double baseline = steady_goodput(config, length);

  World world(config);
  Stream& stream = world.add_stream(0, 1, endless(config));
  Meter meter(world, {1}, 10 * kPerMicrosecond);
  const PathSet& paths = stream.queue_pair().paths();
  PathId bad{0};
  while (!paths.at(bad).in_use()) bad = static_cast<PathId>(static_cast<uint32_t>(bad) + 1);  // no backup
  world.faults().add(lossy_path(world, paths.at(bad), drop));
  Picoseconds first_loss = 0;
  Picoseconds out_at = 0;
  while (world.fabric().step(kSpoiledAt + length)) {
    if (first_loss == 0 && world.fabric().core().trace.data_count(Fate::kLostEntropy) > 0)
      first_loss = world.now();
    if (first_loss != 0 && out_at == 0 && !paths.at(bad).in_use()) out_at = world.now();
  }
  const auto rtts = [&world](Picoseconds time) {
    return static_cast<double>(time) / static_cast<double>(world.rtt());
  };
  const double goodput = meter.rate(kSpoiledAt, kSpoiledAt + length);
  result.add("goodput_without_fault", baseline, "Gb/s");
  result.published("about 770 Gb/s", kBandwidth);
  result.add("goodput", goodput, "Gb/s");
  result.add_at_least("goodput_of_baseline", goodput / baseline, 0.98);
  result.published("line rate kept", kDrops);
  result.add_at_most("out_of_use_after_first_loss", out_at == 0 ? 1e9 : rtts(out_at - first_loss), 2, "RTT");
  result.published("at once", kDrops);
  result.add("packets_lost", static_cast<double>(world.fabric().core().trace.data_count(Fate::kLostEntropy)));
  result.add_at_most("errors", world.failures(), 0);
  add_message_times(world, "mrc_", &result);
  Plot plot{"One EV of 16 drops", "ms", "Gb/s", {meter.series("mrc", kSpoiledAt + length)}, true};
  // One path of RC is the path of one queue pair.
  const auto spoil = [drop](World& rc, Stream& flow) {
    rc.faults().add(lossy_path(rc, first_path(flow), drop));
  };
  add_rc_rows({config, endless(config), kSpoiledAt, kSpoiledAt + length, spoil, "", rc_beside(options)},
              &result, &plot);
  result.plots.push_back(std::move(plot));
  return result;
}

ScenarioResult run_black_hole(const ScenarioOptions& options) {
  ScenarioResult result;
  const WorldConfig config = two_fast_hosts(16, options);
  const Picoseconds length = (options.quick ? 4 : 20) * kPerMillisecond;
  const double baseline = steady_goodput(config, length);

  World world(config);
  world.add_stream(0, 1, endless(config));
  Meter meter(world, {1}, 10 * kPerMicrosecond);
  world.faults().add(black_hole(*world.fabric().find_link(Link::Kind::kSpine, 0, 0, 3)));
  const Trace& trace = world.fabric().core().trace;
  uint64_t seen = 0;
  Picoseconds last_data = kSpoiledAt;
  uint64_t late = 0;  // data packets that still took the path
  while (world.fabric().step(kSpoiledAt + length)) {
    const uint64_t lost = trace.data_count(Fate::kLostBlackHole);
    if (lost == seen) continue;
    if (world.now() > kSpoiledAt + 3 * world.rtt()) late += lost - seen;
    seen = lost;
    last_data = world.now();
  }
  const double goodput = meter.rate(kSpoiledAt, kSpoiledAt + length);
  result.add("goodput_without_fault", baseline, "Gb/s");
  result.add("goodput_of_baseline", goodput / baseline);
  result.add("data_packets_lost", static_cast<double>(seen));
  result.add_at_most("data_packets_after_3_rtt", static_cast<double>(late), 0);
  result.add_at_most("last_data_packet_on_it",
                     static_cast<double>(last_data - kSpoiledAt) / static_cast<double>(world.rtt()), 3,
                     "RTT");
  result.add("time_to_bypass", to_microseconds(last_data - kSpoiledAt), "us");
  result.published("a few tens of us", kBypass);
  result.add_at_most("errors", world.failures(), 0);
  add_message_times(world, "mrc_", &result);
  Plot plot{"A path is black-holed", "ms", "Gb/s", {meter.series("mrc", kSpoiledAt + length)}, true};
  const auto swallow = [](World& rc, Stream& flow) { rc.faults().add(black_hole(link_in_use(rc, flow))); };
  add_rc_rows({config, endless(config), kSpoiledAt, kSpoiledAt + length, swallow, "", rc_beside(options)},
              &result, &plot);
  result.plots.push_back(std::move(plot));
  return result;
}

}  // namespace mrc::sim
