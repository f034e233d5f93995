// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/workload/connection.h"

#include <cassert>

namespace mrc::sim {

namespace {
constexpr uint8_t kAllRemote = kRemoteWrite | kRemoteRead | kRemoteAtomic | kRemoteFlush;
}  // namespace

QueuePairs connect(Host& first, Host& second, const ConnectionConfig& config) {
  Host* hosts[2] = {&first, &second};
  QueuePairs pairs;
  for (int side = 0; side < 2; ++side) {
    const EndConfig& end = config.end[side];
    QueuePairConfig wanted;
    wanted.domain = config.domain;
    wanted.transport = config.transport;
    wanted.send_completions = end.send_completions;
    wanted.receive_completions = end.receive_completions;
    wanted.send_entries = end.send_entries;
    wanted.receive_entries = end.shared_receives != nullptr ? 0 : end.receive_entries;
    wanted.shared_receives = end.shared_receives;
    wanted.send_segments_max = end.segments_max;
    wanted.receive_segments_max = end.segments_max;
    wanted.inline_bytes_max = end.inline_bytes_max;
    pairs.end[side] = hosts[side]->engine().create(wanted);
    assert(pairs.end[side] != nullptr && "EngineConfig::qpn_count is too small");
  }
  for (int side = 0; side < 2; ++side) {
    Engine& engine = hosts[side]->engine();
    QueuePair& qp = *pairs.end[side];
    QueuePairAttributes init;
    init.state = QueuePairState::kInit;
    init.remote_access = kAllRemote;
    must(engine.modify(qp, init, 0));
    QueuePairAttributes receive;
    receive.state = QueuePairState::kReadyToReceive;
    receive.source = hosts[side]->address();
    receive.destination = hosts[1 - side]->address();
    receive.destination_qpn = pairs.end[1 - side]->qpn();
    receive.mtu = config.mtu;
    receive.receive_psn = config.end[1 - side].first_psn;
    receive.rnr_timer = config.rnr_timer;
    receive.answers_max = config.reads_max;
    receive.mpr = config.mpr;
    must(engine.modify(qp, receive, 0));
    QueuePairAttributes send;
    send.state = QueuePairState::kReadyToSend;
    send.send_psn = config.end[side].first_psn;
    send.timeout = config.timeout;
    send.retry_linear = config.retry_linear;
    send.retry_exponential = config.retry_exponential;
    send.rnr_retry = config.rnr_retry;
    send.reads_max = config.reads_max;
    must(engine.modify(qp, send, 0));
    hosts[side]->wake();
  }
  return pairs;
}

}  // namespace mrc::sim
