// SPDX-License-Identifier: BSD-2-Clause
// One memif link to one other process: a DPDK port with one queue pair per plane. Of the two processes the
// one with the lower slot is the server. A link connects once; after a disconnect it is only good for
// removal.
#pragma once

#include <rte_ethdev.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "dpdk_io/memif_driver.h"
#include "libmrc/port/port.h"
#include "libmrc/wire/identifiers.h"

namespace mrc {

// Frames that the ring did not take, oldest first. A burst, and as many frames that were sent without asking
// for room.
struct PendingFrames {
  static constexpr size_t kMax = 2 * kBurst;
  uint32_t count = 0;
  std::array<rte_mbuf*, kMax> frames;
};

class MemifLink {
 public:
  struct Config {
    std::string run_directory;
    uint32_t own_slot;
    uint32_t peer_slot;
    Plane queues;
    rte_mempool* pool;
  };

  explicit MemifLink(const Config& config);
  ~MemifLink();
  MemifLink(const MemifLink&) = delete;
  MemifLink& operator=(const MemifLink&) = delete;

  uint32_t peer_slot() const { return config_.peer_slot; }
  Plane queues() const { return config_.queues; }
  bool is_server() const { return config_.own_slot < config_.peer_slot; }
  const std::string& socket_path() const { return socket_path_; }

  // Set-up; each runs in the interrupt thread and waits for it.
  bool create(std::string* error);
  bool start();           // a client fails as long as the server's socket is not there
  void stop();            // to start again
  void stop_listening();  // a server, once it is connected
  bool created() const { return created_; }
  bool connected() const;

  // Data path.
  uint16_t receive(Plane queue, rte_mbuf** frames, uint16_t count) {
    return rte_eth_rx_burst(port_, queue, frames, count);
  }
  uint16_t transmit(Plane queue, rte_mbuf** frames, uint16_t count) {
    return rte_eth_tx_burst(port_, queue, frames, count);
  }
  PendingFrames& pending(Plane plane) { return pending_[plane]; }
  void note_empty(Plane queue) {
    std::atomic<uint32_t>& polls = empty_polls_[queue];
    polls.store(polls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  // Polls that found nothing; tells the other thread that a ring has been emptied.
  uint32_t empty_polls(Plane queue) const { return empty_polls_[queue].load(std::memory_order_relaxed); }

 private:
  bool create_device(std::string* error);
  bool configure_queues();
  void destroy_device();

  const Config config_;
  const std::string socket_path_;
  const std::string device_name_;
  uint16_t port_ = RTE_MAX_ETHPORTS;
  bool created_ = false;
  bool started_ = false;
  DriverRecord record_;
  // Written by the data path.
  alignas(64) std::array<std::atomic<uint32_t>, kPlanesMax> empty_polls_{};
  std::array<PendingFrames, kPlanesMax> pending_;
};

}  // namespace mrc
