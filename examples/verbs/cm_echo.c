/* SPDX-License-Identifier: BSD-2-Clause */
/* rdma_cm finds the device, makes the queue pair and connects it: a server that sends back what it gets, and
 * its client. Addresses are those of the host, ports are rdma_cm's own.
 *   mrcrun cm_echo PORT               one client, then it ends
 *   mrcrun cm_echo HOST PORT TEXT */
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include "common.h"

enum { kBytes = 1024 };

/* What is offered at (or asked of) host and port, and what every connection's queue pair shall be like. */
static struct rdma_cm_id* make_end(const char* host, const char* port) {
  struct rdma_addrinfo hints = {0}, *found = NULL;
  hints.ai_port_space = RDMA_PS_TCP;
  if (host == NULL) hints.ai_flags = RAI_PASSIVE;
  CHECK(rdma_getaddrinfo(host, port, &hints, &found) == 0);
  struct ibv_qp_init_attr wanted = {0};
  wanted.cap.max_send_wr = wanted.cap.max_recv_wr = 4;
  wanted.cap.max_send_sge = wanted.cap.max_recv_sge = 1;
  wanted.sq_sig_all = 1;
  struct rdma_cm_id* end = NULL;
  CHECK(rdma_create_ep(&end, found, NULL, &wanted) == 0);
  rdma_freeaddrinfo(found);
  return end;
}

static void await_send(struct rdma_cm_id* id) {
  struct ibv_wc done;
  CHECK(rdma_get_send_comp(id, &done) == 1 && done.status == IBV_WC_SUCCESS);
}

/* Bytes of the next message. */
static uint32_t await_message(struct rdma_cm_id* id) {
  struct ibv_wc done;
  CHECK(rdma_get_recv_comp(id, &done) == 1 && done.status == IBV_WC_SUCCESS);
  return done.byte_len;
}

static void serve(const char* port) {
  struct rdma_cm_id *listener = make_end(NULL, port), *id = NULL;
  CHECK(rdma_listen(listener, 0) == 0);
  printf("listens\n");
  fflush(stdout);
  CHECK(rdma_get_request(listener, &id) == 0); /* with a queue pair like the listener's */
  char memory[kBytes];
  struct ibv_mr* region = rdma_reg_msgs(id, memory, kBytes);
  CHECK(region != NULL);
  /* Before it accepts: the first message comes as soon as it has. */
  CHECK(rdma_post_recv(id, NULL, memory, kBytes, region) == 0);
  CHECK(rdma_accept(id, NULL) == 0);
  const uint32_t bytes = await_message(id);
  CHECK(rdma_post_send(id, NULL, memory, bytes, region, 0) == 0);
  await_send(id);
  rdma_disconnect(id);
  CHECK(rdma_dereg_mr(region) == 0);
  rdma_destroy_ep(id);
  rdma_destroy_ep(listener);
}

static void ask(const char* host, const char* port, const char* text) {
  struct rdma_cm_id* id = make_end(host, port);
  char memory[2][kBytes] = {{0}};
  struct ibv_mr* region = rdma_reg_msgs(id, memory, sizeof memory);
  CHECK(region != NULL);
  CHECK(rdma_post_recv(id, NULL, memory[1], kBytes, region) == 0);
  CHECK(rdma_connect(id, NULL) == 0);
  snprintf(memory[0], kBytes, "%s", text);
  const size_t bytes = strlen(memory[0]) + 1;
  CHECK(rdma_post_send(id, NULL, memory[0], bytes, region, 0) == 0);
  await_send(id);
  CHECK(await_message(id) == bytes && strcmp(memory[0], memory[1]) == 0);
  printf("%s came back by %s\n", memory[1], ibv_get_device_name(id->verbs->device));
  rdma_disconnect(id);
  CHECK(rdma_dereg_mr(region) == 0);
  rdma_destroy_ep(id);
}

int main(int count, char** words) {
  if (count == 2)
    serve(words[1]);
  else if (count == 4)
    ask(words[1], words[2], words[3]);
  else
    return fprintf(stderr, "usage: cm_echo PORT | cm_echo HOST PORT TEXT\n"), 2;
  return 0;
}
