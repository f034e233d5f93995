// SPDX-License-Identifier: BSD-2-Clause
// The processes of one user on one host, joined by links that are made when somebody wants to send: one port
// per plane, and the work of making and removing links, which stays off the data path.
//
// Both ends send each other the descriptors of their memory and a number of the link; the kernel says who
// sent them. A link is used as soon as this end has made its half.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dpdk_io/host/control_loop.h"
#include "dpdk_io/host/fork_guard.h"
#include "dpdk_io/host/process_slot.h"
#include "dpdk_io/link/control_socket.h"
#include "dpdk_io/link/host_link.h"
#include "dpdk_io/link/link_port.h"
#include "dpdk_io/link/link_state.h"

namespace mrc {

class HostMesh {
 public:
  struct Config {
    std::string run_directory;
    uint32_t planes = 1;
    ClaimOnHost on_host;  // see ProcessSlot
    bool icrc_always = false;
    std::string page_suffix;  // of the device's page of faults
  };
  // Null: `error` says why.
  static std::unique_ptr<HostMesh> open(const Config& config, std::string* error);
  ~HostMesh();
  HostMesh(const HostMesh&) = delete;
  HostMesh& operator=(const HostMesh&) = delete;

  uint32_t slot() const { return slot_->number(); }
  size_t plane_count() const { return ports_.size(); }
  LinkPort& port(Plane plane) { return *ports_[plane]; }
  HostLink& link() { return *link_; }
  FaultPage& faults() { return *state_.faults; }
  GroupPage& groups() { return *state_.groups; }

  void service();
  int event_fd() const { return loop_->fd(); }
  // Runs in service(). For what else the device waits for.
  ControlLoop& loop() { return *loop_; }

  // Waits until the others have taken what is in the rings, for a moment at most. The last thing: nothing is
  // to be sent behind it. While neither the ports nor service() are in use.
  void say_good_bye();

 private:
  struct Peer {
    SlotInfo info;
    uint64_t number = 0;           // ours of the link
    uint64_t their_number = 0;     // 0: not told yet
    Nanoseconds next_message = 0;  // when to ask the peer again
    Nanoseconds next_check = 0;    // when to look whether it lives
    bool whole = false;            // both halves are there
    PeerMemory memory;
    Link* link = nullptr;  // once it is told; in the table
  };
  using Peers = std::map<uint32_t, std::unique_ptr<Peer>>;

  HostMesh(const Config& config, std::unique_ptr<ProcessSlot> slot);
  bool open_parts(std::string* error);
  bool open_events(std::string* error);

  void service_now(Nanoseconds now);
  void take_wishes(Nanoseconds now);
  void take_messages(Nanoseconds now);
  void take_message(const ControlMessage& message, const ControlSocket::Descriptors& sent, Nanoseconds now);
  Peer* meet(uint32_t slot, uint64_t number, Nanoseconds now);
  void make_half(uint32_t slot, Peer& peer, uint64_t their_number, const ControlSocket::Descriptors& sent);
  bool step(uint32_t slot, Peer& peer, Nanoseconds now);  // false: remove it
  void remove(Peers::iterator peer);
  void publish();
  void retire(Link* link);
  void ask(uint32_t slot, const Peer& peer);
  void set_timer(Nanoseconds now);
  Nanoseconds check_interval() const;

  const Config config_;
  const ForkGuard fork_guard_;
  const std::unique_ptr<ProcessSlot> slot_;
  std::unique_ptr<ControlSocket> control_;
  LinkState state_;
  std::unique_ptr<HostLink> link_;
  std::vector<std::unique_ptr<LinkPort>> ports_;
  std::unique_ptr<ControlLoop> loop_;
  ControlLoop::Timer timer_{};

  // All below belongs to service().
  std::atomic_flag in_service_;
  Nanoseconds next_service_ = 0;
  Peers peers_;
  uint64_t tables_ = 0;
  bool messages_left_ = false;
  bool said_good_bye_ = false;
};

}  // namespace mrc
