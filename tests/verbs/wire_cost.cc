// SPDX-License-Identifier: BSD-2-Clause
// What a frame costs from one interface to its peer: CPU time of all that is done for it, in the program and
// in the kernel. Both ends are in one thread, so it does not matter what else the machine does.
//   wire_cost sockets|dpdk LEFT RIGHT PAYLOAD BURST   prints nanoseconds per frame
// By packet sockets as af_packet ports have them, or by DPDK's own driver for such interfaces.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "dpdk_io/ethdev/eal.h"
#include "dpdk_io/ethdev/ethdev_carrier.h"
#include "dpdk_io/ethdev/packet_pool.h"
#include "dpdk_io/host/process_slot.h"
#include "dpdk_io/packet/packet_carrier.h"
#include "libmrc/wire/crc32.h"
#include "libmrc/wire/frame.h"

namespace mrc {
namespace {

constexpr uint32_t kLeftSlot = 1;
constexpr uint32_t kRightSlot = 2;
constexpr size_t kRegion = 64 << 20;  // no cache has it
constexpr uint64_t kFrames = 40'000;
constexpr uint32_t kMbufs = 4096;

double cpu_seconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

class Ends {
 public:
  Ends(bool dpdk, const char* left, const char* right) {
    std::string error;
    EalOptions options;
    options.megabytes += PacketPool::megabytes(kMbufs);
    if (!dpdk || start_eal(&error, options)) {
      if (dpdk) pool_ = PacketPool::create(kMbufs, &error);
      left_ = dpdk ? open_dpdk("net_af_packet0", left, &error) : open_socket(left, kLeftSlot, &error);
      right_ = dpdk ? open_dpdk("net_af_packet1", right, &error) : open_socket(right, kRightSlot, &error);
    }
    if (left_ != nullptr && right_ != nullptr) return;
    std::fprintf(stderr, "%s\n", error.c_str());
    std::exit(1);
  }

  // Of frames that have arrived.
  double cost(size_t payload, size_t burst) {
    carry(payload, burst, kFrames / 10);  // what is done once
    const double begin = cpu_seconds();
    const uint64_t arrived = carry(payload, burst, kFrames);
    return (cpu_seconds() - begin) / static_cast<double>(std::max<uint64_t>(arrived, 1));
  }

 private:
  static std::unique_ptr<WireCarrier> open_socket(const char* interface, uint32_t slot, std::string* error) {
    PortConfig port;
    port.interface = interface;
    return PacketCarrier::open(port, {slot, {}}, error);
  }
  std::unique_ptr<WireCarrier> open_dpdk(const std::string& name, const std::string& interface,
                                         std::string* error) const {
    if (pool_ == nullptr) return nullptr;
    PortConfig port;
    port.backend = PortBackend::kEthdev;
    port.interface = interface;
    port.device = name + ",iface=" + interface + ",blocksz=69632,framesz=4352,framecnt=512";
    port.driver = "net_af_packet";
    std::shared_ptr<EthdevDevice> device = EthdevDevice::open({port, 4192, {pool_->mempool()}}, error);
    if (device == nullptr) return nullptr;
    return std::make_unique<EthdevCarrier>(std::move(device), uint16_t{0}, pool_->mempool());
  }

  void write(TxFrame* frame, size_t payload) {
    NetworkHeader network;
    network.destination_mac = right_->address();
    network.source = IpAddress::v4(10, 0, 0, 1);
    network.destination = IpAddress::v4(10, 0, 0, 2);
    FrameWriter writer(frame->data, network, Entropy{0xC000}, 0, Ecn::kNotCapable, Bth::kBytes + payload);
    Bth bth;
    bth.destination = first_qpn_of(kRightSlot);
    writer.add(bth);
    writer.end_headers();
    writer.add_payload(block(from_, payload), payload);
    frame->length = static_cast<uint32_t>(writer.finish(0));
  }

  // As many are sent; how many arrive.
  uint64_t carry(size_t payload, size_t burst, uint64_t count) {
    uint64_t arrived = 0;
    TxFrame leaving[kBurst];
    RxFrame coming[kBurst];
    for (uint64_t sent = 0; sent < count;) {
      const bool room = left_->transmit_room({}) > 0;
      const size_t acquired = room ? left_->acquire(std::span(leaving, burst)) : 0;
      for (TxFrame& frame : std::span(leaving, acquired)) write(&frame, payload);
      left_->transmit({leaving, acquired});
      sent += acquired;
      while (const size_t received = right_->receive(coming)) {
        for (const RxFrame& frame : std::span(coming, received))
          if (frame.length > payload)
            crc32_copy(0, block(into_, payload), frame.data + frame.length - payload - 4, payload);
        right_->release({coming, received});
        arrived += received;
      }
    }
    return arrived;
  }
  uint8_t* block(std::vector<uint8_t>& region, size_t bytes) {
    at_ = at_ + 2 * bytes <= region.size() ? at_ + bytes : 0;
    return region.data() + at_;
  }

  std::vector<uint8_t> from_ = std::vector<uint8_t>(kRegion, 7);
  std::vector<uint8_t> into_ = std::vector<uint8_t>(kRegion, 9);
  size_t at_ = 0;
  std::unique_ptr<PacketPool> pool_;
  std::unique_ptr<WireCarrier> left_;
  std::unique_ptr<WireCarrier> right_;
};

}  // namespace
}  // namespace mrc

int main(int count, char** words) {
  const std::string by = count == 6 ? words[1] : "";
  if (by != "sockets" && by != "dpdk") {
    std::fprintf(stderr, "usage: wire_cost sockets|dpdk LEFT RIGHT PAYLOAD BURST\n");
    return 2;
  }
  mrc::Ends ends(by == "dpdk", words[2], words[3]);
  const auto payload = std::min<size_t>(std::strtoul(words[4], nullptr, 10), mrc::kMtuMax);
  const auto burst = std::clamp<size_t>(std::strtoul(words[5], nullptr, 10), 1, mrc::kBurst);
  std::printf("%.0f\n", ends.cost(payload, burst) * 1e9);
  return 0;
}
