// SPDX-License-Identifier: BSD-2-Clause
// Peers that are killed and peers that are stopped.
#include <unistd.h>

#include <csignal>

#include "examples/shared/patience.h"
#include "tests/verbs/process_faults_faults.h"

namespace process_faults {
namespace {

using verbs_test::fail;

constexpr microseconds kSetUpTime{200'000};  // about: a kill in it comes at any point
constexpr microseconds kTrafficTime{30'000};
constexpr microseconds kTearDownTime{8'000};
constexpr microseconds kStopTime{300'000};

void stop_briefly(Cycle& cycle) {
  Session session(cycle);
  Terms terms = patient_terms(cycle);
  terms.timeout = 16;  // 268 ms, four times
  terms.retries = 3;
  terms.survivor_sends = cycle.chance(70);
  session.connect(terms);
  session.warm_up();
  session.run(cycle.random_time(kTrafficTime));
  session.peer().signal(SIGSTOP);
  session.run(cycle.random_time(kStopTime));
  session.peer().signal(SIGCONT);
  session.run(cycle.random_time(kTrafficTime));
  session.end();  // nothing but success is allowed
  session.dismiss(cycle.chance(50));
}

void stop_for_long(Cycle& cycle) {
  Session session(cycle);
  Terms terms = mortal_terms(cycle);
  terms.survivor_sends = true;
  terms.peer_may_see = terms.survivor_may_see;
  session.connect(terms);
  // Without a link nothing is repeated: a request that waits to hear what the peer speaks then waits longer.
  session.warm_up();
  session.run(cycle.random_time(kTrafficTime));
  if (session.link()->failed()) fail("a request failed before the peer was stopped");
  session.peer().signal(SIGSTOP);
  const auto stopped = Clock::now();
  const auto patience = std::chrono::duration_cast<milliseconds>(terms.patience());
  session.run_until("requests to a peer that stands still", patience + kSlack,
                    [&] { return session.link()->failed(); });
  const auto took = Clock::now() - stopped;
  if (took < terms.patience() / 2) fail("a request failed long before its time was over");
  session.link()->send(false);
  session.run_until("the end of what was behind", patience + kSlack, [&] { return session.link()->idle(); });
  if (session.link()->statuses()[IBV_WC_RETRY_EXC_ERR] == 0)
    fail("a request to a peer that stands still did not end with IBV_WC_RETRY_EXC_ERR");
  session.peer().signal(SIGCONT);
  session.end();
  // And all goes on.
  session.connect(patient_terms(cycle));
  session.run(microseconds(2000));
  session.end();
  session.dismiss(cycle.chance(50));
}

}  // namespace

void attempt_kill(Cycle& cycle) {
  Session session(cycle);
  const Terms terms = mortal_terms(cycle);
  const uint64_t phase = cycle.random.between(0, 99);
  if (phase < 25) {
    session.kill_in(microseconds(cycle.random.between(0, kSetUpTime.count())));
    if (session.connect(terms)) session.run_until("the kill", kSlack, [&] { return session.killed(); });
  } else if (phase < 85) {
    if (!session.connect(terms)) fail("killed too early");
    session.kill_in(cycle.random_time(kTrafficTime));
    session.run_until("the kill", kSlack, [&] { return session.killed(); });
  } else {
    session.connect(terms);
    session.run(cycle.random_time(kTrafficTime));
    session.kill_in(cycle.random_time(kTearDownTime));
    if (session.end()) session.dismiss(cycle.chance(50));
    session.run_until("the kill", kSlack, [&] { return session.killed() || session.peer().ended(); });
  }
  session.bury();
}

void attempt_stop(Cycle& cycle) {
  if (cycle.chance(60))
    stop_briefly(cycle);
  else
    stop_for_long(cycle);
}

void attempt_nothing(Cycle& cycle) {
  Session session(cycle);
  session.connect(patient_terms(cycle));
  session.run(microseconds(1000));
  session.end();
  session.dismiss(true);
}

}  // namespace process_faults
