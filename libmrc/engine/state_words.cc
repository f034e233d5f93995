// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "libmrc/engine/state_forms.h"
#include "libmrc/engine/state_report.h"

namespace mrc {
namespace {

// ------------------------------------------------------------------------------------------- words

class Text {
 public:
  explicit Text(std::string* text) : text_(*text) {}
  __attribute__((format(printf, 2, 3))) void add(const char* format, ...) {
    char line[256];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    text_ += line;
  }

 private:
  std::string& text_;
};

using ull = unsigned long long;

double milliseconds(Nanoseconds span) {
  return static_cast<double>(span) / static_cast<double>(kMillisecond);
}

// ---------------------------------------------------------------------------------------- counters

template <typename Group>
using Named = std::pair<const char*, uint64_t Group::*>;

constexpr Named<Counters> kCounters[] = {
    {"frames_sent", &Counters::frames_sent},
    {"frames_received", &Counters::frames_received},
    {"data_packets_sent", &Counters::data_packets_sent},
    {"retransmissions_sent", &Counters::retransmissions_sent},
    {"copies_sent", &Counters::copies_sent},
    {"requests_received", &Counters::requests_received},
    {"requests_refused", &Counters::requests_refused},
    {"requests_lost", &Counters::requests_lost},
    {"requests_in_vain", &Counters::requests_in_vain},
    {"datagrams_received", &Counters::datagrams_received},
    {"multicasts_received", &Counters::multicasts_received},
    {"raw_frames_received", &Counters::raw_frames_received},
    {"payload_bytes_sent", &Counters::payload_bytes_sent},
    {"payload_bytes_placed", &Counters::payload_bytes_placed},
    {"messages_completed", &Counters::messages_completed},
    {"pauses", &Counters::pauses},
    {"sacks_sent", &Counters::sacks_sent},
    {"sacks_received", &Counters::sacks_received},
    {"acks_sent", &Counters::acks_sent},
    {"acks_received", &Counters::acks_received},
    {"naks_sent", &Counters::naks_sent},
    {"naks_received", &Counters::naks_received},
    {"nacks_sent", &Counters::nacks_sent},
    {"nacks_received", &Counters::nacks_received},
    {"nacks_stale", &Counters::nacks_stale},
    {"trimmed_received", &Counters::trimmed_received},
    {"endpoint_requests_received", &Counters::endpoint_requests_received},
    {"endpoint_answers_sent", &Counters::endpoint_answers_sent},
    {"endpoint_answers_withheld", &Counters::endpoint_answers_withheld},
    {"endpoint_answers_received", &Counters::endpoint_answers_received},
    {"capability_requests_sent", &Counters::capability_requests_sent},
    {"ev_probes_sent", &Counters::ev_probes_sent},
    {"ev_probes_answered", &Counters::ev_probes_answered},
    {"port_updates_sent", &Counters::port_updates_sent},
    {"port_updates_received", &Counters::port_updates_received},
    {"port_updates_refused", &Counters::port_updates_refused},
    {"port_updates_old", &Counters::port_updates_old},
    {"port_updates_refuted", &Counters::port_updates_refuted},
    {"probes_sent", &Counters::probes_sent},
    {"probes_received", &Counters::probes_received},
    {"probes_answered", &Counters::probes_answered},
    {"retransmits_same_path", &Counters::retransmits_same_path},
    {"retransmits_reordering", &Counters::retransmits_reordering},
    {"retransmits_out_of_order", &Counters::retransmits_out_of_order},
    {"retransmits_timeout", &Counters::retransmits_timeout},
    {"retransmits_nack", &Counters::retransmits_nack},
    {"retransmits_trimmed", &Counters::retransmits_trimmed},
    {"retransmits_port_down", &Counters::retransmits_port_down},
    {"retransmits_ack_lost", &Counters::retransmits_ack_lost},
    {"retransmits_not_ready", &Counters::retransmits_not_ready},
    {"retransmits_sequence", &Counters::retransmits_sequence},
    {"retry_exceeded", &Counters::retry_exceeded},
    {"not_ready_sent", &Counters::not_ready_sent},
    {"not_ready_received", &Counters::not_ready_received},
    {"reads_served", &Counters::reads_served},
    {"atomics_served", &Counters::atomics_served},
    {"flushes_served", &Counters::flushes_served},
    {"paths_demoted", &Counters::paths_demoted},
    {"paths_restored", &Counters::paths_restored},
    {"duplicates", &Counters::duplicates},
    {"out_of_window", &Counters::out_of_window},
    {"out_of_sequence", &Counters::out_of_sequence},
    {"drops_bad_icrc", &Counters::drops_bad_icrc},
    {"drops_bad_partition_key", &Counters::drops_bad_partition_key},
    {"drops_unknown_qp", &Counters::drops_unknown_qp},
    {"drops_wrong_peer", &Counters::drops_wrong_peer},
    {"drops_wrong_state", &Counters::drops_wrong_state},
    {"drops_unsupported", &Counters::drops_unsupported},
    {"drops_bad_control", &Counters::drops_bad_control},
    {"drops_bad_queue_key", &Counters::drops_bad_queue_key},
    {"drops_no_receive", &Counters::drops_no_receive},
    {"drops_too_long", &Counters::drops_too_long},
    {"drops_unreachable", &Counters::drops_unreachable},
    {"drops_no_group", &Counters::drops_no_group},
    {"drops_bad_multicast", &Counters::drops_bad_multicast},
    {"tx_no_buffer", &Counters::tx_no_buffer},
    {"tx_no_next_hop", &Counters::tx_no_next_hop},
};
constexpr Named<PathCounters> kPathCounters[] = {
    {"skipped", &PathCounters::skipped},
    {"forgiven", &PathCounters::forgiven},
    {"assumed_bad", &PathCounters::assumed_bad},
    {"told_bad", &PathCounters::told_bad},
    {"restored_probe", &PathCounters::restored_probe},
    {"restored_floor", &PathCounters::restored_floor},
    {"restored_port", &PathCounters::restored_port},
    {"kept_floor", &PathCounters::kept_floor},
    {"denied", &PathCounters::denied},
    {"denied_bad", &PathCounters::denied_bad},
    {"allowed", &PathCounters::allowed},
};
// A new counter is not forgotten here.
static_assert(sizeof(Counters) == sizeof(uint64_t) * std::size(kCounters) + 2 * sizeof(NackCounts) +
                                      sizeof(PathCounters) + sizeof(Counters::drops_undecodable) +
                                      sizeof(FaultCounts));
static_assert(sizeof(PathCounters) == sizeof(uint64_t) * std::size(kPathCounters));

// ------------------------------------------------------------------------------------- queue pairs

void add_requester(Text& text, const Requester& requester, Nanoseconds now) {
  const SentPackets& sent = requester.sent();
  const Requester::Waiting waiting = requester.waiting();
  text.add("  requester: psn %u..%u, %u under way (%llu bytes), %u lost, window %llu of %llu bytes\n",
           sent.oldest().value(), sent.next().value(), sent.in_flight(),
           static_cast<ull>(sent.in_flight_bytes()), sent.lost(), static_cast<ull>(waiting.window_used),
           static_cast<ull>(waiting.window));
  text.add("    %u requests unfinished, %u of them wait for an answer; round trip %.1f us\n",
           waiting.unfinished, waiting.unanswered, static_cast<double>(requester.rtt().smoothed()) / 1000);
  if (waiting.unfinished > 0 || sent.outstanding() > 0)
    text.add("    retransmission %s, attempts %u; asks %s, in vain %u\n",
             when(waiting.retransmission_at, now).c_str(), waiting.attempts,
             when(waiting.asks_at, now).c_str(), waiting.silences);
  if (waiting.not_ready_count > 0)
    text.add("    the peer was not ready %u times, again %s\n", waiting.not_ready_count,
             when(waiting.not_ready_until, now).c_str());
}

void add_responder(Text& text, const Responder& responder) {
  text.add("  responder: expects psn %u, holds %u beyond it, highest %u%s%s\n", responder.expected().value(),
           responder.window().held(), responder.window().highest().value(),
           responder.control_due() ? ", owes an answer" : "",
           responder.fault() != nullptr ? ", faulted" : "");
}

// A record may be newer than `now`: the engine goes by the time of its last poll.
void add_trace(Text& text, EventTrace& trace, Nanoseconds now) {
  for (size_t i = 0; i < trace.size(); ++i) {
    const TraceRecord& record = trace.at(i);
    text.add("    %12.6f ms ago %-14s psn %-8u path %-5d value %u\n",
             milliseconds(now - std::min(now, record.time)), name_of(record.event), record.psn.value(),
             record.path == kNoPath ? -1 : static_cast<int>(record.path), record.value);
  }
}

void add_causes(Text& text, const RetransmitCounts& counts) {
  if (counts == RetransmitCounts{}) return;
  text.add("  sent again:");
  for (size_t i = 0; i < kRetransmitCauses; ++i)
    if (counts[i] != 0) text.add(" %s=%u", kRetransmitCauseNames[i], counts[i]);
  text.add("\n");
}

void add_queues(Text& text, QueuePair& qp) {
  const QueuePairConfig& config = qp.config();
  text.add("  send queue %llu of %u", static_cast<ull>(qp.send_queue().tail() - qp.send_queue().head()),
           qp.send_queue().capacity());
  if (config.shared_receives != nullptr) {
    ReceiveQueue& shared = config.shared_receives->queue();
    text.add(", shared receives %llu of %u", static_cast<ull>(shared.tail() - shared.head()),
             shared.capacity());
  } else {
    text.add(", receives %llu of %u", static_cast<ull>(qp.receive_queue().tail() - qp.receive_queue().head()),
             qp.receive_queue().capacity());
  }
  for (const auto& [name, queue] :
       {std::pair{"sends", config.send_completions}, std::pair{"receives", config.receive_completions}})
    text.add(", completions of %s: %llu pushed, %llu not polled%s", name, static_cast<ull>(queue->pushed()),
             static_cast<ull>(queue->pushed() - queue->polled()), queue->overrun() ? ", OVERRUN" : "");
  text.add("\n");
}

}  // namespace

std::string when(Nanoseconds time, Nanoseconds now) {
  if (time == kNever) return "never";
  char text[48];
  if (time >= now)
    std::snprintf(text, sizeof text, "in %.3f ms", milliseconds(time - now));
  else
    std::snprintf(text, sizeof text, "%.3f ms ago", milliseconds(now - time));
  return text;
}

void add_queue_pair_words(std::string* to, QueuePair& qp, Nanoseconds now) {
  Text text(to);
  const bool raw = qp.config().type == QueuePairType::kRaw;
  const bool datagrams = raw || qp.config().type == QueuePairType::kDatagram;
  const Connection& connection = qp.connection();
  const MrcTransport* mrc = qp.mrc();
  text.add("queue pair 0x%x: %s %s%s%s", qp.qpn().value(), kind_of(qp), name_of(qp.state()),
           qp.scheduled() ? ", has something to send" : "",
           mrc != nullptr && mrc->waits_for_window() ? ", waits for the window" : "");
  if (!datagrams && qp.connected())
    text.add(", peer 0x%x, mtu %u, planes 0x%x, paths %zu of %zu, next timer %s",
             connection.remote_qpn.value(), connection.mtu, connection.resolved, qp.paths().active(),
             qp.paths().places(), when(qp.next_deadline(), now).c_str());
  text.add("\n");
  add_queues(text, qp);
  if (!datagrams && qp.connected()) {
    if (mrc != nullptr) {
      if (mrc->sending()) add_requester(text, mrc->requester(), now);
      add_responder(text, mrc->responder());
    } else {
      text.add("  oldest psn that is not acknowledged: %u\n", qp.oldest_unacknowledged().value());
    }
  }
  add_causes(text, qp.retransmits());
  add_trace(text, qp.trace(), now);
}

void add_counters_words(std::string* to, const Counters& counters) {
  Text text(to);
  text.add("counters:");
  for (const auto& [name, field] : kCounters)
    if (counters.*field != 0) text.add(" %s=%llu", name, static_cast<ull>(counters.*field));
  for (const auto& [name, field] : kPathCounters)
    if (counters.paths.*field != 0) text.add(" paths.%s=%llu", name, static_cast<ull>(counters.paths.*field));
  for (size_t i = 0; i < counters.drops_undecodable.size(); ++i)
    if (counters.drops_undecodable[i] != 0)
      text.add(" drops_undecodable[%zu]=%llu", i, static_cast<ull>(counters.drops_undecodable[i]));
  for (size_t i = 0; i < kFaultKinds; ++i)
    if (counters.faults_injected[i] != 0)
      text.add(" faults_injected.%s=%llu", kFaultNames[i], static_cast<ull>(counters.faults_injected[i]));
  text.add("\n");
}

std::vector<std::pair<std::string, uint64_t>> named_counters(const Counters& counters) {
  std::vector<std::pair<std::string, uint64_t>> all;
  for (const auto& [name, field] : kCounters) all.emplace_back(name, counters.*field);
  for (const auto& [name, field] : kPathCounters)
    all.emplace_back(std::string("paths.") + name, counters.paths.*field);
  return all;
}

const char* name_of(QueuePairState state) {
  static constexpr std::array kNames = {"RESET", "INIT", "RTR", "RTS", "SQD", "ERROR"};
  static_assert(kNames.size() == static_cast<size_t>(QueuePairState::kError) + 1);
  return kNames[static_cast<size_t>(state)];
}

const char* kind_of(const QueuePair& qp) {
  if (qp.config().type == QueuePairType::kRaw) return "raw";
  if (qp.config().type == QueuePairType::kDatagram) return "ud";
  switch (qp.transport()) {
    case Transport::kMrc:
      return "mrc";
    case Transport::kMrcStrict:
      return "mrc-strict";
    case Transport::kRc:
      return "rc";
  }
  return "?";
}

}  // namespace mrc
