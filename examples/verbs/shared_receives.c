/* SPDX-License-Identifier: BSD-2-Clause */
/* A server that sleeps: several clients, one pool of receives for all of them (a shared receive queue), and a
 * completion channel that says when to look. When the pool runs low an asynchronous event says so, and it
 * grows.
 *   mrcrun shared_receives [DEVICE] */
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "common.h"

enum { kClients = 3, kBurst = 8, kMessages = 25 * kBurst, kAtFirst = 4, kAtMost = 32, kBytes = 32 };

static void client(int socket, int name, const char* device) {
  struct ibv_context* verbs = open_device(device);
  struct ibv_pd* domain = ibv_alloc_pd(verbs);
  struct ibv_cq* completions = ibv_create_cq(verbs, 16, NULL, NULL, 0);
  CHECK(domain != NULL && completions != NULL);
  struct ibv_qp* qp = make_qp(domain, IBV_QPT_RC, completions, NULL);
  const struct side own = side_of(qp, NULL), peer = swap_sides(socket, &own);
  connect_to(qp, &peer);
  meet(socket);
  char text[kBurst][kBytes] = {{0}};
  struct ibv_mr* region = ibv_reg_mr(domain, text, sizeof text, 0);
  CHECK(region != NULL);
  for (int i = 0; i < kMessages; ++i) {
    char* place = text[i % kBurst];
    snprintf(place, kBytes, "client %d, message %d", name, i);
    struct ibv_sge piece = {(uint64_t)(uintptr_t)place, kBytes, region->lkey};
    struct ibv_send_wr request = {0}, *bad = NULL;
    request.sg_list = &piece;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    const int last = i % kBurst == kBurst - 1; /* its completion stands for those before it */
    request.send_flags = last ? IBV_SEND_SIGNALED : 0;
    CHECK(ibv_post_send(qp, &request, &bad) == 0);
    if (last) wait_for(completions);
  }
  meet(socket);
  CHECK(ibv_destroy_qp(qp) == 0);
}

static void post_receive(struct ibv_srq* pool, struct ibv_mr* region, uint64_t slot) {
  struct ibv_sge piece = {(uint64_t)(uintptr_t)region->addr + slot * kBytes, kBytes, region->lkey};
  struct ibv_recv_wr request = {slot, NULL, &piece, 1}, *bad = NULL;
  CHECK(ibv_post_srq_recv(pool, &request, &bad) == 0);
}

/* Tell us when fewer than half are left. The event comes once; then it has to be armed again. */
static void arm(struct ibv_srq* pool, uint32_t receives) {
  struct ibv_srq_attr limit = {.srq_limit = receives / 2};
  CHECK(ibv_modify_srq(pool, &limit, IBV_SRQ_LIMIT) == 0);
}

static void serve(const int* sockets, const char* device) {
  struct ibv_context* verbs = open_device(device);
  struct ibv_pd* domain = ibv_alloc_pd(verbs);
  struct ibv_comp_channel* channel = ibv_create_comp_channel(verbs);
  CHECK(domain != NULL && channel != NULL);
  struct ibv_cq* completions = ibv_create_cq(verbs, 64, NULL, channel, 0);
  char* memory = calloc(kAtMost, kBytes);
  struct ibv_mr* region = ibv_reg_mr(domain, memory, kAtMost * kBytes, IBV_ACCESS_LOCAL_WRITE);
  struct ibv_srq_init_attr wanted = {.attr = {.max_wr = kAtMost, .max_sge = 1}};
  struct ibv_srq* pool = ibv_create_srq(domain, &wanted);
  CHECK(completions != NULL && region != NULL && pool != NULL);
  uint32_t receives = 0;
  while (receives < kAtFirst) post_receive(pool, region, receives++);
  arm(pool, receives);
  CHECK(fcntl(verbs->async_fd, F_SETFL, O_NONBLOCK) == 0);

  struct ibv_qp* qp[kClients];
  for (int i = 0; i < kClients; ++i) {
    qp[i] = make_qp(domain, IBV_QPT_RC, completions, pool);
    const struct side own = side_of(qp[i], NULL), peer = swap_sides(sockets[i], &own);
    connect_to(qp[i], &peer);
  }
  CHECK(ibv_req_notify_cq(completions, 0) == 0);
  for (int i = 0; i < kClients; ++i) meet(sockets[i]);

  int heard[kClients] = {0}, slept = 0;
  for (int left = kClients * kMessages; left > 0;) {
    struct pollfd waited[2] = {{channel->fd, POLLIN, 0}, {verbs->async_fd, POLLIN, 0}};
    CHECK(poll(waited, 2, -1) > 0);
    struct ibv_async_event event;
    if (waited[1].revents != 0 && ibv_get_async_event(verbs, &event) == 0) {
      const int low = event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED;
      ibv_ack_async_event(&event);
      for (int i = 0; low && i < kAtFirst; ++i) post_receive(pool, region, receives++);
      if (low && receives < kAtMost) arm(pool, receives);
    }
    if (waited[0].revents == 0) continue;
    struct ibv_cq* about;
    void* tag;
    CHECK(ibv_get_cq_event(channel, &about, &tag) == 0);
    ibv_ack_cq_events(about, 1);
    ++slept;
    /* Armed first, then emptied: what comes in between must not be slept over. */
    CHECK(ibv_req_notify_cq(completions, 0) == 0);
    struct ibv_wc done;
    for (int count; (count = ibv_poll_cq(completions, 1, &done)) != 0; --left) {
      CHECK(count == 1 && done.status == IBV_WC_SUCCESS && done.opcode == IBV_WC_RECV);
      int from = 0; /* the completion says whose it is */
      while (qp[from]->qp_num != done.qp_num) ++from;
      char expected[kBytes];
      snprintf(expected, sizeof expected, "client %d, message %d", from, heard[from]++);
      CHECK(strcmp(memory + done.wr_id * kBytes, expected) == 0);
      post_receive(pool, region, done.wr_id);
    }
  }
  for (int i = 0; i < kClients; ++i) {
    CHECK(heard[i] == kMessages);
    meet(sockets[i]);
  }
  printf("%d messages from %d clients, %d times awake, %u receives in the end\n", kClients * kMessages,
         kClients, slept, receives);
  for (int i = 0; i < kClients; ++i) CHECK(ibv_destroy_qp(qp[i]) == 0);
  CHECK(ibv_destroy_srq(pool) == 0);
  CHECK(ibv_destroy_cq(completions) == 0);
  CHECK(ibv_destroy_comp_channel(channel) == 0);
}

int main(int count, char** words) {
  const char* device = count > 1 ? words[1] : NULL;
  int sockets[kClients];
  for (int i = 0; i < kClients; ++i) { /* before anything of the device is open */
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    const pid_t child = fork();
    CHECK(child >= 0);
    close(ends[child == 0 ? 0 : 1]); /* so that each notices when the other has gone */
    if (child == 0) return client(ends[1], i, device), 0;
    sockets[i] = ends[0];
  }
  serve(sockets, device);
  int status = 0;
  for (int i = 0; i < kClients; ++i) CHECK(wait(&status) > 0 && status == 0);
  return 0;
}
