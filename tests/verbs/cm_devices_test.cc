// SPDX-License-Identifier: BSD-2-Clause
// rdma_cm on two devices: mrc0 has 127.0.0.1 and mrc1 has 127.0.0.2 (two_devices.toml). Addresses decide
// which one an id is on.
#include <signal.h>

#include <cstring>
#include <memory>
#include <string>

#include "tests/verbs/cm_end.h"
#include "tests/verbs/cm_sides.h"

namespace cm_test {
namespace {

constexpr const char* kFirst = "127.0.0.1";
constexpr const char* kSecond = "127.0.0.2";

std::string device_of(const rdma_cm_id* id) {
  return id->verbs == nullptr ? "none" : ibv_get_device_name(id->verbs->device);
}

std::string text_of(const sockaddr* address) {
  char text[INET_ADDRSTRLEN] = "";
  REQUIRE(address->sa_family == AF_INET);
  inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text, sizeof text);
  return text;
}

// What the id's GID says, which is the device's own.
std::string gid_of(rdma_cm_id* id) {
  char text[INET_ADDRSTRLEN] = "";
  inet_ntop(AF_INET, id->route.addr.addr.ibaddr.sgid.raw + 12, text, sizeof text);
  return text;
}

// Is on the device, as the address, the GID and the context say alike.
void expect_on(rdma_cm_id* id, const char* device, const char* address) {
  if (device_of(id) != device || text_of(rdma_get_local_addr(id)) != address || gid_of(id) != address)
    std::fprintf(stderr, "on %s with %s and GID %s; should be on %s with %s\n", device_of(id).c_str(),
                 text_of(rdma_get_local_addr(id)).c_str(), gid_of(id).c_str(), device, address);
  REQUIRE(device_of(id) == device);
  REQUIRE(text_of(rdma_get_local_addr(id)) == address);
  REQUIRE(gid_of(id) == address);
}

// Connects from an address of its own, or from what is found for the destination.
struct Caller : Client, End {
  Caller(const char* source, const char* address, uint16_t port)
      : Client(address, port, RDMA_PS_TCP, source), End(Client::id) {
    rdma_conn_param param = parameters(0);
    REQUIRE(rdma_connect(Client::id, &param) == 0);
    expect_event(channel, RDMA_CM_EVENT_ESTABLISHED);
  }
};

std::unique_ptr<End> take(const Seen& request) {
  auto end = std::make_unique<End>(request.id);
  rdma_conn_param param = parameters(0);
  REQUIRE(rdma_accept(request.id, &param) == 0);
  return end;
}

// The next request becomes a connection; others may be on their way meanwhile.
std::unique_ptr<End> accept_one(Server& server) {
  auto end = take(expect_event(server.channel, RDMA_CM_EVENT_CONNECT_REQUEST));
  expect_event(server.channel, RDMA_CM_EVENT_ESTABLISHED);
  return end;
}

void send(End& end, uint8_t value) {
  std::memset(end.memory.data() + End::kBytes, value, End::kBytes);
  REQUIRE(rdma_post_send(end.id, nullptr, end.memory.data() + End::kBytes, End::kBytes, end.region,
                         IBV_SEND_SIGNALED) == 0);
}

// Waits until the own message is sent and one has come, which must say `value`.
void expect_message(End& end, uint8_t value) {
  end.wait();
  end.wait();
  for (size_t i = 0; i < End::kBytes; ++i) REQUIRE(end.memory[i] == value);
}

TEST(CmDevices, AnAddressNamesItsDevice) {
  run([] {},
      [] {
        int count = 0;
        ibv_context** all = rdma_get_devices(&count);
        REQUIRE(all != nullptr && count == 2);
        rdma_free_devices(all);
        expect_on(Client(kFirst, 9).id, "mrc0", kFirst);
        expect_on(Client(kSecond, 9).id, "mrc1", kSecond);
        expect_on(Client(kSecond, 9, RDMA_PS_UDP).id, "mrc1", kSecond);
        expect_on(Client(kSecond, 9, RDMA_PS_TCP, kFirst).id, "mrc0", kFirst);
        expect_on(Client(kFirst, 9, RDMA_PS_TCP, kSecond).id, "mrc1", kSecond);
        rdma_event_channel* channel = rdma_create_event_channel();
        for (const auto& [address, device] : {std::pair{kFirst, "mrc0"}, std::pair{kSecond, "mrc1"}}) {
          rdma_cm_id* id;
          REQUIRE(rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP) == 0);
          REQUIRE(rdma_bind_addr(id, Address(address, 0).get()) == 0);
          expect_on(id, device, address);
        }
      });
}

// One listener, two connections that are made and used at the same time.
TEST(CmDevices, TheWildcardListensOnAll) {
  Link ports, done;
  run(
      [&] {
        Server server;
        REQUIRE(device_of(server.listener) == "none");
        ports.tell(server.port());
        std::unique_ptr<End> ends[2];
        int established = 0;
        while (established < 2) {
          const Seen seen = next(server.channel);
          if (seen.type == RDMA_CM_EVENT_ESTABLISHED) {
            ++established;
            continue;
          }
          REQUIRE(seen.type == RDMA_CM_EVENT_CONNECT_REQUEST && seen.listener == server.listener);
          const bool second = text_of(rdma_get_local_addr(seen.id)) == kSecond;
          expect_on(seen.id, second ? "mrc1" : "mrc0", second ? kSecond : kFirst);
          REQUIRE(ends[second] == nullptr);
          ends[second] = take(seen);
        }
        send(*ends[0], 10);
        send(*ends[1], 11);
        expect_message(*ends[1], 21);
        expect_message(*ends[0], 20);
        done.hear();
        REQUIRE(rdma_disconnect(ends[0]->id) == 0);
        REQUIRE(rdma_disconnect(ends[1]->id) == 0);
      },
      [&] {
        const auto port = static_cast<uint16_t>(ports.hear());
        Caller first(nullptr, kFirst, port);
        Caller second(nullptr, kSecond, port);
        send(first, 20);
        send(second, 21);
        expect_message(first, 10);
        expect_message(second, 11);
        done.tell(0);
        expect_event(first.channel, RDMA_CM_EVENT_DISCONNECTED);
        expect_event(second.channel, RDMA_CM_EVENT_DISCONNECTED);
      });
}

// The same port of two devices may be two processes'.
TEST(CmDevices, AListenerOnOneDeviceHearsNothingOfTheOther) {
  Link ports, done;
  const auto serve = [&](const char* device, const char* address, uint16_t port, uint8_t value) {
    Server server(address, port);
    expect_on(server.listener, device, address);
    ports.tell(server.port());
    const auto end = accept_one(server);
    expect_on(end->id, device, address);
    send(*end, value);
    expect_message(*end, static_cast<uint8_t>(value + 10));
    done.hear();
  };
  const pid_t first = start([&] { serve("mrc0", kFirst, 0, 1); });
  const int port = ports.hear();
  const pid_t second = start([&] { serve("mrc1", kSecond, static_cast<uint16_t>(port), 2); });
  EXPECT_EQ(ports.hear(), port);
  const pid_t client = start([&] {
    const auto to = static_cast<uint16_t>(port);
    // Both ports are taken, and so are those of all.
    rdma_event_channel* channel = rdma_create_event_channel();
    rdma_cm_id* id;
    REQUIRE(rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP) == 0);
    for (const char* taken : {kFirst, kSecond, "0.0.0.0", "::"})
      REQUIRE(rdma_bind_addr(id, Address(taken, to).get()) != 0 && errno == EADDRINUSE);
    Caller there(nullptr, kSecond, to);
    Caller here(nullptr, kFirst, to);
    send(there, 12);
    send(here, 11);
    expect_message(there, 2);
    expect_message(here, 1);
    done.tell(0);
    done.tell(0);
  });
  expect_success(client, "the client");
  expect_success(first, "the server on mrc0");
  expect_success(second, "the server on mrc1");
}

TEST(CmDevices, OneDeviceReachesTheOther) {
  Link ports, done;
  run(
      [&] {
        Server server(kSecond);
        ports.tell(server.port());
        const auto end = accept_one(server);
        expect_on(end->id, "mrc1", kSecond);
        REQUIRE(text_of(rdma_get_peer_addr(end->id)) == kFirst);
        send(*end, 1);
        expect_message(*end, 2);
        done.hear();
      },
      [&] {
        Caller caller(kFirst, kSecond, static_cast<uint16_t>(ports.hear()));
        expect_on(caller.Client::id, "mrc0", kFirst);
        send(caller, 2);
        expect_message(caller, 1);
        done.tell(0);
      });
}

// A wildcard that one device refuses is not half there.
TEST(CmDevices, TheWildcardIsAllOrNothing) {
  Link ports, done;
  run(
      [&] {
        Server server(kSecond);
        ports.tell(server.port());
        done.hear();
      },
      [&] {
        const auto port = static_cast<uint16_t>(ports.hear());
        rdma_event_channel* channel = rdma_create_event_channel();
        rdma_cm_id* id;
        REQUIRE(rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP) == 0);
        REQUIRE(rdma_bind_addr(id, Address("0.0.0.0", port).get()) != 0 && errno == EADDRINUSE);
        REQUIRE(rdma_bind_addr(id, Address(kFirst, port).get()) == 0);  // nothing of it is left there
        REQUIRE(rdma_listen(id, 1) == 0);
        done.tell(0);
      });
}

TEST(CmDevices, NobodyListensOnThatDevice) {
  Link ports, done;
  run(
      [&] {
        Server server(kFirst);
        ports.tell(server.port());
        done.hear();
      },
      [&] {
        Client client(kSecond, static_cast<uint16_t>(ports.hear()));
        connect_to(client, 1);
        REQUIRE(expect_event(client.channel, RDMA_CM_EVENT_REJECTED).status == 8);
        done.tell(0);
      });
}

TEST(CmDevices, AKilledPeerOfTheSecondDeviceIsADisconnect) {
  Link ports, done;
  const pid_t victim = start([&] {
    Client client(kSecond, static_cast<uint16_t>(ports.hear()));
    establish(client, 1);
    done.tell(0);
    pause();
  });
  const pid_t server = start([&] {
    Server server;
    ports.tell(server.port());
    REQUIRE(device_of(accept_from(server, 2)) == "mrc1");
    done.hear();
    kill(victim, SIGKILL);
    expect_event(server.channel, RDMA_CM_EVENT_DISCONNECTED);
  });
  expect_success(server, "the server");
  int status = 0;
  waitpid(victim, &status, 0);
}

TEST(CmDevices, GroupsAreJoinedOnTheDeviceOfTheId) {
  run([] {},
      [] {
        rdma_event_channel* channel = rdma_create_event_channel();
        rdma_cm_id* id;
        REQUIRE(rdma_create_id(channel, &id, nullptr, RDMA_PS_UDP) == 0);
        REQUIRE(rdma_bind_addr(id, Address(kSecond, 0).get()) == 0);
        ibv_cq* queue = ibv_create_cq(id->verbs, 4, nullptr, nullptr, 0);
        ibv_qp_init_attr wanted = provider_test::queue_pair_wanted(queue, queue);
        wanted.qp_type = IBV_QPT_UD;
        REQUIRE(rdma_create_qp(id, nullptr, &wanted) == 0);
        REQUIRE(rdma_join_multicast(id, Address("239.7.7.8", 0).get(), nullptr) == 0);
        expect_event(channel, RDMA_CM_EVENT_MULTICAST_JOIN);
        REQUIRE(rdma_leave_multicast(id, Address("239.7.7.8", 0).get()) == 0);
        REQUIRE(device_of(id) == "mrc1");
      });
}

}  // namespace
}  // namespace cm_test
