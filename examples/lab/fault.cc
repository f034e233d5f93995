// SPDX-License-Identifier: BSD-2-Clause
#include "examples/lab/fault.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

namespace mrc::lab {
namespace {

const std::map<std::string, FaultKind>& kinds() {
  static const std::map<std::string, FaultKind> all = {
      {"down", FaultKind::kDown},
      {"off", FaultKind::kDown},
      {"up", FaultKind::kUp},
      {"on", FaultKind::kUp},
      {"blackhole", FaultKind::kBlackHole},
      {"black-hole", FaultKind::kBlackHole},
      {"loss", FaultKind::kLoss},
      {"ce", FaultKind::kCe},
      {"ecn", FaultKind::kCe},
      {"trim", FaultKind::kTrim},
      {"rate", FaultKind::kRate},
      {"delay", FaultKind::kDelay},
      {"clear", FaultKind::kClear},
  };
  return all;
}

bool takes_value(FaultKind kind) {
  return kind == FaultKind::kLoss || kind == FaultKind::kCe || kind == FaultKind::kTrim ||
         kind == FaultKind::kRate || kind == FaultKind::kDelay;
}

// A number and what follows it.
bool split_number(const std::string& text, double* number, std::string* unit) {
  char* end = nullptr;
  *number = std::strtod(text.c_str(), &end);
  *unit = end;
  return end != text.c_str() && std::isfinite(*number) && *number >= 0;
}

bool scaled(const std::string& text, const std::map<std::string, double>& units, uint64_t* value) {
  double number = 0;
  std::string unit;
  if (!split_number(text, &number, &unit)) return false;
  const auto found = units.find(unit);
  if (found == units.end() || number * found->second > 1e15) return false;
  *value = static_cast<uint64_t>(std::llround(number * found->second));
  return true;
}

bool parse_value(FaultKind kind, const std::string& text, uint64_t* value) {
  switch (kind) {
    case FaultKind::kRate:
      return scaled(text,
                    {{"", 1e6},
                     {"kbit", 1e3},
                     {"mbit", 1e6},
                     {"gbit", 1e9},
                     {"m", 1e6},
                     {"g", 1e9},
                     {"M", 1e6},
                     {"G", 1e9}},
                    value);
    case FaultKind::kDelay:
      return parse_time(text, value) && *value <= 10'000'000;
    default:
      return scaled(text, {{"", 1e4}, {"%", 1e4}, {"ppm", 1}}, value) && *value <= 1'000'000;
  }
}

// Separators may stand alone or at the end of a word.
std::vector<std::string> tokens(const std::vector<std::string>& words) {
  std::vector<std::string> all;
  std::string word;
  const auto flush = [&] {
    if (!word.empty()) all.push_back(std::move(word));
    word.clear();
  };
  for (const std::string& text : words) {
    for (const char c : text) {
      if (c == ',' || c == ';' || c == '\n') {
        flush();
        all.emplace_back(",");
      } else if (c == ' ' || c == '\t') {
        flush();
      } else {
        word += c;
      }
    }
    flush();
  }
  all.emplace_back(",");
  return all;
}

// One step without its time: target, kind and value in the order people write them in.
bool parse_step(const std::vector<std::string>& words, Fault* fault, std::string* error) {
  bool has_kind = false;
  bool has_value = false;
  std::string prefix;
  for (const std::string& word : words) {
    const auto kind = kinds().find(word);
    if (word == "link" || word == "switch" || word == "node" || word == "host") continue;
    if (word == "plane" && fault->target.empty()) {
      prefix = word;
    } else if (!has_kind && kind != kinds().end()) {
      fault->kind = kind->second;
      has_kind = true;
    } else if (fault->target.empty()) {
      fault->target = prefix + word;
    } else if (has_kind && takes_value(fault->kind) && !has_value) {
      has_value = parse_value(fault->kind, word, &fault->value);
      if (!has_value) {
        *error = "\"" + word + "\" is no value for \"" + fault->original + "\"";
        return false;
      }
    } else {
      *error = "\"" + word + "\" is not understood in \"" + fault->original + "\"";
      return false;
    }
  }
  if (fault->target.empty() || !has_kind) {
    *error = "\"" + fault->original + "\" does not name " + (has_kind ? "a target" : "a fault");
    return false;
  }
  if (takes_value(fault->kind) && !has_value) {
    *error = "\"" + fault->original + "\" lacks a value";
    return false;
  }
  return true;
}

bool parse_timed_step(std::vector<std::string> words, uint64_t* clock_us, Fault* fault, std::string* error) {
  for (const std::string& word : words) fault->original += (fault->original.empty() ? "" : " ") + word;
  if (words[0] == "at" || words[0] == "after") {
    uint64_t time = 0;
    if (words.size() < 2 || !parse_time(words[1], &time)) {
      *error = "\"" + fault->original + "\": a time is like 1s, 200ms or 50us";
      return false;
    }
    *clock_us = words[0] == "at" ? time : *clock_us + time;
    words.erase(words.begin(), words.begin() + 2);
  }
  fault->at_us = *clock_us;
  return parse_step(words, fault, error);
}

void both(uint32_t link, std::vector<Direction>* found) {
  found->push_back({link, true});
  found->push_back({link, false});
}

// A:B or A-B of adjacent nodes.
bool find_pair(const Topology& topology, const std::string& target, size_t at,
               std::vector<Direction>* found) {
  const std::string one = target.substr(0, at);
  std::string other = target.substr(at + 1);
  bool directed = target[at] != '-';
  if (!other.empty() && other[0] == '>') {
    other.erase(0, 1);
    directed = true;
  }
  const int link = topology.find_link(one, other);
  if (link < 0) return false;
  if (!directed) {
    both(static_cast<uint32_t>(link), found);
    return true;
  }
  const uint32_t lower = topology.ports()[topology.links()[static_cast<size_t>(link)].lower].node;
  found->push_back({static_cast<uint32_t>(link), topology.nodes()[lower].name == one});
  return true;
}

bool is_plane(const std::string& target, uint32_t plane) {
  const std::string number = std::to_string(plane);
  return target == "plane" + number || target == "p" + number;
}

bool matches(const Topology& topology, const Link& link, const std::string& target) {
  const Port& lower = topology.ports()[link.lower];
  const Port& upper = topology.ports()[link.upper];
  return target == "all" || is_plane(target, link.plane) || topology.nodes()[lower.node].name == target ||
         topology.nodes()[upper.node].name == target || ::fnmatch(target.c_str(), link.name.c_str(), 0) == 0;
}

}  // namespace

bool parse_time(const std::string& text, uint64_t* microseconds) {
  return scaled(text, {{"", 1e6}, {"s", 1e6}, {"ms", 1e3}, {"us", 1}}, microseconds);
}

bool parse_faults(const std::vector<std::string>& words, std::vector<Fault>* faults, std::string* error) {
  uint64_t clock_us = 0;
  std::vector<std::string> step;
  for (const std::string& word : tokens(words)) {
    if (word != ",") {
      step.push_back(word);
      continue;
    }
    if (step.empty()) continue;
    Fault fault;
    if (!parse_timed_step(std::move(step), &clock_us, &fault, error)) return false;
    faults->push_back(std::move(fault));
    step.clear();
  }
  if (faults->empty()) {
    *error = "no fault is named";
    return false;
  }
  std::stable_sort(faults->begin(), faults->end(),
                   [](const Fault& one, const Fault& other) { return one.at_us < other.at_us; });
  return true;
}

bool find_target(const Topology& topology, const std::string& target, std::vector<Direction>* found,
                 std::string* error) {
  const size_t at = target.find_first_of(":>-");
  const bool pattern = target.find_first_of("*?[") != std::string::npos;
  if (at != std::string::npos && !pattern && find_pair(topology, target, at, found)) return true;
  for (uint32_t i = 0; i < topology.links().size(); ++i) {
    const Link& link = topology.links()[i];
    if (link.plane == 0) continue;  // the management network is not part of the experiment
    if (target == "paths") {
      if (topology.nodes()[topology.ports()[link.lower].node].kind == Kind::kHost)
        found->push_back({i, false});
    } else if (matches(topology, link, target)) {
      both(i, found);
    }
  }
  if (!found->empty()) return true;
  *error =
      "there is no link, switch, host or plane \"" + target + "\" in this lab; mrc_lab status lists them";
  return false;
}

}  // namespace mrc::lab
