// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrc_top/readings.h"

#include "dpdk_io/host/monotonic_clock.h"
#include "examples/shared/process_state.h"

namespace mrc {
namespace {

constexpr uint64_t kStaleNs = 1'000'000'000;

// By the writer's own clock: it may be late, and then rates over our interval would jump.
Rates rates_of(const Reading& now, const Reading& before) {
  const ProcessStats& stats = now.stats;
  const ProcessStats& old = before.stats;
  if (stats.updated_ns == old.updated_ns) {
    // What it said last holds for a while, but what it counted does not count twice.
    if (monotonic_now() - stats.updated_ns >= kStaleNs) return {};
    return {
        .seconds = before.rates.seconds, .out_gbps = before.rates.out_gbps, .in_gbps = before.rates.in_gbps};
  }
  Rates rates;
  rates.seconds = static_cast<double>(stats.updated_ns - old.updated_ns) / 1e9;
  const auto rate = [&](uint64_t one, uint64_t other) {
    return static_cast<double>(one - other) / rates.seconds;
  };
  rates.out_gbps = rate(stats.payload_bytes_sent, old.payload_bytes_sent) * 8e-9;
  rates.in_gbps = rate(stats.payload_bytes_placed, old.payload_bytes_placed) * 8e-9;
  rates.drops = rate(stats.drops, old.drops);
  rates.gap = rate(stats.retransmits.gap, old.retransmits.gap);
  rates.timeout = rate(stats.retransmits.timeout, old.retransmits.timeout);
  rates.trim = rate(stats.retransmits.trim, old.retransmits.trim);
  rates.nack = rate(stats.retransmits.nack, old.retransmits.nack);
  rates.port_down = rate(stats.retransmits.port_down, old.retransmits.port_down);
  rates.other = rate(stats.retransmits.other, old.retransmits.other);
  return rates;
}

}  // namespace

void Readings::read(uint32_t pid, bool with_state) {
  last_ = std::exchange(now_, {});
  for (const ProcessStats& process : pages_.read()) {
    if (pid != 0 && process.pid != pid) continue;
    const Key key{process.pid, process.slot};
    Reading& reading = now_[key];
    reading.stats = process;
    reading.state = nlohmann::json::object();
    std::string text;
    // One that does not answer has no queue pairs to show.
    if (with_state && ask_for_state(run_directory_, process.slot, StateForm::kJson, &text))
      reading.state = nlohmann::json::parse(text, nullptr, false);
    if (!reading.state.is_object()) reading.state = nlohmann::json::object();
    reading.time_ns = monotonic_now();
    if (const Reading* then = before(key)) reading.rates = rates_of(reading, *then);
  }
}

const Reading* Readings::before(const Key& key) const {
  const auto found = last_.find(key);
  return found == last_.end() ? nullptr : &found->second;
}

}  // namespace mrc
