// SPDX-License-Identifier: BSD-2-Clause
// What the tests of rdma_cm share: two sides, each a process of its own that has not used the device before,
// and librdmacm in few words.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <rdma/rdma_cma.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <vector>

namespace cm_test {

constexpr unsigned kDeadline_s = 60;  // of each side

#define REQUIRE(condition)                                                                   \
  do {                                                                                       \
    if (!(condition)) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno); \
      _exit(1);                                                                              \
    }                                                                                        \
  } while (false)

// --- the two sides ---

// What one side tells the other outside of rdma_cm.
class Link {
 public:
  Link() { EXPECT_EQ(pipe(ends_), 0); }
  ~Link() {
    close(ends_[0]);
    close(ends_[1]);
  }
  void tell(int value) { REQUIRE(write(ends_[1], &value, sizeof value) == sizeof value); }
  int hear() {
    int value = 0;
    REQUIRE(read(ends_[0], &value, sizeof value) == sizeof value);
    return value;
  }

 private:
  int ends_[2];
};

inline pid_t start(const std::function<void()>& side) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  alarm(kDeadline_s);
  side();
  exit(0);  // as programs do: not everything is closed
}

inline void expect_success(pid_t pid, const char* name) {
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << name << " ended with " << status;
}

inline void run(const std::function<void()>& server, const std::function<void()>& client) {
  const pid_t first = start(server);
  const pid_t second = start(client);
  expect_success(second, "the client");
  expect_success(first, "the server");
}

// --- rdma_cm in few words ---

struct Address {
  sockaddr_storage storage{};
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  Address(const char* text, uint16_t port) {
    auto* v4 = reinterpret_cast<sockaddr_in*>(&storage);
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&storage);
    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
      v4->sin_family = AF_INET;
      v4->sin_port = htons(port);
    } else {
      REQUIRE(inet_pton(AF_INET6, text, &v6->sin6_addr) == 1);
      v6->sin6_family = AF_INET6;
      v6->sin6_port = htons(port);
    }
  }
};

struct Seen {
  rdma_cm_event_type type;
  int status;
  rdma_cm_id* id;
  rdma_cm_id* listener;
  rdma_conn_param connection;
  rdma_ud_param datagrams;
  std::vector<uint8_t> data;
};

inline Seen next(rdma_event_channel* channel) {
  rdma_cm_event* event = nullptr;
  REQUIRE(rdma_get_cm_event(channel, &event) == 0);
  Seen seen{event->event, event->status, event->id, event->listen_id, event->param.conn, event->param.ud, {}};
  const bool unreliable = event->id->qp_type == IBV_QPT_UD;
  const void* data = unreliable ? event->param.ud.private_data : event->param.conn.private_data;
  const uint8_t length = unreliable ? event->param.ud.private_data_len : event->param.conn.private_data_len;
  if (data != nullptr)
    seen.data.assign(static_cast<const uint8_t*>(data), static_cast<const uint8_t*>(data) + length);
  REQUIRE(rdma_ack_cm_event(event) == 0);
  return seen;
}

inline Seen expect_event(rdma_event_channel* channel, rdma_cm_event_type type) {
  Seen seen = next(channel);
  if (seen.type != type)
    std::fprintf(stderr, "expected %s, saw %s (%d)\n", rdma_event_str(type), rdma_event_str(seen.type),
                 seen.status);
  REQUIRE(seen.type == type);
  return seen;
}

// A listener on a port of the system's choice.
struct Server {
  rdma_event_channel* channel = rdma_create_event_channel();
  rdma_cm_id* listener = nullptr;

  explicit Server(const char* address = "0.0.0.0", uint16_t port = 0, rdma_port_space space = RDMA_PS_TCP,
                  int backlog = 0) {
    REQUIRE(channel != nullptr);
    REQUIRE(rdma_create_id(channel, &listener, nullptr, space) == 0);
    REQUIRE(rdma_bind_addr(listener, Address(address, port).get()) == 0);
    REQUIRE(rdma_listen(listener, backlog) == 0);
  }
  uint16_t port() const { return ntohs(rdma_get_src_port(listener)); }
};

struct Client {
  rdma_event_channel* channel = rdma_create_event_channel();
  rdma_cm_id* id = nullptr;

  // From an address of its own, or from what is found for the destination.
  Client(const char* address, uint16_t port, rdma_port_space space = RDMA_PS_TCP,
         const char* source = nullptr) {
    REQUIRE(channel != nullptr);
    REQUIRE(rdma_create_id(channel, &id, nullptr, space) == 0);
    Address from(source != nullptr ? source : "0.0.0.0", 0);
    REQUIRE(rdma_resolve_addr(id, source != nullptr ? from.get() : nullptr, Address(address, port).get(),
                              2000) == 0);
    expect_event(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
    REQUIRE(rdma_resolve_route(id, 2000) == 0);
    expect_event(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
    REQUIRE(id->verbs != nullptr);
  }
};

inline rdma_conn_param parameters(uint32_t qpn, const std::vector<uint8_t>& data = {}) {
  rdma_conn_param param{};
  param.qp_num = qpn;
  param.private_data = data.data();
  param.private_data_len = static_cast<uint8_t>(data.size());
  param.responder_resources = 3;
  param.initiator_depth = 2;
  param.retry_count = 6;
  param.rnr_retry_count = 5;
  return param;
}

inline std::vector<uint8_t> pattern(size_t bytes, uint8_t first) {
  std::vector<uint8_t> data(bytes);
  for (uint8_t& byte : data) byte = first++;
  return data;
}

inline void connect_to(Client& client, uint32_t qpn, const std::vector<uint8_t>& data = {}) {
  rdma_conn_param param = parameters(qpn, data);
  REQUIRE(rdma_connect(client.id, &param) == 0);
}

inline void establish(Client& client, uint32_t qpn) {
  connect_to(client, qpn);
  expect_event(client.channel, RDMA_CM_EVENT_CONNECT_RESPONSE);
  REQUIRE(rdma_establish(client.id) == 0);
}

inline rdma_cm_id* accept_from(Server& server, uint32_t qpn) {
  const Seen request = expect_event(server.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
  rdma_conn_param param = parameters(qpn);
  REQUIRE(rdma_accept(request.id, &param) == 0);
  expect_event(server.channel, RDMA_CM_EVENT_ESTABLISHED);
  return request.id;
}

}  // namespace cm_test
