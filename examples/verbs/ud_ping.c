/* SPDX-License-Identifier: BSD-2-Clause */
/* Datagrams: one process asks, the other answers whoever asks. Neither is connected to the other, and a
 * datagram may be lost, so the one that asks waits only so long and asks again.
 *   mrcrun ud_ping [DEVICE] */
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "common.h"

/* Before each datagram that was received there are 40 bytes for its IP header. */
enum { kHeader = 40, kBytes = 64, kReceives = 16, kRounds = 100, kKey = 0x1234 };

struct end {
  struct ibv_context* verbs;
  struct ibv_pd* domain;
  struct ibv_cq* completions;
  struct ibv_qp* qp;
  struct ibv_mr* region;
  char* memory; /* what is sent, then room for all receives */
};

static char* received(struct end* end, uint64_t slot) {
  return end->memory + kBytes + slot * (kHeader + kBytes);
}

static void post_receive(struct end* end, uint64_t slot) {
  struct ibv_sge piece = {(uint64_t)(uintptr_t)received(end, slot), kHeader + kBytes, end->region->lkey};
  struct ibv_recv_wr request = {slot, NULL, &piece, 1}, *bad = NULL;
  CHECK(ibv_post_recv(end->qp, &request, &bad) == 0);
}

static struct end open_end(const char* device) {
  struct end end = {.verbs = open_device(device)};
  const size_t bytes = kBytes + kReceives * (kHeader + kBytes);
  CHECK((end.domain = ibv_alloc_pd(end.verbs)) != NULL);
  CHECK((end.completions = ibv_create_cq(end.verbs, 2 * kReceives, NULL, NULL, 0)) != NULL);
  CHECK((end.memory = calloc(1, bytes)) != NULL);
  CHECK((end.region = ibv_reg_mr(end.domain, end.memory, bytes, IBV_ACCESS_LOCAL_WRITE)) != NULL);
  end.qp = make_qp(end.domain, IBV_QPT_UD, end.completions, NULL);
  struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = kKey};
  CHECK(ibv_modify_qp(end.qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY) == 0);
  attr.qp_state = IBV_QPS_RTR;
  CHECK(ibv_modify_qp(end.qp, &attr, IBV_QP_STATE) == 0);
  attr.qp_state = IBV_QPS_RTS;
  CHECK(ibv_modify_qp(end.qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN) == 0);
  for (uint64_t slot = 0; slot < kReceives; ++slot) post_receive(&end, slot);
  return end;
}

static void send_to(struct end* end, struct ibv_ah* way, uint32_t qpn) {
  struct ibv_sge piece = {(uint64_t)(uintptr_t)end->memory, kBytes, end->region->lkey};
  struct ibv_send_wr request = {0}, *bad = NULL;
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.ud.ah = way;
  request.wr.ud.remote_qpn = qpn;
  request.wr.ud.remote_qkey = kKey; /* who does not know it is not heard */
  CHECK(ibv_post_send(end->qp, &request, &bad) == 0);
}

/* The next datagram, for `seconds` at most. What was sent completes in the same queue and is passed over. */
static int next_datagram(struct end* end, double seconds, struct ibv_wc* done) {
  struct timespec start, now;
  clock_gettime(CLOCK_MONOTONIC, &start);
  do {
    const int count = ibv_poll_cq(end->completions, 1, done);
    CHECK(count == 0 || (count == 1 && done->status == IBV_WC_SUCCESS));
    if (count == 1 && done->opcode == IBV_WC_RECV) return 1;
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((double)(now.tv_sec - start.tv_sec) + (double)(now.tv_nsec - start.tv_nsec) / 1e9 < seconds);
  return 0;
}

/* Until it is killed. */
static void answer(int socket, const char* device) {
  struct end end = open_end(device);
  struct side own = side_of(end.qp, NULL);
  CHECK(write(socket, &own, sizeof own) == sizeof own);
  for (struct ibv_wc done;;) {
    if (!next_datagram(&end, 1, &done)) continue;
    /* The header says who has asked: the way back is made of it. */
    struct ibv_grh* header = (struct ibv_grh*)received(&end, done.wr_id);
    struct ibv_ah* back = ibv_create_ah_from_wc(end.domain, &done, header, 1);
    CHECK(back != NULL);
    memcpy(end.memory, received(&end, done.wr_id) + kHeader, kBytes);
    post_receive(&end, done.wr_id);
    send_to(&end, back, done.src_qp);
    CHECK(ibv_destroy_ah(back) == 0);
  }
}

static void ask(int socket, const char* device) {
  struct end end = open_end(device);
  struct side peer;
  CHECK(read(socket, &peer, sizeof peer) == sizeof peer);
  struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1};
  attr.grh.dgid = peer.gid;
  attr.grh.hop_limit = 64;
  struct ibv_ah* way = ibv_create_ah(end.domain, &attr);
  CHECK(way != NULL);
  int sent = 0;
  for (uint32_t round = 1; round <= kRounds; ++round) {
    for (uint32_t answered = 0; answered != round;) {
      memcpy(end.memory, &round, sizeof round);
      send_to(&end, way, peer.qpn);
      ++sent;
      struct ibv_wc done;
      while (answered != round && next_datagram(&end, 0.5, &done)) {
        memcpy(&answered, received(&end, done.wr_id) + kHeader, sizeof answered);
        post_receive(&end, done.wr_id); /* an answer to an earlier question may come late */
      }
    }
  }
  printf("%d of %d were answered, %d were sent\n", kRounds, kRounds, sent);
  CHECK(ibv_destroy_ah(way) == 0);
  CHECK(ibv_destroy_qp(end.qp) == 0);
}

int main(int count, char** words) {
  const char* device = count > 1 ? words[1] : NULL;
  int sockets[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
  const pid_t child = fork(); /* before anything of the device is open */
  CHECK(child >= 0);
  close(sockets[child == 0 ? 0 : 1]); /* so that each notices when the other has gone */
  if (child == 0) answer(sockets[1], device);
  ask(sockets[0], device);
  CHECK(kill(child, SIGTERM) == 0 && waitpid(child, NULL, 0) == child);
  return 0;
}
