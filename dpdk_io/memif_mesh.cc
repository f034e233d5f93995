// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/memif_mesh.h"

#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "dpdk_io/eal.h"

namespace mrc {
namespace {

constexpr Nanoseconds kServiceInterval = 100 * kMicrosecond;  // not more often than this
constexpr Nanoseconds kFastTimer = kMillisecond;              // while a link is being made or emptied
constexpr Nanoseconds kSlowTimer = 100 * kMillisecond;        // while there are links at all
constexpr Nanoseconds kCheckInterval = 100 * kMillisecond;    // does the peer live?
constexpr Nanoseconds kAskInterval = 50 * kMillisecond;
constexpr Nanoseconds kConnectTimeout = 250 * kMillisecond;  // a client tries again after this
constexpr Nanoseconds kFlushTime = 20 * kMillisecond;
constexpr Nanoseconds kByeTime = 100 * kMillisecond;
constexpr int kMessagesPerService = 64;

void drain(int fd) {
  uint64_t value;
  while (read(fd, &value, sizeof value) > 0) {
  }
}

}  // namespace

std::unique_ptr<MemifMesh> MemifMesh::open(const std::string& run_directory, uint32_t planes, uint32_t mbufs,
                                           bool host_wide, std::string* error) {
  auto slot = ProcessSlot::claim(run_directory, planes, host_wide, error);
  if (slot == nullptr) return nullptr;
  std::unique_ptr<MemifMesh> mesh(new MemifMesh(run_directory, std::move(slot)));
  if (!mesh->open_parts(planes, mbufs, error)) return nullptr;
  return mesh;
}

MemifMesh::MemifMesh(const std::string& run_directory, std::unique_ptr<ProcessSlot> slot)
    : run_directory_(run_directory), slot_(std::move(slot)) {
  state_.own_slot = slot_->number();
  state_.table = new LinkTable;
}

bool MemifMesh::open_parts(uint32_t planes, uint32_t mbufs, std::string* error) {
  control_ = ControlSocket::open(run_directory_, slot(), error);
  if (control_ == nullptr) return false;
  pool_ = PacketPool::create(mbufs, error);
  if (pool_ == nullptr) return false;
  state_.pool = pool_->mempool();
  state_.faults = map_fault_page(run_directory_, error);
  if (state_.faults == nullptr || !open_events(error)) return false;
  for (uint32_t plane = 0; plane < planes; ++plane)
    ports_.push_back(std::make_unique<MemifPort>(state_, static_cast<Plane>(plane)));
  return true;
}

// One loop to sleep on: messages of other processes, wishes of the data path, and a timer for the rest.
bool MemifMesh::open_events(std::string* error) {
  loop_ = ControlLoop::open(error);
  if (loop_ == nullptr) return false;
  state_.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  // The wishes themselves are looked at in every service().
  if (state_.wake_fd >= 0 && loop_->watch(state_.wake_fd, [this](Nanoseconds) { drain(state_.wake_fd); }) &&
      loop_->watch(control_->fd(), [this](Nanoseconds now) { take_messages(now); })) {
    timer_ = loop_->add_timer([](Nanoseconds) {});
    return true;
  }
  *error = std::string("mrc: no descriptor for the device's events: ") + std::strerror(errno) +
           "; raise the limit of open files (ulimit -n)";
  return false;
}

MemifMesh::~MemifMesh() {
  if (!in_forked_child()) {
    say_good_bye();
    while (!peers_.empty()) remove(peers_.begin(), 0);
    ports_.clear();
  } else {
    // The devices are the parent's.
    for (auto& [slot, peer] : peers_) [[maybe_unused]] auto* leaked = peer.link.release();
    [[maybe_unused]] auto* leaked = pool_.release();
  }
  loop_.reset();
  if (state_.wake_fd >= 0) close(state_.wake_fd);
  unmap_fault_page(state_.faults);
  delete state_.table.load();
}

void MemifMesh::service() {
  if (in_forked_child() || in_service_.test_and_set(std::memory_order_acquire)) return;
  const Nanoseconds now = monotonic_now();
  if (now >= next_service_ || state_.any_wanted.load(std::memory_order_relaxed)) {
    next_service_ = now + kServiceInterval;
    service_now(now);
  }
  in_service_.clear(std::memory_order_release);
}

void MemifMesh::service_now(Nanoseconds now) {
  if (messages_left_) take_messages(now);
  loop_->run(now);
  take_wishes(now);
  for (auto peer = peers_.begin(); peer != peers_.end();) {
    const auto current = peer++;
    if (!step(current->first, current->second, now)) remove(current, now);
  }
  set_timer(now);
}

void MemifMesh::take_wishes(Nanoseconds now) {
  if (!state_.any_wanted.exchange(false, std::memory_order_acquire)) return;
  for (uint32_t word = 0; word < state_.wanted.size(); ++word) {
    uint64_t bits = state_.wanted[word].exchange(0, std::memory_order_acquire);
    for (; bits != 0; bits &= bits - 1)
      make_link(word * 64 + static_cast<uint32_t>(__builtin_ctzll(bits)), now);
  }
}

void MemifMesh::take_messages(Nanoseconds now) {
  ControlMessage message;
  messages_left_ = true;
  for (int i = 0; i < kMessagesPerService; ++i) {
    messages_left_ = control_->receive(&message);
    if (!messages_left_) break;
    auto peer = peers_.find(message.from_slot);
    // A new process in a slot whose last owner we still have a link with.
    if (peer != peers_.end() && peer->second.info.incarnation != message.incarnation) {
      remove(peer, now);
      peer = peers_.end();
    }
    if (message.kind == ControlKind::kLink && peer == peers_.end()) make_link(message.from_slot, now);
    if (message.kind == ControlKind::kBye && peer != peers_.end() && !peer->second.leaving) {
      peer->second.leaving = true;
      for (Plane queue = 0; queue < peer->second.link->queues(); ++queue)
        peer->second.polls_at_bye[queue] = peer->second.link->empty_polls(queue);
    }
  }
}

void MemifMesh::make_link(uint32_t slot, Nanoseconds now) {
  if (peers_.contains(slot)) return;
  Peer peer;
  if (!read_slot(run_directory_, slot, &peer.info)) {
    state_.hold_until[slot].store(0, std::memory_order_relaxed);  // nobody there
    return;
  }
  const auto queues = static_cast<Plane>(std::min<size_t>(plane_count(), peer.info.planes));
  peer.link =
      std::make_unique<MemifLink>(MemifLink::Config{run_directory_, this->slot(), slot, queues, state_.pool});
  std::string error;
  if (!peer.link->create(&error)) return refuse_link(slot, error);
  peer.next_check = now + kCheckInterval;
  peers_.emplace(slot, std::move(peer));
}

void MemifMesh::refuse_link(uint32_t slot, const std::string& why) {
  ++links_refused_;
  state_.hold_until[slot].store(0, std::memory_order_relaxed);
  if (refusal_printed_) return;
  refusal_printed_ = true;
  std::fprintf(
      stderr,
      "mrc: no link from process slot %u to slot %u: %s; let one process talk to fewer others at a time "
      "(said once, counted from now on)\n",
      this->slot(), slot, why.c_str());
}

bool MemifMesh::step(uint32_t slot, Peer& peer, Nanoseconds now) {
  if (now >= peer.next_check) {
    peer.next_check = now + kCheckInterval;
    SlotInfo info;
    if (!read_slot(run_directory_, slot, &info) || info.incarnation != peer.info.incarnation) return false;
  }
  if (peer.stage == Stage::kConnected) {
    if (!peer.link->connected()) return false;
    if (peer.leaving && !peer.taken_sent) answer_bye(slot, peer);
    return true;
  }
  return connect(slot, peer, now);
}

bool MemifMesh::connect(uint32_t slot, Peer& peer, Nanoseconds now) {
  if (now >= peer.next_message) {
    peer.next_message = now + kAskInterval;
    send(slot, ControlKind::kLink);
  }
  if (peer.stage == Stage::kStarting) {
    // Asking first spares the driver a failed start.
    if (!peer.link->is_server() && access(peer.link->socket_path().c_str(), F_OK) != 0) return true;
    if (!peer.link->start()) return !peer.link->is_server();
    peer.stage = Stage::kConnecting;
    peer.started = now;
  }
  if (peer.link->connected()) {
    if (peer.link->is_server()) peer.link->stop_listening();
    peer.stage = Stage::kConnected;
    // The driver says "connected" without ordering it after what it has set up.
    BurstGuard::publish_stores_of_all_threads();
    publish();
  } else if (!peer.link->is_server() && now - peer.started > kConnectTimeout) {
    peer.link->stop();
    peer.stage = Stage::kStarting;
  }
  return true;
}

// The data path has found every ring empty since the peer stopped sending.
void MemifMesh::answer_bye(uint32_t slot, Peer& peer) {
  for (Plane queue = 0; queue < peer.link->queues(); ++queue)
    if (peer.link->empty_polls(queue) == peer.polls_at_bye[queue]) return;
  peer.taken_sent = true;
  send(slot, ControlKind::kTaken);
}

void MemifMesh::remove(Peers::iterator peer, Nanoseconds now) {
  const uint32_t slot = peer->first;
  std::unique_ptr<MemifLink> link = std::move(peer->second.link);
  const bool again = now != 0 && peer->second.stage == Stage::kConnected && !peer->second.leaving;
  const uint64_t incarnation = peer->second.info.incarnation;
  peers_.erase(peer);
  publish();
  return_pending(*link);
  state_.hold_until[slot].store(0, std::memory_order_relaxed);
  link.reset();
  // A link that broke although both ends live is made again.
  SlotInfo info;
  if (again && read_slot(run_directory_, slot, &info) && info.incarnation == incarnation)
    make_link(slot, now);
}

void MemifMesh::publish() {
  auto table = std::make_unique<LinkTable>();
  for (auto& [slot, peer] : peers_) {
    if (peer.stage != Stage::kConnected) continue;
    table->links[table->count++] = peer.link.get();
    table->by_slot[slot] = static_cast<uint8_t>(table->count);
  }
  const LinkTable* old = state_.table.exchange(table.release(), std::memory_order_acq_rel);
  state_.guard.wait();
  delete old;
}

// After publish(): the data path does not know the link any more.
void MemifMesh::return_pending(MemifLink& link) {
  for (Plane plane = 0; plane < kPlanesMax; ++plane) {
    PendingFrames& pending = link.pending(plane);
    for (uint32_t i = 0; i < pending.count; ++i) {
      rte_mbuf* frame = pending.frames[i];
      frame->next = state_.returned.load(std::memory_order_relaxed);
      while (!state_.returned.compare_exchange_weak(frame->next, frame, std::memory_order_release,
                                                    std::memory_order_relaxed)) {
      }
    }
    pending.count = 0;
  }
}

void MemifMesh::send(uint32_t slot, ControlKind kind) {
  ControlMessage message;
  message.kind = kind;
  message.from_slot = static_cast<uint16_t>(this->slot());
  message.incarnation = slot_->info().incarnation;
  control_->send(slot, message);
}

void MemifMesh::set_timer(Nanoseconds now) {
  Nanoseconds interval = peers_.empty() ? 0 : kSlowTimer;
  for (const auto& [slot, peer] : peers_)
    if (peer.stage != Stage::kConnected || (peer.leaving && !peer.taken_sent)) interval = kFastTimer;
  loop_->set_timer(timer_, interval, now);
}

// What was sent last, often an acknowledgement that the other end waits for, is still in the rings; closing
// the links now would lose it.
void MemifMesh::say_good_bye() {
  if (std::exchange(said_good_bye_, true)) return;
  const Nanoseconds flush_until = monotonic_now() + kFlushTime;
  for (bool empty = false; !empty && monotonic_now() < flush_until;) {
    empty = true;
    for (auto& port : ports_) empty = port->flush() && empty;
    if (!empty) sched_yield();
  }
  std::map<uint32_t, uint64_t> waiting;
  for (const auto& [slot, peer] : peers_) {
    if (peer.stage != Stage::kConnected || peer.leaving || !peer.link->connected()) continue;
    waiting[slot] = peer.info.incarnation;
    send(slot, ControlKind::kBye);
  }
  const Nanoseconds until = monotonic_now() + kByeTime;
  for (Nanoseconds now = 0; !waiting.empty() && (now = monotonic_now()) < until;) {
    pollfd waited{control_->fd(), POLLIN, 0};
    poll(&waited, 1, static_cast<int>((until - now) / kMillisecond) + 1);
    ControlMessage message;
    while (control_->receive(&message)) {
      if (message.kind == ControlKind::kBye) send(message.from_slot, ControlKind::kTaken);
      const auto found = waiting.find(message.from_slot);
      if (found != waiting.end() && message.kind != ControlKind::kLink) waiting.erase(found);
    }
  }
}

}  // namespace mrc
