// SPDX-License-Identifier: BSD-2-Clause
#include "examples/lab/delay_line.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <thread>
#include <vector>

#include "examples/lab/fabric.h"
#include "examples/lab/impair.h"

namespace mrc::lab {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kFrameBytesMax = 65536;
constexpr size_t kHeldMax = 16384;  // frames; more are lost, as in any queue

// The tap, up, with the port's own MAC address: what is written to it counts as received by the port.
Fd open_tap(const Port& port, bool ingress, uint32_t mtu, uint32_t* ifindex) {
  Fd tap(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  ifreq request{};
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  std::snprintf(request.ifr_name, sizeof request.ifr_name, "d%s%s", ingress ? "i" : "e", port.name.c_str());
  if (!tap || ::ioctl(tap.get(), TUNSETIFF, &request) != 0) return {};
  const Fd control(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  request.ifr_hwaddr.sa_family = 1;  // ARPHRD_ETHER
  std::memcpy(request.ifr_hwaddr.sa_data, port.mac.data(), port.mac.size());
  bool done = ::ioctl(control.get(), SIOCSIFHWADDR, &request) == 0;
  request.ifr_mtu = static_cast<int>(mtu);
  done = ::ioctl(control.get(), SIOCSIFMTU, &request) == 0 && done;
  done = ::ioctl(control.get(), SIOCGIFINDEX, &request) == 0 && done;
  *ifindex = static_cast<uint32_t>(request.ifr_ifindex);
  request.ifr_flags = IFF_UP | IFF_NOARP;
  done = ::ioctl(control.get(), SIOCSIFFLAGS, &request) == 0 && done;
  return done ? std::move(tap) : Fd();
}

// Sends out of the port; the mark lets frames pass the port's BPF program, which has already judged them.
Fd open_sender(const Port& port) {
  Fd sender(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_ifindex = static_cast<int>(port.ifindex);
  const uint32_t mark = LAB_MARK_DELAYED;
  if (!sender || ::setsockopt(sender.get(), SOL_SOCKET, SO_MARK, &mark, sizeof mark) != 0 ||
      ::bind(sender.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return {};
  return sender;
}

}  // namespace

class DelayLine {
 public:
  ~DelayLine() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }

  bool start(const DelayLines::Place& place, uint32_t mtu, std::string* error) {
    const InNamespace inside(place.namespace_fd);
    tap_ = open_tap(place.port, place.ingress, mtu, &ifindex_);
    if (tap_ && !place.ingress) sender_ = open_sender(place.port);
    if (!tap_ || (!place.ingress && !sender_)) {
      *error = "no delay at " + place.port.name + ": cannot make a tap: " + std::strerror(errno);
      return false;
    }
    thread_ = std::thread([this] { run(); });
    return true;
  }

  void set_delay(uint64_t delay_us) { delay_us_ = delay_us; }
  uint32_t ifindex() const { return ifindex_; }

 private:
  struct Held {
    Clock::time_point due;
    std::vector<uint8_t> frame;
  };

  void run() {
    std::vector<uint8_t> buffer(kFrameBytesMax);
    while (!stop_) {
      take(&buffer);
      release();
      wait();
    }
  }

  void take(std::vector<uint8_t>* buffer) {
    for (int burst = 0; burst < 64; ++burst) {
      const ssize_t bytes = ::read(tap_.get(), buffer->data(), buffer->size());
      if (bytes <= 0) return;
      if (held_.size() >= kHeldMax) continue;
      held_.push_back({Clock::now() + std::chrono::microseconds(delay_us_.load()),
                       std::vector<uint8_t>(buffer->data(), buffer->data() + bytes)});
    }
  }

  void release() {
    while (!held_.empty() && held_.front().due <= Clock::now()) {
      const std::vector<uint8_t>& frame = held_.front().frame;
      const ssize_t sent = sender_ ? ::send(sender_.get(), frame.data(), frame.size(), 0)
                                   : ::write(tap_.get(), frame.data(), frame.size());
      if (sent < 0 && errno == EAGAIN) return;  // the next round
      held_.pop_front();
    }
  }

  void wait() {
    pollfd events{tap_.get(), POLLIN, 0};
    timespec limit{0, 50'000'000};
    if (!held_.empty()) {
      const auto left = std::chrono::nanoseconds(held_.front().due - Clock::now()).count();
      limit.tv_nsec = std::clamp<long>(left, 0, limit.tv_nsec);
    }
    ::ppoll(&events, 1, &limit, nullptr);
  }

  Fd tap_;
  Fd sender_;
  uint32_t ifindex_ = 0;
  std::atomic<uint64_t> delay_us_{0};
  std::atomic<bool> stop_{false};
  std::deque<Held> held_;  // of the thread
  std::thread thread_;
};

DelayLines::DelayLines() = default;
DelayLines::~DelayLines() = default;

bool DelayLines::set(const Place& place, uint64_t delay_us, uint32_t mtu, uint32_t* tap, std::string* error) {
  const auto key = std::pair{place.port.ifindex, place.ingress};
  *tap = 0;
  if (delay_us == 0) {
    // Kept when it is there: frames may still be on their way into it.
    if (const auto line = lines_.find(key); line != lines_.end() && line->second != nullptr)
      line->second->set_delay(0);
    return true;
  }
  auto& line = lines_[key];
  if (line == nullptr) {
    auto made = std::make_unique<DelayLine>();
    if (!made->start(place, mtu, error)) return false;
    line = std::move(made);
  }
  line->set_delay(delay_us);
  *tap = line->ifindex();
  return true;
}

}  // namespace mrc::lab
