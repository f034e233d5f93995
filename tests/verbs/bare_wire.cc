// SPDX-License-Identifier: BSD-2-Clause
// How fast the bare af_packet driver is: 4 KiB of payload copied into every frame, sent over an interface and
// copied out again, without a transport. What the transport reaches is compared with it.
//   bare_wire receive INTERFACE          until nothing has come for 2 s
//   bare_wire send INTERFACE MAC SECONDS prints Gb/s of payload
#include <rte_mbuf.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "dpdk_io/ethdev/eal.h"
#include "dpdk_io/ethdev/ethdev_device.h"
#include "dpdk_io/ethdev/packet_pool.h"
#include "dpdk_io/host/process_slot.h"
#include "libmrc/port/port.h"
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

uint64_t number_in(const rte_mbuf* frame) {
  uint64_t number = 0;
  std::memcpy(&number,
              rte_pktmbuf_mtod(frame, const uint8_t*) + kEthernetBytes + kIpv4Bytes + kUdpBytes + Bth::kBytes,
              sizeof number);
  return number;
}

class Bench {
 public:
  Bench(const std::string& interface, uint32_t slot) : region_(kRegion, 7) {
    PortConfig port;
    port.backend = PortBackend::kAfPacket;
    port.interface = interface;
    std::string error;
    EalOptions options;
    options.megabytes += PacketPool::megabytes(4096);
    options.drivers.push_back(driver_library(port));
    if (start_eal(&error, options)) pool_ = PacketPool::create(4096, &error);
    if (pool_ != nullptr) device_ = EthdevDevice::open({port, slot, 4192, pool_->mempool()}, &error);
    if (device_ != nullptr) return;
    std::fprintf(stderr, "%s\n", error.c_str());
    std::exit(1);
  }

  int receive() {
    uint64_t received = 0, acknowledged = 0;
    MacAddress peer;
    for (double last = now(); received == 0 || now() - last < kSilence;) {
      if (received == 0 && now() - last > 20) return 1;
      rte_mbuf* frames[kBurst];
      const uint16_t count = device_->receive(frames, kBurst);
      if (count == 0) {
        sched_yield();
        continue;
      }
      last = now();
      for (uint16_t i = 0; i < count; ++i) {
        const auto* data = rte_pktmbuf_mtod(frames[i], const uint8_t*);
        if (frames[i]->data_len > kPayload) std::memcpy(block(), data + 62, kPayload);
        received = std::max(received, number_in(frames[i]));
        std::memcpy(peer.bytes.data(), data + 6, 6);
      }
      rte_pktmbuf_free_bulk(frames, count);
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
      rte_mbuf* frames[kBurst];
      const uint16_t count = device_->receive(frames, kBurst);
      for (uint16_t i = 0; i < count; ++i) acknowledged = std::max(acknowledged, number_in(frames[i]));
      if (count > 0) {
        rte_pktmbuf_free_bulk(frames, count);
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
    rte_mbuf* frames[kBurst];
    const auto count = static_cast<uint16_t>(last - first + 1);
    if (rte_pktmbuf_alloc_bulk(pool_->mempool(), frames, count) != 0) return 0;
    for (uint16_t i = 0; i < count; ++i) {
      auto* data = rte_pktmbuf_mtod(frames[i], uint8_t*);
      const size_t headers = write_headers(data, device_->mac(), peer, slot, first + i, payload);
      if (payload > 0) std::memcpy(data + headers, block(), payload);
      frames[i]->data_len = static_cast<uint16_t>(headers + payload + 4);
      frames[i]->pkt_len = frames[i]->data_len;
    }
    const uint16_t sent = device_->transmit(frames, count);
    if (sent < count) rte_pktmbuf_free_bulk(frames + sent, count - sent);
    return sent;
  }
  uint8_t* block() {
    at_ = at_ + 2 * kPayload <= region_.size() ? at_ + kPayload : 0;
    return region_.data() + at_;
  }

  std::vector<uint8_t> region_;
  size_t at_ = 0;
  std::unique_ptr<PacketPool> pool_;
  std::unique_ptr<EthdevDevice> device_;
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
