// SPDX-License-Identifier: BSD-2-Clause
// R6: many to one, and what it does to a flow that goes somewhere else.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/scenarios/world.h"

namespace mrc::sim {

namespace {

constexpr Picoseconds kRcDeadline = 100 * kPerMillisecond;  // some of its flows may need for ever

constexpr const char* kUecSimulator = "UEC simulator";
constexpr const char* kHeadersOff = "UEC simulator, headers taken off";

// What the UEC's simulator has with NSCC, or with its receiver's credits.
struct HtsimIncast {
  uint32_t senders;
  uint64_t size;
  CongestionAlgorithm controller;
  const char* of_ideal;
  const char* of_line_rate;        // printed by it; with credits nobody has published that
  const char* last_of_first_flow;  // the same
};
constexpr HtsimIncast kHtsimIncasts[] = {
    {127, 2'000'000, CongestionAlgorithm::kNscc, "0.981", "0.966", nullptr},
    {1023, 100'000, CongestionAlgorithm::kNscc, "0.79", "0.775", "82"},
    {127, 2'000'000, CongestionAlgorithm::kReceiverAware, "0.988 with credits", nullptr, nullptr},
    {1023, 100'000, CongestionAlgorithm::kReceiverAware, "0.93 with credits", nullptr, nullptr}};

struct Incast {
  std::string name;
  uint32_t senders = 0;
  uint64_t size = 0;
  CongestionAlgorithm controller = CongestionAlgorithm::kReceiverAware;
  bool hint = false;   // the senders know how many they are
  bool marks = false;  // the last hop marks
  std::optional<double> target;
  Transport transport{};
};

// "127_to_1_2MB_receiver_aware": every row says whose it is.
std::string name_of(uint32_t senders, uint64_t size, const std::string& who) {
  const bool whole = size % 1'000'000 == 0;
  return std::to_string(senders) + "_to_1_" + std::to_string(size / (whole ? 1'000'000 : 1'000)) +
         (whole ? "MB_" : "KB_") + who;
}

void run_one(const ScenarioOptions& options, const Incast& incast, ScenarioResult* result,
             std::vector<Plot>* plots) {
  WorldConfig config;
  uint32_t k = 4;
  while (k * k * k / 4 < incast.senders + 1) k += 2;
  config.topology = TopologyConfig::fat_tree(k);
  config.paths = 64;
  config.window_packets = 128;
  config.controller = incast.controller;
  config.expected_senders = incast.hint ? incast.senders : 0;
  config.ecn_last_hop = incast.marks;
  config.apply(options);
  config.buffer_bytes = incast.size;
  config.queue_pairs_per_host = 1;
  config.queue_pairs_at[0] = incast.senders;
  for (uint32_t host = 0; host <= incast.senders; ++host) config.hosts.push_back(host);
  World world(config.speaking(incast.transport));
  StreamConfig stream;
  stream.message_bytes = incast.size;
  stream.depth = 1;
  for (uint32_t from = 1; from <= incast.senders; ++from) world.add_stream(from, 0, stream);
  Meter meter(world, {0}, 100 * kPerMicrosecond);
  const bool done =
      world.run_until_done(incast.transport.protocol == Protocol::kMrc ? kPerSecond : kRcDeadline);
  std::vector<double> times;
  for (const auto& flow : world.streams())
    if (flow->done()) times.push_back(to_microseconds(flow->finished_at()));
  const double finished = times.empty() ? 0 : *std::max_element(times.begin(), times.end());
  // The last hop never idle, then the way back of the last acknowledgement.
  const double bits = static_cast<double>(incast.senders) * static_cast<double>(incast.size) * 8;
  const double ideal = bits / (world.payload_gigabits() * 1e3) + to_microseconds(world.rtt());
  const std::string name = incast.name + "_";
  const Trace& trace = world.fabric().core().trace;
  result->add(name + "ideal", ideal, "us");
  result->add(name + "finished", done ? finished : 1e9, "us");
  const bool mrc = incast.transport.protocol == Protocol::kMrc;
  const HtsimIncast* theirs = nullptr;
  for (const HtsimIncast& each : kHtsimIncasts)
    if (mrc && each.senders == incast.senders && each.size == incast.size &&
        each.controller == config.controller)
      theirs = &each;
  const auto publish = [&](const char* HtsimIncast::*what, const char* source) {
    if (theirs != nullptr && theirs->*what != nullptr) result->published(theirs->*what, source);
  };
  result->add(name + "of_ideal", done ? ideal / finished : 0).target = incast.target;
  publish(&HtsimIncast::of_ideal, kHeadersOff);
  // As the UEC's simulator counts: payload over the rate of the link, headers and the round trip included.
  const double line = config.topology.planes * config.topology.host_gigabits * 1e3;
  result->add(name + "of_line_rate", done ? bits / line / finished : 0);
  publish(&HtsimIncast::of_line_rate, kUecSimulator);
  if (done) {
    result->add(name + "last_of_first_flow", finished / *std::min_element(times.begin(), times.end()));
    publish(&HtsimIncast::last_of_first_flow, kUecSimulator);
  }
  if (!done) result->add(name + "unfinished", incast.senders - static_cast<double>(times.size()));
  add_percentiles(result, name + "flow", times, "us");
  result->add(name + "trimmed", static_cast<double>(trace.count(Fate::kTrimmed)));
  result->add(name + "dropped", static_cast<double>(trace.count(Fate::kDropQueue)));
  result->add(name + "retransmits", static_cast<double>(world.counters().retransmits()));
  add_pauses(result, name, world);
  if (mrc) result->add_at_most(name + "errors", world.failures(), 0);
  (*plots)[0].series.push_back(cdf(incast.name, times));
  (*plots)[1].series.push_back(meter.series(incast.name));
}

}  // namespace

ScenarioResult run_incast(const ScenarioOptions& options) {
  ScenarioResult result;
  result.plots = {{"Flow completion times under incast", "microseconds", "share", {}, false},
                  {"Goodput of the target", "ms", "Gb/s", {}, true}};
  constexpr auto kAware = CongestionAlgorithm::kReceiverAware;
  constexpr auto kNscc = CongestionAlgorithm::kNscc;
  const auto run = [&](uint32_t senders, uint64_t size, const std::string& who,
                       CongestionAlgorithm controller, std::optional<double> target, bool hint = false,
                       Transport transport = {}, bool marks = false) {
    run_one(options, {name_of(senders, size, who), senders, size, controller, hint, marks, target, transport},
            &result, &result.plots);
  };
  // The three sizes, with the switches of the reference: the last hop marks.
  const auto run_marked = [&](const std::string& who, CongestionAlgorithm controller, bool judged) {
    const auto target = [judged](double value) { return judged ? std::optional(value) : std::nullopt; };
    run(31, 500'000, who, controller, target(0.95), false, {}, true);
    run(127, 2'000'000, who, controller, target(0.96), false, {}, true);
    run(1023, 100'000, who, controller, target(0.79), false, {}, true);
  };
  if (options.controller && !options.hosts && !options.size) {
    run_marked(*options.controller, kAware, *options.controller == "nscc");
    return result;
  }
  if (options.hosts || options.size || options.controller) {
    const uint32_t senders = options.hosts.value_or(128) - 1;
    const uint64_t size = options.size.value_or(2'000'000);
    if (options.controller) {
      run(senders, size, *options.controller, kAware, {});
    } else {
      run(senders, size, "receiver_aware", kAware, {});
      run(senders, size, "nscc", CongestionAlgorithm::kNscc, {});
    }
    return result;
  }
  if (options.quick) {
    run(31, 500'000, "receiver_aware", kAware, 0.87);
    run(31, 500'000, "nscc", kNscc, {});
    run(31, 500'000, "nscc_marks", kNscc, 0.95, false, {}, true);
    for (const Transport& transport : baselines(options, true))
      run(31, 500'000, transport.name(), CongestionAlgorithm::kNone, {}, false, transport);
    return result;
  }
  run(127, 2'000'000, "receiver_aware", kAware, 0.966);
  run(1023, 100'000, "receiver_aware", kAware, 0.87);
  run(1023, 100'000, "receiver_aware_hint", kAware, 0.87, true);
  // MRC's own controller.
  run(127, 2'000'000, "nscc", kNscc, 0.93);
  run(1023, 100'000, "nscc", kNscc, 0.79);
  run_marked("nscc_marks", kNscc, true);
  run_marked("receiver_aware_marks", kAware, false);
  // And what RC does, in a small one.
  run(31, 500'000, "receiver_aware", kAware, {});
  run(31, 500'000, "nscc", kNscc, {});
  for (const Transport& transport : baselines(options, options.quick))
    run(31, 500'000, transport.name(), CongestionAlgorithm::kNone, {}, false, transport);
  if (!options.rc.value_or(true)) return result;
  // Long enough for DCQCN to find its rates.
  const Transport dcqcn{Protocol::kRc, 1, RcNetwork::kDcqcn};
  run(127, 2'000'000, dcqcn.name(), CongestionAlgorithm::kNone, {}, false, dcqcn);
  return result;
}

namespace {

constexpr const char* kVictimPaper = "MRC paper, fig. 18, 21";

// What the paper says of the victim; null: nothing.
const char* published_victim(const Transport& transport) {
  if (transport.protocol == Protocol::kMrc) return "all of it";
  if (transport.network == RcNetwork::kPfc) return "0.08 to 0.25";
  if (transport.network != RcNetwork::kDcqcn || transport.queue_pairs > 8) return nullptr;
  return transport.queue_pairs == 1 ? "0.75" : "0.25 at times";
}

// Four racks of four, four spines. Seven senders of other racks to host 0; the victim goes to host 1 beside
// it.
struct VictimRun {
  std::string name;
  Transport transport;
  CongestionAlgorithm controller = CongestionAlgorithm::kNscc;
  bool judged = false;  // by the shares of the seven
  bool marks = false;   // the last hop marks
};

void run_victim(const ScenarioOptions& options, const VictimRun& run, ScenarioResult* result, Plot* plot) {
  WorldConfig config;
  config.topology.tiers = 2;
  config.topology.leaves = 4;
  config.topology.hosts_per_leaf = 4;
  config.topology.spines = 4;
  config.paths = 64;
  config.window_packets = 512;
  config.queue_pairs_per_host = 16;
  config.controller = run.controller;
  config.ecn_last_hop = run.marks;
  config.apply(options);
  StreamConfig stream;
  stream.message_bytes = options.size.value_or(64 << 10);
  stream.messages = 0;
  stream.depth = 8;
  config.buffer_bytes = stream.message_bytes;
  const Picoseconds warm_up = 2 * kPerMillisecond;
  const Picoseconds end = warm_up + (options.quick ? 4 : 20) * kPerMillisecond;
  constexpr uint32_t kVictimFrom = 15;
  constexpr uint32_t kSenders[] = {4, 5, 6, 8, 9, 10, 12};
  double victim_rate[2] = {};
  for (const bool crowded : {false, true}) {
    World world(config.speaking(run.transport));
    world.add_stream(kVictimFrom, 1, stream);
    std::vector<Stream*> flows;
    if (crowded)
      for (const uint32_t from : kSenders) flows.push_back(&world.add_stream(from, 0, stream));
    Meter victim(world, {1}, 50 * kPerMicrosecond);
    Meter target(world, {0}, 50 * kPerMicrosecond);
    world.run_until(warm_up);
    std::vector<uint64_t> before;
    before.reserve(flows.size());
    for (const Stream* flow : flows) before.push_back(flow->completed_bytes());
    world.run_until(end);
    victim_rate[crowded ? 1 : 0] = victim.rate(warm_up, end);
    if (!crowded) continue;
    plot->series.push_back(victim.series(run.name + ": victim"));
    plot->series.push_back(target.series(run.name + ": incast"));
    std::vector<double> shares;
    for (size_t i = 0; i < flows.size(); ++i)
      shares.push_back(static_cast<double>(flows[i]->completed_bytes() - before[i]) * 8000.0 /
                       static_cast<double>(end - warm_up));
    double mean = 0;
    for (const double share : shares) mean += share / static_cast<double>(shares.size());
    double worst = 0;
    for (const double share : shares) worst = std::max(worst, std::fabs(share - mean) / mean);
    result->add(run.name + "_incast_goodput", target.rate(warm_up, end), "Gb/s");
    result->add(run.name + "_incast_of_line_rate", target.rate(warm_up, end) / world.payload_gigabits());
    Row& off = result->add(run.name + "_shares_off_the_mean", worst);
    off.at_least = false;
    if (run.judged) off.target = 0.10;
    if (run.transport.protocol == Protocol::kMrc) {
      result->published("almost perfectly shared", kVictimPaper);
      result->add_at_most(run.name + "_errors", world.failures(), 0);
    }
    add_pauses(result, run.name + "_", world);
  }
  result->add(run.name + "_victim_alone", victim_rate[0], "Gb/s");
  result->add(run.name + "_victim_with_incast", victim_rate[1], "Gb/s");
  Row& row = result->add(run.name + "_victim_of_alone", victim_rate[1] / victim_rate[0]);
  if (run.transport.protocol == Protocol::kMrc) row.target = 0.97;
  if (const char* theirs = published_victim(run.transport)) result->published(theirs, kVictimPaper);
}

}  // namespace

ScenarioResult run_incast_victim(const ScenarioOptions& options) {
  ScenarioResult result;
  Plot plot{"Seven to one, and a victim", "ms", "Gb/s", {}, true};
  const Transport mrc{};
  std::vector<VictimRun> runs = {{"receiver_aware", mrc, CongestionAlgorithm::kReceiverAware, true},
                                 {"nscc", mrc, CongestionAlgorithm::kNscc, false},
                                 {"nscc_marks", mrc, CongestionAlgorithm::kNscc, true, true}};
  if (options.controller) runs = {{*options.controller, mrc, CongestionAlgorithm::kNscc, true, true}};
  for (const Transport& transport : baselines(options, options.quick))
    if (!options.quick || transport.lossless())
      runs.push_back({transport.name(), transport, CongestionAlgorithm::kNone, false});
  for (const VictimRun& run : runs) run_victim(options, run, &result, &plot);
  result.plots.push_back(std::move(plot));
  return result;
}

}  // namespace mrc::sim
