// SPDX-License-Identifier: BSD-2-Clause
// Memory that the survivor takes away under the traffic, in order (deregistered, then unmapped) and not in
// order (only unmapped).
#include <array>

#include "tests/verbs/process_faults_faults.h"

namespace process_faults {
namespace {

using verbs_test::fail;

constexpr uint32_t kEnds = status_bit(IBV_WC_WR_FLUSH_ERR) | status_bit(IBV_WC_RETRY_EXC_ERR);

// The part, and what ends whose requests.
struct Victim {
  Part part;
  bool remote;  // used by the peer's requests
  ibv_wc_status peer_sees;
  ibv_wc_status survivor_sees;  // flushes, if nothing else
};
constexpr std::array<Victim, 6> kVictims = {{
    {Part::kTarget, true, IBV_WC_REM_ACCESS_ERR, IBV_WC_WR_FLUSH_ERR},
    {Part::kReadable, true, IBV_WC_REM_ACCESS_ERR, IBV_WC_WR_FLUSH_ERR},
    {Part::kWords, true, IBV_WC_REM_ACCESS_ERR, IBV_WC_WR_FLUSH_ERR},
    {Part::kReceive, true, IBV_WC_REM_OP_ERR, IBV_WC_LOC_PROT_ERR},
    {Part::kSource, false, IBV_WC_WR_FLUSH_ERR, IBV_WC_LOC_PROT_ERR},
    {Part::kLanding, false, IBV_WC_WR_FLUSH_ERR, IBV_WC_LOC_PROT_ERR},
}};

void go_on(Cycle& cycle, Session& session) {
  session.connect(patient_terms(cycle));
  session.run(microseconds(2000));
  session.end();
  session.dismiss(cycle.chance(50));
}

// Until a request that needs the part has failed.
void run_into_it(Session& session, const Victim& victim) {
  Link& link = *session.link();
  const auto in_error = [&] { return link.state(0) == IBV_QPS_ERR || link.state(1) == IBV_QPS_ERR; };
  if (victim.remote) {
    session.run_until("the peer's requests to what is gone", kSlack, in_error);
    return;
  }
  // Its own requests: those under way, and one more.
  link.send(false);
  session.run_until("requests with what is gone", kSlack, [&] { return link.idle(); });
}

void take_away(Cycle& cycle, bool in_order) {
  const Victim& victim = kVictims[cycle.random.between(0, kVictims.size() - 1)];
  Session session(cycle);
  Terms terms = mortal_terms(cycle);
  terms.survivor_sends = !victim.remote;
  terms.peer_sends = victim.remote;
  terms.survivor_may_see = kEnds | status_bit(victim.survivor_sees);
  terms.peer_may_see = kEnds | status_bit(victim.peer_sees);
  session.connect(terms);
  session.run(cycle.random_time(microseconds(10'000)));
  Link& link = *session.link();
  if (link.failed()) fail("a request failed before memory was taken away");
  if (!victim.remote && link.idle()) link.post_batch();
  if (in_order)
    link.arena().deregister(victim.part, cycle.chance(50));
  else
    link.arena().unmap(victim.part);
  run_into_it(session, victim);
  Statuses theirs{};
  session.end(&theirs);
  if (victim.remote && theirs[victim.peer_sees] == 0)
    fail("the peer did not see '%s'", ibv_wc_status_str(victim.peer_sees));
  go_on(cycle, session);
}

}  // namespace

void attempt_deregister(Cycle& cycle) {
  take_away(cycle, true);
}

void attempt_munmap(Cycle& cycle) {
  take_away(cycle, false);
}

}  // namespace process_faults
