// SPDX-License-Identifier: BSD-2-Clause
// What librdmacm takes for the kernel's rdma_cm: the commands that it writes to its event channels
// (rdma/rdma_user_cm.h, ABI 4), answered in this process.
#pragma once

#include <infiniband/verbs.h>
#include <netinet/in.h>  // first: the kernel's headers then leave socket addresses to it
#include <rdma/rdma_user_cm.h>
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "libmrc/cm/manager.h"
#include "providers/mrc/cm/addresses.h"
#include "providers/mrc/cm/event_channel.h"
#include "providers/mrc/cm/event_numbers.h"
#include "providers/mrc/cm/exchanges.h"
#include "providers/mrc/cm/port_reservation.h"
#include "providers/mrc/verbs/system_random.h"

namespace mrc::provider {

// What librdmacm and the kernel use for RDMA_PS_UDP, so that all can talk to all.
inline constexpr uint32_t kDatagramKey = 0x01234567;

class Ucma {
 public:
  static Ucma& instance();

  // A file descriptor, or a negative errno.
  int open_channel();
  bool is_channel(int fd);
  void close_channel(int fd);
  // A command: its length, or a negative errno.
  ssize_t on_write(int fd, const void* command, size_t bytes);

 private:
  using Channel = std::shared_ptr<EventChannel>;

  // Where an id's port is in the registry: on the device of its address, or on all.
  struct Place {
    Exchange* exchange;
    PortRegistry::Binding binding;
  };

  // An rdma_cm_id.
  struct Id {
    uint32_t number = 0;
    uint64_t uid = 0;  // the program's name for it; 0: it does not know it yet
    Channel channel;
    uint16_t port_space = 0;
    uint8_t qp_type = 0;
    bool shared_port = false;  // REUSEADDR
    bool only_v6 = false;      // AFONLY
    uint8_t type_of_service = 0;
    uint8_t ack_timeout = 0;  // 0: not set

    SocketAddress source{};
    SocketAddress destination{};
    Exchange* exchange = nullptr;  // of the device for which its address stands; null: none yet
    bool routed = false;
    cm::GidPair gids;
    PortReservation reservation;  // of a port that was chosen for a server
    std::vector<Place> places;

    bool listening = false;
    uint32_t requests_max = 0;  // that wait to be read
    uint32_t requests = 0;

    cm::CommunicationId connection{};
    Psn first_psn;
    uint32_t events_reported = 0;

    bool on_running_device() const { return exchange != nullptr && exchange->running(); }
    bool datagrams() const { return qp_type == IBV_QPT_UD; }
    cm::ServiceId service_at(uint16_t port) const { return cm::service_of(port_space, port); }
  };

  // A multicast group that an id has joined.
  struct Membership {
    uint32_t id = 0;
    uint32_t events_reported = 0;
  };

  // What a command says besides its own structure.
  struct Command {
    Channel channel;
    const uint8_t* data;
    size_t bytes;
    size_t room;  // for the answer
  };

  Ucma();

  template <typename Structure, typename Handler>
  int call(const Command& command, Handler handler);
  int dispatch(uint32_t number, const Command& command);
  int get_event(const Command& command);

  // Each 0 or a negative errno. ucma.cc
  int create_id(const Command& command, const rdma_ucm_create_id& request);
  int destroy_id(const Command& command, const rdma_ucm_destroy_id& request);
  int migrate_id(const Command& command, const rdma_ucm_migrate_id& request);
  Id* find(const Command& command, uint32_t number);
  Id& create(const Channel& channel, uint16_t port_space, uint8_t qp_type);
  void destroy(Id& id);

  // ucma_address.cc
  int bind_ip(const Command& command, const rdma_ucm_bind_ip& request);
  int resolve_ip(const Command& command, const rdma_ucm_resolve_ip& request);
  int resolve_route(const Command& command, const rdma_ucm_resolve_route& request);
  int query_route(const Command& command, const rdma_ucm_query& request);
  int set_option(const Command& command, const rdma_ucm_set_option& request);
  int bind(Id& id, const SocketAddress& address);
  int choose_port(const Id& id, uint16_t* port, PortReservation* reservation);
  bool port_taken_here(const Id& id, uint16_t port, const cm::BoundAddress& address) const;
  int register_port(Id& id);
  void leave_places(Id& id);
  void settle_gids(Id& id);

  // ucma_connection.cc
  int listen(const Command& command, const rdma_ucm_listen& request);
  int announce(Id& id);
  int connect(const Command& command, const rdma_ucm_connect& request);
  int accept(const Command& command, const rdma_ucm_accept& request);
  int reject(const Command& command, const rdma_ucm_reject& request);
  int disconnect(const Command& command, const rdma_ucm_disconnect& request);
  int notify(const Command& command, const rdma_ucm_notify& request);

  // ucma_multicast.cc
  int join_ip_multicast(const Command& command, const rdma_ucm_join_ip_mcast& request);
  int leave_multicast(const Command& command, const rdma_ucm_destroy_id& request);
  void leave_all(const Id& id);

  // ucma_qp_attributes.cc
  int init_qp_attributes(const Command& command, const rdma_ucm_init_qp_attr& request);

  // ucma_events.cc
  void deliver(Exchange& exchange, const cm::Event& event);
  void deliver_request(Exchange& exchange, const cm::Event& event);
  void deliver_to(Id& id, const cm::Event& event);
  void post(const Id& id, rdma_ucm_event_resp event);
  void post(const Id& id, unsigned event, int status = 0);
  void fill_datagram_address(const Id& id, const IpAddress& to, ib_uverbs_ah_attr* address);

  static void at_exit();

  std::mutex mutex_;
  std::map<int, Channel> channels_;  // by file descriptor
  std::unordered_map<uint32_t, Id> ids_;
  // Communication id -> id. They begin with the slot of their exchange's device, so none is there twice.
  std::unordered_map<uint32_t, uint32_t> by_connection_;
  std::map<uint32_t, Membership> memberships_;
  uint32_t next_membership_ = 0;
  uint32_t next_id_ = 0;
  SystemRandom random_;
  Exchanges exchanges_;
  bool exit_hooked_ = false;
};

}  // namespace mrc::provider
