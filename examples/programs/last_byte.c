/* SPDX-License-Identifier: BSD-2-Clause */
/* A program that waits for the last byte of a WRITE and takes the bytes before it for written, and its
 * repair. mrcrun last_byte [--repaired] [ROUNDS] No network promises that the last byte is written last. Most
 * keep to it most of the time, so the mistake shows once a month; MRC_DISORDER=1 shows it at once
 * (docs/disorder.md). */
#include <stdatomic.h>

#include "common.h"

enum { kBytes = 1024, kRounds = 100 };

/* The mistake: nothing orders the bytes of a WRITE among each other. */
static void wait_for_last_byte(const char* memory, char value) {
  const volatile char* last = &memory[kBytes - 1];
  while (*last != value) {
  }
  atomic_thread_fence(memory_order_acquire);
}

/* The repair: a receive completes when all of the message is there, and everything before it. */
static void wait_for_immediate(struct mrc_cq* receives) {
  wait_for(receives);
}

static void post_receive(struct mrc_qp* qp) {
  struct ibv_recv_wr request = {0}, *bad = NULL;
  CHECK(mrc_post_recv(qp, &request, &bad) == 0);
}

/* How many bytes are not what was written. */
static int count_wrong(const char* memory, char value) {
  int wrong = 0;
  for (int i = 0; i < kBytes; ++i) wrong += memory[i] != value;
  return wrong;
}

int main(int count, char** words) {
  int repaired = 0, rounds = kRounds;
  for (int i = 1; i < count; ++i) {
    if (strcmp(words[i], "--repaired") == 0)
      repaired = 1;
    else
      rounds = atoi(words[i]);
  }
  struct ibv_context* verbs = open_device(NULL);
  struct mrc_context* context = make_context(verbs);
  struct ibv_pd* domain = ibv_alloc_pd(verbs);
  CHECK(domain != NULL);
  char* memory[2];
  struct ibv_mr* region[2];
  struct mrc_cq* sends = mrc_create_cq(context, 16, NULL, NULL, 0);
  struct mrc_cq* receives = mrc_create_cq(context, 16, NULL, NULL, 0);
  CHECK(sends != NULL && receives != NULL);
  struct mrc_qp* qp[2];
  struct side side[2];
  for (int i = 0; i < 2; ++i) {
    CHECK((memory[i] = calloc(1, kBytes)) != NULL);
    region[i] = ibv_reg_mr(domain, memory[i], kBytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    CHECK(region[i] != NULL);
    struct mrc_qp_init_attr wanted = {0};
    wanted.send_cq = sends;
    wanted.recv_cq = receives;
    wanted.pd = domain;
    wanted.cap.max_send_wr = wanted.cap.max_recv_wr = 16;
    wanted.cap.max_send_sge = wanted.cap.max_recv_sge = 1;
    CHECK((qp[i] = mrc_create_qp(context, &wanted)) != NULL);
    side[i] = side_of(verbs, qp[i], region[i]);
  }
  connect_to(qp[0], &side[1], 0);
  connect_to(qp[1], &side[0], 0);

  int broken = 0;
  for (int round = 1; round <= rounds; ++round) {
    const char value = (char)(1 + round % 100);
    memset(memory[0], value, kBytes);
    if (repaired) post_receive(qp[1]);
    post_write(qp[0], region[0], kBytes, &side[1], repaired ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE,
               0);
    if (repaired)
      wait_for_immediate(receives);
    else
      wait_for_last_byte(memory[1], value);
    broken += count_wrong(memory[1], value) != 0;
    wait_for(sends); /* so that the next round begins with all of this one */
  }
  printf("%d of %d messages were read before they were there\n", broken, rounds);

  for (int i = 0; i < 2; ++i) CHECK(mrc_destroy_qp(qp[i]) == 0);
  CHECK(mrc_destroy_cq(sends) == 0 && mrc_destroy_cq(receives) == 0);
  for (int i = 0; i < 2; ++i) ibv_dereg_mr(region[i]), free(memory[i]);
  ibv_dealloc_pd(domain);
  CHECK(mrc_destroy_context(context) == 0);
  ibv_close_device(verbs);
  return broken == 0 ? 0 : 1;
}
