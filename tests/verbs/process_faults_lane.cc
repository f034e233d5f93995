// SPDX-License-Identifier: BSD-2-Clause
#include "tests/verbs/process_faults_lane.h"

#include <unistd.h>

#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "examples/shared/patience.h"

namespace process_faults {
namespace {

using verbs_test::fail;

constexpr milliseconds kSetUpLimit{30'000};
constexpr milliseconds kStuckGrace{10'000};
constexpr useconds_t kNothingFoundUs = 50;

}  // namespace

void show_engines() {
  static std::atomic_flag shown = ATOMIC_FLAG_INIT;  // several lanes may be late at once
  if (shown.test_and_set()) return;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command = "timeout 15 '" + (program.parent_path() / "mrcctl").string() + "' state >&2";
  std::fprintf(stderr, "--- engines\n");
  if (std::system(command.c_str()) != 0) std::fprintf(stderr, "mrcctl told nothing\n");
}

Cycle::Cycle(Survivor& survivor_, const char* fault, uint64_t seed, uint64_t number)
    : survivor(survivor_), random(seed * 1'000'003 + number), fault_(fault), number_(number) {
  step("beginning", kSetUpLimit);
}

void Cycle::step(const char* what, milliseconds limit) {
  what_ = what;
  until_ = (Clock::now() + limit * kPatience).time_since_epoch().count();
}

void Cycle::check_step() const {
  if (Clock::now().time_since_epoch().count() <= until_) return;
  const std::string what = describe();
  std::fprintf(stderr, "%s: not in time\n", what.c_str());
  show_engines();
  fail("%s: not in time", what.c_str());
}

bool Cycle::stuck() const {
  return (Clock::now() - kStuckGrace).time_since_epoch().count() > until_;
}

std::string Cycle::describe() const {
  return std::string(fault_) + ", cycle " + std::to_string(number_) + ", " + what_.load();
}

microseconds Cycle::random_time(microseconds most) {
  const auto limit = static_cast<uint64_t>(most.count()) >> (2 * random.between(0, 3));
  return microseconds(random.between(0, limit));
}

// --- sessions ---

void Session::kill_now() {
  if (killed()) return;
  if (link_ != nullptr && connected_ && link_->failed())
    fail("a request failed before the peer was killed: the machine is too busy, or it is a mistake");
  peer_.signal(SIGKILL);
  killed_at_ = Clock::now();
}

void Session::turn() {
  if (!killed() && Clock::now() >= kill_at_) kill_now();
  const bool found = link_ != nullptr && connected_ && link_->drive();
  if (!found) ::usleep(kNothingFoundUs);
  cycle_.check_step();
}

void Session::run_until(const char* what, milliseconds limit, const std::function<bool()>& done) {
  cycle_.step(what, limit);
  while (!done()) turn();
}

void Session::run(microseconds span) {
  const auto end = Clock::now() + span;
  run_until("traffic", std::chrono::duration_cast<milliseconds>(span) + kSlack,
            [end] { return Clock::now() >= end; });
}

void Session::warm_up() {
  link_->send(false);
  for (size_t pair = 0; pair < kQueuePairs; ++pair) link_->post_first(pair);
  run_until("the first requests", kSetUpLimit, [this] { return link_->warm(); });
  link_->send(link_->terms().survivor_sends);
}

bool Session::await(Order order, const char* what, milliseconds limit, Message* message) {
  bool heard = false;
  run_until(what, limit, [&] { return (heard = peer_.hear(message)) || peer_.gone(); });
  if (heard && message->order != order) fail("%s: not what was expected", what);
  if (!heard && !killed()) {
    run_until("the peer's end", kSlack, [this] { return peer_.ended(); });  // says why
    fail("%s: the peer is gone", what);
  }
  return heard;
}

void Session::prepare(const Terms& terms) {
  link_ = std::make_unique<Link>(cycle_.survivor.device, terms, true, cycle_.survivor.tally);
  connected_ = false;
}

void Session::begin_join(bool clock_jumps) {
  Message message{};
  message.order = Order::kConnect;
  message.clock_jumps = clock_jumps ? 1 : 0;
  message.terms = link_->terms();
  message.offer = link_->offer();
  if (!peer_.tell(message) && !killed()) fail("the peer is gone before it was asked to connect");
}

bool Session::finish_join() {
  Message message{};
  if (!await(Order::kConnected, "connecting", kSetUpLimit, &message)) return false;
  link_->connect(message.offer);
  connected_ = true;
  link_->send(link_->terms().survivor_sends);
  message.order = Order::kGo;
  peer_.tell(message);
  return true;
}

bool Session::connect(const Terms& terms, bool clock_jumps) {
  prepare(terms);
  begin_join(clock_jumps);
  return finish_join();
}

bool Session::end(Statuses* theirs) {
  link_->send(false);
  Message message{};
  message.order = Order::kEnd;
  peer_.tell(message);
  if (!await(Order::kReport, "the peer's last requests", kSetUpLimit, &message)) return false;
  run_until("the last requests", kSetUpLimit, [this] { return link_->idle() || killed(); });
  if (killed()) return false;
  if (theirs != nullptr) *theirs = message.statuses;
  message.order = Order::kRelease;
  peer_.tell(message);
  link_.reset();
  return true;
}

void Session::dismiss(bool in_order) {
  Message message{};
  message.order = in_order ? Order::kClose : Order::kLeave;
  peer_.tell(message);
  run_until("the peer's end", kSlack, [this] { return peer_.ended(); });
}

void Session::bury() {
  run_until("the death of the peer", kSlack, [this] { return peer_.ended(); });
  if (link_ == nullptr) return;
  if (!connected_) {
    link_.reset();
    return;
  }
  link_->send(false);
  const Terms& terms = link_->terms();
  const milliseconds limit = std::chrono::duration_cast<milliseconds>(terms.patience()) + kSlack;
  run_until("the end of what was under way", limit, [this] { return link_->idle(); });
  // What had arrived may have been acknowledged; but nothing new is.
  for (size_t pair = 0; pair < kQueuePairs; ++pair) {
    if (link_->failed(pair)) continue;
    // An answer to a READ of the peer that nobody takes ends the queue pair too, and is nobody's request.
    const bool probes = cycle_.chance(50) && link_->state(pair) != IBV_QPS_ERR;
    link_->post_probe(pair);
    if (!probes) link_->give_up(pair);
    run_until("the end of a request to the dead", limit, [&] { return link_->idle(); });
    // Who gives up may have been kept from it for so long that the request has ended by itself.
    if (const ibv_wc_status expected = probes ? IBV_WC_RETRY_EXC_ERR : IBV_WC_WR_FLUSH_ERR;
        link_->last_status() != expected && (probes || link_->last_status() != IBV_WC_RETRY_EXC_ERR))
      fail("%s: a request to the dead ended with '%s', expected '%s'", cycle_.describe().c_str(),
           ibv_wc_status_str(link_->last_status()), ibv_wc_status_str(expected));
  }
  link_.reset();
}

// --- terms ---

Terms patient_terms(Cycle& cycle) {
  Terms terms{};
  terms.seed = cycle.random.next();
  terms.timeout = 17;  // half a second, eight times
  terms.retries = 7;
  terms.survivor_sends = terms.peer_sends = true;
  return terms;
}

Terms mortal_terms(Cycle& cycle) {
  Terms terms = patient_terms(cycle);
  terms.timeout = 14;  // 67 ms, four times
  terms.retries = 3;
  const uint64_t who = cycle.random.between(0, 2);
  terms.survivor_sends = who != 1;
  terms.peer_sends = who != 0;
  terms.survivor_may_see = status_bit(IBV_WC_RETRY_EXC_ERR) | status_bit(IBV_WC_WR_FLUSH_ERR);
  return terms;
}

}  // namespace process_faults
