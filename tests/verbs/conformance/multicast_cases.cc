// SPDX-License-Identifier: BSD-2-Clause
// Multicast groups: every queue pair in a group gets one copy, whichever process it is of.
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "objects.h"
#include "peer_process.h"

namespace conformance {
namespace {

constexpr uint32_t kHeader = 40;  // the GRH

enum class Made { kByOneThread, kByAThreadEach };

// Some datagram queue pairs of this process.
struct Crowd {
  explicit Crowd(size_t count, uint32_t group_number, Made made = Made::kByOneThread)
      : group(group_of(device(), group_number)) {
    for (size_t i = 0; i < count; ++i) {
      Side& side = sides.emplace_back();
      if (made == Made::kByOneThread)
        make(side, i);
      else
        std::thread([&] { make(side, i); }).join();
    }
    ibv_ah_attr address = address_of_self(device());
    address.grh.dgid = group;
    handle = own(ibv_create_ah(pd, &address), "ibv_create_ah");
  }
  void make(Side& side, size_t number) const {
    side.send_cq = make_cq();
    side.receive_cq = make_cq();
    side.memory = Memory(pd, 16384);
    side.memory.fill(static_cast<uint8_t>(kSeedA + number));
    side.qp = make_qp(pd, qp_wanted(side.send_cq, side.receive_cq, IBV_QPT_UD));
    bring_to(side.qp, IBV_QPS_RTS);
  }
  ~Crowd() {
    for (Side& side : sides) ibv_detach_mcast(side.qp, &group, 0);
  }
  int attach(size_t index) { return ibv_attach_mcast(sides[index].qp, &group, 0); }
  int detach(size_t index) { return ibv_detach_mcast(sides[index].qp, &group, 0); }
  void receive(size_t index, uint64_t id) {
    CHECK_OK(post_receive(sides[index].qp, id, {sides[index].memory.piece(8192, 4096)}));
  }
  void send(size_t index, uint32_t bytes = 100) {
    Side& side = sides[index];
    CHECK_OK(Request(IBV_WR_SEND, 9).piece(side.memory, 0, bytes).to(handle, kAllMembers).post(side.qp));
    await(side.send_cq, 9, IBV_WC_SUCCESS);
  }

  ibv_gid group;
  Owned<ibv_pd> pd = make_pd();
  std::vector<Side> sides;
  Owned<ibv_ah> handle;
};

}  // namespace

CASE("multicast.every_other_member_gets_one_copy") {
  Crowd crowd(4, 1);
  for (size_t i = 0; i < 3; ++i) CHECK_OK(crowd.attach(i));  // the fourth stays outside
  for (size_t i = 0; i < 4; ++i)
    for (uint64_t id = 1; id <= 2; ++id) crowd.receive(i, id);
  crowd.send(0);
  for (size_t i = 1; i < 3; ++i) {
    const ibv_wc completion = await(crowd.sides[i].receive_cq, 1, IBV_WC_SUCCESS);
    CHECK_EQ(completion.byte_len, 100 + kHeader);
    CHECK_EQ(completion.src_qp, crowd.sides[0].qp->qp_num);
    CHECK((completion.wc_flags & IBV_WC_GRH) != 0);
    CHECK(crowd.sides[i].memory.has(kSeedA, 8192 + kHeader, 100, 0));
  }
  for (Side& side : crowd.sides) expect_quiet(side.receive_cq);
}

CASE("multicast.members_of_other_threads") {
  Crowd crowd(4, 1, Made::kByAThreadEach);  // which may have engines of their own
  for (size_t i = 0; i < 4; ++i) {
    CHECK_OK(crowd.attach(i));
    for (uint64_t id = 1; id <= 2; ++id) crowd.receive(i, id);
  }
  crowd.send(0);
  for (size_t i = 1; i < 4; ++i) {
    await(crowd.sides[i].receive_cq, 1, IBV_WC_SUCCESS);
    CHECK(crowd.sides[i].memory.has(kSeedA, 8192 + kHeader, 100, 0));
  }
  for (Side& side : crowd.sides) expect_quiet(side.receive_cq);
  CHECK_OK(crowd.detach(1));
  crowd.send(3);
  await(crowd.sides[0].receive_cq, 1, IBV_WC_SUCCESS);
  await(crowd.sides[2].receive_cq, 2, IBV_WC_SUCCESS);
  expect_quiet(crowd.sides[1].receive_cq);
}

CASE("multicast.grh_names_the_group") {
  Crowd crowd(2, 2);
  CHECK_OK(crowd.attach(1));
  crowd.receive(1, 1);
  crowd.send(0);
  await(crowd.sides[1].receive_cq, 1, IBV_WC_SUCCESS);
  const uint8_t* grh = crowd.sides[1].memory.data() + 8192;
  if (grh[0] >> 4 == 6)
    CHECK(std::memcmp(grh + 24, crowd.group.raw, 16) == 0);
  else
    CHECK(std::memcmp(grh + 36, crowd.group.raw + 12, 4) == 0);
}

CASE("multicast.from_a_queue_pair_outside") {
  Crowd crowd(2, 3);
  CHECK_OK(crowd.attach(1));
  for (uint64_t id = 1; id <= 3; ++id) crowd.receive(1, id);
  for (int i = 0; i < 3; ++i) crowd.send(0, 10);
  for (uint64_t id = 1; id <= 3; ++id) await(crowd.sides[1].receive_cq, id, IBV_WC_SUCCESS);
}

CASE("multicast.nobody_is_there") {
  Crowd crowd(1, 4);
  crowd.send(0);
}

CASE("multicast.attached_twice_is_once") {
  Crowd crowd(2, 5);
  CHECK_OK(crowd.attach(1));
  CHECK_OK(crowd.attach(1));
  for (uint64_t id = 1; id <= 2; ++id) crowd.receive(1, id);
  crowd.send(0);
  await(crowd.sides[1].receive_cq, 1, IBV_WC_SUCCESS);
  expect_quiet(crowd.sides[1].receive_cq);
  CHECK_OK(crowd.detach(1));
  CHECK_ERROR(crowd.detach(1), EINVAL);
}

CASE("multicast.who_has_left_gets_nothing") {
  Crowd crowd(3, 6);
  CHECK_OK(crowd.attach(1));
  CHECK_OK(crowd.attach(2));
  CHECK_OK(crowd.detach(1));
  crowd.receive(1, 1);
  crowd.receive(2, 1);
  crowd.send(0);
  await(crowd.sides[2].receive_cq, 1, IBV_WC_SUCCESS);
  expect_quiet(crowd.sides[1].receive_cq);
}

CASE("multicast.two_groups") {
  Crowd crowd(2, 7);
  const ibv_gid other = group_of(device(), 8);
  CHECK_OK(crowd.attach(1));
  CHECK_OK(ibv_attach_mcast(crowd.sides[1].qp, &other, 0));
  crowd.receive(1, 1);
  crowd.send(0);
  await(crowd.sides[1].receive_cq, 1, IBV_WC_SUCCESS);
  CHECK_OK(crowd.detach(1));
  crowd.receive(1, 2);
  crowd.send(0);  // to the one that it has left
  expect_quiet(crowd.sides[1].receive_cq);
  CHECK_OK(ibv_detach_mcast(crowd.sides[1].qp, &other, 0));
}

CASE("multicast.not_of_a_connection") {
  Pair pair;
  const ibv_gid group = group_of(device(), 9);
  CHECK_ERROR(ibv_attach_mcast(pair.a.qp, &group, 0), EINVAL);
  CHECK_ERROR(ibv_detach_mcast(pair.a.qp, &group, 0), EINVAL);
}

CASE("multicast.address_of_a_host") {
  Crowd crowd(1, 10);
  const ibv_gid host = address_of_self(device()).grh.dgid;
  CHECK_ERROR(ibv_attach_mcast(crowd.sides[0].qp, &host, 0), EINVAL);
}

CASE("multicast.member_cannot_be_destroyed") {
  Crowd crowd(1, 11);
  CHECK_OK(crowd.attach(0));
  CHECK_ERROR(ibv_destroy_qp(crowd.sides[0].qp), EBUSY);
}

CASE("multicast.closing_the_device_leaves") {
  ibv_gid group = group_of(device(), 12);
  ibv_context* context = open_device().release();
  ibv_pd* pd = ibv_alloc_pd(context);
  ibv_cq* cq = ibv_create_cq(context, 16, nullptr, nullptr, 0);
  ibv_qp_init_attr wanted = qp_wanted(cq, cq, IBV_QPT_UD);
  ibv_qp* qp = ibv_create_qp(pd, &wanted);
  CHECK(qp != nullptr);
  CHECK_OK(ibv_attach_mcast(qp, &group, 0));
  CHECK_OK(ibv_close_device(context));
  Crowd crowd(1, 12);
  crowd.send(0);
}

CASE("multicast.as_many_groups_as_are_offered") {
  const ibv_device_attr attributes = device_attributes();
  CHECK(attributes.max_mcast_grp > 0);
  CHECK(attributes.max_mcast_qp_attach > 0);
  CHECK(attributes.max_total_mcast_qp_attach >= attributes.max_mcast_grp);
  Crowd crowd(1, 13);
  std::vector<ibv_gid> groups;
  for (int i = 0; i < attributes.max_mcast_grp; ++i)
    groups.push_back(group_of(device(), static_cast<uint32_t>(1000 + i)));
  for (const ibv_gid& group : groups) CHECK_OK(ibv_attach_mcast(crowd.sides[0].qp, &group, 0));
  const ibv_gid too_many = group_of(device(), 999);
  CHECK_ERROR(ibv_attach_mcast(crowd.sides[0].qp, &too_many, 0), ENOMEM);
  for (const ibv_gid& group : groups) CHECK_OK(ibv_detach_mcast(crowd.sides[0].qp, &group, 0));
}

CASE("multicast.as_many_members_as_are_offered") {
  const auto most = static_cast<size_t>(device_attributes().max_mcast_qp_attach);
  const ibv_gid group = group_of(device(), 14);
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_cq> cq = make_cq();
  std::vector<Owned<ibv_qp>> members;
  for (size_t i = 0; i < most; ++i) {
    members.push_back(make_qp(pd, qp_wanted(cq, cq, IBV_QPT_UD)));
    CHECK_OK(ibv_attach_mcast(members.back(), &group, 0));
  }
  Owned<ibv_qp> one_more = make_qp(pd, qp_wanted(cq, cq, IBV_QPT_UD));
  CHECK_ERROR(ibv_attach_mcast(one_more, &group, 0), ENOMEM);
  for (auto& member : members) CHECK_OK(ibv_detach_mcast(member, &group, 0));
}

// --- several processes ---

CASE("multicast.to_other_processes_and_back") {
  constexpr uint32_t kNumber = 15;
  constexpr uint32_t kDatagrams = 14;
  Crowd crowd(2, kNumber);
  PeerProcess peers[2];
  Pair unused[2];  // what they are connected with
  for (size_t i = 0; i < 2; ++i) {
    Owned<ibv_qp> qp = make_qp(unused[i].pd, qp_wanted(unused[i].a.send_cq, unused[i].a.receive_cq));
    peers[i].connect(qp);
    CHECK_EQ(peers[i].tell(PeerOrder::kJoin, kNumber), 0);
  }
  CHECK_OK(crowd.attach(1));
  for (uint32_t i = 0; i < kDatagrams; ++i) crowd.receive(1, i);
  for (uint32_t i = 0; i < kDatagrams / 2; ++i) crowd.send(0, 200);
  // The first comes while the links are being made; all come in the end.
  for (PeerProcess& peer : peers)
    CHECK_EQ(peer.tell(PeerOrder::kCountDatagrams, kDatagrams / 2), kDatagrams / 2);
  for (uint32_t i = 0; i < kDatagrams / 2; ++i) await(crowd.sides[1].receive_cq, i, IBV_WC_SUCCESS);
  CHECK_EQ(peers[0].tell(PeerOrder::kSendToGroup, kNumber), 0);
  const ibv_wc completion = await(crowd.sides[1].receive_cq, kDatagrams / 2, IBV_WC_SUCCESS);
  CHECK_EQ(completion.byte_len, 64 + kHeader);
  CHECK_EQ(peers[1].tell(PeerOrder::kCountDatagrams, 1), 1);
  CHECK_EQ(peers[0].tell(PeerOrder::kCountDatagrams, 0), 0);
  expect_quiet(crowd.sides[1].receive_cq);
}

CASE("multicast.sent_just_before_the_end") {
  constexpr uint32_t kNumber = 17;
  PeerProcess peer;
  Pair unused;
  Owned<ibv_qp> qp = make_qp(unused.pd, qp_wanted(unused.a.send_cq, unused.a.receive_cq));
  peer.connect(qp);
  PeerProcess stranger;  // there is no link between these two yet
  Owned<ibv_qp> other = make_qp(unused.pd, qp_wanted(unused.a.send_cq, unused.a.receive_cq));
  stranger.connect(other);
  CHECK_EQ(peer.tell(PeerOrder::kJoin, kNumber), 0);
  CHECK_EQ(stranger.tell(PeerOrder::kJoin, kNumber + 1), 0);
  CHECK_EQ(stranger.tell(PeerOrder::kSendToGroup, kNumber), 0);
  CHECK_EQ(stranger.tell(PeerOrder::kEndMember), 0);  // what is complete has left
  stranger.kill_now();
  CHECK_EQ(peer.tell(PeerOrder::kCountDatagrams, 1), 1);
}

CASE("multicast.a_member_was_killed") {
  constexpr uint32_t kNumber = 16;
  Crowd crowd(2, kNumber);
  {
    PeerProcess peer;
    Pair unused;
    Owned<ibv_qp> qp = make_qp(unused.pd, qp_wanted(unused.a.send_cq, unused.a.receive_cq));
    peer.connect(qp);
    CHECK_EQ(peer.tell(PeerOrder::kJoin, kNumber), 0);
    peer.kill_now();
  }
  CHECK_OK(crowd.attach(1));
  constexpr uint64_t kDatagrams = 100;  // more than are held back for a link
  for (uint64_t id = 1; id <= kDatagrams; ++id) {
    crowd.receive(1, id);
    crowd.send(0, 10);
    await(crowd.sides[1].receive_cq, id, IBV_WC_SUCCESS);
  }
}

}  // namespace conformance
