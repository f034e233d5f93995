// SPDX-License-Identifier: BSD-2-Clause
// Who tries a fault again and again: one of several threads of the survivor, each with peers of its own.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "examples/shared/verbs_peer.h"
#include "tests/verbs/process_faults_peer.h"
#include "tests/verbs/process_faults_tally.h"

namespace process_faults {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using verbs_test::Clock;

// Beyond what is documented: others want the CPUs too.
inline constexpr milliseconds kSlack{10'000};

struct Survivor {
  const verbs_test::Device& device;
  std::string device_name;
  Tally tally;
};

// What every engine of the run directory waits for, in the words of mrcctl.
void show_engines();

// One try. What it chooses depends on the seed and on which try it is.
class Cycle {
 public:
  Cycle(Survivor& survivor, const char* fault, uint64_t seed, uint64_t number);

  // From now on `what` may take so long; fails when it is over.
  void step(const char* what, milliseconds limit);
  void check_step() const;
  // For the one who watches: the step is over, and yet nobody has said so.
  bool stuck() const;
  std::string describe() const;

  bool chance(unsigned percent) { return random.chance(percent); }
  // Mostly short, at times as long as this.
  microseconds random_time(microseconds most);

  Survivor& survivor;
  verbs_test::Random random;

 private:
  const char* const fault_;
  const uint64_t number_;
  std::atomic<const char*> what_{"beginning"};
  std::atomic<Clock::rep> until_;
};

// A peer and the link with it.
class Session {
 public:
  explicit Session(Cycle& cycle) : cycle_(cycle), peer_(cycle.survivor.device_name) {}

  // kill -9 after so much time, whatever is going on.
  void kill_in(microseconds span) { kill_at_ = Clock::now() + span; }
  void kill_now();
  bool killed() const { return killed_at_ != Clock::time_point{}; }
  Clock::time_point killed_at() const { return killed_at_; }

  // False: it was killed before. Then there is a link only if it was connected.
  bool connect(const Terms& terms, bool clock_jumps = false);
  // The parts of it: the survivor's side is made, the peer is asked for its own, and answers.
  void prepare(const Terms& terms);
  void begin_join(bool clock_jumps = false);
  bool finish_join();
  // Until each queue pair has had a request of ours: the link between the processes is up, and what the peer
  // speaks is known.
  void warm_up();
  // Traffic.
  void run(microseconds span);
  void run_until(const char* what, milliseconds limit, const std::function<bool()>& done);
  // Both sides finish what is under way; the link is gone afterwards. False: it was killed before.
  bool end(Statuses* theirs = nullptr);
  // The peer closes everything, or leaves it open, and ends.
  void dismiss(bool in_order);
  // All that is under way must end as if nobody answered, for so it is; the link is gone afterwards.
  void bury();

  Link* link() { return link_.get(); }
  bool connected() const { return connected_; }
  PeerProcess& peer() { return peer_; }

 private:
  void turn();
  bool await(Order order, const char* what, milliseconds limit, Message* message);

  Cycle& cycle_;
  PeerProcess peer_;
  std::unique_ptr<Link> link_;
  bool connected_ = false;
  Clock::time_point kill_at_ = Clock::time_point::max();
  Clock::time_point killed_at_{};
};

// What a cycle without a fault looks like: nothing but success, whatever the load of the machine.
Terms patient_terms(Cycle& cycle);
// Requests to somebody who is gone end soon.
Terms mortal_terms(Cycle& cycle);

}  // namespace process_faults
