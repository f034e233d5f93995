// SPDX-License-Identifier: BSD-2-Clause
// How fast a bare af_packet port is: 4 KiB of payload copied into every frame, sent over an interface and
// copied out again, without a transport. What the transport reaches is compared with it.
//   bare_wire receive INTERFACE          until nothing has come for 2 s
//   bare_wire send INTERFACE MAC SECONDS prints Gb/s of payload
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "dpdk_io/host/process_slot.h"
#include "dpdk_io/packet/packet_carrier.h"
#include "libmrc/wire/frame.h"

namespace mrc {
namespace {

constexpr uint32_t kReceiverSlot = 1;
constexpr uint32_t kSenderSlot = 2;
constexpr uint32_t kPayload = 4096;
constexpr uint64_t kWindow = 256;  // packets, as the transport's 1 MiB
constexpr uint64_t kPerAck = 32;
constexpr size_t kRegion = 64 << 20;
constexpr double kSilence = 2;  // seconds after which the receiver leaves

double now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Headers to UDP and BTH; the number of the packet follows, then payload that nobody checks.
size_t write_headers(uint8_t* to, const MacAddress& from, const MacAddress& peer, uint32_t slot,
                     uint64_t number, size_t payload) {
  NetworkHeader network;
  network.source_mac = from;
  network.destination_mac = peer;
  network.source = IpAddress::v4(10, 0, 0, 1);
  network.destination = IpAddress::v4(10, 0, 0, 2);
  FrameWriter frame(to, network, Entropy{0xC000}, 0, Ecn::kNotCapable, Bth::kBytes + 8 + payload);
  Bth bth;
  bth.destination = first_qpn_of(slot);
  frame.add(bth);
  std::memcpy(to + kEthernetBytes + kIpv4Bytes + kUdpBytes + Bth::kBytes, &number, sizeof number);
  return kEthernetBytes + kIpv4Bytes + kUdpBytes + Bth::kBytes + sizeof number;
}

uint64_t number_in(const RxFrame& frame) {
  uint64_t number = 0;
  std::memcpy(&number, frame.data + kEthernetBytes + kIpv4Bytes + kUdpBytes + Bth::kBytes, sizeof number);
  return number;
}

class Bench {
 public:
  Bench(const std::string& interface, uint32_t slot) : region_(kRegion, 7) {
    PortConfig port;
    port.backend = PortBackend::kAfPacket;
    port.interface = interface;
    std::string error;
    carrier_ = PacketCarrier::open(port, {slot, {}}, &error);
    if (carrier_ != nullptr) return;
    std::fprintf(stderr, "%s\n", error.c_str());
    std::exit(1);
  }

  int receive() {
    uint64_t received = 0, acknowledged = 0;
    MacAddress peer;
    for (double last = now(); received == 0 || now() - last < kSilence;) {
      if (received == 0 && now() - last > 20) return 1;
      RxFrame frames[kBurst];
      const size_t count = carrier_->receive(frames);
      if (count == 0) {
        sched_yield();
        continue;
      }
      last = now();
      for (const RxFrame& frame : std::span(frames, count)) {
        if (frame.length > kPayload) std::memcpy(block(), frame.data + 62, kPayload);
        received = std::max(received, number_in(frame));
        std::memcpy(peer.bytes.data(), frame.data + 6, 6);
      }
      carrier_->release({frames, count});
      if (received - acknowledged < kPerAck) continue;
      acknowledged = received;
      send(peer, kSenderSlot, received, received, 0);
    }
    return 0;
  }

  int transmit(const MacAddress& peer, double seconds) {
    uint64_t sent = 0, acknowledged = 0;
    const double begin = now();
    double last_ack = begin;
    while (now() - begin < seconds) {
      if (now() - last_ack > 0.1) {  // lost ones are not repeated; the count goes on
        acknowledged = sent;
        last_ack = now();
      }
      const uint64_t room = std::min<uint64_t>(kWindow - (sent - acknowledged), kBurst);
      if (room > 0) sent += send(peer, kReceiverSlot, sent + 1, sent + room, kPayload);
      RxFrame frames[kBurst];
      const size_t count = carrier_->receive(frames);
      for (const RxFrame& frame : std::span(frames, count))
        acknowledged = std::max(acknowledged, number_in(frame));
      if (count > 0) {
        carrier_->release({frames, count});
        last_ack = now();
      } else if (room == 0) {
        sched_yield();
      }
    }
    std::printf("%.3f\n", static_cast<double>(sent) * kPayload * 8 / (now() - begin) / 1e9);
    return 0;
  }

 private:
  // The frames with these numbers; returns how many were taken.
  uint64_t send(const MacAddress& peer, uint32_t slot, uint64_t first, uint64_t last, size_t payload) {
    TxFrame frames[kBurst];
    if (carrier_->transmit_room() == 0) return 0;
    const size_t count = carrier_->acquire(std::span(frames, last - first + 1));
    const MacAddress mac = carrier_->address();
    for (size_t i = 0; i < count; ++i) {
      const size_t headers = write_headers(frames[i].data, mac, peer, slot, first + i, payload);
      if (payload > 0) std::memcpy(frames[i].data + headers, block(), payload);
      frames[i].length = static_cast<uint32_t>(headers + payload + 4);
    }
    carrier_->transmit({frames, count});
    return count;
  }
  uint8_t* block() {
    at_ = at_ + 2 * kPayload <= region_.size() ? at_ + kPayload : 0;
    return region_.data() + at_;
  }

  std::vector<uint8_t> region_;
  size_t at_ = 0;
  std::unique_ptr<PacketCarrier> carrier_;
};

}  // namespace
}  // namespace mrc

int main(int count, char** arguments) {
  const std::string role = count > 2 ? arguments[1] : "";
  if (role == "receive" && count == 3) return mrc::Bench(arguments[2], mrc::kReceiverSlot).receive();
  mrc::MacAddress mac;
  auto& m = mac.bytes;
  if (role != "send" || count != 5 ||
      std::sscanf(arguments[3], "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &m[0], &m[1], &m[2], &m[3], &m[4], &m[5]) !=
          6) {
    std::fprintf(stderr, "usage: bare_wire receive INTERFACE | send INTERFACE MAC SECONDS\n");
    return 2;
  }
  return mrc::Bench(arguments[2], mrc::kSenderSlot).transmit(mac, std::atof(arguments[4]));
}
