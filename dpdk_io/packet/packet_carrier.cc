// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/packet/packet_carrier.h"

#include <cstring>
#include <utility>

#include "dpdk_io/host/fork_guard.h"

namespace mrc {

std::unique_ptr<PacketCarrier> PacketCarrier::open(const PortConfig& port, const PacketSocket::Ear& ear,
                                                   std::string* error) {
  std::unique_ptr<PacketCarrier> carrier(new PacketCarrier(port, ear));
  if (!carrier->reopen(error)) return nullptr;
  return carrier;
}

PacketCarrier::~PacketCarrier() {
  if (in_forked_child()) return;
  if (owned_ != nullptr) owned_->send_rest();
}

MacAddress PacketCarrier::address() const {
  if (in_forked_child()) return {};
  BurstScope burst(guard_);
  const PacketSocket* socket = socket_.load(std::memory_order_acquire);
  return socket != nullptr ? socket->mac() : MacAddress{};
}

[[gnu::hot]] size_t PacketCarrier::receive(std::span<RxFrame> frames) {
  if (in_forked_child()) return 0;
  BurstScope burst(guard_);
  PacketSocket* socket = socket_.load(std::memory_order_acquire);
  if (socket == nullptr) return 0;
  socket->send_rest();
  const size_t count = socket->receive(frames);
  counters_.frames_received += count;
  return count;
}

[[gnu::hot]] void PacketCarrier::release(std::span<const RxFrame> frames) {
  if (in_forked_child()) return;
  for (const RxFrame& frame : frames) PacketSocket::release(frame);
}

size_t PacketCarrier::transmit_room(const MacAddress&) {
  if (in_forked_child()) return 0;
  BurstScope burst(guard_);
  PacketSocket* socket = socket_.load(std::memory_order_acquire);
  return socket != nullptr ? socket->transmit_room() : 0;
}

[[gnu::hot]] size_t PacketCarrier::acquire(std::span<TxFrame> frames) {
  if (in_forked_child()) return 0;
  BurstScope burst(guard_);
  PacketSocket* socket = socket_.load(std::memory_order_acquire);
  const size_t count = socket != nullptr ? socket->acquire(frames) : 0;
  if (count == 0) ++counters_.no_buffers;
  return count;
}

void PacketCarrier::discard(std::span<const TxFrame> frames) {
  if (in_forked_child()) return;
  // The last first: what nobody has behind it need not be passed over.
  for (size_t i = frames.size(); i > 0; --i) PacketSocket::give_back(frames[i - 1]);
}

[[gnu::hot]] void PacketCarrier::transmit(std::span<const TxFrame> frames) {
  if (in_forked_child()) return;
  BurstScope burst(guard_);
  PacketSocket* socket = socket_.load(std::memory_order_acquire);
  for (const TxFrame& frame : frames) {
    // Of a socket that was replaced meanwhile: the way it was written for is gone.
    if (static_cast<const PacketSlot*>(frame.handle)->socket != socket) {
      ++counters_.dropped_without_link;
      PacketSocket::give_back(frame);
      continue;
    }
    // Not the address that the engine was told first: it is another with another interface.
    std::memcpy(frame.data + 6, socket->mac().bytes.data(), socket->mac().bytes.size());
    PacketSocket::make_ready(frame);
  }
  if (socket != nullptr) counters_.frames_sent += socket->send();
}

void PacketCarrier::hear_all(bool wanted) {
  hears_all_ = wanted;
  if (owned_ != nullptr) owned_->hear_all(wanted);
}

bool PacketCarrier::reopen(std::string* error) {
  if (owned_ != nullptr) {
    socket_.store(nullptr, std::memory_order_release);
    guard_.wait();
    retired_.push_back(std::move(owned_));
  }
  tidy();
  std::string why;
  owned_ = PacketSocket::open(port_.interface, ear_, &why);
  if (owned_ == nullptr) {
    *error = "mrc: " + port_.where + "port of plane " + std::to_string(port_.plane) + " (" + port_.interface +
             "): " + why;
    return false;
  }
  if (hears_all_) owned_->hear_all(true);
  socket_.store(owned_.get(), std::memory_order_release);
  return true;
}

void PacketCarrier::tidy() {
  std::erase_if(retired_, [](const auto& socket) { return socket->lent() == 0; });
}

}  // namespace mrc
