// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/packet/packet_socket.h"

#include <linux/filter.h>
#include <linux/if_ether.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "dpdk_io/host/cancellation.h"
#include "dpdk_io/host/fork_guard.h"

#ifndef PACKET_IGNORE_OUTGOING
#define PACKET_IGNORE_OUTGOING 23
#endif

namespace mrc {
namespace {

// Neither the kernel's nor new: somebody reads it. The kernel takes any number but 0 for that.
constexpr uint32_t kBeingRead = 1u << 28;
// Where the kernel looks for what it is to send.
constexpr size_t kOutAt = TPACKET_ALIGN(sizeof(tpacket2_hdr));
static_assert(kOutAt + kFrameBytesMax <= PacketRing::kSlotBytes);

template <typename Value>
bool set_option(int fd, int option, const Value& value) {
  return setsockopt(fd, SOL_PACKET, option, &value, sizeof value) == 0;
}

PacketSlot& slot_of_frame(void* handle) {
  return *static_cast<PacketSlot*>(handle);
}

}  // namespace

std::unique_ptr<PacketSocket> PacketSocket::open(const std::string& interface, const Ear& ear,
                                                 std::string* why) {
  std::unique_ptr<PacketSocket> socket(new PacketSocket(ear));
  if (!socket->make(interface, why)) return nullptr;
  return socket;
}

// It hears nothing before it is bound, and then at once no more than the filter lets through.
bool PacketSocket::make(const std::string& interface, std::string* why) {
  fd_ = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd_ < 0) {
    *why = std::string("no packet socket: ") + std::strerror(errno);
    if (errno == EPERM)
      *why += "; it needs CAP_NET_RAW: run the program as root, or in a user namespace that owns the network";
    return false;
  }
  if (!set_filter(false)) {
    *why = std::string("the kernel takes no packet filter: ") + std::strerror(errno);
    return false;
  }
  return set_up_rings(why) && bind_to(interface, why);
}

bool PacketSocket::set_up_rings(std::string* why) {
  const int one = 1;
  // Older kernels lack the first, and the filter knows what leaves, too. Without the second it works, slower.
  set_option(fd_, PACKET_IGNORE_OUTGOING, one);
  set_option(fd_, PACKET_QDISC_BYPASS, one);
  const int version = TPACKET_V2;
  // PACKET_LOSS: what cannot be sent is passed over; give_back() counts on it.
  void* memory = MAP_FAILED;
  if (set_option(fd_, PACKET_VERSION, version) && set_option(fd_, PACKET_LOSS, one) &&
      set_option(fd_, PACKET_RX_RING, in_.request()) && set_option(fd_, PACKET_TX_RING, out_.request()))
    memory = mmap(nullptr, in_.bytes() + out_.bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (memory == MAP_FAILED) {
    *why = "no memory of " + std::to_string((in_.bytes() + out_.bytes()) >> 10) +
           " KiB for rings of packets: " + std::strerror(errno);
    return false;
  }
  memory_ = static_cast<uint8_t*>(memory);
  in_.open(this, memory_);
  out_.open(this, memory_ + in_.bytes());
  return true;
}

bool PacketSocket::bind_to(const std::string& interface, std::string* why) {
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(if_nametoindex(interface.c_str()));
  socklen_t bytes = sizeof address;
  if (address.sll_ifindex == 0 || bind(fd_, reinterpret_cast<const sockaddr*>(&address), bytes) != 0 ||
      getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &bytes) != 0) {
    *why = std::string("the packet socket cannot be bound to it: ") + std::strerror(errno);
    return false;
  }
  if (address.sll_halen != mac_.bytes.size()) {
    *why = "it has no Ethernet address";
    return false;
  }
  std::copy_n(address.sll_addr, mac_.bytes.size(), mac_.bytes.begin());
  return true;
}

bool PacketSocket::set_filter(bool all) const {
  std::vector<sock_filter> filter{BPF_STMT(BPF_RET | BPF_K, UINT32_MAX)};
  if (!all) filter = kernel_filter(ear_.slot, ear_.part);
  const sock_fprog program{static_cast<uint16_t>(filter.size()), filter.data()};
  return setsockopt(fd_, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

void PacketSocket::hear_all(bool wanted) const {
  set_filter(wanted);
}

PacketSocket::~PacketSocket() {
  if (in_forked_child()) return;  // the parent's
  if (memory_ != nullptr) munmap(memory_, in_.bytes() + out_.bytes());
  if (fd_ >= 0) close(fd_);
}

[[gnu::hot]] size_t PacketSocket::receive(std::span<RxFrame> frames) {
  size_t count = 0;
  while (count < frames.size()) {
    PacketSlot& slot = in_[next_in_];
    if ((slot.status() & TP_STATUS_USER) == 0) break;
    slot.set_status(kBeingRead);
    frames[count++] = RxFrame{slot.bytes() + slot.header->tp_mac, slot.header->tp_snaplen, &slot};
    next_in_ = in_.after(next_in_);
    __builtin_prefetch(in_[next_in_].header);
  }
  if (count > 0) lend(static_cast<uint32_t>(count));
  return count;
}

[[gnu::hot]] void PacketSocket::release(const RxFrame& frame) {
  const PacketSlot& slot = slot_of_frame(frame.handle);
  slot.set_status(TP_STATUS_KERNEL);
  slot.socket->take(1);
}

// The kernel has the slots in turn, so the last of a burst is free after all others. What it has not taken
// yet waits in the ring, and need not be waited for.
size_t PacketSocket::transmit_room() {
  send_rest();
  return out_[out_.after(next_out_, kBurst - 1)].status() == TP_STATUS_AVAILABLE ? kBurst : 0;
}

[[gnu::hot]] size_t PacketSocket::acquire(std::span<TxFrame> frames) {
  size_t count = 0;
  // All that is left has been given back, and waits to be passed over.
  if (out_[next_out_].state == PacketSlot::State::kSkipped) send();
  while (count < frames.size()) {
    PacketSlot& slot = out_[next_out_];
    // Of what was not sent yet the status says nothing.
    if (slot.state != PacketSlot::State::kIdle || slot.status() != TP_STATUS_AVAILABLE) break;
    slot.state = PacketSlot::State::kLent;
    frames[count++] = TxFrame{slot.bytes() + kOutAt, 0, &slot};
    next_out_ = out_.after(next_out_);
    ++unsent_;
  }
  lend(static_cast<uint32_t>(count));
  return count;
}

[[gnu::hot]] void PacketSocket::make_ready(const TxFrame& frame) {
  PacketSlot& slot = slot_of_frame(frame.handle);
  slot.header->tp_len = frame.length;
  slot.state = PacketSlot::State::kReady;
  slot.socket->take(1);
}

// The kernel sends slots in turn, so one in between goes the same way: without a length, which it passes
// over.
void PacketSocket::give_back(const TxFrame& frame) {
  PacketSlot& slot = slot_of_frame(frame.handle);
  slot.header->tp_len = 0;
  slot.state = PacketSlot::State::kSkipped;
  PacketSocket& socket = *slot.socket;
  socket.retract();
  socket.take(1);  // the last word: it may be gone behind it
}

// Behind the last that is in use there is nothing to pass over.
void PacketSocket::retract() {
  while (unsent_ > 0 && out_[out_.before(next_out_)].state == PacketSlot::State::kSkipped) {
    next_out_ = out_.before(next_out_);
    out_[next_out_].state = PacketSlot::State::kIdle;
    --unsent_;
  }
}

[[gnu::hot]] size_t PacketSocket::send() {
  size_t count = 0;
  uint32_t given = 0;
  while (given < unsent_ && out_[next_sent_].state != PacketSlot::State::kLent) {
    PacketSlot& slot = out_[next_sent_];
    if (slot.state == PacketSlot::State::kReady) ++count;
    slot.state = PacketSlot::State::kIdle;
    slot.set_status(TP_STATUS_SEND_REQUEST);
    next_sent_ = out_.after(next_sent_);
    ++given;
  }
  unsent_ -= given;
  if (given > 0) kick();
  return count;
}

// What the queue of the interface or the socket's buffer has no room for stays in the ring.
void PacketSocket::kick() {
  uncancelled::sendto(fd_, nullptr, 0, MSG_DONTWAIT, nullptr, 0);
  rest_ = out_[out_.before(next_sent_)].status() == TP_STATUS_SEND_REQUEST;
}

}  // namespace mrc
