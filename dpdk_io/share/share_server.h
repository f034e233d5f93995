// SPDX-License-Identifier: BSD-2-Clause
// mrcd's side of the links to programs that use its ports: who may have which slot, and memory for each.
// Every program has an arena of its own here, so none sees what is for another.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dpdk_io/host/host_claim.h"
#include "dpdk_io/host/slow_close.h"
#include "dpdk_io/link/link_end.h"
#include "dpdk_io/share/share_message.h"
#include "dpdk_io/share/slot_ledger.h"
#include "libmrc/wire/time.h"

namespace mrc {

// Threads: one.
class ShareServer {
 public:
  struct Client {
    int fd = -1;
    uid_t user = 0;
    uint32_t slot = 0;  // 0: not yet
    int host_fd = -1;   // see host_claim.h
    bool joined = false;
    SharedPorts told;
    LinkEnd end;
  };
  struct Config {
    int socket;        // SOCK_SEQPACKET, listens and does not block; the caller's
    std::string path;  // of the ledger
    size_t per_user;   // programs of one user
    std::function<bool(uid_t)> admits;
    ClaimOnHost on_host;
    std::function<int(uint32_t slot)> hold_on_host;  // of one that comes back
    std::function<void(Client&)> joined;             // frames may be sent to it
    std::function<void(Client&)> leaving;            // the last chance to take what it has sent
  };
  // Null: `error` says why.
  static std::unique_ptr<ShareServer> open(const Config& config, std::string* error);
  // Programs may come back to the next one, unless there are none.
  ~ShareServer();
  ShareServer(const ShareServer&) = delete;
  ShareServer& operator=(const ShareServer&) = delete;

  // Answers, and notices who is gone. Never waits.
  void service(Nanoseconds now);
  int event_fd() const { return events_fd_; }  // readable when service() has something to do
  void set_ports(const SharedPorts& ports) { ports_ = ports; }
  const SharedPorts& ports() const { return ports_; }

  Client* find(uint32_t slot) { return slot <= kSlotMax ? by_slot_[slot] : nullptr; }
  std::span<Client* const> joined() const { return joined_; }

 private:
  using Clients = std::map<int, std::unique_ptr<Client>>;

  explicit ShareServer(const Config& config) : config_(config), incarnation_(0) {}
  bool open_parts(std::string* error);
  void accept_all();
  bool serve(Client& client, Nanoseconds now);  // false: it is gone, or has to go
  bool answer(Client& client, const ShareMessage& message, const DescriptorPair& memory, Nanoseconds now);
  int claim(Client& client, uint32_t slot, uint64_t token, Nanoseconds now);
  int claim_on_host(Client& client, uint32_t slot, bool comes_back);
  bool join(Client& client, const ShareMessage& message, const DescriptorPair& memory);
  void remove(Clients::iterator client, Nanoseconds now);
  void tell_ports();
  size_t programs_of(uid_t user) const;
  size_t connections_of(uid_t user) const;

  const Config config_;
  uint64_t incarnation_;
  int events_fd_ = -1;
  std::unique_ptr<SlotLedger> ledger_;
  SharedPorts ports_;
  Clients clients_;  // by descriptor
  std::array<Client*, kSlotMax + 1> by_slot_{};
  std::vector<Client*> joined_;
  SlowClose slow_close_;
};

}  // namespace mrc
