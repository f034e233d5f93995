/* SPDX-License-Identifier: BSD-2-Clause */
/* Two processes answer each other by WRITEs with immediate, and sleep in between: completion channels.
 *   mrcrun ping_pong [ROUNDS] */
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common.h"

enum { kBytes = 4096, kReceives = 64 };

static void post_receive(struct mrc_qp* qp) {
  struct ibv_recv_wr request = {0}, *bad = NULL; /* an immediate needs no memory, but a request */
  CHECK(mrc_post_recv(qp, &request, &bad) == 0);
}

/* Sleeps until the channel has an event, then takes the completion of the peer's immediate. */
static uint32_t wait_for_immediate(struct mrc_comp_channel* channel, struct mrc_cq* receives) {
  struct ibv_wc done;
  for (;;) {
    int count = mrc_poll_cq(receives, 1, &done);
    CHECK(count >= 0);
    if (count == 1) break;
    /* Armed first and polled again: what came in between must not be slept over. */
    CHECK(mrc_req_notify_cq(receives, 0) == 0);
    if ((count = mrc_poll_cq(receives, 1, &done)) == 1) break;
    struct mrc_cq* about;
    void* tag;
    CHECK(mrc_get_cq_event(channel, &about, &tag) == 0);
    mrc_ack_cq_events(about, 1);
  }
  CHECK(done.status == IBV_WC_SUCCESS && done.opcode == IBV_WC_RECV_RDMA_WITH_IMM);
  return done.imm_data;
}

static int play(int socket, int begins, uint32_t rounds) {
  struct ibv_context* verbs = open_device(NULL);
  struct mrc_context* context = make_context(verbs);
  struct ibv_pd* domain = ibv_alloc_pd(verbs);
  char* memory = calloc(1, kBytes);
  struct ibv_mr* region =
      ibv_reg_mr(domain, memory, kBytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  CHECK(region != NULL);
  struct mrc_comp_channel* channel = NULL;
  CHECK(mrc_create_comp_channel(context, &channel) == 0);
  struct mrc_cq* sends = mrc_create_cq(context, kReceives, NULL, NULL, 0);
  struct mrc_cq* receives = mrc_create_cq(context, kReceives, NULL, channel, 0);
  CHECK(sends != NULL && receives != NULL);
  struct mrc_qp_init_attr wanted = {0};
  wanted.send_cq = sends;
  wanted.recv_cq = receives;
  wanted.pd = domain;
  wanted.cap.max_send_wr = wanted.cap.max_recv_wr = kReceives;
  wanted.cap.max_send_sge = 1;
  struct mrc_qp* qp = mrc_create_qp(context, &wanted);
  CHECK(qp != NULL);

  struct side own = side_of(verbs, qp, region), peer;
  CHECK(write(socket, &own, sizeof own) == sizeof own);
  CHECK(read(socket, &peer, sizeof peer) == sizeof peer);
  connect_to(qp, &peer, 0);
  /* Strict MRC does not wait for receives: they are there before the peer begins. */
  for (int i = 0; i < kReceives; ++i) post_receive(qp);
  char ready = 1;
  CHECK(write(socket, &ready, 1) == 1 && read(socket, &ready, 1) == 1);

  struct timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (uint32_t round = 0; round < rounds; ++round) {
    if (begins) post_write(qp, region, kBytes, &peer, IBV_WR_RDMA_WRITE_WITH_IMM, round), wait_for(sends);
    CHECK(wait_for_immediate(channel, receives) == round);
    post_receive(qp);
    if (!begins) post_write(qp, region, kBytes, &peer, IBV_WR_RDMA_WRITE_WITH_IMM, round), wait_for(sends);
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  if (begins)
    printf(
        "%u rounds, %.1f us each\n", rounds,
        ((double)(end.tv_sec - start.tv_sec) * 1e6 + (double)(end.tv_nsec - start.tv_nsec) / 1e3) / rounds);
  CHECK(write(socket, &ready, 1) == 1 &&
        read(socket, &ready, 1) == 1); /* nobody leaves before the other is done */
  CHECK(mrc_destroy_qp(qp) == 0);
  CHECK(mrc_destroy_cq(sends) == 0 && mrc_destroy_cq(receives) == 0);
  CHECK(mrc_destroy_comp_channel(channel) == 0);
  ibv_dereg_mr(region);
  free(memory);
  ibv_dealloc_pd(domain);
  CHECK(mrc_destroy_context(context) == 0);
  ibv_close_device(verbs);
  return 0;
}

int main(int count, char** words) {
  const uint32_t rounds = count > 1 ? (uint32_t)strtoul(words[1], NULL, 10) : 1000;
  int sockets[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
  /* Before anything of the device is open: a child cannot take it over. */
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) return play(sockets[1], 0, rounds);
  const int result = play(sockets[0], 1, rounds);
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  return result;
}
