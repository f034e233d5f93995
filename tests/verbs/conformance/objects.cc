// SPDX-License-Identifier: BSD-2-Clause
#include "objects.h"

#include <endian.h>
#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

namespace conformance {
namespace {

using Clock = std::chrono::steady_clock;

uint8_t pattern(uint8_t seed, size_t place) {
  return static_cast<uint8_t>(seed + place * 31 + (place >> 8) * 7);
}

}  // namespace

// --- objects ---

Owned<ibv_context> open_device() {
  int count = 0;
  ibv_device** devices = ibv_get_device_list(&count);
  ibv_context* context = nullptr;
  for (int i = 0; i < count; ++i)
    if (std::string(ibv_get_device_name(devices[i])) == "mrc0") context = ibv_open_device(devices[i]);
  const int why = count == 0 ? ENODEV : errno;
  if (devices != nullptr) ibv_free_device_list(devices);
  errno = why;
  return own(context, "mrc0 cannot be opened");
}

ibv_context* device() {
  static ibv_context* context = open_device().release();
  return context;
}

ibv_device_attr device_attributes() {
  ibv_device_attr attributes;
  CHECK_OK(ibv_query_device(device(), &attributes));
  return attributes;
}

Owned<ibv_cq> make_cq(int entries, ibv_comp_channel* channel, void* cookie, ibv_context* context) {
  return own(ibv_create_cq(context, entries, cookie, channel, 0), "ibv_create_cq");
}

Owned<ibv_comp_channel> make_channel(ibv_context* context) {
  return own(ibv_create_comp_channel(context), "ibv_create_comp_channel");
}

Owned<ibv_srq> make_srq(ibv_pd* pd, uint32_t entries, uint32_t segments, uint32_t limit) {
  ibv_srq_init_attr wanted{};
  wanted.attr = {entries, segments, limit};
  return own(ibv_create_srq(pd, &wanted), "ibv_create_srq");
}

Memory::Memory(ibv_pd* pd, size_t bytes, int access) : size_(bytes) {
  constexpr size_t kPage = 4096;
  const size_t rounded = (bytes + kPage - 1) / kPage * kPage;
  bytes_.reset(static_cast<uint8_t*>(std::aligned_alloc(kPage, rounded)));
  if (bytes_ == nullptr) throw std::bad_alloc();
  std::memset(bytes_.get(), 0, rounded);
  mr = own(ibv_reg_mr(pd, data(), bytes, access), "ibv_reg_mr");
}

void Memory::fill(uint8_t seed, size_t offset, size_t bytes) {
  for (size_t i = offset; i < offset + bytes; ++i) data()[i] = pattern(seed, i);
}

bool Memory::has(uint8_t seed, size_t offset, size_t bytes, size_t seed_offset) const {
  for (size_t i = 0; i < bytes; ++i)
    if (data()[offset + i] != pattern(seed, seed_offset + i)) return false;
  return true;
}

bool Memory::all(uint8_t value, size_t offset, size_t bytes) const {
  for (size_t i = offset; i < offset + bytes; ++i)
    if (data()[i] != value) return false;
  return true;
}

// --- queue pairs ---

ibv_qp_init_attr qp_wanted(ibv_cq* send, ibv_cq* receive, ibv_qp_type type) {
  ibv_qp_init_attr wanted{};
  wanted.send_cq = send;
  wanted.recv_cq = receive;
  wanted.qp_type = type;
  wanted.cap = {16, 16, 4, 4, 64};
  return wanted;
}

Owned<ibv_qp> make_qp(ibv_pd* pd, ibv_qp_init_attr wanted) {
  return own(ibv_create_qp(pd, &wanted), "ibv_create_qp");
}

int needed_mask(ibv_qp_type type, ibv_qp_state to) {
  const bool reliable = type == IBV_QPT_RC;
  if (type == IBV_QPT_RAW_PACKET) return IBV_QP_STATE | (to == IBV_QPS_INIT ? IBV_QP_PORT : 0);
  switch (to) {
    case IBV_QPS_INIT:
      return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
             (type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
    case IBV_QPS_RTR:
      if (type == IBV_QPT_UD) return IBV_QP_STATE;
      return IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
             (reliable ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0);
    case IBV_QPS_RTS:
      return IBV_QP_STATE | IBV_QP_SQ_PSN |
             (reliable ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC : 0);
    default:
      return IBV_QP_STATE;
  }
}

ibv_ah_attr address_of_self(ibv_context* context) {
  ibv_ah_attr address{};
  address.is_global = 1;
  address.port_num = 1;
  address.grh.hop_limit = 64;
  CHECK_EQ(ibv_query_gid(context, 1, 0, &address.grh.dgid), 0);
  return address;
}

ibv_gid group_of(ibv_context* context, uint32_t number) {
  const ibv_ah_attr self = address_of_self(context);
  ibv_gid group{};
  if (self.grh.dgid.raw[10] == 0xFF && self.grh.dgid.raw[0] == 0) {
    group = self.grh.dgid;
    group.raw[12] = 239;
    group.raw[13] = 77;
  } else {
    group.raw[0] = 0xFF;
    group.raw[1] = 0x0E;
  }
  group.raw[14] = static_cast<uint8_t>(number >> 8);
  group.raw[15] = static_cast<uint8_t>(number);
  return group;
}

ibv_qp_attr good_attributes(ibv_context* context, ibv_qp_state to, uint32_t destination_qpn,
                            const Path& path) {
  ibv_qp_attr attributes{};
  attributes.qp_state = to;
  attributes.port_num = 1;
  attributes.qkey = path.queue_key;
  attributes.qp_access_flags = path.access;
  attributes.ah_attr = address_of_self(context);
  attributes.path_mtu = path.mtu;
  attributes.dest_qp_num = destination_qpn;
  attributes.rq_psn = attributes.sq_psn = kPsn;
  attributes.max_dest_rd_atomic = path.max_dest_rd_atomic;
  attributes.max_rd_atomic = path.max_rd_atomic;
  attributes.min_rnr_timer = path.min_rnr_timer;
  attributes.timeout = path.timeout;
  attributes.retry_cnt = path.retry_cnt;
  attributes.rnr_retry = path.rnr_retry;
  attributes.path_mig_state = IBV_MIG_MIGRATED;
  return attributes;
}

int move(ibv_qp* qp, ibv_qp_state to, uint32_t destination_qpn, const Path& path) {
  ibv_qp_attr attributes = good_attributes(qp->context, to, destination_qpn, path);
  // From SQD to RTS nothing is needed.
  const bool resume = to == IBV_QPS_RTS && queried_state(qp) == IBV_QPS_SQD;
  return ibv_modify_qp(qp, &attributes,
                       resume ? static_cast<int>(IBV_QP_STATE) : needed_mask(qp->qp_type, to));
}

const char* type_name(ibv_qp_type type) {
  return type == IBV_QPT_RC ? "rc" : type == IBV_QPT_UC ? "uc" : "ud";
}

void bring_to(ibv_qp* qp, ibv_qp_state to, uint32_t destination_qpn, const Path& path) {
  if (to == IBV_QPS_RESET) return;
  const auto step = [&](ibv_qp_state next) { CHECK_OK(move(qp, next, destination_qpn, path)); };
  step(IBV_QPS_INIT);
  if (to == IBV_QPS_INIT) return;
  if (to == IBV_QPS_ERR) return step(IBV_QPS_ERR);
  step(IBV_QPS_RTR);
  if (to == IBV_QPS_RTR) return;
  step(IBV_QPS_RTS);
  if (to == IBV_QPS_SQD) step(IBV_QPS_SQD);
}

ibv_qp_state queried_state(ibv_qp* qp) {
  ibv_qp_attr attributes;
  ibv_qp_init_attr init;
  CHECK_OK(ibv_query_qp(qp, &attributes, IBV_QP_STATE, &init));
  return attributes.qp_state;
}

// --- work ---

Request::Request(ibv_wr_opcode opcode, uint64_t id) {
  request_.opcode = opcode;
  request_.wr_id = id;
  request_.send_flags = IBV_SEND_SIGNALED;
}

Request& Request::piece(const ibv_sge& one) {
  pieces_.push_back(one);
  return *this;
}

Request& Request::remote(uint64_t address, uint32_t key) {
  request_.wr.rdma.remote_addr = address;
  request_.wr.rdma.rkey = key;
  return *this;
}

Request& Request::atomic(uint64_t address, uint32_t key, uint64_t compare_add, uint64_t swap) {
  request_.wr.atomic = {address, compare_add, swap, key};
  return *this;
}

Request& Request::immediate(uint32_t value) {
  request_.imm_data = htobe32(value);
  return *this;
}

Request& Request::invalidate(uint32_t key) {
  request_.invalidate_rkey = key;
  return *this;
}

Request& Request::flags(unsigned added) {
  request_.send_flags |= added;
  return *this;
}

Request& Request::silent() {
  request_.send_flags &= ~static_cast<unsigned>(IBV_SEND_SIGNALED);
  return *this;
}

Request& Request::to(ibv_ah* handle, uint32_t qpn, uint32_t queue_key) {
  request_.wr.ud.ah = handle;
  request_.wr.ud.remote_qpn = qpn;
  request_.wr.ud.remote_qkey = queue_key;
  return *this;
}

ibv_send_wr& Request::raw() {
  request_.sg_list = pieces_.data();
  request_.num_sge = static_cast<int>(pieces_.size());
  return request_;
}

bool is_strict() {
  const char* transport = std::getenv("MRC_TRANSPORT");
  return transport != nullptr && std::strcmp(transport, "mrc-strict") == 0;
}

namespace {
// What an RC queue pair has beyond WRITE, WRITE with immediate and what is local.
bool is_beyond_mrc(ibv_wr_opcode opcode) {
  constexpr ibv_wr_opcode kBeyond[] = {
      IBV_WR_SEND,        IBV_WR_SEND_WITH_IMM,      IBV_WR_SEND_WITH_INV,
      IBV_WR_RDMA_READ,   IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD,
      IBV_WR_ATOMIC_WRITE};
  return std::find(std::begin(kBeyond), std::end(kBeyond), opcode) != std::end(kBeyond);
}

// A queue pair of its own is asked: the request comes back with the right error.
void check_refusal(ibv_wr_opcode opcode) {
  Pair pair;
  Request request(opcode, 99);
  request.piece(pair.a.memory, 0, 8);
  if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
    request.atomic(pair.b.memory.address(), pair.b.memory.mr->rkey, 1);
  else if (opcode != IBV_WR_SEND && opcode != IBV_WR_SEND_WITH_IMM && opcode != IBV_WR_SEND_WITH_INV)
    request.remote(pair.b.memory, 0);
  ibv_send_wr* bad = nullptr;
  CHECK_OK(ibv_post_send(pair.a.qp, &request.raw(), &bad));
  await(pair.a.send_cq, 99, IBV_WC_LOC_QP_OP_ERR);
  CHECK_EQ(queried_state(pair.a.qp), IBV_QPS_ERR);
}
}  // namespace

void need_operation(ibv_wr_opcode opcode) {
  if (!is_strict() || !is_beyond_mrc(opcode)) return;
  check_refusal(opcode);
  throw NotApplicable("needs operation " + std::to_string(opcode) + ", which is none of MRC 1.0");
}

void need_messages() {
  need_operation(IBV_WR_SEND);
}

int Request::post(ibv_qp* qp) {
  if (is_strict() && qp->qp_type != IBV_QPT_UD && qp->qp_type != IBV_QPT_RAW_PACKET &&
      qp->state == IBV_QPS_RTS)
    need_operation(request_.opcode);
  ibv_send_wr* bad = nullptr;
  const int result = ibv_post_send(qp, &raw(), &bad);
  if (result != 0 && bad != &request_) throw Failure("ibv_post_send() does not name the request it refuses");
  return result;
}

int post_receive(ibv_qp* qp, uint64_t id, std::vector<ibv_sge> pieces) {
  ibv_recv_wr request{id, nullptr, pieces.data(), static_cast<int>(pieces.size())};
  ibv_recv_wr* bad = nullptr;
  const int result = ibv_post_recv(qp, &request, &bad);
  if (result != 0 && bad != &request) throw Failure("ibv_post_recv() does not name the request it refuses");
  return result;
}

int post_receive(ibv_srq* srq, uint64_t id, std::vector<ibv_sge> pieces) {
  ibv_recv_wr request{id, nullptr, pieces.data(), static_cast<int>(pieces.size())};
  ibv_recv_wr* bad = nullptr;
  const int result = ibv_post_srq_recv(srq, &request, &bad);
  if (result != 0 && bad != &request)
    throw Failure("ibv_post_srq_recv() does not name the request it refuses");
  return result;
}

ibv_wc await(ibv_cq* cq, int seconds) {
  const auto end = Clock::now() + std::chrono::seconds(seconds);
  ibv_wc completion{};
  while (Clock::now() < end) {
    const int polled = ibv_poll_cq(cq, 1, &completion);
    if (polled < 0) throw Failure("ibv_poll_cq() fails");
    if (polled == 1) return completion;
  }
  throw Failure("no completion within " + std::to_string(seconds) + " s");
}

ibv_wc await(ibv_cq* cq, uint64_t id, ibv_wc_status status) {
  const ibv_wc completion = await(cq);
  if (completion.wr_id == id && completion.status == status) return completion;
  throw Failure("the completion is " + std::to_string(completion.wr_id) + " with '" +
                ibv_wc_status_str(completion.status) + "', not " + std::to_string(id) + " with '" +
                ibv_wc_status_str(status) + "'");
}

void expect_quiet(ibv_cq* cq, int milliseconds) {
  const auto end = Clock::now() + std::chrono::milliseconds(milliseconds);
  ibv_wc completion{};
  while (Clock::now() < end)
    if (ibv_poll_cq(cq, 1, &completion) != 0)
      throw Failure("an unexpected completion: " + std::to_string(completion.wr_id) + " with '" +
                    ibv_wc_status_str(completion.status) + "'");
}

bool readable(int fd, int milliseconds) {
  pollfd ready{fd, POLLIN, 0};
  return poll(&ready, 1, milliseconds) == 1;
}

void set_nonblocking(int fd) {
  CHECK_EQ(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
}

ibv_async_event await_async(ibv_context* context, int seconds) {
  if (!readable(context->async_fd, seconds * 1000)) throw Failure("no asynchronous event comes");
  ibv_async_event event{};
  CHECK_EQ(ibv_get_async_event(context, &event), 0);
  return event;
}

void await_async(ibv_context* context, ibv_event_type type, int seconds) {
  for (;;) {
    ibv_async_event event = await_async(context, seconds);
    ibv_ack_async_event(&event);
    if (event.event_type == type) return;
  }
}

// --- pairs ---

namespace {

Side make_side(ibv_context* context, ibv_pd* pd, const PairOptions& options, uint8_t seed) {
  Side side;
  side.send_cq = make_cq(options.cq_entries, nullptr, nullptr, context);
  side.receive_cq = make_cq(options.cq_entries, nullptr, nullptr, context);
  side.memory = Memory(pd, options.bytes, options.region_access);
  side.memory.fill(seed);
  ibv_qp_init_attr wanted = qp_wanted(side.send_cq, side.receive_cq, options.type);
  wanted.cap = options.cap;
  wanted.sq_sig_all = options.signal_all ? 1 : 0;
  if (options.with_srq) {
    side.srq = make_srq(pd, options.cap.max_recv_wr, options.cap.max_recv_sge);
    wanted.srq = side.srq;
  }
  side.qp = make_qp(pd, wanted);
  return side;
}

}  // namespace

Pair::Pair(const PairOptions& options)
    : context(options.context != nullptr ? options.context : device()),
      pd(make_pd(context)),
      a(make_side(context, pd, options, kSeedA)),
      b(make_side(context, pd, options, kSeedB)) {
  bring_to(a.qp, options.until, b.qp->qp_num, options.path);
  bring_to(b.qp, options.until, a.qp->qp_num, options.path);
  if (options.type == IBV_QPT_UD) {
    ibv_ah_attr address = address_of_self(context);
    handle = own(ibv_create_ah(pd, &address), "ibv_create_ah");
  }
}

}  // namespace conformance
