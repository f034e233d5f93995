// SPDX-License-Identifier: BSD-2-Clause
#include "tests/verbs/process_faults_link.h"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstring>

namespace process_faults {
namespace {

using verbs_test::fail;

constexpr uint32_t kDepth = 32;
constexpr uint64_t kReceiveId = uint64_t{1} << 63;  // and the slot
constexpr size_t kWordStride = 64;

}  // namespace

Link::Link(const verbs_test::Device& device, const Terms& terms, bool survivor, Tally& tally)
    : device_(device),
      terms_(terms),
      survivor_(survivor),
      may_see_(survivor ? terms.survivor_may_see : terms.peer_may_see),
      tally_(tally),
      random_(terms.seed * 2 + (survivor ? 1 : 0)),
      arena_(device.domain, random_.next()),
      messages_(random_.next()) {
  queue_ = ibv_create_cq(device.context, 8 * kDepth, nullptr, nullptr, 0);
  ibv_srq_init_attr shared{};
  shared.attr = {kReceives, 1, 0};
  shared_ = ibv_create_srq(device.domain, &shared);
  if (queue_ == nullptr || shared_ == nullptr)
    fail("ibv_create_cq or ibv_create_srq: %s", std::strerror(errno));
  for (size_t pair = 0; pair < kQueuePairs; ++pair) make_queue_pair(pair);
  for (size_t slot = 0; slot < kReceives; ++slot)
    for (size_t pair = 0; pair < kQueuePairs; ++pair) post_receive(pair, slot);
}

Link::~Link() {
  for (ibv_qp* qp : pairs_)
    if (ibv_destroy_qp(qp) != 0) fail("ibv_destroy_qp");
  if (ibv_destroy_srq(shared_) != 0) fail("ibv_destroy_srq");
  if (ibv_destroy_cq(queue_) != 0) fail("ibv_destroy_cq");
  arena_.check();  // nothing came late
}

void Link::make_queue_pair(size_t pair) {
  ibv_qp_init_attr wanted{};
  wanted.qp_type = IBV_QPT_RC;
  wanted.send_cq = wanted.recv_cq = queue_;
  wanted.srq = pair == 1 ? shared_ : nullptr;
  wanted.sq_sig_all = 1;
  wanted.cap = {kDepth, kReceives, 1, 1, 0};
  pairs_[pair] = ibv_create_qp(device_.domain, &wanted);
  if (pairs_[pair] == nullptr) fail("ibv_create_qp: %s", std::strerror(errno));
  ibv_qp_attr init{};
  init.qp_state = IBV_QPS_INIT;
  init.port_num = 1;
  init.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  if (ibv_modify_qp(pairs_[pair], &init,
                    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) != 0)
    fail("ibv_modify_qp to INIT");
}

Offer Link::offer() const {
  const auto place = [this](Part part) { return Offer::Place{arena_.address(part), arena_.key(part)}; };
  return {{pairs_[0]->qp_num, pairs_[1]->qp_num},
          static_cast<uint32_t>(messages_) & 0xFFFFFF,
          device_.gid,
          messages_,
          arena_.stream(),
          place(Part::kTarget),
          place(Part::kReadable),
          place(Part::kWords)};
}

void Link::connect(const Offer& theirs) {
  theirs_ = theirs;
  for (size_t pair = 0; pair < kQueuePairs; ++pair) {
    ibv_qp_attr receive{};
    receive.qp_state = IBV_QPS_RTR;
    receive.path_mtu = IBV_MTU_4096;
    receive.dest_qp_num = theirs.qpn[pair];
    receive.rq_psn = theirs.psn;
    receive.max_dest_rd_atomic = 4;
    receive.min_rnr_timer = 1;
    receive.ah_attr.is_global = 1;
    receive.ah_attr.port_num = 1;
    receive.ah_attr.grh.dgid = theirs.gid;
    receive.ah_attr.grh.sgid_index = static_cast<uint8_t>(device_.gid_index);
    receive.ah_attr.grh.hop_limit = 64;
    if (ibv_modify_qp(pairs_[pair], &receive,
                      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                          IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) != 0)
      fail("ibv_modify_qp to RTR");
    ibv_qp_attr send{};
    send.qp_state = IBV_QPS_RTS;
    send.sq_psn = static_cast<uint32_t>(messages_) & 0xFFFFFF;
    send.timeout = terms_.timeout;
    send.retry_cnt = terms_.retries;
    send.rnr_retry = 7;
    send.max_rd_atomic = 4;
    if (ibv_modify_qp(pairs_[pair], &send,
                      IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                          IBV_QP_MAX_QP_RD_ATOMIC) != 0)
      fail("ibv_modify_qp to RTS");
  }
}

ibv_qp_state Link::state(size_t pair) const {
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  if (ibv_query_qp(pairs_[pair], &attributes, IBV_QP_STATE, &init) != 0) fail("ibv_query_qp");
  return attributes.qp_state;
}

void Link::give_up(size_t pair) {
  ibv_qp_attr error{};
  error.qp_state = IBV_QPS_ERR;
  if (ibv_modify_qp(pairs_[pair], &error, IBV_QP_STATE) != 0) fail("ibv_modify_qp to ERR");
}

// --- requests ---

void Link::post_receive(size_t pair, size_t slot) {
  const Part part = pair == 0 ? Part::kReceive : Part::kShared;
  ibv_sge piece{arena_.address(part, slot * kMessageMax), kMessageMax, arena_.key(part)};
  ibv_recv_wr wanted{};
  wanted.wr_id = kReceiveId + slot;
  wanted.sg_list = &piece;
  wanted.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  const int error =
      pair == 0 ? ibv_post_recv(pairs_[0], &wanted, &bad) : ibv_post_srq_recv(shared_, &wanted, &bad);
  if (error != 0) fail("posting a receive: %s", std::strerror(error));
}

ibv_send_wr Link::request(const Work& work, ibv_wr_opcode opcode, ibv_sge* piece) const {
  ibv_send_wr wanted{};
  wanted.wr_id = work.id;
  wanted.sg_list = piece;
  wanted.num_sge = 1;
  wanted.opcode = opcode;
  return wanted;
}

void Link::post(size_t pair, ibv_send_wr* wanted, const Work& work) {
  ibv_send_wr* bad = nullptr;
  work_[pair].push_back(work);
  if (const int error = ibv_post_send(pairs_[pair], wanted, &bad); error != 0)
    fail("ibv_post_send: %s", std::strerror(error));
}

void Link::post_write(size_t pair, uint32_t bytes, bool immediate, bool read_back) {
  Work work{};
  work.operation = immediate ? Operation::kWriteImmediate : Operation::kWrite;
  work.id = next_id_++;
  work.bytes = bytes;
  work.stream = random_.next();
  verbs_test::fill(arena_.at(Part::kSource, source_used_), bytes, work.stream, 0);
  ibv_sge piece{arena_.address(Part::kSource, source_used_), bytes, arena_.key(Part::kSource)};
  ibv_send_wr wanted = request(work, immediate ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE, &piece);
  if (immediate) wanted.imm_data = sent_[pair]++;
  wanted.wr.rdma.remote_addr = theirs_.target.address + target_used_;
  wanted.wr.rdma.rkey = theirs_.target.key;
  post(pair, &wanted, work);
  source_used_ += bytes;
  if (read_back) {
    work.operation = Operation::kRead;
    work.id = next_id_++;
    work.landing = landing_used_;
    piece = {arena_.address(Part::kLanding, landing_used_), bytes, arena_.key(Part::kLanding)};
    wanted.wr_id = work.id;
    wanted.opcode = IBV_WR_RDMA_READ;
    post(pair, &wanted, work);
    landing_used_ += bytes;
  }
  target_used_ += bytes;
}

void Link::post_send(size_t pair, uint32_t bytes) {
  Work work{};
  work.operation = pair == 0 ? Operation::kSend : Operation::kSendShared;
  work.id = next_id_++;
  work.bytes = bytes;
  uint8_t* message = arena_.at(Part::kSource, source_used_);
  const uint64_t header = messages_ + sent_[pair];
  std::memcpy(message, &header, sizeof header);
  verbs_test::fill(message + sizeof header, bytes - sizeof header, header, 0);
  ibv_sge piece{arena_.address(Part::kSource, source_used_), bytes, arena_.key(Part::kSource)};
  const bool immediate = random_.chance(50);
  ibv_send_wr wanted = request(work, immediate ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND, &piece);
  wanted.imm_data = sent_[pair]++;
  post(pair, &wanted, work);
  source_used_ += bytes;
}

void Link::post_read(size_t pair, uint32_t bytes) {
  Work work{};
  work.operation = Operation::kRead;
  work.id = next_id_++;
  work.bytes = bytes;
  work.landing = landing_used_;
  work.stream = theirs_.readable_stream;
  work.skip = random_.between(0, kMessageMax - bytes);
  ibv_sge piece{arena_.address(Part::kLanding, landing_used_), bytes, arena_.key(Part::kLanding)};
  ibv_send_wr wanted = request(work, IBV_WR_RDMA_READ, &piece);
  wanted.wr.rdma.remote_addr = theirs_.readable.address + work.skip;
  wanted.wr.rdma.rkey = theirs_.readable.key;
  post(pair, &wanted, work);
  landing_used_ += bytes;
}

// Each queue pair has two words of its own, so that what an atomic finds is known beforehand.
void Link::post_atomic(size_t pair) {
  const bool add = random_.chance(50);
  Work work{};
  work.operation = add ? Operation::kAdd : Operation::kSwap;
  work.id = next_id_++;
  work.bytes = 8;
  landing_used_ = (landing_used_ + 7) & ~size_t{7};
  work.landing = landing_used_;
  ibv_sge piece{arena_.address(Part::kLanding, landing_used_), 8, arena_.key(Part::kLanding)};
  ibv_send_wr wanted = request(work, add ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_ATOMIC_CMP_AND_SWP, &piece);
  wanted.wr.atomic.remote_addr = theirs_.words.address + (2 * pair + (add ? 0 : 1)) * kWordStride;
  wanted.wr.atomic.rkey = theirs_.words.key;
  if (add) {
    work.original = adds_[pair];
    wanted.wr.atomic.compare_add = random_.next();
    adds_[pair] += wanted.wr.atomic.compare_add;
  } else {
    work.original = swaps_[pair];
    wanted.wr.atomic.compare_add = swaps_[pair];
    wanted.wr.atomic.swap = swaps_[pair] = random_.next();
  }
  post(pair, &wanted, work);
  landing_used_ += 8;
}

uint32_t Link::random_bytes(size_t left) {
  constexpr struct {
    unsigned percent;
    uint32_t low, high;
  } kSizes[] = {{40, 8, 8}, {30, 9, 4096}, {20, 4097, 65536}, {10, kMessageMax, kMessageMax}};
  uint64_t dice = random_.between(0, 99);
  for (const auto& size : kSizes) {
    if (dice < size.percent) {
      const auto bytes = static_cast<uint32_t>(random_.between(size.low, size.high));
      return bytes <= left ? bytes : 8;
    }
    dice -= size.percent;
  }
  return 8;
}

void Link::post_some(size_t pair) {
  const size_t used = std::max({source_used_, landing_used_, target_used_});
  const uint32_t bytes = random_bytes(kAreaBytes - 256 - used);
  switch (random_.between(0, 4)) {
    case 0:
      return post_write(pair, bytes, false, random_.chance(50));
    case 1:
      return post_write(pair, bytes, true, random_.chance(50));
    case 2:
      return post_send(pair, bytes);
    case 3:
      return post_read(pair, bytes);
    default:
      return post_atomic(pair);
  }
}

void Link::post_batch() {
  source_used_ = landing_used_ = target_used_ = 0;
  ++batches_;
  for (uint64_t count = random_.between(1, 8); count > 0; --count) {
    const size_t pair = random_.between(0, kQueuePairs - 1);
    if (!failed_[pair]) post_some(pair);
  }
}

void Link::post_first(size_t pair) {
  if (pair == 0) source_used_ = landing_used_ = target_used_ = 0;
  post_read(pair, 8);
}

void Link::post_probe(size_t pair) {
  Work work{};
  work.operation = Operation::kWrite;
  work.id = next_id_++;
  work.bytes = 8;
  ibv_sge piece{arena_.address(Part::kSource), 8, arena_.key(Part::kSource)};
  ibv_send_wr wanted = request(work, IBV_WR_RDMA_WRITE, &piece);
  wanted.wr.rdma.remote_addr = theirs_.target.address;
  wanted.wr.rdma.rkey = theirs_.target.key;
  post(pair, &wanted, work);
}

// --- completions ---

bool Link::drive() {
  const bool found = poll();
  if (!sending_ || !idle() || failed()) return found;
  post_batch();
  return true;
}

bool Link::poll() {
  ibv_wc completions[16];
  const int count = ibv_poll_cq(queue_, 16, completions);
  if (count < 0) fail("ibv_poll_cq: %d", count);
  for (int i = 0; i < count; ++i) complete(completions[i]);
  return count > 0;
}

void Link::expect_documented(ibv_wc_status status, const char* what) const {
  if (status != IBV_WC_SUCCESS && (may_see_ & status_bit(status)) == 0)
    fail("%s: %s ended with '%s', which this fault does not explain", survivor_ ? "survivor" : "peer", what,
         ibv_wc_status_str(status));
}

void Link::complete(const ibv_wc& completion) {
  size_t pair = 0;
  while (pair < kQueuePairs && pairs_[pair]->qp_num != completion.qp_num) ++pair;
  if (pair == kQueuePairs) fail("a completion of QP 0x%x, which is not ours", completion.qp_num);
  if ((completion.wr_id & kReceiveId) != 0) return received(pair, completion);
  if (work_[pair].empty() || work_[pair].front().id != completion.wr_id)
    fail("a completion of request %" PRIu64 ", which is not the next", completion.wr_id);
  const Work work = work_[pair].front();
  work_[pair].pop_front();
  tally_.count(work.operation, completion.status);
  ++statuses_[completion.status];
  last_status_ = completion.status;
  expect_documented(completion.status, kOperationNames[static_cast<size_t>(work.operation)]);
  if (completion.status == IBV_WC_SUCCESS) {
    if (failed_[pair]) fail("a success behind an error");
    if (work.operation == Operation::kRead) answered_[pair] = true;
    return verify(work);
  }
  if (failed_[pair] && completion.status != IBV_WC_WR_FLUSH_ERR)
    fail("'%s' behind an error", ibv_wc_status_str(completion.status));
  failed_[pair] = true;
}

void Link::verify(const Work& work) const {
  if (!arena_.mapped(Part::kLanding)) return;
  const uint8_t* landed = arena_.at(Part::kLanding, work.landing);
  if (work.operation == Operation::kRead) {
    const size_t wrong = verbs_test::first_difference(landed, work.bytes, work.stream, work.skip);
    if (wrong != work.bytes) fail("byte %zu of %u that were read is wrong", wrong, work.bytes);
  }
  if (work.operation != Operation::kAdd && work.operation != Operation::kSwap) return;
  uint64_t original;
  std::memcpy(&original, landed, sizeof original);
  if (original != work.original)
    fail("an atomic found 0x%" PRIx64 ", there must be 0x%" PRIx64, original, work.original);
}

void Link::received(size_t pair, const ibv_wc& completion) {
  const size_t slot = completion.wr_id - kReceiveId;
  const Part part = pair == 0 ? Part::kReceive : Part::kShared;
  tally_.count(pair == 0 ? Operation::kReceive : Operation::kReceiveShared, completion.status);
  expect_documented(completion.status, "a receive");
  if (completion.status != IBV_WC_SUCCESS) {
    receives_flushed_[pair] = true;
    return;
  }
  if (receives_flushed_[pair]) fail("a receive succeeded behind one that did not");
  const uint32_t number = received_[pair]++;
  if ((completion.wc_flags & IBV_WC_WITH_IMM) != 0 && completion.imm_data != number)
    fail("message %u carries the number %u", number, completion.imm_data);
  if (completion.opcode == IBV_WC_RECV && arena_.mapped(part)) {
    const uint8_t* message = arena_.at(part, slot * kMessageMax);
    uint64_t header;
    std::memcpy(&header, message, sizeof header);
    if (completion.byte_len < sizeof header || header != theirs_.messages + number)
      fail("message %u of %u bytes is not what was sent", number, completion.byte_len);
    const size_t rest = completion.byte_len - sizeof header;
    if (verbs_test::first_difference(message + sizeof header, rest, header, 0) != rest)
      fail("message %u of %u bytes came with wrong ones", number, completion.byte_len);
  }
  post_receive(pair, slot);
}

}  // namespace process_faults
