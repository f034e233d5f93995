// SPDX-License-Identifier: BSD-2-Clause
// Address handles and unreliable datagrams.
#include <endian.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

#include "objects.h"

namespace conformance {
namespace {

constexpr uint32_t kGrh = 40;

PairOptions datagrams() {
  PairOptions options;
  options.type = IBV_QPT_UD;
  return options;
}

struct DatagramPair : Pair {
  DatagramPair() : Pair(datagrams()) {}
  Request request(uint32_t bytes, uint64_t id = 1, uint32_t queue_key = kQueueKey) {
    Request one(IBV_WR_SEND, id);
    one.piece(a.memory, 0, bytes).to(handle, b.qp->qp_num, queue_key);
    return one;
  }
  void receive(uint64_t id = 2, uint32_t room = 4096 + kGrh) {
    CHECK_OK(post_receive(b.qp, id, {b.memory.piece(0, room)}));
  }
};

uint32_t port_mtu() {
  ibv_port_attr port;
  CHECK_OK(ibv_query_port(device(), 1, &port));
  return 128u << port.active_mtu;
}

int error_of_handle(void (*change)(ibv_ah_attr*)) {
  Owned<ibv_pd> pd = make_pd();
  ibv_ah_attr address = address_of_self(device());
  change(&address);
  errno = 0;
  Owned<ibv_ah> handle(ibv_create_ah(pd, &address));
  return handle.get() != nullptr ? 0 : errno;
}

}  // namespace

// --- address handles ---

CASE("ah.create") {
  Owned<ibv_pd> pd = make_pd();
  ibv_ah_attr address = address_of_self(device());
  Owned<ibv_ah> handle = own(ibv_create_ah(pd, &address), "ibv_create_ah");
  CHECK(handle->pd == pd.get());
  CHECK(handle->context == device());
}

CASE("ah.many") {
  Owned<ibv_pd> pd = make_pd();
  ibv_ah_attr address = address_of_self(device());
  std::vector<Owned<ibv_ah>> handles;
  for (int i = 0; i < 1000; ++i) handles.push_back(own(ibv_create_ah(pd, &address), "ibv_create_ah"));
}

CASE("ah.without_grh") {
  CHECK_ERROR(error_of_handle([](ibv_ah_attr* a) { a->is_global = 0; }), EINVAL);
}

CASE("ah.from_no_gid") {
  CHECK_ERROR(error_of_handle([](ibv_ah_attr* a) { a->grh.sgid_index = 250; }), EINVAL);
}

CASE("ah.of_port_0") {
  CHECK_ERROR(error_of_handle([](ibv_ah_attr* a) { a->port_num = 0; }), EINVAL);
}

CASE("ah.of_port_2") {
  CHECK_ERROR(error_of_handle([](ibv_ah_attr* a) { a->port_num = 2; }), EINVAL);
}

CASE("ah.from_a_completion") {
  DatagramPair pair;
  pair.receive();
  CHECK_OK(pair.request(8).post(pair.a.qp));
  ibv_wc completion = await(pair.b.receive_cq, 2, IBV_WC_SUCCESS);
  auto* grh = reinterpret_cast<ibv_grh*>(pair.b.memory.data());
  Owned<ibv_ah> back = own(ibv_create_ah_from_wc(pair.pd, &completion, grh, 1), "ibv_create_ah_from_wc");
  CHECK_OK(post_receive(pair.a.qp, 3, {pair.a.memory.piece(4096, 1024)}));
  CHECK_OK(Request(IBV_WR_SEND, 4).piece(pair.b.memory, 0, 16).to(back, completion.src_qp).post(pair.b.qp));
  CHECK_EQ(await(pair.a.receive_cq, 3, IBV_WC_SUCCESS).byte_len, 16 + kGrh);
}

CASE("ah.attributes_from_a_completion") {
  DatagramPair pair;
  pair.receive();
  CHECK_OK(pair.request(8).post(pair.a.qp));
  ibv_wc completion = await(pair.b.receive_cq, 2, IBV_WC_SUCCESS);
  ibv_ah_attr address{};
  CHECK_EQ(ibv_init_ah_from_wc(device(), 1, &completion, reinterpret_cast<ibv_grh*>(pair.b.memory.data()),
                               &address),
           0);
  CHECK_EQ(address.is_global, 1);
  CHECK_EQ(address.grh.sgid_index, 0);
  const ibv_ah_attr self = address_of_self(device());
  CHECK(std::memcmp(&address.grh.dgid, &self.grh.dgid, sizeof(ibv_gid)) == 0);
}

// --- datagrams ---

CASE("ud.send") {
  DatagramPair pair;
  pair.receive();
  CHECK_OK(pair.request(1000).post(pair.a.qp));
  CHECK_EQ(await(pair.a.send_cq, 1, IBV_WC_SUCCESS).opcode, IBV_WC_SEND);
  const ibv_wc completion = await(pair.b.receive_cq, 2, IBV_WC_SUCCESS);
  CHECK_EQ(completion.opcode, IBV_WC_RECV);
  CHECK_EQ(completion.byte_len, 1000 + kGrh);
  CHECK(completion.wc_flags & IBV_WC_GRH);
  CHECK_EQ(completion.src_qp, pair.a.qp->qp_num);
  CHECK_EQ(completion.qp_num, pair.b.qp->qp_num);
  CHECK_EQ(completion.pkey_index, 0);
  CHECK(pair.b.memory.has(kSeedA, kGrh, 1000, 0));
}

CASE("ud.of_no_bytes") {
  DatagramPair pair;
  pair.receive();
  CHECK_OK(pair.request(0).post(pair.a.qp));
  CHECK_EQ(await(pair.b.receive_cq, 2, IBV_WC_SUCCESS).byte_len, kGrh);
}

CASE("ud.the_longest") {
  DatagramPair pair;
  const uint32_t mtu = port_mtu();
  pair.receive(2, mtu + kGrh);
  CHECK_OK(pair.request(mtu).post(pair.a.qp));
  CHECK_EQ(await(pair.b.receive_cq, 2, IBV_WC_SUCCESS).byte_len, mtu + kGrh);
  CHECK(pair.b.memory.has(kSeedA, kGrh, mtu, 0));
}

CASE("ud.too_long") {
  DatagramPair pair;
  const int posted = pair.request(port_mtu() + 1).post(pair.a.qp);
  if (posted != 0) return CHECK_ERROR(posted, EINVAL);
  await(pair.a.send_cq, 1, IBV_WC_LOC_LEN_ERR);
}

CASE("ud.with_immediate") {
  DatagramPair pair;
  pair.receive();
  CHECK_OK(Request(IBV_WR_SEND_WITH_IMM, 1)
               .piece(pair.a.memory, 0, 8)
               .immediate(0xABCD1234)
               .to(pair.handle, pair.b.qp->qp_num)
               .post(pair.a.qp));
  const ibv_wc completion = await(pair.b.receive_cq, 2, IBV_WC_SUCCESS);
  CHECK(completion.wc_flags & IBV_WC_WITH_IMM);
  CHECK_EQ(be32toh(completion.imm_data), 0xABCD1234);
}

CASE("ud.grh_names_the_sender") {
  DatagramPair pair;
  pair.receive();
  CHECK_OK(pair.request(8).post(pair.a.qp));
  await(pair.b.receive_cq, 2, IBV_WC_SUCCESS);
  ibv_gid self;
  CHECK_EQ(ibv_query_gid(device(), 1, 0, &self), 0);
  // RoCE v2: an IPv6 header, or an IPv4 header in the last 20 bytes.
  const uint8_t* grh = pair.b.memory.data();
  const bool v4 = std::memcmp(self.raw, "\0\0\0\0\0\0\0\0\0\0\xFF\xFF", 12) == 0;
  if (v4) {
    CHECK_EQ(grh[20] >> 4, 4);
    CHECK(std::memcmp(grh + 32, self.raw + 12, 4) == 0);
    CHECK(std::memcmp(grh + 36, self.raw + 12, 4) == 0);
  } else {
    CHECK_EQ(grh[0] >> 4, 6);
    CHECK(std::memcmp(grh + 8, self.raw, 16) == 0);
  }
}

CASE("ud.wrong_queue_key_is_dropped") {
  DatagramPair pair;
  pair.receive();
  CHECK_OK(pair.request(8, 1, kQueueKey + 1).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  expect_quiet(pair.b.receive_cq);
  CHECK_OK(pair.request(8, 3).post(pair.a.qp));  // and nothing is broken
  await(pair.b.receive_cq, 2, IBV_WC_SUCCESS);
}

CASE("ud.controlled_queue_key_means_the_own") {
  // A key with the highest bit set: the queue pair's own is sent instead (IBTA 10.2.5).
  DatagramPair pair;
  pair.receive();
  CHECK_OK(pair.request(8, 1, 0x80000000).post(pair.a.qp));
  await(pair.b.receive_cq, 2, IBV_WC_SUCCESS);
}

CASE("ud.no_receive_is_a_lost_datagram") {
  DatagramPair pair;
  CHECK_OK(pair.request(8, 1).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  expect_quiet(pair.b.receive_cq, 20);
  pair.receive();
  CHECK_OK(pair.request(16, 3).post(pair.a.qp));
  CHECK_EQ(await(pair.b.receive_cq, 2, IBV_WC_SUCCESS).byte_len, 16 + kGrh);
}

CASE("ud.no_such_queue_pair") {
  DatagramPair pair;
  CHECK_OK(Request(IBV_WR_SEND, 1).piece(pair.a.memory, 0, 8).to(pair.handle, 0xFFFFF0).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  CHECK_EQ(queried_state(pair.a.qp), IBV_QPS_RTS);
}

CASE("ud.receive_without_room_for_it") {
  // Dropped, or an error of the receive; never written beyond its end.
  DatagramPair pair;
  pair.receive(2, kGrh + 8);
  CHECK_OK(pair.request(100).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  ibv_wc completion;
  usleep(20000);
  if (ibv_poll_cq(pair.b.receive_cq, 1, &completion) == 1) CHECK_EQ(completion.status, IBV_WC_LOC_LEN_ERR);
  CHECK(pair.b.memory.has(kSeedB, kGrh + 8, 1000, kGrh + 8));
}

CASE("ud.several_receivers") {
  DatagramPair pair;
  Owned<ibv_qp> third = make_qp(pair.pd, qp_wanted(pair.b.send_cq, pair.b.receive_cq, IBV_QPT_UD));
  bring_to(third, IBV_QPS_RTS);
  pair.receive(2);
  CHECK_OK(post_receive(third, 3, {pair.b.memory.piece(8192, 4096)}));
  CHECK_OK(Request(IBV_WR_SEND, 1).piece(pair.a.memory, 0, 8).to(pair.handle, third->qp_num).post(pair.a.qp));
  CHECK_EQ(await(pair.b.receive_cq, 3, IBV_WC_SUCCESS).qp_num, third->qp_num);
  CHECK_OK(pair.request(8, 5).post(pair.a.qp));
  await(pair.b.receive_cq, 2, IBV_WC_SUCCESS);
}

CASE("ud.gathered_and_scattered") {
  DatagramPair pair;
  CHECK_OK(post_receive(
      pair.b.qp, 2,
      {pair.b.memory.piece(0, kGrh), pair.b.memory.piece(1000, 5), pair.b.memory.piece(2000, 500)}));
  CHECK_OK(Request(IBV_WR_SEND, 1)
               .piece(pair.a.memory, 0, 3)
               .piece(pair.a.memory, 3, 197)
               .to(pair.handle, pair.b.qp->qp_num)
               .post(pair.a.qp));
  CHECK_EQ(await(pair.b.receive_cq, 2, IBV_WC_SUCCESS).byte_len, 200 + kGrh);
  CHECK(pair.b.memory.has(kSeedA, 1000, 5, 0));
  CHECK(pair.b.memory.has(kSeedA, 2000, 195, 5));
}

CASE("ud.inline") {
  DatagramPair pair;
  pair.receive();
  CHECK_OK(pair.request(32).flags(IBV_SEND_INLINE).post(pair.a.qp));
  CHECK_EQ(await(pair.b.receive_cq, 2, IBV_WC_SUCCESS).byte_len, 32 + kGrh);
  CHECK(pair.b.memory.has(kSeedA, kGrh, 32, 0));
}

CASE("ud.bad_local_key") {
  DatagramPair pair;
  CHECK_OK(Request(IBV_WR_SEND, 1)
               .piece({pair.a.memory.address(), 8, 0xBAD00})
               .to(pair.handle, pair.b.qp->qp_num)
               .post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_LOC_PROT_ERR);
}

CASE("ud.without_handle") {
  DatagramPair pair;
  CHECK_ERROR(
      Request(IBV_WR_SEND, 1).piece(pair.a.memory, 0, 8).to(nullptr, pair.b.qp->qp_num).post(pair.a.qp),
      EINVAL);
}

CASE("ud.has_no_writes") {
  DatagramPair pair;
  CHECK_ERROR(
      Request(IBV_WR_RDMA_WRITE, 1).piece(pair.a.memory, 0, 8).remote(pair.b.memory, 0).post(pair.a.qp),
      EINVAL, EOPNOTSUPP);
}

CASE("ud.has_no_reads") {
  DatagramPair pair;
  CHECK_ERROR(
      Request(IBV_WR_RDMA_READ, 1).piece(pair.a.memory, 0, 8).remote(pair.b.memory, 0).post(pair.a.qp),
      EINVAL, EOPNOTSUPP);
}

CASE("ud.has_no_atomics") {
  DatagramPair pair;
  CHECK_ERROR(Request(IBV_WR_ATOMIC_FETCH_AND_ADD, 1)
                  .piece(pair.a.memory, 0, 8)
                  .atomic(pair.b.memory.address(), pair.b.memory.mr->rkey, 1)
                  .post(pair.a.qp),
              EINVAL, EOPNOTSUPP);
}

CASE("ud.shared_receive_queue") {
  PairOptions options = datagrams();
  options.with_srq = true;
  Pair pair(options);
  CHECK_OK(post_receive(pair.b.srq.get(), 7, {pair.b.memory.piece(0, 4096)}));
  CHECK_OK(
      Request(IBV_WR_SEND, 1).piece(pair.a.memory, 0, 8).to(pair.handle, pair.b.qp->qp_num).post(pair.a.qp));
  CHECK_EQ(await(pair.b.receive_cq, 7, IBV_WC_SUCCESS).byte_len, 8 + kGrh);
}

CASE("ud.flushed_when_moved_to_error") {
  DatagramPair pair;
  for (uint64_t id = 0; id < 4; ++id) pair.receive(id);
  CHECK_OK(move(pair.b.qp, IBV_QPS_ERR));
  for (uint64_t id = 0; id < 4; ++id) await(pair.b.receive_cq, id, IBV_WC_WR_FLUSH_ERR);
}

CASE("ud.new_queue_key_while_running") {
  DatagramPair pair;
  ibv_qp_attr attributes = good_attributes(device(), IBV_QPS_RTS);
  attributes.qkey = 0x777;
  CHECK_OK(ibv_modify_qp(pair.b.qp, &attributes, IBV_QP_STATE | IBV_QP_QKEY));
  pair.receive();
  CHECK_OK(pair.request(8, 1, 0x777).post(pair.a.qp));
  await(pair.b.receive_cq, 2, IBV_WC_SUCCESS);
}

}  // namespace conformance
