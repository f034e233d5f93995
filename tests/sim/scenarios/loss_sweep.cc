// SPDX-License-Identifier: BSD-2-Clause
// R1: one stream over all planes at several loss rates, on the last hop of every path and in both directions;
// and what the loss does to single messages.
#include <algorithm>
#include <cstdio>

#include "tests/sim/scenarios/two_hosts.h"

namespace mrc::sim {

namespace {

struct Measured {
  double goodput = 0;
  bool done = false;
  uint32_t failures = 0;
  uint64_t retransmits = 0;
  std::vector<double> latencies;
};

Measured measure(const WorldConfig& config, double loss, const StreamConfig& stream, Picoseconds deadline) {
  WorldConfig lossy = config;
  lossy.lossy_wires = loss > 0;
  World world(lossy);
  world.faults().lose_at_hosts(loss);
  const uint32_t to = config.topology.host_count() - 1;
  Stream& measured = world.add_stream(0, to, stream);
  Measured result;
  result.done = world.run_until_done(deadline);
  // What did not finish in time still moved so many bytes.
  result.goodput = result.done
                       ? measured.goodput_gigabits()
                       : static_cast<double>(world.placed(to)) * 8000.0 / static_cast<double>(deadline);
  result.failures = world.failures();
  result.retransmits = world.counters().retransmits();
  result.latencies = measured.latencies();
  return result;
}

std::string percent(double loss) {
  char text[32];
  std::snprintf(text, sizeof text, "%g%%", loss * 100);
  return text;
}

}  // namespace

ScenarioResult run_loss_sweep(const ScenarioOptions& options) {
  ScenarioResult result;
  WorldConfig config = two_hosts(8, 16);
  config.window_packets = 2048;
  config.queue_pairs_per_host = 1;
  config.apply(options);
  StreamConfig bulk;
  bulk.message_bytes = options.size.value_or(32u << 20);
  bulk.messages = options.messages.value_or(options.quick ? 3 : 10);
  bulk.depth = 2;
  StreamConfig small;
  small.message_bytes = 64 << 10;
  small.messages = options.quick ? 500 : 20'000;
  small.depth = 8;
  config.buffer_bytes = std::max<uint64_t>(bulk.message_bytes, small.message_bytes);
  std::vector<double> losses = {0, 0.0001, 0.001, 0.01, 0.30};
  if (options.loss) losses = {0, *options.loss};
  Plot plot{"Completion of 64 KiB messages", "microseconds", "share", {}, false};
  const WorldConfig mrc_config = config;
  for (const Transport& transport : all_transports(options, !options.quick)) {
    config = mrc_config.speaking(transport);
    double lossless = 0;
    double lossless_tail = 0;
    for (const double loss : losses) {
      const bool heavy = loss > 0.1;
      StreamConfig stream = bulk;
      if (heavy) stream.messages = 1;
      // RC may need for ever: it gets ten times what MRC should take.
      const Measured bulk_run = measure(config, loss, stream, (heavy ? 20 : 100) * kPerMillisecond);
      if (loss == 0) lossless = bulk_run.goodput;
      const std::string name = transport.name() + "_loss_" + percent(loss);
      result.add(name + "_goodput", bulk_run.goodput, "Gb/s");
      const double ratio = bulk_run.goodput / lossless;
      const bool judged = transport.protocol == Protocol::kMrc;
      if (judged && loss == 0.001) {
        result.add_at_least(name + "_of_lossless", ratio, 0.99);
      } else if (judged && loss == 0.01) {
        result.add_at_least(name + "_of_lossless", ratio, 0.90);
      } else if (judged && heavy) {
        result.add_at_least(name + "_of_lossless", ratio, 0.001);  // still moving
        result.add_at_most(name + "_errors", bulk_run.failures, 0);
      } else if (loss > 0) {
        result.add(name + "_of_lossless", ratio);
      }
      result.add(name + "_retransmits", static_cast<double>(bulk_run.retransmits));
      if (heavy) continue;
      // What is lost twice, or first, holds up all eight that are under way: of 20,000 messages three of
      // these would be all that P99.9 tells.
      StreamConfig measured = small;
      if (judged && !options.quick) measured.messages = 100'000;
      const Measured small_run = measure(config, loss, measured, 1000 * kPerMillisecond);
      add_percentiles(&result, name + "_64KiB", small_run.latencies, "us");
      const double tail = percentile(small_run.latencies, 0.999);
      if (loss == 0) lossless_tail = tail;
      if (judged && loss == 0.001 && !options.quick)
        result.add_at_most(name + "_64KiB_p99.9_of_lossless", tail / lossless_tail, 1.5);
      plot.series.push_back(cdf(transport.name() + " " + percent(loss), small_run.latencies));
    }
  }
  result.plots.push_back(std::move(plot));
  return result;
}

}  // namespace mrc::sim
