// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/share/share_server.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "dpdk_io/link/link_number.h"

namespace mrc {
namespace {

constexpr int kEventsPerService = 64;
constexpr int kMessagesPerClient = 4;
constexpr int kAcceptedPerService = 16;
// Connections of a user beyond the programs that he may have: those that are told so.
constexpr size_t kConnectionsMore = 16;
constexpr int kHighDescriptors = 4 * (kSlotMax + 1);

}  // namespace

std::unique_ptr<ShareServer> ShareServer::open(const Config& config, std::string* error) {
  std::unique_ptr<ShareServer> server(new ShareServer(config));
  if (!server->open_parts(error)) return nullptr;
  return server;
}

bool ShareServer::open_parts(std::string* error) {
  incarnation_ = new_link_number();
  ledger_ = SlotLedger::open(config_.path, monotonic_now(), error);
  if (ledger_ == nullptr) return false;
  events_fd_ = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = config_.socket;
  if (events_fd_ >= 0 && epoll_ctl(events_fd_, EPOLL_CTL_ADD, config_.socket, &event) == 0) return true;
  *error = std::string("epoll: ") + std::strerror(errno) + "; raise the limit of open files (ulimit -n)";
  return false;
}

ShareServer::~ShareServer() {
  if (ledger_ != nullptr && joined_.empty()) ledger_->forget();
  for (auto& [fd, client] : clients_) {
    close(fd);
    slow_close_.close_later(client->host_fd);
  }
  if (events_fd_ >= 0) close(events_fd_);
}

void ShareServer::service(Nanoseconds now) {
  epoll_event events[kEventsPerService];
  const int count = epoll_wait(events_fd_, events, kEventsPerService, 0);
  bool somebody_knocks = false;
  // Those who have left first: who comes back has closed what it had before.
  for (int i = 0; i < count; ++i) {
    const auto client = clients_.find(events[i].data.fd);
    if (client == clients_.end())
      somebody_knocks = true;
    else if (!serve(*client->second, now))
      remove(client, now);
  }
  if (somebody_knocks) accept_all();
  tell_ports();
}

void ShareServer::accept_all() {
  for (int i = 0; i < kAcceptedPerService; ++i) {
    const int fd = accept4(config_.socket, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    ucred who{};
    socklen_t bytes = sizeof who;
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &bytes) != 0 ||
        connections_of(who.uid) >= config_.per_user + kConnectionsMore ||
        epoll_ctl(events_fd_, EPOLL_CTL_ADD, fd, &event) != 0) {
      close(fd);
      continue;
    }
    auto client = std::make_unique<Client>();
    client->fd = fd;
    client->user = who.uid;
    clients_.emplace(fd, std::move(client));
  }
}

bool ShareServer::serve(Client& client, Nanoseconds now) {
  for (int i = 0; i < kMessagesPerClient; ++i) {
    ShareMessage message;
    DescriptorPair memory;
    const ShareReceived received = receive_share_message(client.fd, &message, &memory);
    if (received == ShareReceived::kNothing) return true;
    if (received == ShareReceived::kEnd || !answer(client, message, memory, now)) return false;
  }
  return true;
}

bool ShareServer::answer(Client& client, const ShareMessage& message, const DescriptorPair& memory,
                         Nanoseconds now) {
  if (message.type == ShareMessage::Type::kJoin) return join(client, message, memory);
  if (message.type != ShareMessage::Type::kClaim || client.slot != 0) return false;
  ShareMessage reply;
  reply.type = ShareMessage::Type::kClaimed;
  reply.slot = message.slot;
  reply.error = claim(client, message.slot, message.token, now);
  if (reply.error == 0) reply.token = ledger_->take(message.slot, client.user, message.token);
  return send_share_message(client.fd, reply);
}

// 0, or what to answer.
int ShareServer::claim(Client& client, uint32_t slot, uint64_t token, Nanoseconds now) {
  if (!config_.admits(client.user)) return EPERM;
  if (programs_of(client.user) >= config_.per_user) return EDQUOT;
  if (slot < 1 || slot > kSlotMax) return EINVAL;
  if (by_slot_[slot] != nullptr || !ledger_->admits(slot, client.user, token, now)) return EBUSY;
  // Who starts and ends programs all the time gets his own slots again, so that others find some.
  if (!ledger_->is_of(slot, client.user, now) && ledger_->count_of(client.user, now) >= config_.per_user)
    return EBUSY;
  const int error = claim_on_host(client, slot, ledger_->has(slot, token));
  if (error != 0) return error;
  client.slot = slot;
  by_slot_[slot] = &client;
  return 0;
}

// The claim of one that comes back may still be held by the mrcd before, which the kernel takes a while to
// end.
int ShareServer::claim_on_host(Client& client, uint32_t slot, bool comes_back) {
  std::string ignored;
  HostClaim result = HostClaim::kNoRight;
  if (comes_back)
    client.host_fd = config_.hold_on_host ? config_.hold_on_host(slot) : -1;
  else if (config_.on_host)
    result = config_.on_host(slot, &client.host_fd, &ignored);
  if (result == HostClaim::kBusy) return EBUSY;
  if (result == HostClaim::kError) return EIO;
  // Of a process that is killed the low numbers are closed first. Programs shall hear of it before that waits
  // for the kernel, once for each of these.
  const int high = client.host_fd < 0 ? -1 : fcntl(client.host_fd, F_DUPFD_CLOEXEC, kHighDescriptors);
  if (high >= 0) close(std::exchange(client.host_fd, high));
  return 0;
}

bool ShareServer::join(Client& client, const ShareMessage& message, const DescriptorPair& memory) {
  if (client.joined || memory.arena < 0) return false;
  ShareMessage reply;
  reply.type = ShareMessage::Type::kJoined;
  reply.number = new_link_number();
  reply.incarnation = incarnation_;
  reply.ports = ports_;
  std::string error;
  if (client.slot == 0)
    reply.error = EPERM;
  else if (!client.end.open({kSharerSlot, kPlanesMax, incarnation_}, &error))
    reply.error = ENOMEM;
  else if (!client.end.join(reply.number, {client.slot, message.incarnation, message.number}, memory))
    reply.error = EINVAL;
  const SentPair ours = client.end.memory();
  if (!send_share_message(client.fd, reply, reply.error == 0 ? &ours : nullptr) || reply.error != 0)
    return false;
  client.joined = true;
  client.told = ports_;
  joined_.push_back(&client);
  config_.joined(client);
  return true;
}

void ShareServer::remove(Clients::iterator found, Nanoseconds now) {
  const std::unique_ptr<Client> client = std::move(found->second);
  clients_.erase(found);
  if (client->joined) {
    std::erase(joined_, client.get());
    config_.leaving(*client);
  }
  if (client->slot != 0) {
    by_slot_[client->slot] = nullptr;
    ledger_->give_back(client->slot, now);
  }
  slow_close_.close_later(client->host_fd);
  close(client->fd);
}

// Who does not read is told later.
void ShareServer::tell_ports() {
  ShareMessage news;
  news.type = ShareMessage::Type::kPorts;
  news.ports = ports_;
  for (Client* client : joined_)
    if (client->told != ports_ && send_share_message(client->fd, news)) client->told = ports_;
}

size_t ShareServer::programs_of(uid_t user) const {
  return static_cast<size_t>(std::count_if(clients_.begin(), clients_.end(), [user](const auto& client) {
    return client.second->user == user && client.second->slot != 0;
  }));
}

size_t ShareServer::connections_of(uid_t user) const {
  return static_cast<size_t>(std::count_if(
      clients_.begin(), clients_.end(), [user](const auto& client) { return client.second->user == user; }));
}

}  // namespace mrc
