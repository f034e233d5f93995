/* SPDX-License-Identifier: BSD-2-Clause */
/* Set-up and one WRITE: two queue pairs of this process, the first writes into memory of the second.
 *   mrcrun write [DEVICE] */
#include "common.h"

enum { kBytes = 1 << 20 };

int main(int count, char** words) {
  /* Devices and memory are libibverbs'; contexts, completion queues and queue pairs are MRC's. */
  struct ibv_context* verbs = open_device(count > 1 ? words[1] : NULL);
  struct mrc_context* context = make_context(verbs);
  struct mrc_device_attr device;
  int supported = 0;
  CHECK(mrc_query_device_ex(verbs, context, &device, &supported) == 0);
  printf("%s: %u WRITEs with immediate under way at a time, %u packets\n", ibv_get_device_name(verbs->device),
         device.wimm_attr.max_wimm, device.mpr_attr.max_mpr * 128u);

  struct ibv_pd* domain = ibv_alloc_pd(verbs);
  CHECK(domain != NULL);
  char* memory[2];
  struct ibv_mr* region[2];
  for (int i = 0; i < 2; ++i) {
    CHECK((memory[i] = calloc(1, kBytes)) != NULL);
    region[i] = ibv_reg_mr(domain, memory[i], kBytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    CHECK(region[i] != NULL);
  }

  struct mrc_cq* completions = mrc_create_cq(context, 16, NULL, NULL, 0);
  CHECK(completions != NULL);
  struct mrc_qp* qp[2];
  struct side side[2];
  for (int i = 0; i < 2; ++i) {
    struct mrc_qp_init_attr wanted = {0};
    wanted.send_cq = wanted.recv_cq = completions;
    wanted.pd = domain;
    wanted.cap.max_send_wr = wanted.cap.max_recv_wr = 16;
    wanted.cap.max_send_sge = wanted.cap.max_recv_sge = 1;
    CHECK((qp[i] = mrc_create_qp(context, &wanted)) != NULL);
    side[i] = side_of(verbs, qp[i], region[i]);
  }
  /* Between hosts the two sides would tell each other these over a socket. */
  connect_to(qp[0], &side[1], 0);
  connect_to(qp[1], &side[0], 0);

  for (int i = 0; i < kBytes; ++i) memory[0][i] = (char)(i * 7);
  post_write(qp[0], region[0], kBytes, &side[1], IBV_WR_RDMA_WRITE, 0);
  wait_for(completions); /* the bytes are there: MRC acknowledges what is placed */
  CHECK(memcmp(memory[0], memory[1], kBytes) == 0);
  printf("%d bytes were written\n", kBytes);

  for (int i = 0; i < 2; ++i) CHECK(mrc_destroy_qp(qp[i]) == 0);
  CHECK(mrc_destroy_cq(completions) == 0);
  for (int i = 0; i < 2; ++i) ibv_dereg_mr(region[i]), free(memory[i]);
  ibv_dealloc_pd(domain);
  CHECK(mrc_destroy_context(context) == 0);
  ibv_close_device(verbs);
  return 0;
}
