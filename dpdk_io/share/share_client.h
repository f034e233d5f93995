// SPDX-License-Identifier: BSD-2-Clause
// A program's side of the ports that mrcd shares. When mrcd ends they are down, and this asks again and again
// for the same slot, so that its connections go on with the next mrcd.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "dpdk_io/host/control_loop.h"
#include "dpdk_io/host/host_claim.h"
#include "dpdk_io/link/link_end.h"
#include "dpdk_io/share/share_message.h"
#include "libmrc/wire/time.h"

namespace mrc {

// Threads: one at a time, but for the data path of link().
class ShareClient {
 public:
  // Waits for mrcd, for a moment. Null: `error` says why.
  static std::unique_ptr<ShareClient> connect(const std::string& path, std::string* error);
  ~ShareClient();
  ShareClient(const ShareClient&) = delete;
  ShareClient& operator=(const ShareClient&) = delete;

  // Asks for a slot; waits for the answer.
  HostClaim claim(uint32_t slot, std::string* error);
  // With the slot that was claimed: makes the link and stays with it in the loop, which is not run any more
  // when this ends. False: `error` says why, for example that mrcd has no port of one of the `wanted` planes.
  bool start(ControlLoop& loop, uint32_t wanted, std::string* error);
  // Called in the loop.
  void on_change(std::function<void()> handler) { changed_ = std::move(handler); }

  LinkEnd& link() { return link_; }
  // None is up while mrcd is away.
  const SharedPorts& ports() const { return ports_; }

 private:
  enum class State { kAway, kAsked, kJoined };

  explicit ShareClient(const std::string& path) : path_(path) {}
  bool wait_for_sharer(std::string* error);
  bool open_socket(std::string* error);
  bool await(ShareMessage::Type type, ShareMessage* message, DescriptorPair* memory, std::string* error);
  bool ask(const ShareMessage& question, const SentPair* with, ShareMessage* answer, DescriptorPair* memory,
           std::string* error);
  bool start_over(std::string* error);
  ShareMessage join_question();
  bool make_half(const ShareMessage& message, const DescriptorPair& memory);

  // In the loop.
  void step(Nanoseconds now);
  void take_messages(Nanoseconds now);
  bool take(const ShareMessage& message, const DescriptorPair& memory);
  void come_back(Nanoseconds now);
  void go_away(Nanoseconds now);
  void set_timer(Nanoseconds now);

  const std::string path_;
  ControlLoop* loop_ = nullptr;
  ControlLoop::Timer timer_{};
  std::function<void()> changed_;
  int fd_ = -1;
  int events_fd_ = -1;  // what the loop watches, while sockets come and go
  State state_ = State::kAway;
  Nanoseconds next_try_ = 0;
  Nanoseconds back_off_ = 0;
  Nanoseconds give_up_ = 0;  // on an answer
  uint32_t slot_ = 0;
  uint64_t token_ = 0;
  uint64_t incarnation_ = 0;
  uint64_t number_ = 0;
  LinkEnd link_;
  SharedPorts ports_;
};

}  // namespace mrc
