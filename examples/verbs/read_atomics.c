/* SPDX-License-Identifier: BSD-2-Clause */
/* Two queue pairs of this process: the first reads memory of the second, and counts in it by atomics.
 *   mrcrun read_atomics [DEVICE] */
#include "common.h"

enum { kBytes = 64 << 10, kRounds = 1000 };

struct memory {
  uint64_t counter; /* atomics need 8 bytes, aligned to 8 */
  char text[kBytes];
};

/* READs and atomics alike bring something to `piece` of this side. */
static struct ibv_send_wr request_of(enum ibv_wr_opcode opcode, struct ibv_sge* piece) {
  struct ibv_send_wr request = {0};
  request.opcode = opcode;
  request.send_flags = IBV_SEND_SIGNALED;
  request.sg_list = piece;
  request.num_sge = 1;
  return request;
}

static void post(struct ibv_qp* qp, struct ibv_send_wr request) {
  struct ibv_send_wr* bad = NULL;
  CHECK(ibv_post_send(qp, &request, &bad) == 0);
}

int main(int count, char** words) {
  struct ibv_context* verbs = open_device(count > 1 ? words[1] : NULL);
  struct ibv_pd* domain = ibv_alloc_pd(verbs);
  CHECK(domain != NULL);
  struct ibv_cq* completions = ibv_create_cq(verbs, 16, NULL, NULL, 0);
  CHECK(completions != NULL);
  struct memory* memory[2];
  struct ibv_mr* region[2];
  struct ibv_qp* qp[2];
  struct side side[2];
  for (int i = 0; i < 2; ++i) {
    CHECK((memory[i] = calloc(1, sizeof *memory[i])) != NULL);
    region[i] = ibv_reg_mr(domain, memory[i], sizeof *memory[i],
                           IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
    CHECK(region[i] != NULL);
    qp[i] = make_qp(domain, IBV_QPT_RC, completions, NULL);
    side[i] = side_of(qp[i], region[i]);
  }
  for (int i = 0; i < 2; ++i) connect_to(qp[i], &side[1 - i]);

  /* READ: what is at the peer comes here. The peer's program has no part in it. */
  for (int i = 0; i < kBytes; ++i) memory[1]->text[i] = (char)(i * 7);
  struct ibv_sge text = {(uint64_t)(uintptr_t)memory[0]->text, kBytes, region[0]->lkey};
  struct ibv_send_wr read = request_of(IBV_WR_RDMA_READ, &text);
  read.wr.rdma.remote_addr = side[1].address + offsetof(struct memory, text);
  read.wr.rdma.rkey = side[1].rkey;
  post(qp[0], read);
  wait_for(completions);
  CHECK(memcmp(memory[0]->text, memory[1]->text, kBytes) == 0);
  printf("%d bytes were read\n", kBytes);

  /* Fetch and add: each brings what was there before. */
  struct ibv_sge before = {(uint64_t)(uintptr_t)&memory[0]->counter, 8, region[0]->lkey};
  struct ibv_send_wr add = request_of(IBV_WR_ATOMIC_FETCH_AND_ADD, &before);
  add.wr.atomic.remote_addr = side[1].address + offsetof(struct memory, counter);
  add.wr.atomic.rkey = side[1].rkey;
  add.wr.atomic.compare_add = 3;
  for (uint64_t round = 0; round < kRounds; ++round) {
    post(qp[0], add);
    wait_for(completions);
    CHECK(memory[0]->counter == 3 * round);
  }

  /* Compare and swap: a lock that many peers may try to take. It is taken if what comes back is the value
   * that was expected. */
  struct ibv_send_wr swap = add;
  swap.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
  swap.wr.atomic.compare_add = 3 * kRounds;
  swap.wr.atomic.swap = 1;
  post(qp[0], swap);
  wait_for(completions);
  CHECK(memory[0]->counter == 3 * kRounds && memory[1]->counter == 1);
  post(qp[0], swap); /* a second time: it is 1 now, and stays */
  wait_for(completions);
  CHECK(memory[0]->counter == 1 && memory[1]->counter == 1);
  printf("the counter went to %d, then one swap of two took it\n", 3 * kRounds);

  for (int i = 0; i < 2; ++i) CHECK(ibv_destroy_qp(qp[i]) == 0);
  for (int i = 0; i < 2; ++i) {
    CHECK(ibv_dereg_mr(region[i]) == 0);
    free(memory[i]);
  }
  CHECK(ibv_destroy_cq(completions) == 0);
  CHECK(ibv_dealloc_pd(domain) == 0);
  CHECK(ibv_close_device(verbs) == 0);
  return 0;
}
