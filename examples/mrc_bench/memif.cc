// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrc_bench/memif.h"

#include <sched.h>

#include <cstdio>
#include <memory>

#include "dpdk_io/ethdev/eal.h"
#include "dpdk_io/ethdev/ethdev_carrier.h"
#include "dpdk_io/ethdev/ethdev_device.h"
#include "dpdk_io/ethdev/packet_pool.h"
#include "examples/mrc_bench/ping_pong.h"
#include "examples/shared/child_process.h"

namespace mrc::bench {
namespace {

constexpr uint32_t kBuffers = 2048;
constexpr uint32_t kFrameBytes = 1024;
constexpr double kPatience = 5;  // seconds for the other end to come

class MemifEnd {
 public:
  MemifEnd(const char* role, const std::string& socket) {
    PortConfig port;
    port.device = std::string("net_memif0,role=") + role + ",socket-abstract=no,socket=" + socket;
    port.driver = "net_memif";
    std::string error;
    if (start_eal(&error)) pool_ = PacketPool::create(kBuffers, &error);
    if (pool_ != nullptr) device_ = EthdevDevice::open({port, kFrameBytes, {pool_->mempool()}}, &error);
    if (device_ == nullptr) {
      std::fprintf(stderr, "%s\n", error.c_str());
      return;
    }
    carrier_ = std::make_unique<EthdevCarrier>(device_, uint16_t{0}, pool_->mempool());
  }

  bool is_open() const { return carrier_ != nullptr; }
  Carrier& carrier() { return *carrier_; }
  bool wait_for_other() {
    for (const double until = seconds_now() + kPatience; seconds_now() < until; sched_yield())
      if (device_->link_up()) return true;
    return false;
  }

 private:
  std::unique_ptr<PacketPool> pool_;
  std::shared_ptr<EthdevDevice> device_;
  std::unique_ptr<EthdevCarrier> carrier_;
};

}  // namespace

int memif_ping(const std::string& socket, double seconds) {
  MemifEnd end("client", socket);
  if (!end.is_open() || !end.wait_for_other()) return 1;
  return print_half_round_trip(end.carrier(), {}, seconds, false) ? 0 : 1;
}

int memif_pong(const std::string& socket) {
  MemifEnd end("server", socket);
  if (!end.is_open()) return 1;
  std::printf("1\n");  // it can be found
  std::fflush(stdout);
  if (!end.wait_for_other()) return 1;
  answer_pings(end.carrier(), false);
  return 0;
}

}  // namespace mrc::bench
