// SPDX-License-Identifier: BSD-2-Clause
// Raw packets, flow steering and sniffers. Frames come from another process: Ethernet brings nobody his own.
#include <arpa/inet.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "peer_process.h"
#include "raw_frames.h"

namespace conformance {
namespace {

using Kinds = std::vector<uint32_t>;
constexpr uint32_t kAllKinds = (1u << kFrameKinds) - 1;

// Another process that sends frames.
struct FrameSource {
  FrameSource() {
    qp = make_qp(unused.pd, qp_wanted(unused.a.send_cq, unused.a.receive_cq));
    hello = peer.connect(qp);
  }
  void send(uint32_t kinds = kAllKinds) { CHECK_EQ(peer.tell(PeerOrder::kSendFrames, kinds), 0); }

  PeerProcess peer;
  Pair unused;
  Owned<ibv_qp> qp;
  PeerHello hello;
};

// Of all kinds, those that a flow lets through.
Kinds heard_by(const FlowWanted& wanted, size_t expected) {
  RawSide side;
  Owned<ibv_flow> flow = side.listen(wanted);
  FrameSource source;
  source.send();
  return side.hear_kinds(expected);
}

uint32_t crc32_of(uint32_t state, const uint8_t* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    state ^= bytes[i];
    for (int bit = 0; bit < 8; ++bit) state = (state & 1) != 0 ? state >> 1 ^ 0xEDB88320u : state >> 1;
  }
  return state;
}

// RoCEv2 annex A17.3.3, written down once more: 8 bytes of ones, then what no switch changes.
bool has_right_icrc(const std::vector<uint8_t>& frame) {
  std::vector<uint8_t> covered(frame.begin() + 14, frame.end() - 4);
  const bool v4 = covered[0] >> 4 == 4;
  const size_t udp = v4 ? 20 : 40;
  if (v4) {
    covered[1] = covered[8] = covered[10] = covered[11] = 0xFF;
  } else {
    covered[0] |= 0x0F;
    covered[1] = covered[2] = covered[3] = covered[7] = 0xFF;
  }
  covered[udp + 6] = covered[udp + 7] = covered[udp + 8 + 4] = 0xFF;
  const std::vector<uint8_t> ones(8, 0xFF);
  const uint32_t icrc =
      ~crc32_of(crc32_of(0xFFFFFFFF, ones.data(), ones.size()), covered.data(), covered.size());
  uint32_t stored;
  std::memcpy(&stored, &frame[frame.size() - 4], sizeof stored);
  return stored == htole32(icrc);
}

bool is_roce(const std::vector<uint8_t>& frame) {
  if (frame.size() < 14 + 20 + 8 + 12 + 4) return false;
  const size_t udp = 14 + (frame[14] >> 4 == 4 ? 20 : 40);
  return frame[udp + 2] == (4791 >> 8) && frame[udp + 3] == (4791 & 0xFF);
}

// What a sniffer hears until nothing comes for a while; every frame is of RoCE and has its ICRC.
size_t count_sniffed(RawSide& sniffer, const std::vector<uint8_t>& part, size_t* with_part) {
  size_t count = 0;
  *with_part = 0;
  ibv_wc completion;
  for (int quiet = 0; quiet < 50;) {
    if (ibv_poll_cq(sniffer.cq, 1, &completion) == 0) {
      usleep(1000);
      ++quiet;
      continue;
    }
    CHECK_EQ(completion.status, IBV_WC_SUCCESS);
    const uint8_t* bytes = sniffer.memory.data() + completion.wr_id * RawSide::kFrameBytes;
    const std::vector<uint8_t> frame(bytes, bytes + completion.byte_len);
    CHECK(is_roce(frame));
    CHECK(has_right_icrc(frame));
    if (std::search(frame.begin(), frame.end(), part.begin(), part.end()) != frame.end()) ++*with_part;
    sniffer.receive(completion.wr_id);
    ++count;
  }
  return count;
}

// Changes what the calling thread may, for as long as it lives.
class WithoutNetRaw {
 public:
  WithoutNetRaw() {
    syscall(SYS_capget, &header_, before_);
    __user_cap_data_struct less[_LINUX_CAPABILITY_U32S_3];
    std::copy(std::begin(before_), std::end(before_), less);
    less[0].effective &= ~CAP_TO_MASK(CAP_NET_RAW);
    CHECK_EQ(syscall(SYS_capset, &header_, less), 0);
  }
  ~WithoutNetRaw() { syscall(SYS_capset, &header_, before_); }

 private:
  __user_cap_header_struct header_{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct before_[_LINUX_CAPABILITY_U32S_3]{};
};

// Runs it in a thread of its own, and fails as it does.
void in_thread(const std::function<void()>& body) {
  std::exception_ptr failure;
  std::thread([&] {
    try {
      body();
    } catch (...) {
      failure = std::current_exception();
    }
  }).join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

// --- who may ---

CASE("raw.needs_the_capability") {
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_cq> cq = make_cq();
  const WithoutNetRaw nobody;
  CHECK(!has_net_raw());
  ibv_qp_init_attr wanted = qp_wanted(cq, cq, IBV_QPT_RAW_PACKET);
  CHECK_REFUSED(ibv_create_qp(pd, &wanted), EPERM);
}

CASE("raw.flow_needs_the_capability") {
  need_net_raw();
  RawSide side;
  const WithoutNetRaw nobody;
  FlowWanted wanted(IBV_FLOW_ATTR_SNIFFER);
  CHECK_REFUSED(ibv_create_flow(side.qp, wanted.get()), EPERM);
}

// --- queue pairs ---

CASE("raw.device_says_so") {
  const ibv_device_attr attributes = device_attributes();
  CHECK((attributes.device_cap_flags & IBV_DEVICE_MANAGED_FLOW_STEERING) != 0);
  CHECK(attributes.max_raw_ethy_qp > 0);
}

CASE("raw.transitions_need_a_port_and_nothing_else") {
  need_net_raw();
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_cq> cq = make_cq();
  Owned<ibv_qp> qp = make_qp(pd, qp_wanted(cq, cq, IBV_QPT_RAW_PACKET));
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  CHECK_ERROR(ibv_modify_qp(qp, &attributes, IBV_QP_STATE), EINVAL);
  attributes.port_num = 2;
  CHECK_ERROR(ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_PORT), EINVAL);
  attributes.port_num = 1;
  CHECK_ERROR(ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_QKEY), EINVAL);
  CHECK_OK(ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_PORT));
  attributes.qp_state = IBV_QPS_RTR;
  CHECK_ERROR(ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_DEST_QPN), EINVAL);
  CHECK_OK(ibv_modify_qp(qp, &attributes, IBV_QP_STATE));
  CHECK_EQ(queried_state(qp), IBV_QPS_RTR);
  attributes.qp_state = IBV_QPS_RTS;
  CHECK_ERROR(ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_SQ_PSN), EINVAL);
  CHECK_OK(ibv_modify_qp(qp, &attributes, IBV_QP_STATE));
  CHECK_EQ(queried_state(qp), IBV_QPS_RTS);
}

CASE("raw.shared_receives_are_refused") {
  need_net_raw();
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_cq> cq = make_cq();
  Owned<ibv_srq> srq = make_srq(pd);
  ibv_qp_init_attr wanted = qp_wanted(cq, cq, IBV_QPT_RAW_PACKET);
  wanted.srq = srq;
  CHECK_REFUSED(ibv_create_qp(pd, &wanted), EINVAL);
}

CASE("raw.only_plain_sends") {
  need_net_raw();
  RawSide side;
  for (const ibv_wr_opcode opcode :
       {IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_LOCAL_INV})
    CHECK_ERROR(Request(opcode).piece(side.memory, 0, 64).post(side.qp), EINVAL);
  CHECK_ERROR(Request(IBV_WR_SEND).piece(side.memory, 0, 64).flags(IBV_SEND_IP_CSUM).post(side.qp), EINVAL);
}

CASE("raw.a_frame_without_an_ethernet_header_is_an_error") {
  need_net_raw();
  RawSide side;
  CHECK_OK(Request(IBV_WR_SEND, 3).piece(side.memory, 0, 13).post(side.qp));
  await(side.send_cq, 3, IBV_WC_LOC_LEN_ERR);
  CHECK_EQ(queried_state(side.qp), IBV_QPS_ERR);
  CHECK_EQ(await(side.cq).status, IBV_WC_WR_FLUSH_ERR);
}

CASE("raw.nobody_listens") {
  need_net_raw();
  RawSide side;
  side.send(make_frame(kUdpFrame));
  expect_quiet(side.cq);
}

CASE("raw.sent_by_the_new_calls") {
  need_net_raw();
  FrameSource other;
  CHECK_EQ(other.peer.tell(PeerOrder::kHearFrames), 0);
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_cq> cq = make_cq();
  Memory memory(pd, 4096);
  ibv_qp_init_attr_ex wanted{};
  wanted.qp_type = IBV_QPT_RAW_PACKET;
  wanted.send_cq = wanted.recv_cq = cq;
  wanted.cap = {4, 4, 2, 2, 64};
  wanted.pd = pd;
  wanted.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  wanted.send_ops_flags = IBV_QP_EX_WITH_SEND_WITH_IMM;
  CHECK_REFUSED(ibv_create_qp_ex(device(), &wanted), EOPNOTSUPP);
  wanted.send_ops_flags = IBV_QP_EX_WITH_SEND;
  Owned<ibv_qp> qp = own(ibv_create_qp_ex(device(), &wanted), "ibv_create_qp_ex");
  bring_to(qp, IBV_QPS_RTS);
  const std::vector<uint8_t> frame = make_frame(kTcpFrame);
  std::copy(frame.begin(), frame.end(), memory.data());
  ibv_qp_ex* calls = ibv_qp_to_qp_ex(qp);
  ibv_wr_start(calls);
  calls->wr_id = 5;
  calls->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_send(calls);
  ibv_wr_set_sge(calls, memory.mr->lkey, memory.address(), static_cast<uint32_t>(frame.size()));
  CHECK_OK(ibv_wr_complete(calls));
  await(cq, 5, IBV_WC_SUCCESS);
  CHECK_EQ(other.peer.tell(PeerOrder::kCountFrames, 1), 1u << kTcpFrame);
}

// --- flows ---

CASE("flow.all_that_nobody_else_takes") {
  need_net_raw();
  CHECK(heard_by(FlowWanted(IBV_FLOW_ATTR_ALL_DEFAULT), kFrameKinds) == (Kinds{0, 1, 2, 3, 4, 5, 6}));
}

CASE("flow.groups_that_nobody_else_takes") {
  need_net_raw();
  CHECK(heard_by(FlowWanted(IBV_FLOW_ATTR_MC_DEFAULT), 1) == Kinds{kGroupFrame});
}

CASE("flow.by_ethernet_address") {
  need_net_raw();
  CHECK(heard_by(FlowWanted().to_station(kStation), 6) == (Kinds{0, 1, 2, 3, 4, 6}));
}

CASE("flow.by_vlan") {
  need_net_raw();
  CHECK(heard_by(FlowWanted().vlan(5), 1) == Kinds{kVlanFrame});
}

CASE("flow.by_udp_port") {
  need_net_raw();
  CHECK(heard_by(FlowWanted().to_port(5000), 4) == (Kinds{kUdpFrame, kUdp6Frame, kGroupFrame, kVlanFrame}));
}

CASE("flow.by_tcp_port") {
  need_net_raw();
  CHECK(heard_by(FlowWanted().to_port(80, IBV_FLOW_SPEC_TCP), 1) == Kinds{kTcpFrame});
}

CASE("flow.by_ipv4_address_and_port") {
  need_net_raw();
  CHECK(heard_by(FlowWanted().to_station(kStation).from_ipv4(0x0A00004D).to_port(5001), 1) ==
        Kinds{kOtherUdpFrame});
}

CASE("flow.by_a_part_of_an_address") {
  need_net_raw();
  // 10.0.0.0/26 has 10.0.0.1, and not 10.0.0.77.
  CHECK(heard_by(FlowWanted().from_ipv4(0x0A000000, 0xFFFFFFC0), 4) ==
        (Kinds{kUdpFrame, kTcpFrame, kGroupFrame, kVlanFrame}));
}

CASE("flow.by_ipv6") {
  need_net_raw();
  CHECK(heard_by(FlowWanted().ipv6_hops(33), 1) == Kinds{kUdp6Frame});
}

CASE("flow.nothing_that_matches") {
  need_net_raw();
  CHECK(heard_by(FlowWanted().ipv6_hops(34), 0).empty());
}

CASE("flow.the_best_priority_takes_the_frame") {
  need_net_raw();
  RawSide first;
  RawSide second;
  RawSide rest;
  Owned<ibv_flow> flows[] = {second.listen(FlowWanted(IBV_FLOW_ATTR_NORMAL, 7).to_station(kStation)),
                             first.listen(FlowWanted(IBV_FLOW_ATTR_NORMAL, 3).to_port(5000)),
                             rest.listen(FlowWanted(IBV_FLOW_ATTR_ALL_DEFAULT))};
  FrameSource source;
  source.send();
  CHECK(first.hear_kinds(4) == (Kinds{kUdpFrame, kUdp6Frame, kGroupFrame, kVlanFrame}));
  CHECK(second.hear_kinds(3) == (Kinds{kPlainFrame, kOtherUdpFrame, kTcpFrame}));
  CHECK(rest.hear_kinds(0).empty());
}

CASE("flow.one_copy_for_each_queue_pair") {
  need_net_raw();
  RawSide first;
  RawSide second;
  Owned<ibv_flow> flows[] = {first.listen(FlowWanted().to_port(80, IBV_FLOW_SPEC_TCP)),
                             first.listen(FlowWanted().from_ipv4(0x0A000001)),
                             second.listen(FlowWanted().to_port(80, IBV_FLOW_SPEC_TCP))};
  FrameSource source;
  source.send(1u << kTcpFrame);
  CHECK(first.hear_kinds(1) == Kinds{kTcpFrame});
  CHECK(second.hear_kinds(1) == Kinds{kTcpFrame});
}

CASE("flow.that_does_not_trap") {
  need_net_raw();
  RawSide first;
  RawSide second;
  Owned<ibv_flow> flows[] = {
      first.listen(FlowWanted(IBV_FLOW_ATTR_NORMAL, 0, IBV_FLOW_ATTR_FLAGS_DONT_TRAP).to_port(5000)),
      second.listen(FlowWanted(IBV_FLOW_ATTR_ALL_DEFAULT))};
  FrameSource source;
  source.send(1u << kUdpFrame | 1u << kTcpFrame);
  CHECK(first.hear_kinds(1) == Kinds{kUdpFrame});
  CHECK(second.hear_kinds(2) == (Kinds{kUdpFrame, kTcpFrame}));
}

CASE("flow.ends_with_its_destruction") {
  need_net_raw();
  RawSide side;
  Owned<ibv_flow> flow = side.listen(FlowWanted(IBV_FLOW_ATTR_ALL_DEFAULT));
  CHECK_ERROR(ibv_destroy_qp(side.qp), EBUSY);
  FrameSource source;
  source.send(1u << kUdpFrame);
  CHECK(side.hear_kinds(1) == Kinds{kUdpFrame});
  flow.reset();
  source.send();
  CHECK(side.hear_kinds(0).empty());
}

CASE("flow.closing_the_device_ends_it") {
  need_net_raw();
  ibv_context* context = open_device().release();
  ibv_pd* pd = ibv_alloc_pd(context);
  ibv_cq* cq = ibv_create_cq(context, 16, nullptr, nullptr, 0);
  ibv_qp_init_attr wanted = qp_wanted(cq, cq, IBV_QPT_RAW_PACKET);
  ibv_qp* qp = ibv_create_qp(pd, &wanted);
  CHECK(qp != nullptr);
  bring_to(qp, IBV_QPS_RTR);
  CHECK(ibv_create_flow(qp, FlowWanted(IBV_FLOW_ATTR_SNIFFER).get()) != nullptr);
  CHECK(ibv_create_flow(qp, FlowWanted(IBV_FLOW_ATTR_ALL_DEFAULT).get()) != nullptr);
  CHECK_OK(ibv_close_device(context));
  FrameSource source;
  source.send();
}

CASE("flow.what_is_none_is_refused") {
  need_net_raw();
  RawSide side;
  FlowWanted wrong;
  const auto refused = [&](FlowWanted wanted, int error) {
    CHECK_REFUSED(ibv_create_flow(side.qp, wanted.get()), error);
  };
  wrong.get()->port = 2;
  refused(wrong, EINVAL);
  wrong = FlowWanted();
  wrong.get()->comp_mask = 1;
  refused(wrong, EINVAL);
  refused(FlowWanted(IBV_FLOW_ATTR_NORMAL, 0, 1), EINVAL);
  refused(FlowWanted(IBV_FLOW_ATTR_NORMAL, 0, IBV_FLOW_ATTR_FLAGS_EGRESS), EOPNOTSUPP);
  refused(FlowWanted(IBV_FLOW_ATTR_SNIFFER).to_port(1), EINVAL);
  refused(FlowWanted(IBV_FLOW_ATTR_ALL_DEFAULT).to_port(1), EINVAL);
  refused(FlowWanted().from_ipv4(1).ipv6_hops(1), EINVAL);
  refused(FlowWanted().to_port(1).to_port(1, IBV_FLOW_SPEC_TCP), EINVAL);
  ibv_flow_spec_tunnel tunnel{};
  tunnel.type = IBV_FLOW_SPEC_VXLAN_TUNNEL;
  tunnel.size = sizeof tunnel;
  refused(FlowWanted().add(tunnel), EOPNOTSUPP);
  ibv_flow_spec_ipv4 odd{};
  odd.type = IBV_FLOW_SPEC_IPV4;
  odd.size = sizeof odd - 1;
  refused(FlowWanted().add(odd), EINVAL);
  Pair connected;
  CHECK_REFUSED(ibv_create_flow(connected.a.qp, FlowWanted().get()), EINVAL);
}

CASE("flow.unknown_type") {
  need_net_raw();
  RawSide side;
  FlowWanted wanted(static_cast<ibv_flow_attr_type>(9));
  CHECK_REFUSED(ibv_create_flow(side.qp, wanted.get()), EINVAL);
}

CASE("flow.frames_without_a_receive_are_lost") {
  need_net_raw();
  RawSide side(device(), IBV_QPS_INIT);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RESET;
  CHECK_OK(ibv_modify_qp(side.qp, &attributes, IBV_QP_STATE));  // without receives
  bring_to(side.qp, IBV_QPS_RTR);
  Owned<ibv_flow> flow = side.listen(FlowWanted(IBV_FLOW_ATTR_ALL_DEFAULT));
  FrameSource source;
  source.send();
  expect_quiet(side.cq);
  CHECK_OK(post_receive(side.qp, 0, {side.memory.piece(0, 10)}));  // too short for any
  source.send();
  expect_quiet(side.cq);
  CHECK_EQ(queried_state(side.qp), IBV_QPS_RTR);
}

CASE("flow.a_receive_without_memory_is_an_error") {
  need_net_raw();
  RawSide side(device(), IBV_QPS_INIT);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RESET;
  CHECK_OK(ibv_modify_qp(side.qp, &attributes, IBV_QP_STATE));
  bring_to(side.qp, IBV_QPS_RTR);
  Owned<ibv_flow> flow = side.listen(FlowWanted(IBV_FLOW_ATTR_ALL_DEFAULT));
  CHECK_OK(post_receive(side.qp, 4, {ibv_sge{side.memory.address(), 2048, side.memory.mr->lkey + 1}}));
  CHECK_OK(post_receive(side.qp, 5, {side.memory.piece(0, 2048)}));
  FrameSource source;
  source.send(1u << kUdpFrame);
  await(side.cq, 4, IBV_WC_LOC_PROT_ERR);
  await(side.cq, 5, IBV_WC_WR_FLUSH_ERR);
  CHECK_EQ(queried_state(side.qp), IBV_QPS_ERR);
}

// The process is one station: whatever thread has made a queue pair, each gets a frame once, and nobody his
// own.
CASE("flow.to_queue_pairs_of_several_threads") {
  need_net_raw();
  RawSide first;
  Owned<ibv_flow> flow = first.listen(FlowWanted(IBV_FLOW_ATTR_ALL_DEFAULT));
  FrameSource source;
  in_thread([&] {
    RawSide second;
    Owned<ibv_flow> another = second.listen(FlowWanted(IBV_FLOW_ATTR_ALL_DEFAULT));
    source.send();
    CHECK_EQ(second.hear_kinds(kFrameKinds).size(), kFrameKinds);
    CHECK_EQ(first.hear_kinds(kFrameKinds).size(), kFrameKinds);
    second.send(make_frame(kUdpFrame));
    CHECK(first.hear_kinds(0).empty());
    CHECK(second.hear_kinds(0).empty());
  });
}

// --- sniffers ---

CASE("sniffer.sees_what_the_device_sends_and_receives") {
  need_net_raw();
  Pair pair;
  pair.a.memory.fill(kSeedA);
  RawSide sniffer(device(), IBV_QPS_RTR);
  Owned<ibv_flow> flow = sniffer.listen(FlowWanted(IBV_FLOW_ATTR_SNIFFER));
  CHECK_OK(Request(IBV_WR_RDMA_WRITE).piece(pair.a.memory, 0, 512).remote(pair.b.memory, 0).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  const std::vector<uint8_t> data(pair.a.memory.data(), pair.a.memory.data() + 512);
  size_t with_data = 0;
  const size_t all = count_sniffed(sniffer, data, &with_data);
  CHECK_EQ(with_data, 2);  // as it left, and as it came
  CHECK(all > 2);          // and acknowledgements
  flow.reset();
  CHECK_OK(Request(IBV_WR_RDMA_WRITE).piece(pair.a.memory, 0, 512).remote(pair.b.memory, 0).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  expect_quiet(sniffer.cq);
}

CASE("sniffer.does_not_steal") {
  need_net_raw();
  RawSide sniffer;
  RawSide side;
  Owned<ibv_flow> flows[] = {sniffer.listen(FlowWanted(IBV_FLOW_ATTR_SNIFFER)),
                             side.listen(FlowWanted(IBV_FLOW_ATTR_ALL_DEFAULT))};
  FrameSource source;
  source.send();
  CHECK_EQ(side.hear_kinds(kFrameKinds).size(), kFrameKinds);
  // As they came, and perhaps also as they left another process of the device.
  uint32_t sniffed = 0;
  while (sniffed != kAllKinds) {
    const std::vector<uint8_t> frame = sniffer.hear_one();
    if (!is_roce(frame)) sniffed |= 1u << frame.back();  // the peers' connection is heard, too
    CHECK((sniffed & ~kAllKinds) == 0);
  }
}

CASE("sniffer.hears_of_a_peer_with_an_event") {
  need_net_raw();
  Owned<ibv_comp_channel> channel = make_channel();
  RawSide sniffer(device(), IBV_QPS_RTR, channel);
  CHECK_OK(ibv_req_notify_cq(sniffer.cq, 0));
  Owned<ibv_flow> flow = sniffer.listen(FlowWanted(IBV_FLOW_ATTR_SNIFFER));
  FrameSource source;
  CHECK_OK(Request(IBV_WR_RDMA_WRITE)
               .piece(source.unused.a.memory, 0, 64)
               .remote(source.hello.address, source.hello.rkey)
               .post(source.qp));
  CHECK(readable(channel->fd, 10000));
  ibv_cq* told = nullptr;
  void* cookie = nullptr;
  CHECK_OK(ibv_get_cq_event(channel, &told, &cookie));
  CHECK_EQ(told, sniffer.cq.get());
  ibv_ack_cq_events(told, 1);
  CHECK(is_roce(sniffer.hear_one()));
}

// A thread of its own may have an engine of its own: what the others send is seen all the same, those that
// come later too.
CASE("sniffer.in_another_thread") {
  need_net_raw();
  Pair before;
  in_thread([&before] {
    RawSide sniffer(device(), IBV_QPS_RTR);
    Owned<ibv_flow> flow = sniffer.listen(FlowWanted(IBV_FLOW_ATTR_SNIFFER));
    before.a.memory.fill(kSeedA);
    size_t with_data = 0;
    in_thread([&] {
      CHECK_OK(Request(IBV_WR_RDMA_WRITE)
                   .piece(before.a.memory, 0, 256)
                   .remote(before.b.memory, 0)
                   .post(before.a.qp));
      await(before.a.send_cq, 1, IBV_WC_SUCCESS);
    });
    count_sniffed(sniffer, {before.a.memory.data(), before.a.memory.data() + 256}, &with_data);
    CHECK_EQ(with_data, 2);
    in_thread([&] {
      Pair later;
      later.a.memory.fill(kSeedB);
      CHECK_OK(Request(IBV_WR_RDMA_WRITE)
                   .piece(later.a.memory, 0, 256)
                   .remote(later.b.memory, 0)
                   .post(later.a.qp));
      await(later.a.send_cq, 1, IBV_WC_SUCCESS);
      count_sniffed(sniffer, {later.a.memory.data(), later.a.memory.data() + 256}, &with_data);
    });
    CHECK_EQ(with_data, 2);
  });
}

}  // namespace conformance
