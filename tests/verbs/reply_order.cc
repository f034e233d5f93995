// SPDX-License-Identifier: BSD-2-Clause
// Two processes send to each other in turn: whoever has received a reply looks at once whether the SEND that
// it answers is complete, and it must be. Programs take it for granted (iSER's log-in does).
//
//   reply_order --self [--rounds N] [--bytes N] [--device mrc0]
#include <infiniband/verbs.h>

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "examples/shared/verbs_peer.h"

namespace {

using verbs_test::Buffer;
using verbs_test::Device;
using verbs_test::Endpoint;
using verbs_test::EndpointOptions;
using verbs_test::fail;
using verbs_test::Peer;
using verbs_test::Region;
using verbs_test::Role;

struct Options {
  uint64_t rounds = 20'000;
  uint32_t bytes = 64;
};

class Side {
 public:
  Side(Endpoint& endpoint, const Options& options, uint8_t* memory, uint32_t key)
      : endpoint_(endpoint), options_(options), memory_(memory), key_(key) {
    post_receive();
  }

  void send(uint64_t round) {
    std::memcpy(memory_, &round, sizeof round);
    ibv_sge from{reinterpret_cast<uintptr_t>(memory_), options_.bytes, key_};
    ibv_send_wr request{};
    request.wr_id = round;
    request.sg_list = &from;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    request.send_flags = IBV_SEND_SIGNALED;
    ibv_send_wr* bad = nullptr;
    if (const int error = ibv_post_send(endpoint_.qp, &request, &bad); error != 0)
      fail("post_send: %d", error);
    ++under_way_;
  }
  // The message of this round is there, and the receive for the next one is posted.
  void receive(uint64_t round) {
    const ibv_wc completion = verbs_test::wait_completion(endpoint_.receive_queue);
    uint64_t told = 0;
    std::memcpy(&told, memory_ + options_.bytes, sizeof told);
    if (completion.status != IBV_WC_SUCCESS || told != round)
      fail("round %" PRIu64 ": status %d, message %" PRIu64, round, completion.status, told);
    post_receive();
  }
  // A reply is here, so what it answers was received: one look must show it.
  void expect_sent(uint64_t round) {
    ibv_wc completion{};
    if (ibv_poll_cq(endpoint_.send_queue, 1, &completion) != 1)
      fail("round %" PRIu64 ": the reply is here, and the SEND that it answers is not complete", round);
    if (completion.status != IBV_WC_SUCCESS || completion.wr_id != round)
      fail("round %" PRIu64 ": completion of %" PRIu64 " with status %d", round, completion.wr_id,
           completion.status);
    --under_way_;
  }
  void finish() {
    for (; under_way_ > 0; --under_way_)
      if (verbs_test::wait_completion(endpoint_.send_queue).status != IBV_WC_SUCCESS) fail("the last SEND");
  }

 private:
  void post_receive() {
    ibv_sge to{reinterpret_cast<uintptr_t>(memory_ + options_.bytes), options_.bytes, key_};
    ibv_recv_wr request{};
    request.sg_list = &to;
    request.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    if (ibv_post_recv(endpoint_.qp, &request, &bad) != 0) fail("post_recv");
  }

  Endpoint& endpoint_;
  const Options& options_;
  uint8_t* memory_;  // what is sent, and behind it what is received
  uint32_t key_;
  uint32_t under_way_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (const char* rounds = verbs_test::option(argc, argv, "--rounds"))
    options.rounds = std::strtoull(rounds, nullptr, 10);
  if (const char* bytes = verbs_test::option(argc, argv, "--bytes"))
    options.bytes = static_cast<uint32_t>(std::strtoul(bytes, nullptr, 10));
  const char* name = verbs_test::option(argc, argv, "--device");
  const auto peers = verbs_test::peer_options(argc, argv);
  if (peers.mode == verbs_test::PeerOptions::Mode::kNone || options.bytes < sizeof(uint64_t)) {
    std::fprintf(stderr, "usage: %s --self [--rounds N] [--bytes N] [--device mrc0]\n", argv[0]);
    return 2;
  }
  verbs_test::set_deadline(std::chrono::seconds(60 + options.rounds / 5000), "all rounds");
  Peer peer(peers, {"--rounds", std::to_string(options.rounds), "--bytes", std::to_string(options.bytes),
                    "--device", name != nullptr ? name : "mrc0"});
  {
    Device device(name != nullptr ? name : "mrc0");
    Buffer buffer(2 * size_t{options.bytes});
    Region region(device.domain, buffer.data, buffer.bytes, IBV_ACCESS_LOCAL_WRITE);
    Endpoint endpoint(device, EndpointOptions{});
    endpoint.connect(peer, 0xFFFF00);
    Side side(endpoint, options, buffer.data, region.mr->lkey);
    peer.barrier(1);  // both have a receive request
    for (uint64_t round = 0; round < options.rounds; ++round) {
      if (peer.role() == Role::kClient) {
        side.send(round);
        side.receive(round);
        side.expect_sent(round);
      } else {
        side.receive(round);
        if (round > 0) side.expect_sent(round - 1);
        side.send(round);
      }
    }
    side.finish();
    peer.finish();
  }
  if (peer.role() == Role::kServer)
    std::printf("%" PRIu64 " rounds, every reply in its place\n", options.rounds);
  return 0;
}
