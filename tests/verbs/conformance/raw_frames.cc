// SPDX-License-Identifier: BSD-2-Clause
#include "raw_frames.h"

#include <arpa/inet.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace conformance {
namespace {

void put16(std::vector<uint8_t>* frame, unsigned value) {
  frame->push_back(static_cast<uint8_t>(value >> 8));
  frame->push_back(static_cast<uint8_t>(value));
}

void put(std::vector<uint8_t>* frame, std::initializer_list<uint8_t> bytes) {
  frame->insert(frame->end(), bytes);
}

void put_ipv4(std::vector<uint8_t>* frame, uint8_t protocol, uint8_t last_of_source) {
  put(frame, {0x45, 0, 0, 48, 0, 0, 0x40, 0, 64, protocol, 0, 0});
  put(frame, {10, 0, 0, last_of_source, 10, 0, 0, 2});
}

void put_ipv6(std::vector<uint8_t>* frame, uint8_t protocol, uint8_t hops) {
  put(frame, {0x60, 0, 0, 0, 0, 28, protocol, hops});
  for (const uint8_t last : {1, 2}) put(frame, {0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last});
}

}  // namespace

std::vector<uint8_t> make_frame(uint32_t kind) {
  constexpr uint8_t kTcp = 6;
  constexpr uint8_t kUdp = 17;
  std::vector<uint8_t> frame;
  if (kind == kGroupFrame)
    put(&frame, {0x01, 0x00, 0x5e, 1, 2, 3});
  else
    frame.assign(std::begin(kStation), std::end(kStation));
  put(&frame, {0x02, 0, 0, 0, 0, 9});
  if (kind == kVlanFrame) put(&frame, {0x81, 0, 0, 5});
  put16(&frame, kind == kPlainFrame ? 0x88b6 : kind == kUdp6Frame ? 0x86dd : 0x0800);
  if (kind == kUdp6Frame)
    put_ipv6(&frame, kUdp, 33);
  else if (kind != kPlainFrame)
    put_ipv4(&frame, kind == kTcpFrame ? kTcp : kUdp, kind == kOtherUdpFrame ? 77 : 1);
  put16(&frame, 1234);
  put16(&frame, kind == kTcpFrame ? 80 : kind == kOtherUdpFrame ? 5001 : 5000);
  put(&frame, {0, 28, 0, 0});
  for (uint8_t i = 0; i < 19; ++i) frame.push_back(i);
  frame.push_back(static_cast<uint8_t>(kind));
  return frame;
}

bool has_net_raw() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3]{};
  if (syscall(SYS_capget, &header, sets) != 0) return false;
  return (sets[0].effective & CAP_TO_MASK(CAP_NET_RAW)) != 0;
}

void need_net_raw() {
  if (!has_net_raw()) throw Skip("raw packets need CAP_NET_RAW");
}

// --- flows ---

FlowWanted::FlowWanted(ibv_flow_attr_type type, uint16_t priority, uint32_t flags)
    : bytes_(sizeof(ibv_flow_attr)) {
  get()->type = type;
  get()->size = sizeof(ibv_flow_attr);
  get()->priority = priority;
  get()->port = 1;
  get()->flags = flags;
}

FlowWanted& FlowWanted::to_station(const uint8_t (&mac)[6]) {
  ibv_flow_spec_eth spec{};
  spec.type = IBV_FLOW_SPEC_ETH;
  spec.size = sizeof spec;
  std::memcpy(spec.val.dst_mac, mac, sizeof mac);
  std::memset(spec.mask.dst_mac, 0xFF, sizeof spec.mask.dst_mac);
  return add(spec);
}

FlowWanted& FlowWanted::vlan(uint16_t tag) {
  ibv_flow_spec_eth spec{};
  spec.type = IBV_FLOW_SPEC_ETH;
  spec.size = sizeof spec;
  spec.val.vlan_tag = htons(tag);
  spec.mask.vlan_tag = htons(0xFFF);
  return add(spec);
}

FlowWanted& FlowWanted::from_ipv4(uint32_t address, uint32_t mask) {
  ibv_flow_spec_ipv4 spec{};
  spec.type = IBV_FLOW_SPEC_IPV4;
  spec.size = sizeof spec;
  spec.val.src_ip = htonl(address);
  spec.mask.src_ip = htonl(mask);
  return add(spec);
}

FlowWanted& FlowWanted::ipv6_hops(uint8_t hops) {
  ibv_flow_spec_ipv6 spec{};
  spec.type = IBV_FLOW_SPEC_IPV6;
  spec.size = sizeof spec;
  spec.val.hop_limit = hops;
  spec.mask.hop_limit = 0xFF;
  return add(spec);
}

FlowWanted& FlowWanted::to_port(uint16_t port, ibv_flow_spec_type type) {
  ibv_flow_spec_tcp_udp spec{};
  spec.type = type;
  spec.size = sizeof spec;
  spec.val.dst_port = htons(port);
  spec.mask.dst_port = 0xFFFF;
  return add(spec);
}

// --- a queue pair ---

RawSide::RawSide(ibv_context* context, ibv_qp_state until, ibv_comp_channel* channel)
    : pd(make_pd(context)),
      cq(make_cq(static_cast<int>(kReceives), channel, nullptr, context)),
      send_cq(make_cq(64, nullptr, nullptr, context)),
      memory(pd, size_t{kReceives} * kFrameBytes, IBV_ACCESS_LOCAL_WRITE) {
  ibv_qp_init_attr wanted = qp_wanted(send_cq, cq, IBV_QPT_RAW_PACKET);
  wanted.cap.max_recv_wr = kReceives;
  qp = make_qp(pd, wanted);
  bring_to(qp, until);
  for (uint64_t id = 0; id < kReceives; ++id) receive(id);
}

void RawSide::receive(uint64_t id) {
  CHECK_OK(post_receive(qp, id, {memory.piece(id * kFrameBytes, kFrameBytes)}));
}

Owned<ibv_flow> RawSide::listen(FlowWanted wanted) {
  return own(ibv_create_flow(qp, wanted.get()), "ibv_create_flow");
}

std::vector<uint8_t> RawSide::hear_one() {
  const ibv_wc completion = await(cq);
  CHECK_EQ(completion.status, IBV_WC_SUCCESS);
  CHECK_EQ(completion.opcode, IBV_WC_RECV);
  CHECK_EQ(completion.qp_num, qp->qp_num);
  CHECK_EQ(completion.wc_flags, 0u);
  const uint8_t* bytes = memory.data() + completion.wr_id * kFrameBytes;
  std::vector<uint8_t> frame(bytes, bytes + completion.byte_len);
  receive(completion.wr_id);
  return frame;
}

std::vector<std::vector<uint8_t>> RawSide::hear(size_t expected) {
  std::vector<std::vector<uint8_t>> frames;
  for (size_t i = 0; i < expected; ++i) frames.push_back(hear_one());
  expect_quiet(cq);
  return frames;
}

std::vector<uint32_t> RawSide::hear_kinds(size_t expected) {
  std::vector<uint32_t> kinds;
  for (const auto& frame : hear(expected)) {
    kinds.push_back(frame.back());
    CHECK(frame == make_frame(frame.back()));
  }
  return kinds;
}

void RawSide::send(const std::vector<uint8_t>& frame) {
  std::copy(frame.begin(), frame.end(), memory.data());
  CHECK_OK(Request(IBV_WR_SEND, 7).piece(memory, 0, static_cast<uint32_t>(frame.size())).post(qp));
  await(send_cq, 7, IBV_WC_SUCCESS);
}

}  // namespace conformance
