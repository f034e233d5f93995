// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrc_perf/run.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

namespace perf {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// One side's work for one size: what it sends, and what it has to do for what comes.
class Measurement {
 public:
  // Credits count from the beginning of the program: what was sent and posted before.
  Measurement(Side& side, const Plan& plan, uint64_t bytes, bool sends, const Totals& before)
      : side_(side),
        plan_(plan),
        bytes_(bytes),
        sends_(sends),
        receives_(needs_receive(plan.operation)),
        under_way_(plan.queue_pairs, 0),
        sent_(before.sent),
        posted_(before.posted) {}

  void start(uint64_t iterations, uint32_t duration_ms) {
    wanted_ = iterations * plan_.queue_pairs;
    deadline_ =
        duration_ms != 0 ? Clock::now() + std::chrono::milliseconds(duration_ms) : Clock::time_point::max();
    if (duration_ms != 0) wanted_ = UINT64_MAX;
    begun_ = done_ = 0;
    seconds_ = 0;
    start_ = Clock::now();
  }
  bool finished() const { return !sends_ || done_ == wanted_; }
  Totals totals() const { return {sent_, posted_}; }
  Row row() const { return {bytes_, sends_ ? done_ : 0, sends_ ? seconds_ : 0}; }

  void turn() {
    if (sends_) {
      begin_more();
      completed_.clear();
      side_.poll_sends(&completed_);
      for (const uint32_t index : completed_) {
        --under_way_[index];
        if (++done_ == wanted_) seconds_ = seconds_since(start_);
      }
      if (wanted_ == UINT64_MAX && Clock::now() >= deadline_) wanted_ = begun_;
      if (done_ == wanted_ && seconds_ == 0) seconds_ = seconds_since(start_);
    } else {
      completed_.clear();
      side_.poll_sends(&completed_);  // of credits
    }
    if (receives_) take_receives();
  }

 private:
  void begin_more() {
    for (uint32_t i = 0; i < plan_.queue_pairs; ++i)
      while (begun_ < wanted_ && under_way_[i] < plan_.depth && may_send(i)) {
        side_.post(i, plan_.operation, bytes_);
        ++under_way_[i];
        ++sent_[i];
        ++begun_;
      }
  }
  // Strict MRC does not wait for receives, so nothing is sent that has none.
  bool may_send(uint32_t index) const { return !receives_ || sent_[index] < side_.credits(index); }
  void take_receives() {
    completed_.clear();
    side_.poll_receives(&completed_);
    for (const uint32_t index : completed_) {
      side_.post_receive(index);
      if (++posted_[index] % (plan_.depth / 4 + 1) == 0) side_.post_credits(index, posted_[index]);
    }
  }

 private:
  Side& side_;
  const Plan& plan_;
  const uint64_t bytes_;
  const bool sends_;
  const bool receives_;
  std::vector<uint32_t> under_way_;
  std::vector<uint64_t> sent_;
  std::vector<uint64_t> posted_;
  std::vector<uint32_t> completed_;
  uint64_t wanted_ = 0;
  uint64_t begun_ = 0;
  uint64_t done_ = 0;
  double seconds_ = 0;
  Clock::time_point start_;
  Clock::time_point deadline_;
};

// The receives that the peer may use from the beginning.
Totals first_receives(const Plan& plan, Side& side) {
  Totals all{std::vector<uint64_t>(plan.queue_pairs, 0), std::vector<uint64_t>(plan.queue_pairs, 0)};
  if (!needs_receive(plan.operation)) return all;
  for (uint32_t i = 0; i < plan.queue_pairs; ++i) {
    for (uint32_t n = 0; n < 2 * plan.depth; ++n) side.post_receive(i);
    all.posted[i] = 2 * plan.depth;
    side.post_credits(i, all.posted[i]);
  }
  return all;
}

// Both sides have come to the same point.
void meet(const Line& line, Measurement& measurement) {
  char word = 'm';
  line.send(&word, 1);
  while (!line.readable()) measurement.turn();  // the other may wait for our credits
  line.receive(&word, 1);
}

}  // namespace

Totals begin(const Plan& plan, Side& side) {
  return first_receives(plan, side);
}

Row measure(const Line& line, Side& side, const Plan& plan, uint64_t bytes, bool sends, Totals* totals) {
  Measurement measurement(side, plan, bytes, sends, *totals);
  measurement.start(0, 0);
  meet(line, measurement);
  if (plan.warm_up > 0) {
    measurement.start(plan.warm_up, 0);
    while (!measurement.finished()) measurement.turn();
    meet(line, measurement);
  }
  measurement.start(plan.iterations, plan.duration_ms);
  while (!measurement.finished()) measurement.turn();
  // Who is done goes on for the other's sake.
  const Row own = measurement.row();
  line.send(&own, sizeof own);
  while (!line.readable()) measurement.turn();
  Row peer;
  line.receive(&peer, sizeof peer);
  meet(line, measurement);
  *totals = measurement.totals();
  return {bytes, own.operations + peer.operations, std::max(own.seconds, peer.seconds)};
}

// --- TCP ---

Line Line::listen(uint16_t port) {
  const int listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  const int off = 0;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);  // IPv4, too
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener, 1) != 0)
    give_up("cannot listen on port " + std::to_string(port));
  const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0) give_up("no client");
  close(listener);
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return Line(fd);
}

Line Line::connect(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  errno = 0;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0)
    give_up("there is no host " + host);
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    const int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) continue;
    if (::connect(fd, at->ai_addr, at->ai_addrlen) == 0) {
      freeaddrinfo(found);
      const int on = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      return Line(fd);
    }
    close(fd);
  }
  give_up("no server answers at " + host + " port " + std::to_string(port));
}

Line::~Line() {
  if (fd_ >= 0) close(fd_);
}

void Line::send(const void* data, size_t bytes) const {
  const auto* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t count = ::send(fd_, from, bytes, MSG_NOSIGNAL);
    if (count <= 0) give_up("the other side has gone");
    from += count;
    bytes -= static_cast<size_t>(count);
  }
}

void Line::receive(void* data, size_t bytes) const {
  auto* to = static_cast<char*>(data);
  while (bytes > 0) {
    errno = 0;
    const ssize_t count = recv(fd_, to, bytes, 0);
    if (count <= 0) give_up("the other side has gone");
    to += count;
    bytes -= static_cast<size_t>(count);
  }
}

bool Line::readable() const {
  pollfd file{fd_, POLLIN, 0};
  return poll(&file, 1, 0) == 1;
}

}  // namespace perf
