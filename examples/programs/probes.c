/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes: does this EV lead to that host, by which port comes the answer, and how long does it take? And the
 * events that a profile tells of meanwhile. mrcrun probes [GID_OF_A_HOST]        without one: this host */
#include <arpa/inet.h>

#include "profiles.h"

enum { kFormat = 64, kProfile = 65, kProbes = 8 };

int main(int count, char** words) {
  struct ibv_context* verbs = open_device(NULL);
  struct mrc_context* context = make_context(verbs);
  struct mrc_ctl_device_attr device;
  CHECK(mrc_ctl_query_device(verbs, &device) == 0);
  CHECK((device.opt_attr & MRC_CTL_OPT_CAP_EP_OP_EV_PROBE) != 0);

  union ibv_gid own, target;
  CHECK(ibv_query_gid(verbs, 1, 0, &own) == 0);
  target = own;
  if (count > 1 && inet_pton(AF_INET6, words[1], target.raw) != 1)
    fprintf(stderr, "no GID: %s\n", words[1]), exit(2);

  /* One EV after the other, on all ports in turn. */
  struct mrc_ctl_ep_req requests[kProbes];
  struct mrc_ctl_ep_rsp answers[kProbes];
  struct mrc_ctl_ev evs[kProbes];
  memset(requests, 0, sizeof requests);
  uint8_t port = 0;
  for (int i = 0; i < kProbes; ++i) {
    do port = (uint8_t)(port % 31 + 1);
    while ((device.phy_port_mask >> port & 1) == 0);
    evs[i] = MRC_CTL_EV_UNPOPULATED;
    evs[i].val[0] = 0xC1; /* most significant byte first: UDP source ports from 0xC100 on */
    evs[i].val[1] = (uint8_t)i;
    evs[i].port = port;
    requests[i].req_id = (uint16_t)(100 + i);
    requests[i].sgid = own;
    requests[i].dgid = target;
    requests[i].ev_fmt_mode = MRC_CTL_EV_FMT_MODE_UDP;
    requests[i].req_ev = evs[i];
  }
  int answered = kProbes; /* in: the room */
  if (mrc_ctl_ep_batch_send_wait(context, 0, MRC_CTL_EP_OP_EV_PROBE, requests, kProbes, 2000000000u, answers,
                                 &answered) != 0)
    perror("probes"), exit(1);
  printf("%d of %d answered\n", answered, kProbes);
  for (int i = 0; i < answered; ++i)
    printf("request %u: back by port %u after %.1f us\n", answers[i].req_id, answers[i].port,
           answers[i].rtt / 1e3);

  /* Those that answered become a profile; its queue of events says what becomes of them. */
  struct mrc_ctl_ev_fmt_field whole[] = {{16}};
  make_format(context, kFormat, MRC_CTL_EV_FMT_MODE_UDP, whole, 1);
  struct mrc_ctl_ev good[kProbes];
  for (int i = 0; i < answered; ++i) good[i] = evs[answers[i].req_id - 100];
  make_explicit(context, kProfile, kFormat, good, answered, 1);
  struct mrc_cq* events = mrc_ctl_create_ev_event_cq(context, 64, NULL, NULL, 0);
  CHECK(events != NULL);
  struct pair pair = make_pair(verbs, context, kProfile, 1 << 16);
  for (int i = 0; i < 100; ++i) {
    post_write(pair.qp[0], pair.region, 1 << 16, &pair.side[1], IBV_WR_RDMA_WRITE, 0);
    wait_for(pair.completions);
  }
  struct mrc_ctl_ev_event told[16];
  const int news = mrc_ctl_poll_ev_event(events, 16, told);
  CHECK(news >= 0);
  printf("%d events\n", news);
  for (int i = 0; i < news; ++i)
    printf("port %u EV %02x%02x is %s\n", told[i].ev.port, told[i].ev.val[0], told[i].ev.val[1],
           told[i].state == MRC_CTL_EV_ASSUMED_BAD ? "assumed bad" : "good");
  destroy_pair(&pair);
  CHECK(mrc_destroy_cq(events) == 0);
  remove_profile(context, kProfile, kFormat);
  CHECK(mrc_destroy_context(context) == 0);
  ibv_close_device(verbs);
  return answered == kProbes ? 0 : 1;
}
