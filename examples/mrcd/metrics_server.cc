// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrcd/metrics_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>

#include "examples/shared/metrics_text.h"

namespace mrc {
namespace {

constexpr int kLookMs = 200;  // how often it looks whether it shall end
constexpr size_t kRequestBytesMax = 8192;
// One at a time, and none holds the others up for longer than this, however slowly it speaks or listens.
constexpr auto kPatience = std::chrono::seconds(2);
using Clock = std::chrono::steady_clock;

// Until the client has something to say, or takes more. False: its time is over.
bool await(int client, short what, Clock::time_point until) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
  pollfd file{client, what, 0};
  return left > 0 && poll(&file, 1, static_cast<int>(left)) > 0;
}

// Up to the empty line behind its head. Empty: it never came.
std::string read_request(int client, Clock::time_point until) {
  std::string request;
  char piece[1024];
  while (request.size() < kRequestBytesMax && await(client, POLLIN, until)) {
    const ssize_t bytes = recv(client, piece, sizeof piece, 0);
    if (bytes <= 0) return {};
    request.append(piece, static_cast<size_t>(bytes));
    if (request.find("\r\n\r\n") != std::string::npos) return request;
  }
  return {};
}

void send_all(int client, std::string_view text, Clock::time_point until) {
  while (!text.empty() && await(client, POLLOUT, until)) {
    const ssize_t bytes = send(client, text.data(), text.size(), MSG_NOSIGNAL);
    if (bytes <= 0) return;
    text.remove_prefix(static_cast<size_t>(bytes));
  }
}

void send_answer(int client, const char* status, const char* type, const std::string& body, bool with_body) {
  send_all(client,
           std::string("HTTP/1.1 ") + status + "\r\nContent-Type: " + type +
               "\r\nContent-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" +
               (with_body ? body : std::string()),
           Clock::now() + kPatience);
}

void answer(int client, const std::string& run_directory) {
  static constexpr const char* kPlain = "text/plain; charset=utf-8";
  const std::string request = read_request(client, Clock::now() + kPatience);
  const std::string_view line = std::string_view(request).substr(0, request.find("\r\n"));
  const bool head = line.starts_with("HEAD ");
  if (!head && !line.starts_with("GET "))
    return send_answer(client, "405 Method Not Allowed", kPlain, "GET\n", true);
  const std::string_view path = line.substr(line.find(' ') + 1);
  if (!path.starts_with("/metrics ") && !path.starts_with("/metrics?"))
    return send_answer(client, "404 Not Found", kPlain, "it is at /metrics\n", !head);
  std::string text;
  const bool there = metrics_text(run_directory, &text);
  send_answer(client, there ? "200 OK" : "500 Internal Server Error", there ? kMetricsType : kPlain, text,
              !head);
}

}  // namespace

MetricsServer::~MetricsServer() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
  if (socket_ >= 0) close(socket_);
}

bool MetricsServer::open(uint16_t port, std::string* error) {
  socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  if (socket_ >= 0 && setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
      bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      listen(socket_, 16) == 0)
    return true;
  *error = "metrics at 127.0.0.1:" + std::to_string(port) + ": " + std::strerror(errno) +
           "; choose another metrics_port in [mrcd]";
  return false;
}

void MetricsServer::run_beside(const std::string& run_directory) {
  // Signals are for the thread that waits for clients.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this, run_directory] { run(run_directory); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void MetricsServer::run(const std::string& run_directory) {
  while (!stop_) {
    pollfd file{socket_, POLLIN, 0};
    if (poll(&file, 1, kLookMs) <= 0) continue;
    const int client = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client < 0) {
      poll(nullptr, 0, 10);  // out of files or memory: others may give some back
      continue;
    }
    answer(client, run_directory);
    close(client);
  }
}

}  // namespace mrc
