// SPDX-License-Identifier: BSD-2-Clause
// The processes of one user on one host, joined by memif links that are made when somebody wants to send: one
// port per plane, and the work of making and removing links, which stays off the data path.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dpdk_io/control_loop.h"
#include "dpdk_io/control_socket.h"
#include "dpdk_io/memif_port.h"
#include "dpdk_io/mesh_state.h"
#include "dpdk_io/packet_pool.h"
#include "dpdk_io/process_slot.h"

namespace mrc {

class MemifMesh {
 public:
  // EAL must run and the driver be repaired. `host_wide`: see ProcessSlot. Null: `error` says why.
  static std::unique_ptr<MemifMesh> open(const std::string& run_directory, uint32_t planes, uint32_t mbufs,
                                         bool host_wide, std::string* error);
  ~MemifMesh();
  MemifMesh(const MemifMesh&) = delete;
  MemifMesh& operator=(const MemifMesh&) = delete;

  uint32_t slot() const { return slot_->number(); }
  size_t plane_count() const { return ports_.size(); }
  MemifPort& port(Plane plane) { return *ports_[plane]; }
  // For ports that share packet buffers and injected faults with the links.
  const MeshState& state() const { return state_; }

  void service();
  int event_fd() const { return loop_->fd(); }
  // Runs in service(). For what else the device waits for.
  ControlLoop& loop() { return *loop_; }

  // Waits until the others have taken what is in the rings, for a moment at most. The last thing: nothing is
  // to be sent behind it. While neither the ports nor service() are in use.
  void say_good_bye();

  uint64_t links_refused() const { return links_refused_; }  // because DPDK has no port left

 private:
  enum class Stage { kStarting, kConnecting, kConnected };
  struct Peer {
    SlotInfo info;
    Stage stage = Stage::kStarting;
    Nanoseconds started = 0;       // when the connection was begun
    Nanoseconds next_message = 0;  // when to ask the peer again
    Nanoseconds next_check = 0;    // when to look whether it lives
    bool leaving = false;          // it has said good-bye
    bool taken_sent = false;
    std::array<uint32_t, kPlanesMax> polls_at_bye{};
    std::unique_ptr<MemifLink> link;
  };
  using Peers = std::map<uint32_t, Peer>;

  MemifMesh(const std::string& run_directory, std::unique_ptr<ProcessSlot> slot);
  bool open_parts(uint32_t planes, uint32_t mbufs, std::string* error);
  bool open_events(std::string* error);

  void service_now(Nanoseconds now);
  void take_wishes(Nanoseconds now);
  void take_messages(Nanoseconds now);
  void make_link(uint32_t slot, Nanoseconds now);
  void refuse_link(uint32_t slot, const std::string& why);
  bool step(uint32_t slot, Peer& peer, Nanoseconds now);  // false: remove it
  bool connect(uint32_t slot, Peer& peer, Nanoseconds now);
  void answer_bye(uint32_t slot, Peer& peer);
  void remove(Peers::iterator peer, Nanoseconds now);
  void publish();
  void return_pending(MemifLink& link);
  void send(uint32_t slot, ControlKind kind);
  void set_timer(Nanoseconds now);

  const std::string run_directory_;
  const std::unique_ptr<ProcessSlot> slot_;
  std::unique_ptr<ControlSocket> control_;
  std::unique_ptr<PacketPool> pool_;
  MeshState state_;
  std::vector<std::unique_ptr<MemifPort>> ports_;
  std::unique_ptr<ControlLoop> loop_;
  ControlLoop::Timer timer_{};

  // All below belongs to service().
  std::atomic_flag in_service_;
  Nanoseconds next_service_ = 0;
  Peers peers_;
  bool messages_left_ = false;
  uint64_t links_refused_ = 0;
  bool refusal_printed_ = false;
  bool said_good_bye_ = false;
};

}  // namespace mrc
