// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/rc/rc_transport.h"

#include <algorithm>
#include <vector>

#include "libmrc/work/next_hops.h"

namespace mrc {

namespace {
constexpr uint16_t kAnswers = OpcodeTraits::kReadResponse | OpcodeTraits::kAtomicAck;
}  // namespace

void RcTransport::connect(Psn first, Services& services, Nanoseconds) {
  responder_.reset(first, connection_.answers_max, terms_.copied_segments);
  follow_terms(services.config);
  choose_path(services);
  resolve_next_hops(connection_, Transport::kRc, services);
}

// One path of all that there are, by the number of the queue pair, so that many of them spread over planes
// and uplinks. As the built-in ones are, it is a UDP source port (RoCEv2 annex A17: for ECMP).
void RcTransport::choose_path(Services& services) {
  const auto planes = static_cast<uint32_t>(services.transmitter.plane_count());
  const auto draw = static_cast<uint32_t>((connection_.local_qpn.value() * 0x9E3779B97F4A7C15u) >> 32);
  std::vector<EvEntry> entries;
  if (services.path_source != nullptr) entries = services.path_source->paths_to(connection_.destination);
  std::erase_if(entries, [&](const EvEntry& entry) { return (services.ports_up >> entry.plane & 1) == 0; });
  const auto is_denied = [](const EvEntry& entry) { return entry.denied; };
  if (!std::all_of(entries.begin(), entries.end(), is_denied)) std::erase_if(entries, is_denied);
  EvEntry chosen;
  if (!entries.empty()) {
    chosen = entries[draw % entries.size()];
  } else {
    chosen.plane = static_cast<Plane>(draw % planes);
    for (uint32_t i = 0; i < planes && (services.ports_up >> chosen.plane & 1) == 0; ++i)
      chosen.plane = static_cast<Plane>((chosen.plane + 1) % planes);
    chosen.entropy = make_entropy(chosen.plane, draw / planes);
  }
  connection_.srv6 = chosen.has_outer;
  connection_.segment_routing = chosen.has_outer && chosen.has_segment;
  PathSetConfig config;
  config.planes = planes;
  config.paths_per_plane = 1;
  own_path_.reset(config, std::vector<EvEntry>(1, chosen), terms_.seed);
  paths_ = &own_path_;
}

void RcTransport::start_sending(Psn first, uint64_t send_index, Services& services) {
  requester_.reset(services.config, first);
  requester_.skip_to(send_index);
  sending_ = true;
}

void RcTransport::disconnect(Services& services) {
  release_next_hops(connection_, services);
  paths_ = &PathSet::none();
}

Arrival RcTransport::classify(const Packet& packet) const {
  const Opcode opcode = packet.bth.opcode;
  if (!is_plain_rc(opcode) || packet.trimmed) return Arrival::kUnsupported;
  return opcode == Opcode::kRcAcknowledge || (traits_of(opcode) & kAnswers) != 0 ? Arrival::kAnswer
                                                                                 : Arrival::kRequest;
}

void RcTransport::receive(Context& cx, const Packet& packet, Plane) {
  const Opcode opcode = packet.bth.opcode;
  if (opcode == Opcode::kRcAcknowledge) {
    requester_.on_acknowledge(cx, packet);
  } else if ((traits_of(opcode) & kAnswers) != 0) {
    requester_.on_answer(cx, packet);
  } else {
    responder_.on_request(cx, packet);
  }
}

More RcTransport::transmit(Context& cx, size_t budget, bool) {
  resolve_next_hops(connection_, Transport::kRc, cx.services);
  // Answers first: the peer waits for them, and there are never more than it asked for.
  const RcResponder::Burst answers = responder_.transmit(cx, budget);
  RcRequester::Burst burst;
  if (sending_) burst = requester_.transmit(cx, budget);
  if (failure() || fault() != nullptr) return More::kNothing;
  if (answers.blocked || burst.blocked) return More::kBlocked;
  const bool more = responder_.has_work() || (sending_ && requester_.has_work(cx));
  return more ? More::kReady : More::kNothing;
}

void RcTransport::on_timer(Context& cx) {
  resolve_next_hops(connection_, Transport::kRc, cx.services);
  if (sending_) requester_.on_timer(cx);
}

}  // namespace mrc
