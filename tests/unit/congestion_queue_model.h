// SPDX-License-Identifier: BSD-2-Clause
// A tiny model of one last hop for tests of congestion controllers: N senders, one queue with an ECN ramp and
// trimming or dropping, SACKs as MRC 3.1 sends them. Nothing else of the transport.
#pragma once

#include <algorithm>
#include <cstdint>
#include <queue>
#include <vector>

#include "libmrc/congestion/controller.h"

namespace mrc {

struct QueueModel {
  // Settings.
  CongestionConfig congestion;
  uint64_t rate_bps = 100'000'000'000;
  Nanoseconds base_rtt = 12 * kMicrosecond;
  uint32_t packet_bytes = 4096 + 88;
  uint32_t header_bytes = 128;  // of a trimmed packet
  bool trimming = true;
  bool ecn = true;
  uint64_t mark_from_bytes = 0;  // ramp
  uint64_t mark_to_bytes = 0;
  uint64_t queue_bytes_max = 0;  // beyond it: trimmed or dropped
  bool share = false;            // the receiver advises
  uint32_t hint = 0;

  // Results.
  struct Flow {
    CongestionController controller;
    uint64_t to_send = 0;
    uint64_t remaining = 0;  // packets not received
    uint64_t received = 0;   // packets
    uint64_t at_half = 0;
    Nanoseconds start = 0;
    Nanoseconds nic_free = 0;
    Nanoseconds finished = 0;
    uint32_t unsacked = 0;
    uint64_t unreported = 0;
    Nanoseconds wakes_at = kNever;  // for its pace
  };
  std::vector<Flow> flows;
  uint64_t queue_bytes = 0;
  uint64_t queue_peak = 0;
  double queue_sum = 0;
  uint64_t queue_samples = 0;
  uint64_t trimmed = 0;
  uint64_t delivered = 0;
  Nanoseconds now = 0;
  Nanoseconds finished = 0;

  void set_network() {
    const uint64_t bdp = rate_bps / 8 * base_rtt / kSecond;
    mark_from_bytes = bdp / 5;
    mark_to_bytes = bdp * 4 / 5;
    queue_bytes_max = trimming ? bdp * 3 / 2 : bdp * 5;  // MRC 5.5
    congestion.nscc = nscc_defaults(rate_bps, base_rtt, 4096, trimming);
  }

  void add_flow(uint64_t bytes, Nanoseconds start = 0) {
    Flow flow;
    flow.to_send = flow.remaining = (bytes + 4095) / 4096;
    flow.start = start;
    flows.push_back(flow);
  }

  void run(Nanoseconds until = kNever) {
    if (share) {
      ReceiverShare::Config config;
      config.link_rate_bps = rate_bps;
      config.base_rtt = base_rtt;
      config.target_delay = congestion.nscc.target_delay;
      config.packet_bytes = packet_bytes;
      config.senders_max = static_cast<uint32_t>(flows.size());
      receiver_.reset(config);
    }
    for (uint32_t i = 0; i < flows.size(); ++i) {
      flows[i].controller.reset(congestion, hint, i + 1);
      at(flows[i].start, Kind::kSend, i);
    }
    resume(until);
  }

  void resume(Nanoseconds until) {
    while (!events_.empty() && events_.top().at <= until) {
      const Event event = events_.top();
      events_.pop();
      now = event.at;
      handle(event);
    }
  }

  uint64_t random() {
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    return random_ >> 33;
  }

 private:
  enum class Kind : uint8_t { kSend, kPaced, kArrive, kDepart, kSack, kNack, kLoss, kProbe };
  struct Event {
    Nanoseconds at;
    uint64_t number;
    Kind kind;
    uint32_t flow;
    Nanoseconds sent_at;
    uint64_t bytes;
    bool flag;  // CE on data and SACKs, an answer wanted on its way to the queue
    uint8_t penalty;
    bool operator<(const Event& other) const {
      return at != other.at ? at > other.at : number > other.number;
    }
  };

  void at(Nanoseconds when, Kind kind, uint32_t flow, Nanoseconds sent_at = 0, uint64_t bytes = 0,
          bool flag = false, uint8_t penalty = 0) {
    events_.push({when, ++number_, kind, flow, sent_at, bytes, flag, penalty});
  }
  Nanoseconds wire(uint64_t bytes) const { return bytes * 8 * kSecond / rate_bps; }

  void handle(const Event& event) {
    switch (event.kind) {
      case Kind::kPaced:
        if (event.at == flows[event.flow].wakes_at) flows[event.flow].wakes_at = kNever;
        [[fallthrough]];
      case Kind::kSend:
        send(event.flow);
        break;
      case Kind::kArrive:
        arrive(event);
        break;
      case Kind::kDepart:
        depart(event);
        break;
      case Kind::kSack: {
        SackSignal sack;
        sack.now = now;
        sack.newly_bytes = event.bytes;
        sack.rtt = event.sent_at != 0 ? now - event.sent_at : 0;
        sack.ce = event.flag;
        sack.penalty = event.penalty;
        flows[event.flow].controller.on_sack(sack);
        send(event.flow);
        break;
      }
      case Kind::kNack:
        flows[event.flow].controller.on_trim_nack(now, packet_bytes, true);
        at(now + 2 * base_rtt, Kind::kProbe, event.flow);
        ++flows[event.flow].to_send;
        send(event.flow);
        break;
      case Kind::kProbe:  // MRC 3.3 (d): in case the window has closed over what the receiver still holds
                          // back
        report(event.flow, 0, false);
        break;
      case Kind::kLoss:
        flows[event.flow].controller.on_loss(packet_bytes);
        ++flows[event.flow].to_send;
        at(now + 2 * base_rtt, Kind::kProbe, event.flow);
        send(event.flow);
        break;
    }
  }

  void send(uint32_t index) {
    Flow& flow = flows[index];
    while (flow.to_send > 0 && flow.controller.may_send(std::max(now, flow.nic_free))) {
      const Nanoseconds start = std::max(now, flow.nic_free);
      flow.nic_free = start + wire(packet_bytes);
      --flow.to_send;
      // MRC 3.1: nothing follows, or the window closes.
      const bool wanted = flow.to_send == 0 || flow.controller.wants_answer(packet_bytes);
      flow.controller.on_sent(start, packet_bytes);
      at(flow.nic_free + base_rtt / 2, Kind::kArrive, index, start, 0, wanted);
    }
    const Nanoseconds next = flow.controller.next_send_at();
    if (flow.to_send > 0 && next > now && next < flow.wakes_at) {
      flow.wakes_at = next;
      at(next, Kind::kPaced, index);
    }
  }

  void arrive(const Event& event) {
    queue_peak = std::max(queue_peak, queue_bytes);
    queue_sum += static_cast<double>(queue_bytes);
    ++queue_samples;
    if (queue_bytes + packet_bytes > queue_bytes_max) {
      ++trimmed;
      if (share) receiver_.on_data(event.flow, now);  // its header arrives
      if (trimming) {
        port_free_ = std::max(port_free_, now) + wire(header_bytes);  // ahead of the data
        at(now + wire(header_bytes) + base_rtt / 2, Kind::kNack, event.flow);
      } else {
        at(now + base_rtt * 5 / 2, Kind::kLoss, event.flow);
      }
      return;
    }
    bool ce = false;
    if (ecn && queue_bytes > mark_from_bytes)
      ce = queue_bytes >= mark_to_bytes ||
           random() % (mark_to_bytes - mark_from_bytes) < queue_bytes - mark_from_bytes;
    queue_bytes += packet_bytes;
    port_free_ = std::max(port_free_, now) + wire(packet_bytes);
    at(port_free_, Kind::kDepart, event.flow, event.sent_at, event.flag, ce);
  }

  void depart(const Event& event) {
    Flow& flow = flows[event.flow];
    queue_bytes -= packet_bytes;
    ++delivered;
    ++flow.received;
    --flow.remaining;
    if (share) receiver_.on_data(event.flow, now);
    flow.unreported += packet_bytes;
    flow.unsacked += packet_bytes;
    const bool last = flow.remaining == 0;
    if (last) {
      flow.finished = finished = now;
      if (share) receiver_.on_done(event.flow);
    }
    // MRC 3.1: the threshold, a mark, or a sender that wants an answer.
    if (flow.unsacked > 16384 || event.flag || last || event.bytes != 0)
      report(event.flow, event.sent_at, event.flag);
  }

  void report(uint32_t index, Nanoseconds sent_at, bool ce) {
    Flow& flow = flows[index];
    if (flow.unreported == 0) return;
    const uint8_t penalty = share ? receiver_.degree(now) : 0;
    at(now + base_rtt / 2, Kind::kSack, index, sent_at, flow.unreported, ce, penalty);
    flow.unreported = flow.unsacked = 0;
  }

  std::priority_queue<Event> events_;
  ReceiverShare receiver_;
  Nanoseconds port_free_ = 0;
  uint64_t number_ = 0;
  uint64_t random_ = 7;
};

}  // namespace mrc
