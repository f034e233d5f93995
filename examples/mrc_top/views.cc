// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrc_top/views.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace mrc {
namespace {

using nlohmann::json;

std::string hex(uint64_t value, int digits) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%0*" PRIx64, digits, value);
  return text;
}

// A number that was not told is 0.
uint64_t number(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<uint64_t>() : 0;
}

const json& list(const json& object, const char* key) {
  static const json kNone = json::array();
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? *found : kNone;
}

std::string share(uint64_t part, uint64_t all) {
  return std::to_string(part) + "/" + std::to_string(all);
}

double microseconds(uint64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e3;
}

// --- of whole processes ---

void put(const Rates& rates, Row* row) {
  (*row)["out_gbps"] = rates.out_gbps;
  (*row)["in_gbps"] = rates.in_gbps;
  (*row)["retransmits"] = rates.retransmits();
  (*row)["gap"] = rates.gap;
  (*row)["timeout"] = rates.timeout;
  (*row)["trim"] = rates.trim;
  (*row)["nack"] = rates.nack;
  (*row)["port_down"] = rates.port_down;
  (*row)["other"] = rates.other;
  (*row)["drops"] = rates.drops;
}

std::vector<Row> by_process(const Readings& readings) {
  std::vector<Row> rows;
  for (const auto& [key, reading] : readings.now()) {
    if (readings.before(key) == nullptr) continue;  // nothing is known of its rates
    const ProcessStats& stats = reading.stats;
    Row row;
    row["pid"] = stats.pid;
    row["command"] = stats.command;
    row["device"] = stats.device;
    row["planes"] = stats.planes;
    row["qps"] = stats.connected_qps;
    row["paths"] = share(stats.paths_active, stats.paths_all);
    row["paths_active"] = stats.paths_active;
    row["paths_all"] = stats.paths_all;
    row["paths_demoted"] = stats.paths_demoted;
    row["paths_restored"] = stats.paths_restored;
    row["sends"] = stats.payload_bytes_sent > 0;
    row["seconds"] = reading.rates.seconds;
    put(reading.rates, &row);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<Row> by_device(const Readings& readings) {
  struct Sum {
    std::set<uint32_t> pids;  // a process has a page for each of its engines
    uint64_t qps = 0, paths_active = 0, paths_all = 0;
    Rates rates;
  };
  std::map<std::string, Sum> devices;
  for (const auto& [key, reading] : readings.now()) {
    const ProcessStats& stats = reading.stats;
    Sum& sum = devices[stats.device];
    sum.pids.insert(stats.pid);
    sum.qps += stats.connected_qps;
    sum.paths_active += stats.paths_active;
    sum.paths_all += stats.paths_all;
    for (double Rates::*rate :
         {&Rates::out_gbps, &Rates::in_gbps, &Rates::drops, &Rates::gap, &Rates::timeout, &Rates::trim,
          &Rates::nack, &Rates::port_down, &Rates::other})
      sum.rates.*rate += reading.rates.*rate;
  }
  std::vector<Row> rows;
  rows.reserve(devices.size());
  for (const auto& [name, sum] : devices) {
    Row row;
    row["device"] = name;
    row["processes"] = sum.pids.size();
    row["qps"] = sum.qps;
    row["paths_active"] = sum.paths_active;
    row["paths_all"] = sum.paths_all;
    put(sum.rates, &row);
    rows.push_back(std::move(row));
  }
  return rows;
}

// --- of queue pairs and their paths ---

constexpr std::array kPathCauses = {"gap", "timeout", "trim", "nack", "port_down"};

// What went by a set of paths, per second.
struct Traffic {
  double packets = 0;
  double lost = 0;
  std::array<double, kPathCauses.size()> causes{};

  Traffic& operator+=(const Traffic& more) {
    packets += more.packets;
    lost += more.lost;
    for (size_t i = 0; i < causes.size(); ++i) causes[i] += more.causes[i];
    return *this;
  }
};

void put(const Traffic& traffic, Row* row) {
  (*row)["packets"] = traffic.packets;
  (*row)["lost"] = traffic.lost;
  for (size_t i = 0; i < kPathCauses.size(); ++i) (*row)[kPathCauses[i]] = traffic.causes[i];
}

// An object of the state, and the same one before.
struct Pair {
  const json& now;
  const json* then;  // null: nothing is known of it
  double seconds;

  // Counters wrap at 32 bits.
  double per_second(const char* key) const {
    if (then == nullptr || seconds <= 0) return 0;
    return static_cast<uint32_t>(number(now, key) - number(*then, key)) / seconds;
  }
  Traffic traffic() const {
    Traffic all{per_second("sent"), per_second("lost"), {}};
    for (size_t i = 0; i < kPathCauses.size(); ++i) all.causes[i] = per_second(kPathCauses[i]);
    return all;
  }
};

const json* find_queue_pair(const Reading* reading, uint64_t qpn) {
  if (reading == nullptr) return nullptr;
  for (const json& qp : list(reading->state, "queue_pairs"))
    if (number(qp, "qpn") == qpn) return &qp;
  return nullptr;
}

template <typename Each>
void for_each_queue_pair(const Readings& readings, Each&& each) {
  for (const auto& [key, reading] : readings.now()) {
    const Reading* then = readings.before(key);
    const double seconds = then != nullptr ? static_cast<double>(reading.time_ns - then->time_ns) / 1e9 : 0;
    for (const json& qp : list(reading.state, "queue_pairs"))
      each(reading.stats, Pair{qp, find_queue_pair(then, number(qp, "qpn")), seconds});
  }
}

template <typename Each>
void for_each_ev(const Pair& qp, Each&& each) {
  static const json kNothing = json::object();
  const json& evs = list(qp.now, "evs");
  const json& old = list(qp.then != nullptr ? *qp.then : kNothing, "evs");
  for (size_t i = 0; i < evs.size(); ++i) {
    const bool same = i < old.size() && number(old[i], "ev") == number(evs[i], "ev") &&
                      number(old[i], "plane") == number(evs[i], "plane");
    each(Pair{evs[i], same ? &old[i] : nullptr, qp.seconds});
  }
}

Row begin_row(const ProcessStats& stats, const Pair& qp) {
  Row row;
  row["pid"] = stats.pid;
  row["device"] = stats.device;
  row["qpn"] = hex(number(qp.now, "qpn"), 6);
  return row;
}

std::vector<Row> by_queue_pair(const Readings& readings) {
  std::vector<Row> rows;
  for_each_queue_pair(readings, [&](const ProcessStats& stats, const Pair& qp) {
    const Traffic all = qp.traffic();
    Row row = begin_row(stats, qp);
    row["transport"] = qp.now.value("transport", "?");
    row["state"] = qp.now.value("state", "?");
    row["peer"] = qp.now.contains("peer_qpn") ? hex(number(qp.now, "peer_qpn"), 6) : "-";
    row["paths"] = share(number(qp.now, "paths_active"), number(qp.now, "paths_all"));
    put(all, &row);
    row["other"] = qp.per_second("ack_lost") + qp.per_second("not_ready");
    row["window_kib"] = number(qp.now, "window_bytes") / 1024;
    row["window_used_kib"] = number(qp.now, "window_used_bytes") / 1024;
    row["rtt_us"] = microseconds(number(qp.now, "rtt_ns"));
    rows.push_back(std::move(row));
  });
  return rows;
}

std::vector<Row> by_plane(const Readings& readings) {
  struct Sum {
    uint64_t evs = 0, active = 0, skip = 0, bad = 0, denied = 0, rtts = 0;
    double rtt_us = 0;
    Traffic traffic;
  };
  std::map<std::pair<std::string, uint64_t>, Sum> planes;
  for_each_queue_pair(readings, [&](const ProcessStats& stats, const Pair& qp) {
    for_each_ev(qp, [&](const Pair& ev) {
      Sum& sum = planes[{stats.device, number(ev.now, "plane")}];
      const std::string state = ev.now.value("state", "?");
      ++sum.evs;
      sum.active += ev.now.value("in_use", false) ? 1 : 0;
      sum.skip += state == "skip" ? 1 : 0;
      sum.bad += state == "bad" ? 1 : 0;
      sum.denied += state == "denied" ? 1 : 0;
      sum.traffic += ev.traffic();
      if (const uint64_t rtt = number(ev.now, "rtt_ns"); rtt != 0) {
        sum.rtt_us += microseconds(rtt);
        ++sum.rtts;
      }
    });
  });
  std::vector<Row> rows;
  rows.reserve(planes.size());
  for (const auto& [name, sum] : planes) {
    Row row = {{"device", name.first}, {"plane", name.second}, {"active", sum.active}, {"evs", sum.evs},
               {"skip", sum.skip},     {"bad", sum.bad},       {"denied", sum.denied}};
    put(sum.traffic, &row);
    row["rtt_us"] = sum.rtts > 0 ? sum.rtt_us / static_cast<double>(sum.rtts) : 0.0;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<Row> by_ev(const Readings& readings) {
  std::vector<Row> rows;
  for_each_queue_pair(readings, [&](const ProcessStats& stats, const Pair& qp) {
    for_each_ev(qp, [&](const Pair& ev) {
      Row row = begin_row(stats, qp);
      row["ev"] = hex(number(ev.now, "ev"), 8);
      row["plane"] = number(ev.now, "plane");
      row["state"] = ev.now.value("state", "?");
      row["in_use"] = ev.now.value("in_use", false);
      put(ev.traffic(), &row);
      row["sent_all"] = number(ev.now, "sent");
      row["lost_all"] = number(ev.now, "lost");
      row["rtt_us"] = microseconds(number(ev.now, "rtt_ns"));
      rows.push_back(std::move(row));
    });
  });
  return rows;
}

// --- what there is ---

constexpr Column kGap = {"gap", "GAP/s", 7};
constexpr Column kTimeout = {"timeout", "TIMEO/s", 7};
constexpr Column kTrim = {"trim", "TRIM/s", 7};
constexpr Column kNack = {"nack", "NACK/s", 7};
constexpr Column kPort = {"port_down", "PORT/s", 7};
constexpr Column kOther = {"other", "OTHER/s", 7};

const std::array<View, 5> kViews = {{
    {"process",
     {{"pid", "PID", 7},
      {"command", "COMMAND", -13},
      {"device", "DEV", -5},
      {"qps", "QPS", 4},
      {"paths", "PATHS", 9},
      {"out_gbps", "OUTGb/s", 7, 3},
      {"in_gbps", "IN Gb/s", 7, 3},
      {"retransmits", "RETR/s", 7},
      {"paths_demoted", "DEMOTE", 6},
      {"drops", "DROP/s", 6}},
     {{"pid", "PID", 7},
      {"command", "COMMAND", -10},
      {"device", "DEV", -5},
      {"out_gbps", "OUTGb/s", 7, 3},
      kGap,
      kTimeout,
      kTrim,
      kNack,
      kPort,
      {"other", "OTHR/s", 6}},
     {"planes", "paths_active", "paths_all", "paths_restored", "sends", "seconds"},
     false,
     by_process},
    {"device",
     {{"device", "DEVICE", -8},
      {"processes", "PROCS", 5},
      {"qps", "QPS", 5},
      {"paths_active", "PATHS", 7},
      {"paths_all", "OF", 7},
      {"out_gbps", "OUT Gb/s", 9, 3},
      {"in_gbps", "IN Gb/s", 9, 3},
      {"retransmits", "RETR/s", 8},
      {"drops", "DROPS/s", 8}},
     {{"device", "DEVICE", -8},
      {"out_gbps", "OUT Gb/s", 9, 3},
      {"retransmits", "RETR/s", 8},
      kGap,
      kTimeout,
      kTrim,
      kNack,
      kPort,
      kOther},
     {},
     false,
     by_device},
    {"qp",
     {{"pid", "PID", 7},
      {"device", "DEVICE", -6},
      {"qpn", "QP", -8},
      {"state", "STATE", -5},
      {"peer", "PEER", -8},
      {"paths", "PATHS", 7},
      {"packets", "PKT/s", 8},
      {"lost", "LOST/s", 7},
      {"window_kib", "WIN KiB", 7},
      {"rtt_us", "RTT us", 8, 1}},
     {{"pid", "PID", 7},
      {"device", "DEVICE", -6},
      {"qpn", "QP", -8},
      {"packets", "PKT/s", 8},
      kGap,
      kTimeout,
      kTrim,
      kNack,
      kPort,
      kOther},
     {"transport", "window_used_kib"},
     true,
     by_queue_pair},
    {"plane",
     {{"device", "DEVICE", -8},
      {"plane", "PLANE", 5},
      {"active", "ACTIVE", 7},
      {"evs", "EVS", 7},
      {"skip", "SKIP", 6},
      {"bad", "BAD", 6},
      {"denied", "DENIED", 6},
      {"packets", "PKT/s", 9},
      {"lost", "LOST/s", 8},
      {"rtt_us", "RTT us", 9, 1}},
     {{"device", "DEVICE", -8},
      {"plane", "PLANE", 5},
      {"packets", "PKT/s", 9},
      {"lost", "LOST/s", 8},
      kGap,
      kTimeout,
      kTrim,
      kNack,
      kPort},
     {},
     true,
     by_plane},
    {"ev",
     {{"pid", "PID", 7},
      {"qpn", "QP", -8},
      {"ev", "EV", -10},
      {"plane", "PLANE", 5},
      {"state", "STATE", -6},
      {"packets", "PKT/s", 8},
      {"lost", "LOST/s", 7},
      {"sent_all", "SENT", 10},
      {"lost_all", "LOST", 8}},
     {{"qpn", "QP", -8},
      {"ev", "EV", -10},
      {"plane", "PLANE", 5},
      {"state", "STATE", -6},
      {"packets", "PKT/s", 8},
      kGap,
      kTimeout,
      kTrim,
      {"nack", "NACK/s", 6},
      {"port_down", "PORT/s", 6}},
     {"device", "in_use", "rtt_us"},
     true,
     by_ev},
}};

bool has_column(const Columns& columns, std::string_view key) {
  return std::any_of(columns.begin(), columns.end(), [&](const Column& column) { return key == column.key; });
}

}  // namespace

bool View::has_key(std::string_view key) const {
  return has_column(columns, key) || has_column(causes, key) ||
         std::any_of(more.begin(), more.end(), [&](const char* other) { return key == other; });
}

std::span<const View> all_views() {
  return kViews;
}

const View* find_view(std::string_view word) {
  const auto found =
      std::find_if(kViews.begin(), kViews.end(), [&](const View& view) { return word == view.word; });
  return found != kViews.end() ? &*found : nullptr;
}

}  // namespace mrc
