// SPDX-License-Identifier: BSD-2-Clause
// rdma_cm between processes of one host, through librdmacm.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <string>

#include "tests/verbs/cm_sides.h"

namespace cm_test {
namespace {

// --- the cases ---

TEST(CmPrograms, PrivateDataAndParametersArrive) {
  Link ports;
  run(
      [&] {
        Server server;
        ports.tell(server.port());
        const Seen request = expect_event(server.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
        REQUIRE(request.listener == server.listener);
        REQUIRE(request.data == pattern(56, 1));
        REQUIRE(request.connection.qp_num == 0x4321);
        REQUIRE(request.connection.responder_resources == 2);
        REQUIRE(request.connection.initiator_depth == 3);
        REQUIRE(request.connection.retry_count == 6);
        REQUIRE(request.connection.rnr_retry_count == 5);
        REQUIRE(rdma_get_dst_port(request.id) != 0);
        REQUIRE(ntohs(rdma_get_src_port(request.id)) == server.port());
        const auto data = pattern(196, 7);
        rdma_conn_param param = parameters(0x1234, data);
        REQUIRE(rdma_accept(request.id, &param) == 0);
        expect_event(server.channel, RDMA_CM_EVENT_ESTABLISHED);
        expect_event(server.channel, RDMA_CM_EVENT_DISCONNECTED);
        REQUIRE(rdma_disconnect(request.id) == 0);
        expect_event(server.channel, RDMA_CM_EVENT_TIMEWAIT_EXIT);
        REQUIRE(rdma_destroy_id(request.id) == 0);
        REQUIRE(rdma_destroy_id(server.listener) == 0);
        rdma_destroy_event_channel(server.channel);
      },
      [&] {
        Client client("127.0.0.1", static_cast<uint16_t>(ports.hear()));
        connect_to(client, 0x4321, pattern(56, 1));
        const Seen reply = expect_event(client.channel, RDMA_CM_EVENT_CONNECT_RESPONSE);
        REQUIRE(reply.data == pattern(196, 7));
        REQUIRE(reply.connection.qp_num == 0x1234);
        REQUIRE(rdma_establish(client.id) == 0);
        ibv_qp_attr attributes{};
        int mask = 0;
        attributes.qp_state = IBV_QPS_RTR;
        REQUIRE(rdma_init_qp_attr(client.id, &attributes, &mask) == 0);
        REQUIRE(attributes.dest_qp_num == 0x1234);
        REQUIRE(attributes.max_dest_rd_atomic == 2);
        REQUIRE(attributes.path_mtu == IBV_MTU_4096);
        attributes.qp_state = IBV_QPS_RTS;
        REQUIRE(rdma_init_qp_attr(client.id, &attributes, &mask) == 0);
        REQUIRE(attributes.retry_cnt == 6);
        REQUIRE(attributes.rnr_retry == 5);
        REQUIRE(attributes.max_rd_atomic == 3);
        REQUIRE(rdma_disconnect(client.id) == 0);
        expect_event(client.channel, RDMA_CM_EVENT_DISCONNECTED);
        expect_event(client.channel, RDMA_CM_EVENT_TIMEWAIT_EXIT);
        REQUIRE(rdma_destroy_id(client.id) == 0);
        rdma_destroy_event_channel(client.channel);
      });
}

TEST(CmPrograms, RejectedWithData) {
  Link ports;
  run(
      [&] {
        Server server;
        ports.tell(server.port());
        const Seen request = expect_event(server.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
        const auto data = pattern(100, 3);
        REQUIRE(rdma_reject(request.id, data.data(), 100) == 0);
        REQUIRE(rdma_destroy_id(request.id) == 0);
      },
      [&] {
        Client client("127.0.0.1", static_cast<uint16_t>(ports.hear()));
        connect_to(client, 1);
        const Seen rejected = expect_event(client.channel, RDMA_CM_EVENT_REJECTED);
        REQUIRE(rejected.status == 28);
        REQUIRE(rejected.data.size() == 148);
        REQUIRE(std::equal(rejected.data.begin(), rejected.data.begin() + 100, pattern(100, 3).begin()));
        REQUIRE(rdma_destroy_id(client.id) == 0);
      });
}

TEST(CmPrograms, NobodyListens) {
  Link ports;
  run([] {},
      [] {
        Client client("127.0.0.1", 9);
        connect_to(client, 1);
        REQUIRE(expect_event(client.channel, RDMA_CM_EVENT_REJECTED).status == 8);
        Client datagrams("127.0.0.1", 9, RDMA_PS_UDP);
        connect_to(datagrams, 1);
        REQUIRE(expect_event(datagrams.channel, RDMA_CM_EVENT_UNREACHABLE).status == 1);
      });
}

TEST(CmPrograms, AServerMayBeAMomentLate) {
  constexpr uint16_t kPort = 7;
  Link ports, late;
  run(
      [&] {
        Server other;  // the device has been started, only the listener is missing
        late.tell(0);
        ports.hear();
        Server server("127.0.0.1", kPort);
        accept_from(server, 2);
      },
      [&] {
        late.hear();
        Client client("127.0.0.1", kPort);
        connect_to(client, 1);
        ports.tell(0);
        expect_event(client.channel, RDMA_CM_EVENT_CONNECT_RESPONSE);
        REQUIRE(rdma_establish(client.id) == 0);
      });
}

TEST(CmPrograms, APortBelongsToOneProcess) {
  Link ports, done;
  run(
      [&] {
        Server server("127.0.0.1");
        ports.tell(server.port());
        done.hear();
        REQUIRE(rdma_destroy_id(server.listener) == 0);
        ports.tell(0);
        done.hear();
      },
      [&] {
        const auto port = static_cast<uint16_t>(ports.hear());
        rdma_event_channel* channel = rdma_create_event_channel();
        rdma_cm_id *id, *datagrams;
        REQUIRE(rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP) == 0);
        REQUIRE(rdma_bind_addr(id, Address("127.0.0.1", port).get()) != 0 && errno == EADDRINUSE);
        REQUIRE(rdma_bind_addr(id, Address("0.0.0.0", port).get()) != 0 && errno == EADDRINUSE);
        REQUIRE(rdma_bind_addr(id, Address("::", port).get()) != 0 && errno == EADDRINUSE);
        REQUIRE(rdma_bind_addr(id, Address("203.0.113.77", 0).get()) != 0 && errno == EADDRNOTAVAIL);
        REQUIRE(rdma_create_id(channel, &datagrams, nullptr, RDMA_PS_UDP) == 0);
        REQUIRE(rdma_bind_addr(datagrams, Address("127.0.0.1", port).get()) == 0);
        done.tell(0);
        ports.hear();
        REQUIRE(rdma_bind_addr(id, Address("127.0.0.1", port).get()) == 0);
        REQUIRE(rdma_listen(id, 1) == 0);
        done.tell(0);
      });
}

// Ranks of a job ask for any port at the same time, and listen later.
TEST(CmPrograms, PortsThatWereGivenOutCanBeListenedOn) {
  constexpr int kPorts = 300;
  Link here, there;
  const auto side = [](Link& mine, Link& others) {
    rdma_event_channel* channel = rdma_create_event_channel();
    std::vector<rdma_cm_id*> ids(kPorts);
    for (rdma_cm_id*& id : ids) REQUIRE(rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP) == 0);
    mine.tell(0);
    others.hear();
    for (rdma_cm_id* id : ids) REQUIRE(rdma_bind_addr(id, Address("127.0.0.1", 0).get()) == 0);
    mine.tell(0);
    others.hear();
    for (rdma_cm_id* id : ids) REQUIRE(rdma_listen(id, 1) == 0);
    mine.tell(0);
    others.hear();
  };
  run([&] { side(here, there); }, [&] { side(there, here); });
}

TEST(CmPrograms, AKilledPeerIsADisconnect) {
  Link ports, done;
  const pid_t victim = start([&] {
    Client client("127.0.0.1", static_cast<uint16_t>(ports.hear()));
    establish(client, 1);
    done.tell(0);
    pause();
  });
  const pid_t server = start([&] {
    Server server;
    ports.tell(server.port());
    accept_from(server, 2);
    done.hear();
    kill(victim, SIGKILL);
    expect_event(server.channel, RDMA_CM_EVENT_DISCONNECTED);
  });
  expect_success(server, "the server");
  int status = 0;
  waitpid(victim, &status, 0);
}

TEST(CmPrograms, WhoExitsSaysGoodBye) {
  Link ports;
  run(
      [&] {
        Server server;
        ports.tell(server.port());
        accept_from(server, 2);
        const auto before = std::chrono::steady_clock::now();
        expect_event(server.channel, RDMA_CM_EVENT_DISCONNECTED);
        REQUIRE(std::chrono::steady_clock::now() - before < std::chrono::seconds(10));
      },
      [&] {
        Client client("127.0.0.1", static_cast<uint16_t>(ports.hear()));
        establish(client, 1);
      });
}

TEST(CmPrograms, IdsMigrateWithTheirEvents) {
  Link ports;
  run(
      [&] {
        Server server;
        ports.tell(server.port());
        const Seen request = expect_event(server.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
        rdma_event_channel* other = rdma_create_event_channel();
        REQUIRE(rdma_migrate_id(request.id, other) == 0);
        rdma_conn_param param = parameters(2);
        REQUIRE(rdma_accept(request.id, &param) == 0);
        expect_event(other, RDMA_CM_EVENT_ESTABLISHED);
        // One that nobody has read yet moves, too.
        pollfd readable{other->fd, POLLIN, 0};
        REQUIRE(poll(&readable, 1, -1) == 1);
        rdma_event_channel* last = rdma_create_event_channel();
        REQUIRE(rdma_migrate_id(request.id, last) == 0);
        REQUIRE(poll(&readable, 1, 0) == 0);
        expect_event(last, RDMA_CM_EVENT_DISCONNECTED);
        REQUIRE(fcntl(server.channel->fd, F_SETFL, O_NONBLOCK) == 0);
        rdma_cm_event* none = nullptr;
        REQUIRE(rdma_get_cm_event(server.channel, &none) != 0 && errno == EAGAIN);
      },
      [&] {
        Client client("127.0.0.1", static_cast<uint16_t>(ports.hear()));
        establish(client, 1);
        REQUIRE(rdma_disconnect(client.id) == 0);
        expect_event(client.channel, RDMA_CM_EVENT_DISCONNECTED);
      });
}

TEST(CmPrograms, ManyConnectionsAtOnce) {
  constexpr uint32_t kConnections = 100;
  Link ports;
  run(
      [&] {
        Server server("0.0.0.0", 0, RDMA_PS_TCP, kConnections);
        ports.tell(server.port());
        std::map<rdma_cm_event_type, uint32_t> count;
        while (count[RDMA_CM_EVENT_DISCONNECTED] < kConnections) {
          const Seen seen = next(server.channel);
          ++count[seen.type];
          rdma_conn_param param = parameters(seen.connection.qp_num + 10000);
          if (seen.type == RDMA_CM_EVENT_CONNECT_REQUEST) REQUIRE(rdma_accept(seen.id, &param) == 0);
          if (seen.type == RDMA_CM_EVENT_DISCONNECTED) REQUIRE(rdma_destroy_id(seen.id) == 0);
        }
        REQUIRE(count[RDMA_CM_EVENT_CONNECT_REQUEST] == kConnections);
        REQUIRE(count[RDMA_CM_EVENT_ESTABLISHED] == kConnections);
      },
      [&] {
        rdma_event_channel* channel = rdma_create_event_channel();
        Address server("127.0.0.1", static_cast<uint16_t>(ports.hear()));
        uint32_t ended = 0;
        uint32_t numbers[kConnections];
        for (uint32_t i = 0; i < kConnections; ++i) {
          rdma_cm_id* id;
          numbers[i] = i + 1;
          REQUIRE(rdma_create_id(channel, &id, &numbers[i], RDMA_PS_TCP) == 0);
          REQUIRE(rdma_resolve_addr(id, nullptr, server.get(), 2000) == 0);
        }
        while (ended < kConnections) {
          const Seen seen = next(channel);
          const uint32_t number = *static_cast<uint32_t*>(seen.id->context);
          rdma_conn_param param = parameters(number);
          switch (seen.type) {
            case RDMA_CM_EVENT_ADDR_RESOLVED:
              REQUIRE(rdma_resolve_route(seen.id, 2000) == 0);
              break;
            case RDMA_CM_EVENT_ROUTE_RESOLVED:
              REQUIRE(rdma_connect(seen.id, &param) == 0);
              break;
            case RDMA_CM_EVENT_CONNECT_RESPONSE:
              REQUIRE(seen.connection.qp_num == number + 10000);
              REQUIRE(rdma_establish(seen.id) == 0);
              REQUIRE(rdma_disconnect(seen.id) == 0);
              break;
            case RDMA_CM_EVENT_DISCONNECTED:
              ++ended;
              REQUIRE(rdma_destroy_id(seen.id) == 0);
              break;
            default:
              std::fprintf(stderr, "unexpected: %s\n", rdma_event_str(seen.type));
              REQUIRE(false);
          }
        }
      });
}

TEST(CmPrograms, DatagramServices) {
  Link ports;
  run(
      [&] {
        Server server("::", 0, RDMA_PS_UDP);
        ports.tell(server.port());
        const Seen request = expect_event(server.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
        REQUIRE(request.data == pattern(180, 5));
        const auto data = pattern(10, 2);
        rdma_conn_param param = parameters(0x777, data);
        REQUIRE(rdma_accept(request.id, &param) == 0);
        ports.tell(0);
        const Seen second = expect_event(server.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
        REQUIRE(rdma_reject(second.id, nullptr, 0) == 0);
        ports.tell(0);
      },
      [&] {
        const auto port = static_cast<uint16_t>(ports.hear());
        Client client("::1", port, RDMA_PS_UDP);
        connect_to(client, 1, pattern(180, 5));
        const Seen reply = expect_event(client.channel, RDMA_CM_EVENT_ESTABLISHED);
        REQUIRE(reply.datagrams.qp_num == 0x777);
        REQUIRE(reply.datagrams.qkey == 0x01234567);
        REQUIRE(reply.datagrams.ah_attr.is_global == 1);
        REQUIRE(reply.data.size() == 136 && reply.data[9] == 11);
        ports.hear();
        Client refused("127.0.0.1", port, RDMA_PS_UDP);
        connect_to(refused, 1);
        REQUIRE(expect_event(refused.channel, RDMA_CM_EVENT_UNREACHABLE).status == 2);
        ports.hear();
      });
}

TEST(CmPrograms, AllInOneProcess) {
  run([] {},
      [] {
        Server server;
        Client client("127.0.0.1", server.port());
        connect_to(client, 1);
        const Seen request = expect_event(server.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
        rdma_conn_param param = parameters(2);
        REQUIRE(rdma_accept(request.id, &param) == 0);
        expect_event(client.channel, RDMA_CM_EVENT_CONNECT_RESPONSE);
        REQUIRE(rdma_establish(client.id) == 0);
        expect_event(server.channel, RDMA_CM_EVENT_ESTABLISHED);
        REQUIRE(rdma_destroy_id(client.id) == 0);
        expect_event(server.channel, RDMA_CM_EVENT_DISCONNECTED);
      });
}

TEST(CmPrograms, WrongOrderIsRefused) {
  run([] {},
      [] {
        rdma_event_channel* channel = rdma_create_event_channel();
        rdma_cm_id* id;
        REQUIRE(rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP) == 0);
        rdma_conn_param param = parameters(1);
        REQUIRE(rdma_bind_addr(id, Address("127.0.0.1", 0).get()) == 0);
        REQUIRE(rdma_resolve_route(id, 1000) != 0);
        REQUIRE(rdma_disconnect(id) != 0);
        REQUIRE(rdma_bind_addr(id, Address("127.0.0.1", 0).get()) != 0 && errno == EINVAL);
        REQUIRE(rdma_listen(id, 0) == 0);
        REQUIRE(rdma_listen(id, 0) != 0);
        REQUIRE(rdma_resolve_addr(id, nullptr, Address("127.0.0.1", 1).get(), 1000) != 0);
        REQUIRE(rdma_accept(id, &param) != 0);
        REQUIRE(rdma_reject(id, nullptr, 0) != 0);
        REQUIRE(rdma_destroy_id(id) == 0);
      });
}

}  // namespace
}  // namespace cm_test
