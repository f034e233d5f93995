/* SPDX-License-Identifier: BSD-2-Clause */
/* One process writes into memory of another, which learns by the immediate that all of it is there.
 *   mrcrun write_imm [DEVICE] */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "common.h"

enum { kBytes = 1 << 20, kImmediate = 4711 };

static char content(int i) {
  return (char)(i * 7 + i / 4096);
}

static void play(int socket, int writes, const char* device) {
  struct ibv_context* verbs = open_device(device);
  struct ibv_pd* domain = ibv_alloc_pd(verbs);
  CHECK(domain != NULL);
  char* memory = calloc(1, kBytes);
  CHECK(memory != NULL);
  struct ibv_mr* region =
      ibv_reg_mr(domain, memory, kBytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  CHECK(region != NULL);
  struct ibv_cq* completions = ibv_create_cq(verbs, 16, NULL, NULL, 0);
  CHECK(completions != NULL);
  struct ibv_qp* qp = make_qp(domain, IBV_QPT_RC, completions, NULL);
  const struct side own = side_of(qp, region), peer = swap_sides(socket, &own);
  connect_to(qp, &peer);

  if (writes) {
    meet(socket); /* the peer's receive is posted */
    for (int i = 0; i < kBytes; ++i) memory[i] = content(i);
    struct ibv_sge piece = {(uint64_t)(uintptr_t)memory, kBytes, region->lkey};
    struct ibv_send_wr request = {0}, *bad = NULL;
    request.sg_list = &piece;
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    request.send_flags = IBV_SEND_SIGNALED;
    request.imm_data = htonl(kImmediate);
    request.wr.rdma.remote_addr = peer.address;
    request.wr.rdma.rkey = peer.rkey;
    CHECK(ibv_post_send(qp, &request, &bad) == 0);
    CHECK(wait_for(completions).opcode == IBV_WC_RDMA_WRITE); /* from here on `memory` may be changed */
  } else {
    /* The immediate takes a receive request, which needs no memory: the data has its place already. */
    struct ibv_recv_wr request = {0}, *bad = NULL;
    CHECK(ibv_post_recv(qp, &request, &bad) == 0);
    meet(socket);
    /* The bytes come in any order, so it is no use to look at the last of them: the completion says that
     * all are there. */
    const struct ibv_wc done = wait_for(completions);
    CHECK(done.opcode == IBV_WC_RECV_RDMA_WITH_IMM && done.byte_len == kBytes);
    for (int i = 0; i < kBytes; ++i) CHECK(memory[i] == content(i));
    printf("%u bytes have come, with the immediate %u\n", done.byte_len, ntohl(done.imm_data));
  }

  meet(socket); /* nobody leaves before the other is done */
  CHECK(ibv_destroy_qp(qp) == 0);
  CHECK(ibv_destroy_cq(completions) == 0);
  CHECK(ibv_dereg_mr(region) == 0);
  free(memory);
  CHECK(ibv_dealloc_pd(domain) == 0);
  CHECK(ibv_close_device(verbs) == 0);
}

int main(int count, char** words) {
  const char* device = count > 1 ? words[1] : NULL;
  int sockets[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
  /* Before anything of the device is open: a child cannot take it over. */
  const pid_t child = fork();
  CHECK(child >= 0);
  close(sockets[child == 0 ? 0 : 1]); /* so that each notices when the other has gone */
  play(sockets[child == 0 ? 1 : 0], child != 0, device);
  int status = 0;
  if (child != 0) CHECK(waitpid(child, &status, 0) == child && status == 0);
  return 0;
}
