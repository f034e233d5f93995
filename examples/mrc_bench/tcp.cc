// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrc_bench/tcp.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "examples/shared/child_process.h"

namespace mrc::bench {
namespace {

constexpr size_t kStreamBytes = 64 << 10;  // as ib_write_bw -s 65536 writes them
constexpr size_t kPingBytes = 8;

sockaddr_in place(uint32_t host, uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(host);
  return address;
}

// Waits for one connection, having told its port.
int accept_one(uint32_t host) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = place(host, 0);
  socklen_t bytes = sizeof address;
  if (listener < 0 || bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener, 1) != 0 || getsockname(listener, reinterpret_cast<sockaddr*>(&address), &bytes) != 0)
    return -1;
  std::printf("%u\n", ntohs(address.sin_port));
  std::fflush(stdout);
  const int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  close(listener);
  return connection;
}

int connect_to(uint32_t host, uint16_t port) {
  const int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = place(host, port);
  if (connection < 0 || connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return -1;
  const int on = 1;
  setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return connection;
}

// All of it, spinning. False: the other end has gone.
bool receive_all(int connection, uint8_t* to, size_t bytes) {
  for (size_t at = 0; at < bytes;) {
    const ssize_t got = recv(connection, to + at, bytes - at, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return false;
    if (got > 0) at += static_cast<size_t>(got);
  }
  return true;
}

int pong() {
  const int connection = accept_one(INADDR_LOOPBACK);
  const int on = 1;
  setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  uint8_t message[kPingBytes];
  while (receive_all(connection, message, sizeof message))
    if (send(connection, message, sizeof message, MSG_NOSIGNAL) != sizeof message) break;
  return connection < 0 ? 1 : 0;
}

int ping(uint16_t port, double seconds) {
  const int connection = connect_to(INADDR_LOOPBACK, port);
  if (connection < 0) return 1;
  uint8_t message[kPingBytes] = {};
  const double since = seconds_now();
  uint64_t trips = 0;
  for (; seconds_now() - since < seconds; ++trips)
    if (send(connection, message, sizeof message, MSG_NOSIGNAL) != sizeof message ||
        !receive_all(connection, message, sizeof message))
      return 1;
  std::printf("%.6f\n", (seconds_now() - since) * 1e6 / static_cast<double>(trips) / 2);
  return 0;
}

double run_two(const std::string& program, const char* passive, const char* active, double seconds) {
  Process server({program, "--role", passive}, -1, seconds + 30);
  std::string port;
  if (!server.read_line(&port)) return 0;
  Process client({program, "--role", active, port, std::to_string(seconds)}, -1, seconds + 30);
  const std::string output = client.read_all();
  if (client.wait() == 0) return std::atof(output.c_str());
  std::fprintf(stderr, "mrc_bench: %s failed\n", active);
  return 0;
}

}  // namespace

int tcp_receive(uint32_t address) {
  const int connection = accept_one(address);
  std::vector<uint8_t> buffer(kStreamBytes);
  while (recv(connection, buffer.data(), buffer.size(), 0) > 0) {
  }
  return connection < 0 ? 1 : 0;
}

int tcp_send(uint32_t address, uint16_t port, double seconds) {
  const int connection = connect_to(address, port);
  if (connection < 0) return 1;
  const std::vector<uint8_t> buffer(kStreamBytes);
  const double since = seconds_now();
  double sent = 0;
  while (seconds_now() - since < seconds) {
    const ssize_t bytes = send(connection, buffer.data(), buffer.size(), MSG_NOSIGNAL);
    if (bytes <= 0) return 1;
    sent += static_cast<double>(bytes);
  }
  std::printf("%.6f\n", sent * 8 / 1e9 / (seconds_now() - since));
  return 0;
}

double tcp_gigabits(const std::string& program, double seconds) {
  return run_two(program, "tcp-receive", "tcp-send", seconds);
}

double tcp_half_round_trip_us(const std::string& program, double seconds) {
  return run_two(program, "tcp-pong", "tcp-ping", seconds);
}

int run_tcp_role(int count, char** words) {
  const std::string role = words[2];
  const auto port = static_cast<uint16_t>(count > 3 ? std::atoi(words[3]) : 0);
  const double seconds = count > 4 ? std::atof(words[4]) : 1;
  if (role == "tcp-receive") return tcp_receive(INADDR_LOOPBACK);
  if (role == "tcp-send") return tcp_send(INADDR_LOOPBACK, port, seconds);
  if (role == "tcp-pong") return pong();
  if (role == "tcp-ping") return ping(port, seconds);
  return -1;
}

}  // namespace mrc::bench
