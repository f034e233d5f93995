// SPDX-License-Identifier: BSD-2-Clause
// R3 and R4: links cut one by one, a plane that goes and comes back, a spine that reboots.
#include <algorithm>

#include "tests/sim/scenarios/rc_baseline.h"
#include "tests/sim/scenarios/two_hosts.h"

namespace mrc::sim {

namespace {

constexpr Picoseconds kWarmUp = kPerMillisecond;
constexpr Picoseconds kMeterSample = 20 * kPerMicrosecond;

// The same links whatever the streams speak.
void cut_links(World& world, uint32_t cuts, Picoseconds step, uint64_t seed) {
  std::vector<const Link*> links;
  for (const Link& link : world.fabric().links())
    if (link.kind == Link::Kind::kSpine) links.push_back(&link);
  Random random(mix(seed + 20));
  for (uint32_t i = 0; i < cuts; ++i) {
    std::swap(links[i], links[i + random.below(links.size() - i)]);
    world.faults().link_down(*links[i], kWarmUp + i * step, kForever);
  }
}

// Its leaves lose power, and the hosts see it; or its spines do, and nobody does.
void cut_plane(World& world, Plane plane, bool silent, Picoseconds back) {
  if (silent) {
    for (uint32_t spine = 0; spine < world.config().topology.spines; ++spine)
      world.faults().switch_dead(Tier::kSpine, plane, spine, kWarmUp, back);
  } else {
    for (uint32_t host = 0; host < 2; ++host) world.faults().port_down(host, plane, kWarmUp, back);
  }
}

// It forwards nothing for a while, comes back, and once more.
void reboot(World& world, Plane plane, uint32_t spine, Picoseconds back) {
  world.faults().switch_dead(Tier::kSpine, plane, spine, kWarmUp, back);
  world.faults().switch_dead(Tier::kSpine, plane, spine, back + kPerMillisecond, back + 2 * kPerMillisecond);
}

}  // namespace

ScenarioResult run_link_cuts(const ScenarioOptions& options) {
  ScenarioResult result;
  const WorldConfig config = two_fast_hosts(16, options);
  World world(config);
  world.add_stream(0, 1, endless(config));
  Meter meter(world, {1}, kMeterSample);
  const uint32_t cuts = options.quick ? 5 : 20;
  const Picoseconds step = kPerMillisecond;
  cut_links(world, cuts, step, options.seed);
  const Picoseconds end = kWarmUp + (cuts + 2) * step;
  world.run_until(end);
  const double baseline = meter.rate(kWarmUp / 2, kWarmUp);
  const double lowest = meter.lowest(kWarmUp, end, kPerMillisecond);
  result.add("links_cut", cuts);
  result.add("goodput_before", baseline, "Gb/s");
  result.add("goodput_during", meter.rate(kWarmUp, end), "Gb/s");
  result.add_at_least("lowest_ms_of_baseline", lowest / baseline, 0.90);
  result.published("minimal impact in samples of 200 ms", "MRC paper, fig. 9c");
  result.add("data_packets_lost",
             static_cast<double>(world.fabric().core().trace.data_count(Fate::kLostDown)));
  result.add_at_most("errors", world.failures(), 0);
  add_message_times(world, "mrc_", &result);
  Plot plot{"Leaf-spine links cut, one per ms", "ms", "Gb/s", {meter.series("mrc", end)}, true};
  const auto cut = [&](World& rc, Stream&) { cut_links(rc, cuts, step, options.seed); };
  add_rc_rows({config, endless(config), kWarmUp, end, cut, "", rc_beside(options)}, &result, &plot);
  result.plots.push_back(std::move(plot));
  return result;
}

ScenarioResult run_plane_cut(const ScenarioOptions& options) {
  ScenarioResult result;
  const WorldConfig config = two_fast_hosts(16, options);
  Plot plot{"A plane goes down at 1 ms and comes back", "ms", "Gb/s", {}, true};
  for (const bool silent : {false, true}) {
    World world(config);
    world.add_stream(0, 1, endless(config));
    Meter meter(world, {1}, kMeterSample);
    const Picoseconds back = kWarmUp + (options.quick ? 3 : 5) * kPerMillisecond;
    const Picoseconds end = back + (options.quick ? 4 : 10) * kPerMillisecond;
    cut_plane(world, 3 % static_cast<Plane>(config.topology.planes), silent, back);
    world.run_until(end);
    const std::string name = silent ? "spines_dead_" : "ports_down_";
    const double baseline = meter.rate(kWarmUp / 2, kWarmUp);
    const double share = 1.0 - 1.0 / config.topology.planes;
    const Picoseconds rtt = world.rtt();
    const double after = meter.rate(kWarmUp + 10 * rtt, kWarmUp + 60 * rtt) / baseline;
    // How long until 10 round trips in a row carry what the planes that are left can carry.
    const auto recovery = [&](Picoseconds from, Picoseconds until, double wanted) {
      for (Picoseconds at = from; at + 10 * rtt <= until; at += kMeterSample)
        if (meter.rate(at, at + 10 * rtt) >= wanted * baseline)
          return static_cast<double>(at - from) / static_cast<double>(rtt);
      return 1e9;
    };
    result.add(name + "goodput_before", baseline, "Gb/s");
    result.add_at_least(name + "rate_after_10_rtt_of_7/8", after / share, 0.99);
    result.published("about 100 of 800 Gb/s less", "MRC paper, fig. 10");
    result.add_at_most(name + "time_to_7/8", recovery(kWarmUp, back, 0.99 * share), 10, "RTT");
    result.published("below 1 s", "MRC paper, fig. 9a");
    result.add(name + "time_to_full_rate", recovery(back, end, 0.99) * to_microseconds(rtt), "us");
    result.add_at_least(name + "rate_at_the_end", meter.rate(end - kPerMillisecond, end) / baseline, 0.99);
    result.add_at_most(name + "errors", world.failures(), 0);
    add_message_times(world, name + "mrc_", &result);
    plot.series.push_back(meter.series(name + "mrc", end));
    const auto cut = [&](World& rc, Stream& flow) { cut_plane(rc, first_path(flow).plane, silent, back); };
    add_rc_rows({config, endless(config), kWarmUp, end, cut, name, rc_beside(options)}, &result, &plot);
  }
  result.plots.push_back(std::move(plot));
  return result;
}

ScenarioResult run_spine_reboot(const ScenarioOptions& options) {
  ScenarioResult result;
  const WorldConfig config = two_fast_hosts(16, options);
  World world(config);
  world.add_stream(0, 1, endless(config));
  Meter meter(world, {1}, kMeterSample);
  const Picoseconds back = kWarmUp + (options.quick ? 2 : 5) * kPerMillisecond;
  const Picoseconds end = back + (options.quick ? 3 : 10) * kPerMillisecond;
  reboot(world, 0, 5, back);
  world.run_until(end);
  const double baseline = meter.rate(kWarmUp / 2, kWarmUp);
  result.add("goodput_before", baseline, "Gb/s");
  result.add_at_least("lowest_ms_of_baseline", meter.lowest(kWarmUp, end, kPerMillisecond) / baseline, 0.90);
  result.published("no impact", "MRC paper, fig. 11");
  result.add_at_least("rate_at_the_end", meter.rate(end - kPerMillisecond, end) / baseline, 0.99);
  result.add("data_packets_lost",
             static_cast<double>(world.fabric().core().trace.data_count(Fate::kLostDown)));
  result.add_at_most("errors", world.failures(), 0);
  add_message_times(world, "mrc_", &result);
  Plot plot{"A spine reboots", "ms", "Gb/s", {meter.series("mrc", end)}, true};
  const auto fail = [&](World& rc, Stream& flow) {
    const Link& used = link_in_use(rc, flow);
    reboot(rc, used.plane, used.upper, back);
  };
  add_rc_rows({config, endless(config), kWarmUp, end, fail, "", rc_beside(options)}, &result, &plot);
  result.plots.push_back(std::move(plot));
  return result;
}

}  // namespace mrc::sim
