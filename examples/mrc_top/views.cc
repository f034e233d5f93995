// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrc_top/views.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "dpdk_io/host/monotonic_clock.h"
#include "examples/shared/process_state.h"

namespace mrc {
namespace {

using nlohmann::json;

const std::vector<Column> kDeviceColumns = {
    {"device", "DEVICE", -8},     {"processes", "PROCS", 5},       {"qps", "QPS", 5},
    {"paths_active", "PATHS", 7}, {"paths_all", "OF", 7},          {"out_gbps", "OUT Gb/s", 9, 3},
    {"in_gbps", "IN Gb/s", 9, 3}, {"retransmits", "RETR/s", 8, 0}, {"drops", "DROPS/s", 8, 0},
};
const std::vector<Column> kQueuePairColumns = {
    {"pid", "PID", 7},          {"device", "DEVICE", -6}, {"qpn", "QP", -8},
    {"state", "STATE", -5},     {"peer", "PEER", -8},     {"paths", "PATHS", 7},
    {"packets", "PKT/s", 8},    {"lost", "LOST/s", 7},    {"window_kib", "WIN KiB", 7},
    {"rtt_us", "RTT us", 8, 1},
};
const std::vector<Column> kPlaneColumns = {
    {"device", "DEVICE", -8}, {"plane", "PLANE", 5},      {"active", "ACTIVE", 7}, {"evs", "EVS", 7},
    {"skip", "SKIP", 6},      {"bad", "BAD", 6},          {"denied", "DENIED", 6}, {"packets", "PKT/s", 9},
    {"lost", "LOST/s", 8},    {"rtt_us", "RTT us", 9, 1},
};
const std::vector<Column> kEvColumns = {
    {"pid", "PID", 7},     {"qpn", "QP", -8},        {"ev", "EV", -10},
    {"plane", "PLANE", 5}, {"state", "STATE", -6},   {"packets", "PKT/s", 8},
    {"lost", "LOST/s", 7}, {"sent_all", "SENT", 10}, {"lost_all", "LOST", 8},
};

std::string hex(uint64_t value, int digits) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%0*" PRIx64, digits, value);
  return text;
}

// Of counters that wrap at 32 bits.
uint64_t more(uint64_t now, uint64_t then) {
  return static_cast<uint32_t>(now - then);
}

double per_second(uint64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

// What went by a set of paths.
struct Traffic {
  uint64_t sent = 0;
  uint64_t lost = 0;
};

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

// The paths of a queue pair now, each with itself as it was before.
template <typename Each>
void for_each_ev(const json& qp, const json* then, Each&& each) {
  const json& evs = list(qp, "evs");
  static const json kNothing = json::object();
  const json& old = list(then != nullptr ? *then : kNothing, "evs");
  for (size_t i = 0; i < evs.size(); ++i) {
    const bool same = i < old.size() && number(old[i], "ev") == number(evs[i], "ev") &&
                      number(old[i], "plane") == number(evs[i], "plane");
    Traffic traffic;
    if (same) {
      traffic.sent = more(number(evs[i], "sent"), number(old[i], "sent"));
      traffic.lost = more(number(evs[i], "lost"), number(old[i], "lost"));
    }
    each(evs[i], traffic);
  }
}

const json* find_queue_pair(const json& state, uint64_t qpn) {
  for (const json& qp : list(state, "queue_pairs"))
    if (number(qp, "qpn") == qpn) return &qp;
  return nullptr;
}

bool has_column(const std::vector<Column>& columns, std::string_view key) {
  return std::any_of(columns.begin(), columns.end(), [&](const Column& column) { return key == column.key; });
}

std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

bool View::is_known(std::string_view word) {
  return word == "device" || word == "qp" || word == "plane" || word == "ev";
}

View::View(std::string word, std::string run_directory)
    : word_(std::move(word)),
      run_directory_(std::move(run_directory)),
      columns_(word_ == "device"  ? &kDeviceColumns
               : word_ == "qp"    ? &kQueuePairColumns
               : word_ == "plane" ? &kPlaneColumns
                                  : &kEvColumns) {}

std::vector<Row> View::read(const std::vector<ProcessStats>& processes) {
  Readings now;
  for (const ProcessStats& process : processes) {
    Before& reading = now[{process.pid, process.slot}];
    reading.stats = process;
    reading.time_ns = process.updated_ns;
    if (word_ == "device") continue;
    std::string text;
    // One that does not answer has no queue pairs to show.
    if (ask_for_state(run_directory_, process.slot, StateForm::kJson, &text))
      reading.state = json::parse(text, nullptr, false);
    if (!reading.state.is_object()) reading.state = json::object();
    reading.time_ns = monotonic_now();
  }
  std::vector<Row> rows = word_ == "device"  ? by_device(now)
                          : word_ == "qp"    ? by_queue_pair(now)
                          : word_ == "plane" ? by_plane(now)
                                             : by_ev(now);
  last_ = std::move(now);
  return rows;
}

const View::Before* View::before(const Readings::value_type& now) const {
  const auto found = last_.find(now.first);
  return found == last_.end() ? nullptr : &found->second;
}

std::vector<Row> View::by_device(const Readings& now) const {
  std::map<std::string, Row> devices;
  std::map<uint32_t, bool> pids;
  for (const auto& reading : now) {
    const ProcessStats& stats = reading.second.stats;
    Row& row = devices[stats.device];
    if (row.is_null())
      for (const Column& column : kDeviceColumns) row[column.key] = 0;
    row["device"] = stats.device;
    const auto add = [&](const char* key, double value) { row[key] = row[key].get<double>() + value; };
    // A process has a page for each of its engines.
    add("processes", std::exchange(pids[stats.pid], true) ? 0 : 1);
    add("qps", static_cast<double>(stats.connected_qps));
    add("paths_active", static_cast<double>(stats.paths_active));
    add("paths_all", static_cast<double>(stats.paths_all));
    const Before* then = before(reading);
    if (then == nullptr) continue;
    const double seconds = static_cast<double>(reading.second.time_ns - then->time_ns) / 1e9;
    const ProcessStats& old = then->stats;
    add("out_gbps", per_second(stats.payload_bytes_sent - old.payload_bytes_sent, seconds) * 8 / 1e9);
    add("in_gbps", per_second(stats.payload_bytes_placed - old.payload_bytes_placed, seconds) * 8 / 1e9);
    add("retransmits", per_second(stats.retransmits - old.retransmits, seconds));
    add("drops", per_second(stats.drops - old.drops, seconds));
  }
  std::vector<Row> rows;
  rows.reserve(devices.size());
  for (auto& [name, row] : devices) rows.push_back(std::move(row));
  return rows;
}

std::vector<Row> View::by_queue_pair(const Readings& now) const {
  std::vector<Row> rows;
  for (const auto& reading : now) {
    const Before* then = before(reading);
    const double seconds =
        then != nullptr ? static_cast<double>(reading.second.time_ns - then->time_ns) / 1e9 : 0;
    for (const json& qp : list(reading.second.state, "queue_pairs")) {
      const json* old = then != nullptr ? find_queue_pair(then->state, number(qp, "qpn")) : nullptr;
      Traffic all;
      for_each_ev(qp, old, [&](const json&, const Traffic& traffic) {
        all.sent += traffic.sent;
        all.lost += traffic.lost;
      });
      Row row;
      row["pid"] = reading.second.stats.pid;
      row["device"] = reading.second.stats.device;
      row["qpn"] = hex(number(qp, "qpn"), 6);
      row["transport"] = qp.value("transport", "?");
      row["state"] = qp.value("state", "?");
      row["peer"] = qp.contains("peer_qpn") ? hex(number(qp, "peer_qpn"), 6) : "-";
      row["paths"] =
          std::to_string(number(qp, "paths_active")) + "/" + std::to_string(number(qp, "paths_all"));
      row["packets"] = per_second(all.sent, seconds);
      row["lost"] = per_second(all.lost, seconds);
      row["window_kib"] = number(qp, "window_bytes") / 1024;
      row["window_used_kib"] = number(qp, "window_used_bytes") / 1024;
      row["rtt_us"] = static_cast<double>(number(qp, "rtt_ns")) / 1e3;
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

std::vector<Row> View::by_plane(const Readings& now) const {
  struct Sum {
    uint64_t evs = 0, active = 0, skip = 0, bad = 0, denied = 0;
    double packets = 0, lost = 0, rtt_us = 0;
    uint64_t rtts = 0;
  };
  std::map<std::pair<std::string, uint64_t>, Sum> planes;
  for (const auto& reading : now) {
    const Before* then = before(reading);
    const double seconds =
        then != nullptr ? static_cast<double>(reading.second.time_ns - then->time_ns) / 1e9 : 0;
    for (const json& qp : list(reading.second.state, "queue_pairs")) {
      const json* old = then != nullptr ? find_queue_pair(then->state, number(qp, "qpn")) : nullptr;
      for_each_ev(qp, old, [&](const json& ev, const Traffic& traffic) {
        Sum& sum = planes[{reading.second.stats.device, number(ev, "plane")}];
        const std::string state = ev.value("state", "?");
        ++sum.evs;
        sum.active += ev.value("in_use", false) ? 1 : 0;
        sum.skip += state == "skip" ? 1 : 0;
        sum.bad += state == "bad" ? 1 : 0;
        sum.denied += state == "denied" ? 1 : 0;
        sum.packets += per_second(traffic.sent, seconds);
        sum.lost += per_second(traffic.lost, seconds);
        if (const uint64_t rtt = number(ev, "rtt_ns"); rtt != 0) {
          sum.rtt_us += static_cast<double>(rtt) / 1e3;
          ++sum.rtts;
        }
      });
    }
  }
  std::vector<Row> rows;
  rows.reserve(planes.size());
  for (const auto& [name, sum] : planes)
    rows.push_back({{"device", name.first},
                    {"plane", name.second},
                    {"active", sum.active},
                    {"evs", sum.evs},
                    {"skip", sum.skip},
                    {"bad", sum.bad},
                    {"denied", sum.denied},
                    {"packets", sum.packets},
                    {"lost", sum.lost},
                    {"rtt_us", sum.rtts > 0 ? sum.rtt_us / static_cast<double>(sum.rtts) : 0.0}});
  return rows;
}

std::vector<Row> View::by_ev(const Readings& now) const {
  std::vector<Row> rows;
  for (const auto& reading : now) {
    const Before* then = before(reading);
    const double seconds =
        then != nullptr ? static_cast<double>(reading.second.time_ns - then->time_ns) / 1e9 : 0;
    for (const json& qp : list(reading.second.state, "queue_pairs")) {
      const json* old = then != nullptr ? find_queue_pair(then->state, number(qp, "qpn")) : nullptr;
      for_each_ev(qp, old, [&](const json& ev, const Traffic& traffic) {
        Row row;
        row["pid"] = reading.second.stats.pid;
        row["device"] = reading.second.stats.device;
        row["qpn"] = hex(number(qp, "qpn"), 6);
        row["ev"] = hex(number(ev, "ev"), 8);
        row["plane"] = number(ev, "plane");
        row["state"] = ev.value("state", "?");
        row["in_use"] = ev.value("in_use", false);
        row["packets"] = per_second(traffic.sent, seconds);
        row["lost"] = per_second(traffic.lost, seconds);
        row["sent_all"] = number(ev, "sent");
        row["lost_all"] = number(ev, "lost");
        row["rtt_us"] = static_cast<double>(number(ev, "rtt_ns")) / 1e3;
        rows.push_back(std::move(row));
      });
    }
  }
  return rows;
}

// --- rows ---

bool RowFilter::parse(std::string_view text, const std::vector<Column>& columns) {
  const size_t at = text.find_first_of("!=<>");
  if (at == std::string_view::npos) return false;
  key_ = text.substr(0, at);
  const size_t relation = text.substr(at, 2) == "!=" ? 2 : 1;
  relation_ = text.substr(at, relation);
  value_ = text.substr(at + relation);
  if (relation_ == "!" || !has_column(columns, key_)) return false;
  if (relation_ == "=" || relation_ == "!=") return true;
  char* end = nullptr;
  std::strtod(value_.c_str(), &end);
  return !value_.empty() && *end == '\0';
}

bool RowFilter::lets_pass(const Row& row) const {
  const auto found = row.find(key_);
  if (found == row.end()) return false;
  if (relation_ == "=" || relation_ == "!=") return (text_of(*found) == value_) == (relation_ == "=");
  if (!found->is_number()) return false;
  const double number = found->get<double>();
  const double limit = std::strtod(value_.c_str(), nullptr);
  return relation_ == "<" ? number < limit : number > limit;
}

bool sort_rows(const std::string& key, const std::vector<Column>& columns, std::vector<Row>* rows) {
  if (!has_column(columns, key)) return false;
  std::stable_sort(rows->begin(), rows->end(), [&](const Row& left, const Row& right) {
    const Row& one = left.at(key);
    const Row& other = right.at(key);
    if (one.is_number() && other.is_number()) return one.get<double>() > other.get<double>();
    return text_of(one) < text_of(other);
  });
  return true;
}

std::string line_of(const std::vector<Column>& columns, const Row* row) {
  std::string line;
  for (const Column& column : columns) {
    char cell[64];
    if (row == nullptr)
      std::snprintf(cell, sizeof cell, "%*s", column.width, column.title);
    else if (const Row& value = row->at(column.key); value.is_number())
      std::snprintf(cell, sizeof cell, "%*.*f", column.width, column.decimals, value.get<double>());
    else
      std::snprintf(cell, sizeof cell, "%*s", column.width, text_of(value).c_str());
    line += (line.empty() ? "" : " ") + std::string(cell);
  }
  return line;
}

}  // namespace mrc
