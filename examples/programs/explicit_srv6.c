/* SPDX-License-Identifier: BSD-2-Clause */
/* An explicit profile of SRv6 paths: each EV is the outer destination address of one path, a list of uSIDs.
 *   mrcrun explicit_srv6 [PORT=ADDRESS...]      such as 1=fc00:0:2000:1000:2001:9001::
 * Without any, four made-up ones: between processes of one host nothing routes by them, but the packets carry
 * them. */
#include <arpa/inet.h>
#include <mrc/mrcdv.h>

#include "profiles.h"

enum { kFormat = 60, kProfile = 61, kEvsMax = 64, kBytes = 1 << 20 };

static struct mrc_ctl_ev parse(const char* text) {
  struct mrc_ctl_ev ev = MRC_CTL_EV_UNPOPULATED;
  char* rest = NULL;
  ev.port = (uint8_t)strtoul(text, &rest, 10);
  /* The first 16 bytes are the outer destination; the next 16, if not zero, a segment in a routing header. */
  if (*rest != '=' || inet_pton(AF_INET6, rest + 1, ev.val) != 1)
    fprintf(stderr, "%s: wanted PORT=ADDRESS\n", text), exit(2);
  return ev;
}

int main(int count, char** words) {
  static const char* const made_up[] = {"1=fc00:0:2000:1000:2001:9001::", "1=fc00:0:2000:1001:2001:9001::",
                                        "2=fc00:0:2100:1100:2101:9101::", "2=fc00:0:2100:1101:2101:9101::"};
  struct mrc_ctl_ev evs[kEvsMax];
  int used = 0;
  for (int i = 1; i < count && used < kEvsMax; ++i) evs[used++] = parse(words[i]);
  if (used == 0)
    for (size_t i = 0; i < sizeof made_up / sizeof *made_up; ++i) evs[used++] = parse(made_up[i]);

  struct ibv_context* verbs = open_device(NULL);
  struct mrc_context* context = make_context(verbs);
  struct mrc_ctl_ev_fmt_field whole[] = {{128}, {128}};
  make_format(context, kFormat, MRC_CTL_EV_FMT_MODE_SRV6, whole, 2);
  make_explicit(context, kProfile, kFormat, evs, used, 1);

  struct pair pair = make_pair(verbs, context, kProfile, kBytes);
  for (int i = 0; i < 64; ++i) {
    post_write(pair.qp[0], pair.region, kBytes, &pair.side[1], IBV_WR_RDMA_WRITE, 0);
    wait_for(pair.completions);
  }
  /* What verbs cannot say: which path a queue pair has used. */
  struct mrcdv_path paths[kEvsMax];
  const int there = mrcdv_query_paths(*(struct ibv_qp**)pair.qp[0], paths, kEvsMax);
  for (int i = 0; i < there && i < kEvsMax; ++i) {
    char address[INET6_ADDRSTRLEN];
    inet_ntop(AF_INET6, paths[i].outer_destination, address, sizeof address);
    printf("port %u  %-40s %s\n", paths[i].port, address, paths[i].newest != 0 ? "used" : "not used");
    CHECK(paths[i].has_outer && paths[i].newest != 0);
  }
  CHECK(there == used);
  destroy_pair(&pair);
  remove_profile(context, kProfile, kFormat);
  CHECK(mrc_destroy_context(context) == 0);
  ibv_close_device(verbs);
  return 0;
}
