// SPDX-License-Identifier: BSD-2-Clause
// Completion queues: creation, polling, resizing, overrun, and the extended form.
#include <endian.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <set>
#include <vector>

#include "objects.h"

namespace conformance {
namespace {

// Leaves `count` completions in a's send queue, ids from `first` on.
void complete(Pair& pair, int count, uint64_t first = 0) {
  for (int i = 0; i < count; ++i)
    CHECK_OK(Request(IBV_WR_RDMA_WRITE, first + static_cast<uint64_t>(i))
                 .piece(pair.a.memory, 0, 8)
                 .remote(pair.b.memory, 0)
                 .post(pair.a.qp));
}

constexpr int kArrivalChecks = 20000;  // a millisecond each

// Waits on the queue pair itself: in SQD, nothing is under way.
void await_arrival(Pair& pair, int count) {
  complete(pair, count);
  // A last write with its own mark: once it is there, all before it have been started, and drained means
  // done.
  pair.a.memory.data()[100] = 0xEE;
  pair.b.memory.data()[100] = 0;
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 1000)
               .silent()
               .piece(pair.a.memory, 100, 1)
               .remote(pair.b.memory, 100)
               .post(pair.a.qp));
  const volatile uint8_t* mark = &pair.b.memory.data()[100];
  for (int i = 0; *mark != 0xEE; ++i) {
    if (i == kArrivalChecks) throw Failure("the last write does not arrive");
    usleep(1000);
  }
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_SQD;
  CHECK_OK(ibv_modify_qp(pair.a.qp, &attributes, IBV_QP_STATE));
  for (int i = 0; i < kArrivalChecks; ++i) {
    ibv_qp_init_attr init;
    CHECK_OK(ibv_query_qp(pair.a.qp, &attributes, IBV_QP_STATE, &init));
    if (attributes.sq_draining == 0) return;
    usleep(1000);
  }
  throw Failure("the send queue does not drain");
}

}  // namespace

CASE("cq.create") {
  int cookie = 0;
  Owned<ibv_cq> cq = make_cq(100, nullptr, &cookie);
  CHECK(cq->cqe >= 100);
  CHECK(cq->cq_context == &cookie);
  CHECK(cq->context == device());
  CHECK(cq->channel == nullptr);
}

CASE("cq.create_one_entry") {
  CHECK(make_cq(1)->cqe >= 1);
}

CASE("cq.create_no_entries") {
  CHECK_REFUSED(ibv_create_cq(device(), 0, nullptr, nullptr, 0), EINVAL);
}

CASE("cq.create_negative") {
  CHECK_REFUSED(ibv_create_cq(device(), -1, nullptr, nullptr, 0), EINVAL);
}

CASE("cq.create_too_many_entries") {
  CHECK_REFUSED(ibv_create_cq(device(), device_attributes().max_cqe + 1, nullptr, nullptr, 0), EINVAL);
}

CASE("cq.create_the_most_entries") {
  const int most = device_attributes().max_cqe;
  CHECK(make_cq(most)->cqe >= most);
}

CASE("cq.create_vector_too_large") {
  CHECK_REFUSED(ibv_create_cq(device(), 10, nullptr, nullptr, device()->num_comp_vectors), EINVAL);
}

CASE("cq.create_vector_negative") {
  CHECK_REFUSED(ibv_create_cq(device(), 10, nullptr, nullptr, -1), EINVAL);
}

CASE("cq.many") {
  std::vector<Owned<ibv_cq>> queues;
  for (int i = 0; i < 500; ++i) queues.push_back(make_cq(16));
}

CASE("cq.poll_empty") {
  Owned<ibv_cq> cq = make_cq();
  ibv_wc completion;
  for (int i = 0; i < 1000; ++i) CHECK_EQ(ibv_poll_cq(cq, 1, &completion), 0);
}

CASE("cq.poll_for_none") {
  Pair pair;
  await_arrival(pair, 3);
  ibv_wc completion;
  CHECK_EQ(ibv_poll_cq(pair.a.send_cq, 0, &completion), 0);
  for (uint64_t id = 0; id < 3; ++id) await(pair.a.send_cq, id, IBV_WC_SUCCESS);
}

CASE("cq.poll_in_order") {
  Pair pair;
  complete(pair, 16);
  for (uint64_t id = 0; id < 16; ++id) await(pair.a.send_cq, id, IBV_WC_SUCCESS);
}

CASE("cq.poll_several_at_once") {
  Pair pair;
  await_arrival(pair, 10);
  ibv_wc completions[16];
  CHECK_EQ(ibv_poll_cq(pair.a.send_cq, 4, completions), 4);
  CHECK_EQ(completions[3].wr_id, 3);
  CHECK_EQ(ibv_poll_cq(pair.a.send_cq, 16, completions), 6);
  CHECK_EQ(completions[5].wr_id, 9);
}

CASE("cq.completion_fields") {
  Pair pair;
  complete(pair, 1, 0xFEDCBA9876543210);
  const ibv_wc completion = await(pair.a.send_cq);
  CHECK_EQ(completion.wr_id, 0xFEDCBA9876543210);
  CHECK_EQ(completion.status, IBV_WC_SUCCESS);
  CHECK_EQ(completion.opcode, IBV_WC_RDMA_WRITE);
  CHECK_EQ(completion.qp_num, pair.a.qp->qp_num);
}

CASE("cq.one_for_sends_and_receives") {
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_cq> cq = make_cq();
  Memory memory(pd, 4096);
  Owned<ibv_qp> one = make_qp(pd, qp_wanted(cq, cq));
  Owned<ibv_qp> two = make_qp(pd, qp_wanted(cq, cq));
  bring_to(one, IBV_QPS_RTS, two->qp_num);
  bring_to(two, IBV_QPS_RTS, one->qp_num);
  CHECK_OK(post_receive(two, 2, {memory.piece(2048, 64)}));
  CHECK_OK(Request(IBV_WR_SEND, 1).piece(memory, 0, 64).post(one));
  std::set<uint64_t> ids{await(cq).wr_id, await(cq).wr_id};
  CHECK(ids == (std::set<uint64_t>{1, 2}));
}

CASE("cq.busy_with_a_queue_pair_that_sends") {
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_cq> send = make_cq();
  Owned<ibv_cq> receive = make_cq();
  Owned<ibv_qp> qp = make_qp(pd, qp_wanted(send, receive));
  CHECK_ERROR(ibv_destroy_cq(send), EBUSY);
}

CASE("cq.busy_with_a_queue_pair_that_receives") {
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_cq> send = make_cq();
  Owned<ibv_cq> receive = make_cq();
  Owned<ibv_qp> qp = make_qp(pd, qp_wanted(send, receive));
  CHECK_ERROR(ibv_destroy_cq(receive), EBUSY);
}

CASE("cq.forgets_a_destroyed_queue_pair") {
  Pair pair;
  await_arrival(pair, 3);
  pair.a.qp.reset();
  expect_quiet(pair.a.send_cq, 20);
}

// --- resizing ---

CASE("cq.resize_larger") {
  Owned<ibv_cq> cq = make_cq(16);
  CHECK_OK(ibv_resize_cq(cq, 1000));
  CHECK(cq->cqe >= 1000);
}

CASE("cq.resize_smaller") {
  Owned<ibv_cq> cq = make_cq(1000);
  CHECK_OK(ibv_resize_cq(cq, 16));
  CHECK(cq->cqe >= 16);
}

CASE("cq.resize_keeps_completions_in_order") {
  Pair pair;
  await_arrival(pair, 10);
  CHECK_OK(ibv_resize_cq(pair.a.send_cq, 500));
  for (uint64_t id = 0; id < 10; ++id) await(pair.a.send_cq, id, IBV_WC_SUCCESS);
  CHECK_OK(move(pair.a.qp, IBV_QPS_RTS));
  complete(pair, 5, 10);
  for (uint64_t id = 10; id < 15; ++id) await(pair.a.send_cq, id, IBV_WC_SUCCESS);
}

CASE("cq.resize_below_what_it_holds") {
  Owned<ibv_cq> small = make_cq(1);
  const int held = small->cqe + 10;  // the device may give more than is asked for
  PairOptions options;
  options.cq_entries = 2 * held;
  options.cap.max_send_wr = static_cast<uint32_t>(2 * held);
  Pair pair(options);
  await_arrival(pair, held);
  CHECK_ERROR(ibv_resize_cq(pair.a.send_cq, 1), EINVAL);
  CHECK_ERROR(ibv_resize_cq(pair.a.send_cq, held - 1), EINVAL);
  CHECK_OK(ibv_resize_cq(pair.a.send_cq, held));
  for (uint64_t id = 0; id < static_cast<uint64_t>(held); ++id) await(pair.a.send_cq, id, IBV_WC_SUCCESS);
}

CASE("cq.resize_to_nothing") {
  Owned<ibv_cq> cq = make_cq(16);
  CHECK_ERROR(ibv_resize_cq(cq, 0), EINVAL);
}

CASE("cq.resize_too_large") {
  Owned<ibv_cq> cq = make_cq(16);
  CHECK_ERROR(ibv_resize_cq(cq, device_attributes().max_cqe + 1), EINVAL);
}

CASE("cq.moderation_done_or_refused") {
  Owned<ibv_cq> cq = make_cq(16);
  ibv_modify_cq_attr wanted{};
  wanted.attr_mask = IBV_CQ_ATTR_MODERATE;
  wanted.moderate = {4, 10};
  CHECK_ERROR(ibv_modify_cq(cq, &wanted), 0, EOPNOTSUPP);
}

// --- the extended form ---

namespace {

constexpr uint64_t kClock = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
constexpr uint64_t kWall = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;

// What the device's clock says now.
uint64_t device_clock() {
  ibv_values_ex values{};
  values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
  CHECK_OK(ibv_query_rt_values_ex(device(), &values));
  CHECK_EQ(values.comp_mask, IBV_VALUES_MASK_RAW_CLOCK);
  CHECK_EQ(values.raw_clock.tv_sec, 0);  // ticks, all of them in the other field
  return static_cast<uint64_t>(values.raw_clock.tv_nsec);
}

uint64_t wall_clock() {
  timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

ibv_cq_ex* try_extended(uint64_t reads, uint32_t mask = 0, uint32_t flags = 0, uint32_t entries = 64) {
  ibv_cq_init_attr_ex wanted{};
  wanted.cqe = entries;
  wanted.wc_flags = reads;
  wanted.comp_mask = mask;
  wanted.flags = flags;
  return ibv_create_cq_ex(device(), &wanted);
}

// A pair whose receiving side has an extended completion queue.
struct ExtendedPair {
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_cq> plain = make_cq();
  ibv_cq_ex* extended;
  Owned<ibv_cq> owner;
  Memory memory{pd, 8192};
  Owned<ibv_qp> from;
  Owned<ibv_qp> to;

  explicit ExtendedPair(uint64_t reads = IBV_WC_STANDARD_FLAGS)
      : extended(try_extended(reads)), owner(own(ibv_cq_ex_to_cq(extended), "ibv_create_cq_ex")) {
    from = make_qp(pd, qp_wanted(plain, plain));
    to = make_qp(pd, qp_wanted(owner, owner));
    bring_to(from, IBV_QPS_RTS, to->qp_num);
    bring_to(to, IBV_QPS_RTS, from->qp_num);
    memory.fill(kSeedA);
  }
  void send(uint64_t id, uint32_t bytes) {
    CHECK_OK(post_receive(to, id, {memory.piece(4096, 1024)}));
    CHECK_OK(Request(IBV_WR_SEND_WITH_IMM, id)
                 .piece(memory, 0, bytes)
                 .immediate(static_cast<uint32_t>(id) + 7)
                 .post(from));
    await(plain, id, IBV_WC_SUCCESS);
  }
  void start() {
    const ibv_poll_cq_attr nothing{};
    for (int i = 0; i < 5000; ++i) {
      const int result = ibv_start_poll(extended, const_cast<ibv_poll_cq_attr*>(&nothing));
      if (result == 0) return;
      CHECK_ERROR(result, ENOENT);
      usleep(1000);
    }
    throw Failure("no completion in the extended queue");
  }
};

void destroy_extended(ibv_cq_ex* queue) {
  CHECK_OK(ibv_destroy_cq(ibv_cq_ex_to_cq(queue)));
}

}  // namespace

CASE("cq_ex.create") {
  ibv_cq_ex* queue = try_extended(IBV_WC_STANDARD_FLAGS);
  CHECK(queue != nullptr);
  CHECK(ibv_cq_ex_to_cq(queue)->cqe >= 64);
  destroy_extended(queue);
}

CASE("cq_ex.create_without_reads") {
  ibv_cq_ex* queue = try_extended(0);
  CHECK(queue != nullptr);
  destroy_extended(queue);
}

CASE("cq_ex.create_no_entries") {
  CHECK_REFUSED(try_extended(0, 0, 0, 0), EINVAL);
}

CASE("cq_ex.create_too_many_entries") {
  CHECK_REFUSED(try_extended(0, 0, 0, static_cast<uint32_t>(device_attributes().max_cqe) + 1), EINVAL);
}

CASE("cq_ex.create_with_timestamps") {
  for (const uint64_t reads : {kClock, kWall, kClock | kWall}) {
    ibv_cq_ex* queue = try_extended(reads);
    CHECK(queue != nullptr);
    destroy_extended(queue);
  }
}

CASE("cq_ex.create_with_unknown_reads") {
  CHECK_REFUSED(try_extended(uint64_t{1} << 40), EOPNOTSUPP, EINVAL);
}

CASE("cq_ex.create_with_unknown_mask") {
  CHECK_REFUSED(try_extended(0, 1u << 30), EOPNOTSUPP, EINVAL);
}

CASE("cq_ex.create_ignoring_overrun") {
  CHECK_REFUSED(try_extended(0, IBV_CQ_INIT_ATTR_MASK_FLAGS, IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN), EOPNOTSUPP,
                EINVAL);
}

CASE("cq_ex.start_on_an_empty_queue") {
  ibv_cq_ex* queue = try_extended(IBV_WC_STANDARD_FLAGS);
  CHECK(queue != nullptr);
  ibv_poll_cq_attr nothing{};
  CHECK_ERROR(ibv_start_poll(queue, &nothing), ENOENT);
  CHECK_ERROR(ibv_start_poll(queue, &nothing), ENOENT);  // no end_poll() after that
  destroy_extended(queue);
}

CASE("cq_ex.start_with_unknown_mask") {
  ExtendedPair pair;
  pair.send(1, 8);
  ibv_poll_cq_attr unknown{1};
  CHECK_ERROR(ibv_start_poll(pair.extended, &unknown), EINVAL);
}

CASE("cq_ex.reads_a_completion") {
  ExtendedPair pair;
  pair.send(41, 100);
  pair.start();
  CHECK_EQ(pair.extended->wr_id, 41);
  CHECK_EQ(pair.extended->status, IBV_WC_SUCCESS);
  CHECK_EQ(ibv_wc_read_opcode(pair.extended), IBV_WC_RECV);
  CHECK_EQ(ibv_wc_read_byte_len(pair.extended), 100);
  CHECK_EQ(be32toh(ibv_wc_read_imm_data(pair.extended)), 48);
  CHECK_EQ(ibv_wc_read_qp_num(pair.extended), pair.to->qp_num);
  CHECK_EQ(ibv_wc_read_wc_flags(pair.extended) & IBV_WC_WITH_IMM, IBV_WC_WITH_IMM);
  CHECK_EQ(ibv_wc_read_vendor_err(pair.extended), 0);
  ibv_end_poll(pair.extended);
}

CASE("cq_ex.next") {
  ExtendedPair pair;
  for (uint64_t id = 1; id <= 5; ++id) pair.send(id, 8);
  pair.start();
  for (uint64_t id = 1; id <= 5; ++id) {
    CHECK_EQ(pair.extended->wr_id, id);
    for (int i = 0; id < 5 && i < 5000 && ibv_next_poll(pair.extended) == ENOENT; ++i) usleep(1000);
  }
  CHECK_ERROR(ibv_next_poll(pair.extended), ENOENT);
  ibv_end_poll(pair.extended);
}

CASE("cq_ex.also_polled_plainly") {
  ExtendedPair pair;
  pair.send(9, 32);
  const ibv_wc completion = await(ibv_cq_ex_to_cq(pair.extended), 9, IBV_WC_SUCCESS);
  CHECK_EQ(completion.byte_len, 32);
}

CASE("cq_ex.clock_of_a_completion") {
  ExtendedPair pair(IBV_WC_STANDARD_FLAGS | kClock);
  uint64_t earliest = device_clock();
  for (uint64_t id = 1; id <= 5; ++id) {
    pair.send(id, 8);
    pair.start();
    const uint64_t time = ibv_wc_read_completion_ts(pair.extended);
    CHECK(time >= earliest);
    earliest = device_clock();
    CHECK(time <= earliest);
    ibv_end_poll(pair.extended);
  }
}

CASE("cq_ex.wall_clock_of_a_completion") {
  ExtendedPair pair(IBV_WC_STANDARD_FLAGS | kWall);
  const uint64_t before = wall_clock();
  pair.send(1, 8);
  pair.start();
  const uint64_t time = ibv_wc_read_completion_wallclock_ns(pair.extended);
  CHECK(time >= before);
  CHECK(time <= wall_clock());
  ibv_end_poll(pair.extended);
}

CASE("cq_ex.time_is_when_it_completed_not_when_it_is_polled") {
  ExtendedPair pair(kClock | kWall);
  pair.send(1, 8);
  usleep(100'000);  // the receive completed before the sender heard of it, or very soon after
  const uint64_t clock = device_clock();
  const uint64_t wall = wall_clock();
  usleep(20'000);
  pair.start();
  CHECK(ibv_wc_read_completion_ts(pair.extended) < clock);
  CHECK(ibv_wc_read_completion_wallclock_ns(pair.extended) < wall);
  ibv_end_poll(pair.extended);
}

CASE("cq_ex.times_go_with_next") {
  ExtendedPair pair(kClock | kWall);
  std::vector<uint64_t> sent;
  for (uint64_t id = 1; id <= 4; ++id) {
    sent.push_back(device_clock());
    pair.send(id, 8);
    usleep(2000);
  }
  uint64_t before = 0;
  pair.start();
  for (size_t i = 0; i < 4; ++i) {
    const uint64_t time = ibv_wc_read_completion_ts(pair.extended);
    CHECK(time >= sent[i]);
    CHECK(time >= before);
    before = time;
    if (i < 3) CHECK_OK(ibv_next_poll(pair.extended));
  }
  ibv_end_poll(pair.extended);
}

CASE("cq_ex.times_survive_resizing") {
  ExtendedPair pair(kClock);
  pair.send(1, 8);
  usleep(20'000);
  const uint64_t clock = device_clock();
  CHECK_OK(ibv_resize_cq(pair.owner, 5000));
  pair.send(2, 8);
  pair.start();
  CHECK_EQ(pair.extended->wr_id, 1);
  const uint64_t first = ibv_wc_read_completion_ts(pair.extended);
  CHECK(first != 0 && first < clock);
  for (int i = 0; i < 5000 && ibv_next_poll(pair.extended) == ENOENT; ++i) usleep(1000);
  CHECK_EQ(pair.extended->wr_id, 2);
  CHECK(ibv_wc_read_completion_ts(pair.extended) >= clock);
  ibv_end_poll(pair.extended);
}

CASE("cq_ex.end_and_start_again") {
  ExtendedPair pair;
  for (uint64_t id = 1; id <= 3; ++id) pair.send(id, 8);
  for (uint64_t id = 1; id <= 3; ++id) {
    pair.start();
    CHECK_EQ(pair.extended->wr_id, id);
    ibv_end_poll(pair.extended);
  }
}

}  // namespace conformance
