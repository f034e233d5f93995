// SPDX-License-Identifier: BSD-2-Clause
#include "examples/lab/show.h"

#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "examples/lab/rpc.h"

namespace mrc::lab {
namespace {

std::string condition_text(const nlohmann::json& condition) {
  std::string text;
  char part[64];
  const auto add = [&](const char* key, const char* format) {
    if (!condition.contains(key)) return;
    std::snprintf(part, sizeof part, format, condition[key].get<double>());
    text += text.empty() ? part : std::string(", ") + part;
  };
  if (condition.contains("blackhole")) text = "blackhole";
  add("loss_percent", "loss %g%%");
  add("ce_percent", "ce %g%%");
  add("trim_percent", "trim %g%%");
  add("rate_mbit", "rate %g Mbit/s");
  add("delay_us", "delay %g us");
  return text.empty() ? "-" : text;
}

uint64_t count(const nlohmann::json& condition, const char* key) {
  return condition.value(key, uint64_t{0});
}

// One line per direction; without `all` only of those that are not as they should be or have a story to tell.
void show_link(const nlohmann::json& link, bool all) {
  const bool up = link.at("up");
  for (const auto& [key, value] : link.items()) {
    if (!value.is_object()) continue;
    const std::string condition = condition_text(value);
    const bool quiet = count(value, "dropped") + count(value, "marked") + count(value, "trimmed") == 0;
    if (!all && up && condition == "-" && quiet) continue;
    std::printf("%-14s %-5s %-28s %12lu %12lu %10lu %10lu %10lu\n", key.c_str(), up ? "up" : "DOWN",
                condition.c_str(), count(value, "frames"), count(value, "bytes"), count(value, "dropped"),
                count(value, "marked"), count(value, "trimmed"));
  }
}

void show_others(const State& state) {
  for (const std::string& lab : State::all_labs())
    if (lab != state.lab())
      std::printf("also here: lab %s (%s)\n", lab.c_str(),
                  State(lab).is_running() ? "up" : "ended; down removes its files");
}

}  // namespace

int show_status(const State& state, bool as_json, bool all) {
  if (!state.is_running()) {
    if (as_json) {
      std::printf("%s\n", nlohmann::json{{"lab", state.lab()}, {"up", false}}.dump().c_str());
      return 1;
    }
    std::printf("lab %s: %s\n", state.lab().c_str(),
                state.exists() ? "has ended; mrc_lab down removes its files" : "not up");
    show_others(state);
    return 1;
  }
  nlohmann::json status;
  std::string error;
  if (!ask(state, {{"command", "status"}}, &status, nullptr, &error)) {
    std::fprintf(stderr, "mrc_lab: %s\n", error.c_str());
    return 1;
  }
  status["up"] = true;
  if (as_json) {
    std::printf("%s\n", status.dump(1).c_str());
    return 0;
  }
  std::printf("lab %s: up for %.0f s, %u hosts, %u planes of %u leaves and %u spines, MTU %u%s\n",
              state.lab().c_str(), status.value("up_seconds", 0.0), status.value("hosts", 0U),
              status.value("planes", 0U), status.value("leaves", 0U), status.value("spines", 0U),
              status.value("mtu", 0U), status.value("rootless", false) ? ", rootless" : "");
  if (!status.value("bpf", false))
    std::printf("no loss, ECN, trimming, black holes, delays: %s\n", status.value("bpf_why_not", "").c_str());
  for (const auto& failed : status.at("failed"))
    std::printf("a timed fault failed: %s\n", failed.get<std::string>().c_str());
  if (const auto pending = status.value("pending", 0); pending > 0)
    std::printf("%d faults are waiting for their time\n", pending);
  std::printf("%-14s %-5s %-28s %12s %12s %10s %10s %10s\n", "from:to", "link", "condition", "frames",
              "bytes", "dropped", "marked", "trimmed");
  for (const auto& link : status.at("links")) show_link(link, all);
  show_others(state);
  return 0;
}

}  // namespace mrc::lab
