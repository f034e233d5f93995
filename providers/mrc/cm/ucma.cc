// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/cm/ucma.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "providers/mrc/presence/address.h"
#include "providers/mrc/verbs/clock.h"
#include "providers/mrc/verbs/fork_guard.h"

namespace mrc::provider {
namespace {

constexpr Nanoseconds kReaderPatience = 20 * kMillisecond;

}  // namespace

Ucma& Ucma::instance() {
  static auto* instance = new Ucma;  // threads of the application may outlive static destructors
  return *instance;
}

Ucma::Ucma()
    : exchanges_(mutex_, [this](Exchange& exchange, const cm::Event& event) { deliver(exchange, event); }) {}

void Ucma::at_exit() {
  if (!forked_away()) instance().exchanges_.say_good_bye();
}

// --- channels ---

int Ucma::open_channel() {
  static const bool guarded = (guard_from_forks(), true);  // it has a thread from now on
  static_cast<void>(guarded);
  auto channel = std::make_shared<EventChannel>();
  if (const int error = channel->open(); error != 0) return -error;
  std::lock_guard lock(mutex_);
  exchanges_.open();
  channels_[channel->fd()] = channel;
  return channel->fd();
}

bool Ucma::is_channel(int fd) {
  std::lock_guard lock(mutex_);
  return channels_.contains(fd);
}

void Ucma::close_channel(int fd) {
  {
    std::unique_lock lock(mutex_);
    const auto found = channels_.find(fd);
    if (found == channels_.end()) return;
    const Channel channel = found->second;
    for (const Nanoseconds until = clock_now() + kReaderPatience;
         channel->reader_is_away() && clock_now() < until;) {
      lock.unlock();
      usleep(100);
      lock.lock();
    }
    channels_.erase(fd);
    for (auto next = ids_.begin(); next != ids_.end();) {
      Id& id = next->second;
      ++next;
      if (id.channel == channel) destroy(id);
    }
    if (channels_.empty()) exchanges_.stop_when_idle();
    exchanges_.flush(clock_now());
  }
  exchanges_.drive();
}

// --- commands ---

ssize_t Ucma::on_write(int fd, const void* data, size_t bytes) {
  rdma_ucm_cmd_hdr header;
  if (bytes < sizeof header) return -EINVAL;
  std::memcpy(&header, data, sizeof header);
  if (bytes < sizeof header + header.in) return -EINVAL;
  Command command{nullptr, static_cast<const uint8_t*>(data) + sizeof header, header.in, header.out};
  {
    std::lock_guard lock(mutex_);
    const auto found = channels_.find(fd);
    if (found == channels_.end()) return -EBADF;
    command.channel = found->second;
  }
  int result;
  try {
    result = header.cmd == RDMA_USER_CM_CMD_GET_EVENT ? get_event(command) : dispatch(header.cmd, command);
  } catch (const std::bad_alloc&) {
    return -ENOMEM;
  }
  return result == 0 ? static_cast<ssize_t>(bytes) : result;
}

template <typename Structure, typename Handler>
int Ucma::call(const Command& command, Handler handler) {
  // A longer structure is a newer program's; what we know of it stands in front.
  Structure request{};
  if (command.bytes < std::min(sizeof request, offsetof(rdma_ucm_connect, ece))) {
    if (command.bytes < sizeof request) return -EINVAL;
  }
  std::memcpy(&request, command.data, std::min(command.bytes, sizeof request));
  return (this->*handler)(command, request);
}

int Ucma::dispatch(uint32_t number, const Command& command) {
  int result = 0;
  {
    std::lock_guard lock(mutex_);
    switch (number) {
      case RDMA_USER_CM_CMD_CREATE_ID:
        return call<rdma_ucm_create_id>(command, &Ucma::create_id);
      case RDMA_USER_CM_CMD_QUERY_ROUTE:
        return call<rdma_ucm_query>(command, &Ucma::query_route);
      case RDMA_USER_CM_CMD_INIT_QP_ATTR:
        return call<rdma_ucm_init_qp_attr>(command, &Ucma::init_qp_attributes);
      case RDMA_USER_CM_CMD_SET_OPTION:
        return call<rdma_ucm_set_option>(command, &Ucma::set_option);
      case RDMA_USER_CM_CMD_MIGRATE_ID:
        return call<rdma_ucm_migrate_id>(command, &Ucma::migrate_id);
      case RDMA_USER_CM_CMD_DESTROY_ID:
        result = call<rdma_ucm_destroy_id>(command, &Ucma::destroy_id);
        break;
      case RDMA_USER_CM_CMD_BIND_IP:
        result = call<rdma_ucm_bind_ip>(command, &Ucma::bind_ip);
        break;
      case RDMA_USER_CM_CMD_RESOLVE_IP:
        result = call<rdma_ucm_resolve_ip>(command, &Ucma::resolve_ip);
        break;
      case RDMA_USER_CM_CMD_RESOLVE_ROUTE:
        result = call<rdma_ucm_resolve_route>(command, &Ucma::resolve_route);
        break;
      case RDMA_USER_CM_CMD_LISTEN:
        result = call<rdma_ucm_listen>(command, &Ucma::listen);
        break;
      case RDMA_USER_CM_CMD_CONNECT:
        result = call<rdma_ucm_connect>(command, &Ucma::connect);
        break;
      case RDMA_USER_CM_CMD_ACCEPT:
        result = call<rdma_ucm_accept>(command, &Ucma::accept);
        break;
      case RDMA_USER_CM_CMD_REJECT:
        result = call<rdma_ucm_reject>(command, &Ucma::reject);
        break;
      case RDMA_USER_CM_CMD_DISCONNECT:
        result = call<rdma_ucm_disconnect>(command, &Ucma::disconnect);
        break;
      case RDMA_USER_CM_CMD_NOTIFY:
        result = call<rdma_ucm_notify>(command, &Ucma::notify);
        break;
      case RDMA_USER_CM_CMD_BIND:
        return -EINVAL;  // no AF_IB: librdmacm then keeps to the commands above
      case RDMA_USER_CM_CMD_JOIN_IP_MCAST:
        return call<rdma_ucm_join_ip_mcast>(command, &Ucma::join_ip_multicast);
      case RDMA_USER_CM_CMD_LEAVE_MCAST:
        return call<rdma_ucm_destroy_id>(command, &Ucma::leave_multicast);
      case RDMA_USER_CM_CMD_JOIN_MCAST:
        return -EOPNOTSUPP;  // librdmacm has it for AF_IB
      default:
        return -ENOSYS;
    }
    exchanges_.flush(clock_now());
    if (!exit_hooked_ && exchanges_.any_running() != nullptr) {
      // After the device's own, so that it still runs when ours does.
      exit_hooked_ = true;
      atexit(&Ucma::at_exit);
    }
  }
  exchanges_.drive();
  return result;
}

int Ucma::get_event(const Command& command) {
  rdma_ucm_get_event request;
  if (command.bytes < sizeof request) return -EINVAL;
  std::memcpy(&request, command.data, sizeof request);
  for (;;) {
    {
      std::lock_guard lock(mutex_);
      if (!command.channel->empty()) {
        EventChannel::Entry entry = command.channel->pop();
        if (const auto owner = ids_.find(entry.owner); owner != ids_.end()) {
          Id& id = owner->second;
          ++id.events_reported;
          if (entry.event.event == kConnectRequest && id.requests > 0) --id.requests;
        }
        if (const auto joined = memberships_.find(entry.event.id);
            entry.event.event == kMulticastJoin && joined != memberships_.end())
          ++joined->second.events_reported;
        std::memcpy(pointer_at(request.response), &entry.event, std::min(command.room, sizeof entry.event));
        return 0;
      }
      if ((fcntl(command.channel->own_fd(), F_GETFL) & O_NONBLOCK) != 0) return -EAGAIN;
      command.channel->begin_waiting();
    }
    pollfd file{command.channel->own_fd(), POLLIN, 0};
    const int result = poll(&file, 1, -1) < 0 ? -errno : 0;
    {
      std::lock_guard lock(mutex_);
      command.channel->end_waiting();
    }
    if (result != 0) return result;
  }
}

// --- ids ---

Ucma::Id* Ucma::find(const Command& command, uint32_t number) {
  const auto found = ids_.find(number);
  return found != ids_.end() && found->second.channel == command.channel ? &found->second : nullptr;
}

Ucma::Id& Ucma::create(const Channel& channel, uint16_t port_space, uint8_t qp_type) {
  while (ids_.contains(next_id_)) ++next_id_;
  Id& id = ids_[next_id_];
  id.number = next_id_++;
  id.channel = channel;
  id.port_space = port_space;
  id.qp_type = qp_type;
  id.first_psn = Psn{static_cast<uint32_t>(random_.next())};
  return id;
}

int Ucma::create_id(const Command& command, const rdma_ucm_create_id& request) {
  uint8_t qp_type = request.qp_type;
  switch (request.ps) {
    case RDMA_PS_TCP:
      qp_type = IBV_QPT_RC;
      break;
    case RDMA_PS_UDP:
    case RDMA_PS_IPOIB:
      qp_type = IBV_QPT_UD;
      break;
    case RDMA_PS_IB:
      break;
    default:
      return -EINVAL;
  }
  Id& id = create(command.channel, request.ps, qp_type);
  id.uid = request.uid;
  const rdma_ucm_create_id_resp response{id.number};
  std::memcpy(pointer_at(request.response), &response, std::min(command.room, sizeof response));
  return 0;
}

void Ucma::destroy(Id& id) {
  const uint32_t number = id.number;
  // Requests that the program has not read go with their listener; so do all other events.
  const auto unread =
      id.channel->take([number](const EventChannel::Entry& entry) { return entry.owner == number; });
  for (const EventChannel::Entry& entry : unread) {
    if (entry.event.event != kConnectRequest) continue;
    if (const auto request = ids_.find(entry.event.id); request != ids_.end()) destroy(request->second);
  }
  leave_places(id);
  if (id.on_running_device() && id.connection != cm::CommunicationId{}) {
    by_connection_.erase(static_cast<uint32_t>(id.connection));
    id.exchange->manager().release(id.connection, clock_now());
  }
  leave_all(id);
  ids_.erase(number);
}

int Ucma::destroy_id(const Command& command, const rdma_ucm_destroy_id& request) {
  Id* id = find(command, request.id);
  if (id == nullptr) return -ENOENT;
  const rdma_ucm_destroy_id_resp response{id->events_reported};
  destroy(*id);
  std::memcpy(pointer_at(request.response), &response, std::min(command.room, sizeof response));
  return 0;
}

// The command comes by the new channel and names the old one.
int Ucma::migrate_id(const Command& command, const rdma_ucm_migrate_id& request) {
  const auto old = channels_.find(static_cast<int>(request.fd));
  if (old == channels_.end()) return -EINVAL;
  const auto found = ids_.find(request.id);
  if (found == ids_.end() || found->second.channel != old->second) return -ENOENT;
  Id& id = found->second;
  const auto events =
      id.channel->take([&id](const EventChannel::Entry& entry) { return entry.owner == id.number; });
  id.channel = command.channel;
  for (const EventChannel::Entry& entry : events) {
    id.channel->push(entry);
    if (entry.event.event != kConnectRequest) continue;
    if (const auto child = ids_.find(entry.event.id); child != ids_.end()) child->second.channel = id.channel;
  }
  const rdma_ucm_migrate_resp response{id.events_reported};
  std::memcpy(pointer_at(request.response), &response, std::min(command.room, sizeof response));
  return 0;
}

}  // namespace mrc::provider
