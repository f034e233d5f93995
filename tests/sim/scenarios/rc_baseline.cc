// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/scenarios/rc_baseline.h"

namespace mrc::sim {

namespace {

constexpr Picoseconds kSample = 10 * kPerMicrosecond;
// Longer than stream.cc lets a queue pair try: 8 times 1 ms, then 2 to 128 ms.
constexpr Picoseconds kAllAttempts = 400 * kPerMillisecond;

void add_rows_of(const RcRun& run, const Transport& transport, ScenarioResult* result, Plot* plot) {
  WorldConfig config = run.config.speaking_on_planes(transport);
  config.lossy_wires = true;  // what breaks loses packets, whatever the network does about queues
  World world(config);
  Stream& stream = world.add_stream(0, 1, run.stream);
  Meter meter(world, {1}, kSample);
  world.run_until(run.fault_at / 2);
  run.plan_faults(world, stream);
  world.run_until(run.end);
  const std::string name = run.prefix + transport.name() + "_";
  const double before = meter.rate(run.fault_at / 2, run.fault_at);
  result->add(name + "goodput_before", before, "Gb/s");
  result->add(name + "goodput_of_baseline", meter.rate(run.fault_at, run.end) / before);
  result->add(name + "lowest_ms_of_baseline", meter.lowest(run.fault_at, run.end, kPerMillisecond) / before);
  result->add(name + "rate_at_the_end", meter.rate(run.end - kPerMillisecond, run.end) / before);
  plot->series.push_back(meter.series(run.prefix + transport.name(), run.end));
  add_message_times(world, name, result);
  result->add(name + "errors", world.failures());
}

}  // namespace

std::vector<Transport> rc_beside(const ScenarioOptions& options) {
  std::vector<Transport> all = all_transports(options, !options.quick);
  all.erase(all.begin());  // MRC
  return all;
}

void add_rc_rows(const RcRun& run, ScenarioResult* result, Plot* plot) {
  for (const Transport& transport : run.transports) add_rows_of(run, transport, result, plot);
}

const Path& first_path(Stream& stream) {
  return stream.queue_pair().paths().at(PathId{0});
}

const Link& link_in_use(World& world, Stream& stream) {
  const Plane plane = first_path(stream).plane;
  const Link* most = nullptr;
  const auto bytes = [&world](const Link& link) {
    return world.fabric().channel(link.up_channel).counters().bytes_delivered;
  };
  for (const Link& link : world.fabric().links())
    if (link.kind == Link::Kind::kSpine && link.plane == plane && link.lower == 0)
      if (most == nullptr || bytes(link) > bytes(*most)) most = &link;
  return *most;
}

uint32_t drain(World& world) {
  for (const auto& stream : world.streams()) stream->finish();
  world.run_until_done(world.now() + kAllAttempts);
  uint32_t unfinished = 0;
  for (const auto& stream : world.streams()) unfinished += stream->done() ? 0 : 1;
  return unfinished;
}

std::vector<double> message_times(World& world) {
  std::vector<double> times;
  for (const auto& stream : world.streams()) {
    times.insert(times.end(), stream->latencies().begin(), stream->latencies().end());
    const std::vector<double> ages = stream->ages();
    times.insert(times.end(), ages.begin(), ages.end());
  }
  return times;
}

void add_message_times(World& world, const std::string& name, ScenarioResult* result) {
  const uint32_t unfinished = drain(world);
  add_percentiles(result, name + "message", message_times(world), "us");
  if (unfinished > 0) result->add(name + "unfinished", unfinished);
}

}  // namespace mrc::sim
