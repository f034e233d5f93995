// SPDX-License-Identifier: BSD-2-Clause
// The state of an engine as JSON. Names and numbers only, so nothing needs to be escaped.
#include <array>
#include <cinttypes>
#include <cstdio>

#include "libmrc/engine/state_report.h"

namespace mrc {
namespace {

template <typename... Values>
void append(std::string* text, const char* format, Values... values) {
  char piece[512];
  std::snprintf(piece, sizeof piece, format, values...);
  *text += piece;
}

const char* state_word(PathState state) {
  switch (state) {
    case PathState::kGood:
      return "good";
    case PathState::kSkip:
      return "skip";
    case PathState::kAssumedBad:
      return "bad";
    case PathState::kDenied:
      return "denied";
  }
  return "?";
}

bool has_paths(const QueuePair& qp) {
  return qp.connected() && qp.mrc() != nullptr;
}

// By name, those that there were.
template <size_t kCauses>
void add_causes(std::string* text, const std::array<uint32_t, kCauses>& counts) {
  for (size_t i = 0; i < kCauses; ++i)
    if (counts[i] != 0) append(text, ",\"%s\":%" PRIu32, kRetransmitCauseNames[i], counts[i]);
}

void add_paths(std::string* text, const QueuePair& qp) {
  const PathSet& paths = qp.paths();
  *text += ",\"evs\":[";
  for (size_t i = 0; i < paths.size(); ++i) {
    const Path& path = paths.at(PathId(static_cast<uint16_t>(i)));
    const bool used = path.in_use() && (paths.port_planes() >> path.plane & 1) != 0;
    append(text,
           "%s{\"ev\":%" PRIu32 ",\"plane\":%u,\"state\":\"%s\",\"in_use\":%s,\"sent\":%" PRIu32
           ",\"lost\":%" PRIu32 ",\"rtt_ns\":%" PRIu64,
           i == 0 ? "" : ",", static_cast<uint32_t>(path.entropy), static_cast<unsigned>(path.plane),
           state_word(path.state), used ? "true" : "false", path.sent, paths.losses(path),
           static_cast<uint64_t>(qp.mrc()->requester().recent_rtt(path.plane)));
    add_causes(text, paths.retransmits(path));
    *text += "}";
  }
  *text += "]";
}

// The lock is held meanwhile, and paths are the most of it: the first queue pairs stand for the others.
constexpr size_t kQueuePairsWithPaths = 64;

void add_queue_pair(std::string* text, QueuePair& qp, bool with_paths) {
  append(text, "{\"qpn\":%" PRIu32 ",\"transport\":\"%s\",\"state\":\"%s\"", qp.qpn().value(), kind_of(qp),
         name_of(qp.state()));
  add_causes(text, qp.retransmits());
  if (has_paths(qp)) {
    append(text, ",\"peer_qpn\":%" PRIu32 ",\"mtu\":%u,\"paths_active\":%zu,\"paths_all\":%zu",
           qp.connection().remote_qpn.value(), static_cast<unsigned>(qp.connection().mtu),
           qp.paths().active(), qp.paths().places());
    if (qp.sending()) {
      const Requester::Waiting waiting = qp.mrc()->requester().waiting();
      append(text,
             ",\"window_bytes\":%" PRIu64 ",\"window_used_bytes\":%" PRIu64
             ",\"unfinished\":%u,\"rtt_ns\":%" PRIu64,
             static_cast<uint64_t>(waiting.window), static_cast<uint64_t>(waiting.window_used),
             waiting.unfinished, static_cast<uint64_t>(qp.mrc()->requester().rtt().smoothed()));
      if (with_paths) add_paths(text, qp);
    }
  }
  *text += "}";
}

}  // namespace

std::string state_as_json(Engine& engine) {
  std::string text = "{\"queue_pairs\":[";
  size_t count = 0;
  for (QueuePair* qp : engine.queue_pairs()) {
    if (count > 0) text += ",";
    add_queue_pair(&text, *qp, count++ < kQueuePairsWithPaths);
  }
  text += "],\"counters\":{";
  bool first = true;
  for (const auto& [name, value] : named_counters(engine.counters())) {
    append(&text, "%s\"%s\":%" PRIu64, first ? "" : ",", name.c_str(), value);
    first = false;
  }
  return text + "}}\n";
}

}  // namespace mrc
