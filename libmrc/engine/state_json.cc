// SPDX-License-Identifier: BSD-2-Clause
// The state of an engine as JSON. Names and numbers only, so nothing needs to be escaped.
#include <array>
#include <cinttypes>
#include <cstdio>

#include "libmrc/engine/state_forms.h"
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

// By name, those that there were.
template <size_t kCauses>
void add_causes(std::string* text, const std::array<uint32_t, kCauses>& counts) {
  for (size_t i = 0; i < kCauses; ++i)
    if (counts[i] != 0) append(text, ",\"%s\":%" PRIu32, kRetransmitCauseNames[i], counts[i]);
}

}  // namespace

void add_queue_pair_json(std::string* text, const QueuePair& qp) {
  append(text, "{\"qpn\":%" PRIu32 ",\"transport\":\"%s\",\"state\":\"%s\"", qp.qpn().value(), kind_of(qp),
         name_of(qp.state()));
  add_causes(text, qp.retransmits());
  if (!qp.connected() || qp.mrc() == nullptr) return;
  append(text, ",\"peer_qpn\":%" PRIu32 ",\"mtu\":%u,\"paths_active\":%zu,\"paths_all\":%zu",
         qp.connection().remote_qpn.value(), static_cast<unsigned>(qp.connection().mtu), qp.paths().active(),
         qp.paths().places());
  if (!qp.sending()) return;
  const Requester::Waiting waiting = qp.mrc()->requester().waiting();
  append(text,
         ",\"window_bytes\":%" PRIu64 ",\"window_used_bytes\":%" PRIu64
         ",\"unfinished\":%u,\"rtt_ns\":%" PRIu64 ",\"sent\":%" PRIu32 ",\"lost\":%" PRIu32,
         static_cast<uint64_t>(waiting.window), static_cast<uint64_t>(waiting.window_used),
         waiting.unfinished, static_cast<uint64_t>(qp.mrc()->requester().rtt().smoothed()),
         qp.mrc()->requester().packets_sent(), qp.mrc()->requester().packets_lost());
}

void add_path_json(std::string* text, const QueuePair& qp, size_t number) {
  const PathSet& paths = qp.paths();
  const Path& path = paths.at(PathId(static_cast<uint16_t>(number)));
  const bool used = path.in_use() && (paths.port_planes() >> path.plane & 1) != 0;
  append(text,
         "{\"ev\":%" PRIu32 ",\"plane\":%u,\"state\":\"%s\",\"in_use\":%s,\"sent\":%" PRIu32
         ",\"lost\":%" PRIu32 ",\"rtt_ns\":%" PRIu64,
         static_cast<uint32_t>(path.entropy), static_cast<unsigned>(path.plane), state_word(path.state),
         used ? "true" : "false", path.sent, paths.losses(path),
         static_cast<uint64_t>(qp.mrc()->requester().recent_rtt(path.plane)));
  add_causes(text, paths.retransmits(path));
  *text += "}";
}

void add_counters_json(std::string* text, const Counters& counters) {
  *text += "],\"counters\":{";
  bool first = true;
  for (const auto& [name, value] : named_counters(counters)) {
    append(text, "%s\"%s\":%" PRIu64, first ? "" : ",", name.c_str(), value);
    first = false;
  }
  *text += "}}\n";
}

}  // namespace mrc
