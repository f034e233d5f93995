/* SPDX-License-Identifier: BSD-2-Clause */
/* A controller that takes out EVs that lose: whichever the device has assumed bad twice is denied for a
 * while. It needs nothing of the programs whose queue pairs use the profile, and runs beside them. mrcrun
 * take_out PROFILE [SECONDS [BACK_AFTER_SECONDS]]       PROFILE 0: what queue pairs use that name none */
#include <poll.h>
#include <time.h>

#include "profiles.h"

enum { kWatchedMax = 4096, kStrikes = 2 };

struct watched {
  struct mrc_ctl_ev ev;
  int strikes;
  time_t denied_at; /* 0: it is not */
};
static struct watched watched[kWatchedMax];
static int watched_count;

static struct watched* find(const struct mrc_ctl_ev* ev) {
  for (int i = 0; i < watched_count; ++i)
    if (memcmp(&watched[i].ev, ev, sizeof *ev) == 0) return &watched[i];
  if (watched_count == kWatchedMax) return NULL;
  watched[watched_count].ev = *ev;
  return &watched[watched_count++];
}

static time_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + 1; /* never 0 */
}

static void say(const char* what, const struct mrc_ctl_ev* ev) {
  printf("port %u EV %02x%02x%02x%02x %s\n", ev->port, ev->val[0], ev->val[1], ev->val[2], ev->val[3], what);
  fflush(stdout);
}

static void judge(struct mrc_context* context, uint64_t profile, const struct mrc_ctl_ev_event* event) {
  if (event->drop_count > 0) printf("%u events were lost\n", event->drop_count);
  struct watched* path = find(&event->ev);
  if (event->profile_id != profile || event->state != MRC_CTL_EV_ASSUMED_BAD || path == NULL) return;
  say("is assumed bad", &event->ev);
  if (++path->strikes < kStrikes || path->denied_at != 0) return;
  /* EBUSY: then there would be fewer than ev_min_active left. */
  if (set_state(context, profile, &event->ev, MRC_CTL_EV_DENIED) != 0) {
    say("cannot be spared", &event->ev);
    return;
  }
  path->denied_at = now();
  say("is denied", &event->ev);
}

int main(int count, char** words) {
  if (count < 2) fprintf(stderr, "usage: take_out PROFILE [SECONDS [BACK_AFTER_SECONDS]]\n"), exit(2);
  const uint64_t profile = strtoull(words[1], NULL, 0);
  const time_t end = now() + (count > 2 ? strtol(words[2], NULL, 10) : 3600);
  const time_t back_after = count > 3 ? strtol(words[3], NULL, 10) : 60;
  struct ibv_context* verbs = open_device(NULL);
  struct mrc_context* context = make_context(verbs);

  struct mrc_ctl_ev_profile_attr attr = {0};
  CHECK(mrc_ctl_query_ev_profile(context, profile, &attr, MRC_CTL_EV_PROFILE_CUR_STATE) == 0);
  if (attr.cur_profile_state != MRC_CTL_PROFILE_ONLINE)
    fprintf(stderr, "profile %s is not online\n", words[1]), exit(1);
  /* It may have been made by somebody who did not want to be told; an online profile can learn it. */
  attr.ev_event_mask = MRC_CTL_EV_GOOD | MRC_CTL_EV_ASSUMED_BAD;
  CHECK(mrc_ctl_modify_ev_profile(context, profile, &attr, MRC_CTL_EV_PROFILE_EVENT_MASK) == 0);

  struct mrc_comp_channel* channel = NULL;
  CHECK(mrc_create_comp_channel(context, &channel) == 0);
  struct mrc_cq* events = mrc_ctl_create_ev_event_cq(context, 1024, NULL, channel, 0);
  CHECK(events != NULL);
  struct pollfd file = {.events = POLLIN};
  CHECK(mrc_get_comp_channel_fd(channel, &file.fd) == 0);
  while (now() < end) {
    CHECK(mrc_req_notify_cq(events, 0) == 0);
    struct mrc_ctl_ev_event told[64];
    for (int news; (news = mrc_ctl_poll_ev_event(events, 64, told)) > 0;)
      for (int i = 0; i < news; ++i) judge(context, profile, &told[i]);
    /* Those that have been out for long enough get another chance. */
    for (int i = 0; i < watched_count; ++i) {
      if (watched[i].denied_at == 0 || now() < watched[i].denied_at + back_after) continue;
      CHECK(set_state(context, profile, &watched[i].ev, MRC_CTL_EV_GOOD) == 0);
      watched[i].denied_at = watched[i].strikes = 0;
      say("is allowed again", &watched[i].ev);
    }
    if (poll(&file, 1, 200) == 1) {
      struct mrc_cq* about;
      void* tag;
      CHECK(mrc_get_cq_event(channel, &about, &tag) == 0);
      mrc_ack_cq_events(about, 1);
    }
  }
  CHECK(mrc_destroy_cq(events) == 0);
  CHECK(mrc_destroy_comp_channel(channel) == 0);
  CHECK(mrc_destroy_context(context) == 0);
  ibv_close_device(verbs);
  return 0;
}
