// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/link/host_mesh.h"

#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "dpdk_io/host/monotonic_clock.h"
#include "dpdk_io/link/link_number.h"

namespace mrc {
namespace {

constexpr Nanoseconds kServiceInterval = 100 * kMicrosecond;  // not more often than this
constexpr Nanoseconds kFastTimer = kMillisecond;              // while a link is being made
constexpr Nanoseconds kSlowTimer = 100 * kMillisecond;        // while there are links at all
constexpr Nanoseconds kCheckInterval = 100 * kMillisecond;    // does the peer live?
constexpr uint32_t kCheckedPerInterval = 64;                  // with more peers each is looked at less often
constexpr Nanoseconds kAskInterval = 50 * kMillisecond;
constexpr Nanoseconds kByeTime = 100 * kMillisecond;
constexpr int kMessagesPerService = 64;

void drain(int fd) {
  uint64_t value;
  while (read(fd, &value, sizeof value) > 0) {
  }
}

}  // namespace

std::unique_ptr<HostMesh> HostMesh::open(const Config& config, std::string* error) {
  if (in_forked_child()) {
    *error =
        "mrc: this process was forked from one that uses the device, and its links are its parent's; call "
        "exec in the child, or open the device only after the fork";
    return nullptr;
  }
  auto slot = ProcessSlot::claim(config.run_directory, config.planes, config.on_host, error);
  if (slot == nullptr) return nullptr;
  std::unique_ptr<HostMesh> mesh(new HostMesh(config, std::move(slot)));
  if (!mesh->open_parts(error)) return nullptr;
  return mesh;
}

HostMesh::HostMesh(const Config& config, std::unique_ptr<ProcessSlot> slot)
    : config_(config), slot_(std::move(slot)) {
  state_.own_slot = slot_->number();
  state_.planes = config_.planes;
  state_.icrc_always = config_.icrc_always;
  state_.table = new LinkTable;
}

bool HostMesh::open_parts(std::string* error) {
  state_.faults = map_fault_page(config_.run_directory, error, config_.page_suffix);
  if (state_.faults == nullptr || !state_.memory.create(error)) return false;
  state_.groups = GroupPage::open(config_.run_directory, slot(), error);
  if (state_.groups == nullptr) return false;
  Arena::Header& header = state_.memory.arena->header;
  header.version = Arena::kVersion;
  header.slot = slot();
  header.planes = config_.planes;
  header.incarnation = slot_->info().incarnation;
  header.magic = Arena::kMagic;
  link_ = std::make_unique<HostLink>(state_);
  control_ = ControlSocket::open(config_.run_directory, slot(), error);
  if (control_ == nullptr || !open_events(error)) return false;
  for (uint32_t plane = 0; plane < config_.planes; ++plane)
    ports_.push_back(std::make_unique<LinkPort>(state_, *link_, static_cast<Plane>(plane)));
  return true;
}

// One loop to sleep on: messages of other processes, wishes of the data path, and a timer for the rest.
bool HostMesh::open_events(std::string* error) {
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

HostMesh::~HostMesh() {
  if (!in_forked_child()) {
    if (link_ != nullptr) say_good_bye();
    while (!peers_.empty()) remove(peers_.begin());
  } else {
    // What was mapped is not mapped here.
    for (auto& [slot, peer] : peers_) [[maybe_unused]] auto* leaked = peer.release();
    state_.memory.arena = nullptr;
    state_.memory.bells = nullptr;
  }
  ports_.clear();
  link_.reset();
  loop_.reset();
  if (state_.wake_fd >= 0) close(state_.wake_fd);
  if (state_.faults != nullptr) unmap_fault_page(state_.faults);
  delete state_.table.load();
}

void HostMesh::service() {
  if (in_forked_child() || in_service_.test_and_set(std::memory_order_acquire)) return;
  const Nanoseconds now = monotonic_now();
  if (now >= next_service_ || state_.any_wanted.load(std::memory_order_relaxed)) {
    next_service_ = now + kServiceInterval;
    service_now(now);
  }
  in_service_.clear(std::memory_order_release);
}

void HostMesh::service_now(Nanoseconds now) {
  if (messages_left_) take_messages(now);
  loop_->run(now);
  take_wishes(now);
  for (auto peer = peers_.begin(); peer != peers_.end();) {
    const auto current = peer++;
    if (!step(current->first, *current->second, now)) remove(current);
  }
  set_timer(now);
}

void HostMesh::take_wishes(Nanoseconds now) {
  if (!state_.any_wanted.exchange(false, std::memory_order_acquire)) return;
  for (uint32_t word = 0; word < state_.wanted.size(); ++word) {
    uint64_t bits = state_.wanted[word].exchange(0, std::memory_order_acquire);
    for (; bits != 0; bits &= bits - 1) {
      const uint32_t slot = word * 64 + static_cast<uint32_t>(__builtin_ctzll(bits));
      if (!peers_.contains(slot)) meet(slot, new_link_number(), now);
    }
  }
}

void HostMesh::take_messages(Nanoseconds now) {
  messages_left_ = true;
  for (int i = 0; i < kMessagesPerService; ++i) {
    ControlMessage message;
    ControlSocket::Descriptors sent;
    messages_left_ = control_->receive(&message, &sent);
    if (!messages_left_) break;
    take_message(message, sent, now);
  }
}

// Its sender is a process of this user; that it has the slot, the slot's file must say.
void HostMesh::take_message(const ControlMessage& message, const ControlSocket::Descriptors& sent,
                            Nanoseconds now) {
  const uint32_t from = message.from_slot;
  auto found = peers_.find(from);
  // A new process in a slot whose last owner we still have a link with.
  if (found != peers_.end() && found->second->info.incarnation != message.incarnation) {
    remove(found);
    found = peers_.end();
  }
  // The peer has lost its half and made a new one: so do we, with our number, which it may know.
  uint64_t number = new_link_number();
  if (found != peers_.end() && found->second->their_number != 0 &&
      found->second->their_number != message.number) {
    number = found->second->number;
    remove(found);
    found = peers_.end();
  }
  Peer* peer = found != peers_.end() ? found->second.get() : meet(from, number, now);
  if (peer == nullptr || peer->info.incarnation != message.incarnation) return;
  if (peer->their_number == 0) make_half(from, *peer, message.number, sent);
  if (message.known != peer->number) ask(from, *peer);  // it does not know ours
}

// Begins a link; what the other end needs is sent in the next step().
HostMesh::Peer* HostMesh::meet(uint32_t slot, uint64_t number, Nanoseconds now) {
  auto peer = std::make_unique<Peer>();
  if (slot == this->slot() || !read_slot(config_.run_directory, slot, &peer->info)) {
    state_.hold_until[slot].store(0, std::memory_order_relaxed);  // nobody there
    if (slot != this->slot()) state_.groups->forget_if_dead(slot);
    return nullptr;
  }
  peer->number = number;
  peer->next_check = now + check_interval();
  return peers_.emplace(slot, std::move(peer)).first->second.get();
}

void HostMesh::make_half(uint32_t slot, Peer& peer, uint64_t their_number,
                         const ControlSocket::Descriptors& sent) {
  if (their_number == 0 || !peer.memory.map(sent.arena, sent.bells, slot, peer.info.incarnation)) return;
  peer.their_number = their_number;
  peer.link = new Link({this->slot(), slot, peer.number, their_number}, state_.memory, peer.memory);
  publish();
}

bool HostMesh::step(uint32_t slot, Peer& peer, Nanoseconds now) {
  if (now >= peer.next_check) {
    peer.next_check = now + check_interval();
    if (slot_gone(config_.run_directory, slot, peer.info.incarnation)) return false;
  }
  if (peer.whole) return true;
  peer.whole = peer.link != nullptr && peer.link->is_whole();
  if (!peer.whole && now >= peer.next_message) {
    peer.next_message = now + kAskInterval;
    ask(slot, peer);
  }
  return true;
}

void HostMesh::ask(uint32_t slot, const Peer& peer) {
  ControlMessage message;
  message.from_slot = this->slot();
  message.incarnation = slot_->info().incarnation;
  message.number = peer.number;
  message.known = peer.their_number;
  control_->send(slot, message, {state_.memory.arena_fd, state_.memory.bells_fd});
}

void HostMesh::remove(Peers::iterator found) {
  const uint32_t slot = found->first;
  const std::unique_ptr<Peer> peer = std::move(found->second);
  peers_.erase(found);
  state_.hold_until[slot].store(0, std::memory_order_relaxed);
  if (peer->link != nullptr) {
    publish();
    peer->memory.unmap();
    retire(peer->link);
  }
  if (slot_alive(config_.run_directory, slot)) return;
  clear_after_the_dead(config_.run_directory, slot);
  state_.groups->forget_if_dead(slot);
}

void HostMesh::publish() {
  auto table = std::make_unique<LinkTable>();
  table->number = ++tables_;
  for (auto& [slot, peer] : peers_) {
    if (peer->link == nullptr) continue;
    table->links[table->count++] = peer->link;
    table->by_slot[slot] = static_cast<uint16_t>(table->count);
  }
  const LinkTable* old = state_.table.exchange(table.release(), std::memory_order_acq_rel);
  state_.guard.wait();
  delete old;
}

// After publish(): the data path does not know the link any more, and has the frames that are under way by
// it.
void HostMesh::retire(Link* link) {
  link->next_retired = state_.retired.load(std::memory_order_relaxed);
  while (!state_.retired.compare_exchange_weak(link->next_retired, link, std::memory_order_release,
                                               std::memory_order_relaxed)) {
  }
}

Nanoseconds HostMesh::check_interval() const {
  return kCheckInterval * (1 + peers_.size() / kCheckedPerInterval);
}

void HostMesh::set_timer(Nanoseconds now) {
  Nanoseconds interval = peers_.empty() ? 0 : kSlowTimer;
  for (const auto& [slot, peer] : peers_)
    if (!peer->whole) interval = kFastTimer;
  loop_->set_timer(timer_, interval, now);
}

// What was sent last, often an acknowledgement that the other end waits for, is still in the rings; closing
// the links now would lose it.
void HostMesh::say_good_bye() {
  if (std::exchange(said_good_bye_, true)) return;
  const Nanoseconds until = monotonic_now() + kByeTime;
  while (!link_->all_taken() && monotonic_now() < until) {
    const bool anybody = std::any_of(peers_.begin(), peers_.end(), [this](const auto& peer) {
      return peer.second->link != nullptr && peer.second->link->under_way() > 0 &&
             slot_alive(config_.run_directory, peer.first);
    });
    if (!anybody) return;
    usleep(50);
  }
}

}  // namespace mrc
