// SPDX-License-Identifier: BSD-2-Clause
// Programs and the mrcd that shares its ports with them: who gets which slot, and what either does when the
// other one talks nonsense, ends or comes back.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "dpdk_io/host/control_loop.h"
#include "dpdk_io/host/monotonic_clock.h"
#include "dpdk_io/share/share_client.h"
#include "dpdk_io/share/share_server.h"
#include "dpdk_io/share/slot_ledger.h"
#include "examples/shared/patience.h"
#include "tests/unit/dpdk_io_shared_frames.h"

namespace mrc {
namespace {

using namespace share_test;

// ----------------------------------------------------------------------------------------- the ledger

class ShareTest : public testing::Test {
 protected:
  ShareTest() {
    char path[] = "/tmp/mrc-share-XXXXXX";
    directory_ = mkdtemp(path);
  }
  ~ShareTest() override { std::filesystem::remove_all(directory_); }
  std::string ledger() const { return directory_ + "/ports.slots"; }
  std::string socket() const { return directory_ + "/ports"; }

  std::string directory_;
};

TEST_F(ShareTest, TheLedgerKeepsSlotsForThoseWhoComeBack) {
  std::string error;
  uint64_t token = 0;
  {
    auto ledger = SlotLedger::open(this->ledger(), 0, &error);
    ASSERT_NE(ledger, nullptr) << error;
    EXPECT_FALSE(ledger->admits(0, 1000, 0, 0));
    EXPECT_FALSE(ledger->admits(kSlotMax + 1, 1000, 0, 0));
    EXPECT_TRUE(ledger->admits(5, 1000, 0, 0));
    token = ledger->take(5, 1000);
    EXPECT_TRUE(ledger->has(5, token));
    EXPECT_FALSE(ledger->has(6, 0));
  }
  auto ledger = SlotLedger::open(this->ledger(), kSecond, &error);  // mrcd was killed
  ASSERT_NE(ledger, nullptr) << error;
  EXPECT_TRUE(ledger->admits(5, 1000, token, 2 * kSecond));
  EXPECT_EQ(ledger->take(5, 1000, token), token);
  EXPECT_FALSE(ledger->admits(5, 1000, 0, 2 * kSecond));
  EXPECT_FALSE(ledger->admits(5, 1000, token + 2, 2 * kSecond));
  EXPECT_FALSE(ledger->admits(5, 1001, token, 2 * kSecond));
  EXPECT_TRUE(ledger->admits(5, 1001, 0, 2 * kSecond + SlotLedger::kRest));  // he does not come
  // What a program leaves is not the next user's at once: others still send to it.
  ledger->take(5, 1000);
  ledger->give_back(5, 100 * kSecond);
  EXPECT_TRUE(ledger->admits(5, 1000, 0, 101 * kSecond));
  EXPECT_FALSE(ledger->admits(5, 1001, 0, 101 * kSecond));
  EXPECT_TRUE(ledger->admits(5, 1001, 0, 101 * kSecond + SlotLedger::kRest));
}

TEST_F(ShareTest, TheLedgerWritesOverNobodysFile) {
  const std::string text = "precious";
  FILE* file = std::fopen(ledger().c_str(), "w");
  ASSERT_NE(file, nullptr);
  std::fputs(text.c_str(), file);
  std::fclose(file);
  std::filesystem::permissions(ledger(), std::filesystem::perms(0600));
  std::string error;
  EXPECT_EQ(SlotLedger::open(ledger(), 0, &error), nullptr);
  EXPECT_NE(error.find("ports.slots"), std::string::npos);
  EXPECT_EQ(std::filesystem::file_size(ledger()), text.size());
}

// ------------------------------------------------------------------------------------ mrcd and programs

// mrcd without ports.
class Sharer {
 public:
  Sharer(const std::string& path, const std::string& ledger, size_t per_user = 8, bool admits = true) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    unlink(path.c_str());
    fd_ = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(fd_, 16), 0);
    ShareServer::Config config;
    config.socket = fd_;
    config.path = ledger;
    config.per_user = per_user;
    config.admits = [admits](uid_t) { return admits; };
    config.joined = [this](ShareServer::Client&) { ++joined; };
    config.leaving = [this](ShareServer::Client&) { ++left; };
    std::string error;
    server = ShareServer::open(config, &error);
    EXPECT_NE(server, nullptr) << error;
    SharedPorts ports;
    ports.shared = ports.up = 3;
    server->set_ports(ports);
  }
  ~Sharer() {
    server.reset();
    close(fd_);
  }
  std::unique_ptr<ShareServer> server;
  int joined = 0;
  int left = 0;

 private:
  int fd_;
};

// Somebody who connects and says what he likes.
class Stranger {
 public:
  explicit Stranger(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    fd_ = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    EXPECT_EQ(connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  ~Stranger() { close(fd_); }
  void say(const ShareMessage& message, const SentPair* memory = nullptr) {
    send_share_message(fd_, message, memory);
  }
  void say(const void* text, size_t bytes) { send(fd_, text, bytes, MSG_DONTWAIT | MSG_NOSIGNAL); }
  ShareReceived hear(ShareMessage* message) {
    DescriptorPair memory;
    return receive_share_message(fd_, message, &memory);
  }
  int claim(uint32_t slot, uint64_t token, Sharer& sharer) {
    ShareMessage question;
    question.slot = slot;
    question.token = token;
    say(question);
    for (int i = 0; i < 3; ++i) sharer.server->service(monotonic_now());
    ShareMessage answer;
    return hear(&answer) == ShareReceived::kMessage ? answer.error : -1;
  }

 private:
  int fd_;
};

TEST_F(ShareTest, ASlotIsForOneProgram) {
  Sharer sharer(socket(), ledger(), 3);
  Stranger one(socket()), two(socket()), three(socket()), four(socket());
  EXPECT_EQ(one.claim(5, 0, sharer), 0);
  EXPECT_EQ(two.claim(5, 0, sharer), EBUSY);
  EXPECT_EQ(two.claim(6, 0, sharer), 0);
  EXPECT_EQ(three.claim(0, 0, sharer), EINVAL);
  EXPECT_EQ(three.claim(kSlotMax + 1, 0, sharer), EINVAL);
  EXPECT_EQ(three.claim(7, 0, sharer), 0);
  EXPECT_EQ(four.claim(8, 0, sharer), EDQUOT);
}

TEST_F(ShareTest, ProgramsThatComeAndGoTakeNoSlotsFromOthers) {
  Sharer sharer(socket(), ledger(), 2);
  const auto come_and_go = [&](uint32_t slot) {
    int result;
    {
      Stranger stranger(socket());
      result = stranger.claim(slot, 0, sharer);
    }
    for (int i = 0; i < 3; ++i) sharer.server->service(monotonic_now());
    return result;
  };
  EXPECT_EQ(come_and_go(5), 0);
  EXPECT_EQ(come_and_go(6), 0);
  EXPECT_EQ(come_and_go(7), EBUSY);
  EXPECT_EQ(come_and_go(5), 0);
}

TEST_F(ShareTest, OnlyUsersWhomRootAllows) {
  Sharer sharer(socket(), ledger(), 3, false);
  Stranger one(socket());
  EXPECT_EQ(one.claim(5, 0, sharer), EPERM);
  EXPECT_EQ(sharer.joined, 0);
}

TEST_F(ShareTest, WhoTalksNonsenseIsLeftAlone) {
  Sharer sharer(socket(), ledger());
  const auto ends = [&](auto say) {
    Stranger stranger(socket());
    say(stranger);
    for (int i = 0; i < 3; ++i) sharer.server->service(monotonic_now());
    ShareMessage answer;
    ShareReceived heard;
    while ((heard = stranger.hear(&answer)) == ShareReceived::kMessage) {
    }
    return heard == ShareReceived::kEnd;
  };
  EXPECT_TRUE(ends([](Stranger& stranger) { stranger.say("hello", 5); }));
  EXPECT_TRUE(ends([](Stranger& stranger) {
    ShareMessage message;
    message.version = 99;
    stranger.say(message);
  }));
  EXPECT_TRUE(ends([](Stranger& stranger) {
    ShareMessage message;
    message.type = static_cast<ShareMessage::Type>(77);
    stranger.say(message);
  }));
  // Memory before there is a slot, none at all, and what is no arena.
  EXPECT_TRUE(ends([](Stranger& stranger) {
    ShareMessage message;
    message.type = ShareMessage::Type::kJoin;
    message.number = 1;
    const SentPair pair{0, 0};
    stranger.say(message, &pair);
  }));
  EXPECT_TRUE(ends([](Stranger& stranger) {
    ShareMessage message;
    message.slot = 5;
    stranger.say(message);
    message.type = ShareMessage::Type::kJoin;
    stranger.say(message);
  }));
  EXPECT_TRUE(ends([](Stranger& stranger) {
    ShareMessage message;
    message.slot = 5;
    stranger.say(message);
    message.type = ShareMessage::Type::kJoin;
    message.number = 1;
    const SentPair pair{0, 0};
    stranger.say(message, &pair);
  }));
  EXPECT_EQ(sharer.joined, 0);
  Stranger good(socket());
  EXPECT_EQ(good.claim(5, 0, sharer), 0);  // the slot is free again
}

// A program as DevicePorts has it; the server is served by the same thread.
class Program {
 public:
  Program(const std::string& path, uint32_t slot, Sharer& sharer) {
    std::string error;
    client = ShareClient::connect(path, &error);
    EXPECT_NE(client, nullptr) << error;
    loop = ControlLoop::open(&error);
    std::atomic<bool> ready{false};
    std::thread asks([&] {
      EXPECT_EQ(client->claim(slot, &error), HostClaim::kTaken) << error;
      EXPECT_TRUE(client->start(*loop, 3, &error)) << error;
      ready.store(true);
    });
    while (!ready.load()) sharer.server->service(monotonic_now());
    asks.join();
  }
  ~Program() {
    client.reset();
    loop.reset();
  }
  std::unique_ptr<ControlLoop> loop;
  std::unique_ptr<ShareClient> client;
};

TEST_F(ShareTest, MrcdEndsAndComesBack) {
  auto sharer = std::make_unique<Sharer>(socket(), ledger());
  Program program(socket(), 5, *sharer);
  int changes = 0;
  program.client->on_change([&] { ++changes; });
  EXPECT_EQ(program.client->ports().up, 3u);
  EXPECT_EQ(sharer->joined, 1);
  const Bytes frame = make_frame({.to = Qpn{77}});
  for (int life = 0; life < 3; ++life) {
    LinkEnd& there = sharer->server->find(5)->end;
    EXPECT_EQ(send_copies(program.client->link(), frame, 0, 10), 10u);
    EXPECT_EQ(receive_all(there).size(), 10u);
    EXPECT_EQ(send_copies(there, frame, 0, 10), 10u);
    EXPECT_EQ(receive_all(program.client->link()).size(), 10u);

    sharer.reset();
    const auto until = monotonic_now() + kPatience * 20 * kSecond;
    while (program.client->ports().up != 0 && monotonic_now() < until) program.loop->run(monotonic_now());
    EXPECT_EQ(program.client->ports().up, 0u);
    EXPECT_EQ(send_copies(program.client->link(), frame, 0, 1), 0u);

    sharer = std::make_unique<Sharer>(socket(), ledger());
    // Its slot waits for it.
    Stranger thief(socket());
    EXPECT_EQ(thief.claim(5, 0, *sharer), EBUSY);
    while (program.client->ports().up == 0 && monotonic_now() < until) {
      program.loop->run(monotonic_now());
      sharer->server->service(monotonic_now());
      usleep(1000);
    }
    EXPECT_EQ(program.client->ports().up, 3u);
  }
  EXPECT_GE(changes, 6);
  // What changes at the ports is told.
  SharedPorts ports;
  ports.shared = 3;
  ports.up = 1;
  sharer->server->set_ports(ports);
  sharer->server->service(monotonic_now());
  const auto until = monotonic_now() + kPatience * 20 * kSecond;
  while (program.client->ports().up != 1 && monotonic_now() < until) program.loop->run(monotonic_now());
  EXPECT_EQ(program.client->ports().up, 1u);
}

TEST_F(ShareTest, AProgramThatEndsIsNoticed) {
  Sharer sharer(socket(), ledger());
  { Program program(socket(), 5, sharer); }
  for (int i = 0; i < 3; ++i) sharer.server->service(monotonic_now());
  EXPECT_EQ(sharer.left, 1);
  EXPECT_EQ(sharer.server->find(5), nullptr);
  EXPECT_TRUE(sharer.server->joined().empty());
}

}  // namespace
}  // namespace mrc
