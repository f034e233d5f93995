// SPDX-License-Identifier: BSD-2-Clause
// A process that uses the device survives the faults of processes: of those it talks with, and its own.
//
//   process_faults --fault NAME|all [--cycles N] [--seed S] [--at-once K] [--device mrc0]
//
// In every cycle the survivor starts a peer, has verified traffic with it, and something happens: see
// process_faults_faults.h. No step may hang, every completion must have a status that the fault explains,
// bytes outside of registered memory stay as they are, and in the end the survivor holds no more of the
// system than after the first cycles.
#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "examples/terminal/progress_line.h"
#include "tests/verbs/process_faults_faults.h"
#include "tests/verbs/process_faults_footprint.h"

namespace process_faults {

const std::vector<Fault>& all_faults() {
  static const std::vector<Fault> faults = {
      {"kill", attempt_kill, false},    {"stop", attempt_stop, false},
      {"fork", attempt_fork, false},    {"cancel", attempt_cancel, false},
      {"memory", attempt_memory, true}, {"deregister", attempt_deregister, false},
      {"munmap", attempt_munmap, true}, {"clock", attempt_clock, false},
  };
  return faults;
}

namespace {

using verbs_test::fail;

constexpr useconds_t kWatchUs = 20'000;
constexpr milliseconds kSettleLimit{10'000};
constexpr milliseconds kStillFor{400};

// Several threads take the cycles of a range, one after the other.
class Round {
 public:
  Round(Survivor& survivor, const Fault& fault, uint64_t seed, std::atomic<uint64_t>& finished)
      : survivor_(survivor), fault_(fault), seed_(seed), finished_(finished) {}

  void run(uint64_t first, uint64_t end, unsigned at_once) {
    next_ = first;
    end_ = end;
    lanes_ = std::vector<Lane>(std::max<uint64_t>(1, std::min<uint64_t>(at_once, end - first)));
    for (Lane& lane : lanes_) {
      lane.round = this;
      if (const int error = pthread_create(&lane.thread, nullptr, &Round::lane_main, &lane); error != 0)
        fail("pthread_create: %s", std::strerror(error));
    }
    for (Lane& lane : lanes_)
      while (pthread_tryjoin_np(lane.thread, nullptr) == EBUSY) {
        watch();
        ::usleep(kWatchUs);
      }
  }

 private:
  struct Lane {
    Round* round = nullptr;
    pthread_t thread{};
    std::mutex mutex;  // guards `cycle`, not what it does
    std::shared_ptr<Cycle> cycle;
  };

  static void* lane_main(void* argument) {
    auto* lane = static_cast<Lane*>(argument);
    Round& self = *lane->round;
    for (uint64_t number = self.next_++; number < self.end_; number = self.next_++) {
      const auto cycle = std::make_shared<Cycle>(self.survivor_, self.fault_.name, self.seed_, number);
      self.show(*lane, cycle);
      self.fault_.attempt(*cycle);
      self.show(*lane, nullptr);
      ++self.finished_;
    }
    return nullptr;
  }
  static void show(Lane& lane, std::shared_ptr<Cycle> cycle) {
    std::lock_guard lock(lane.mutex);
    lane.cycle = std::move(cycle);
  }
  // Who hangs inside a call cannot say so.
  void watch() {
    for (Lane& lane : lanes_) {
      std::lock_guard lock(lane.mutex);
      if (lane.cycle == nullptr || !lane.cycle->stuck()) continue;
      show_engines();
      fail("%s: stuck in a call", lane.cycle->describe().c_str());
    }
  }

  Survivor& survivor_;
  const Fault& fault_;
  const uint64_t seed_;
  std::atomic<uint64_t>& finished_;
  std::atomic<uint64_t> next_{0};
  uint64_t end_ = 0;
  std::vector<Lane> lanes_;
};

// One more peer that ends well: it clears away what the killed ones have left.
void clear_away(Survivor& survivor, uint64_t seed) {
  static const Fault kNothing{"nothing", attempt_nothing, true};
  std::atomic<uint64_t> finished{0};
  Round(survivor, kNothing, seed, finished).run(0, 1, 1);
}

// Links with the dead are given up after a while: waits until nothing changes any more.
Footprint settled_footprint() {
  Footprint last = Footprint::now();
  auto since = Clock::now();
  for (const auto until = since + kSettleLimit; Clock::now() < until && Clock::now() - since < kStillFor;) {
    ::usleep(kWatchUs);
    const Footprint now = Footprint::now();
    if (now.text() == last.text()) continue;
    last = now;
    since = Clock::now();
  }
  return last;
}

void try_fault(Survivor& survivor, const Fault& fault, uint64_t seed, uint64_t cycles, unsigned at_once) {
  const auto begin = Clock::now();
  const unsigned lanes = fault.alone ? 1 : at_once;
  std::atomic<uint64_t> finished{0};
  const uint64_t warm_up = std::min<uint64_t>(cycles, std::max<uint64_t>(2 * lanes, cycles / 8));
  Footprint before{};
  {
    mrc::ProgressLine line("cycle", cycles);
    line.begin(1, fault.name);
    line.follow(&finished);
    Round round(survivor, fault, seed, finished);
    round.run(0, warm_up, lanes);
    clear_away(survivor, seed);
    before = settled_footprint();
    if (warm_up < cycles) round.run(warm_up, cycles, lanes);
  }
  clear_away(survivor, seed);
  const Footprint after = settled_footprint();
  // The C library keeps stacks of ended threads for new ones.
  const size_t stacks = 2 * (lanes + 2);
  if (after.descriptors > before.descriptors || after.threads > before.threads ||
      after.files > before.files || after.mappings > before.mappings + stacks)
    fail("%s leaves something behind: %s; after the first %" PRIu64
         " cycles there were %s\nopen now:%s\n"
         "files:%s",
         fault.name, after.text().c_str(), warm_up, before.text().c_str(), open_descriptors().c_str(),
         run_directory_files().c_str());
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  std::printf("ok  %-10s %" PRIu64 " cycles, %.1f s; %s\n", fault.name, cycles, seconds,
              after.text().c_str());
  std::fflush(stdout);
}

uint64_t number_option(int argc, char** argv, const char* name, uint64_t otherwise) {
  const char* text = verbs_test::option(argc, argv, name);
  return text != nullptr ? std::strtoull(text, nullptr, 0) : otherwise;
}

int survivor_main(int argc, char** argv, const std::string& device_name) {
  const char* wanted = verbs_test::option(argc, argv, "--fault");
  const uint64_t seed = verbs_test::seed_option(argc, argv);
  const uint64_t cycles = number_option(argc, argv, "--cycles", 20);
  const auto at_once = static_cast<unsigned>(number_option(argc, argv, "--at-once", 4));
  std::vector<Fault> faults = all_faults();
  if (wanted != nullptr && std::strcmp(wanted, "all") != 0)
    std::erase_if(faults, [wanted](const Fault& fault) { return std::strcmp(fault.name, wanted) != 0; });
  if (wanted == nullptr || faults.empty() || cycles == 0 || at_once == 0) {
    std::fputs(
        "usage: process_faults --fault NAME|all [--cycles N] [--seed S] [--at-once K] [--device NAME]\n",
        stdout);
    for (const Fault& fault : all_faults()) std::printf("  %s\n", fault.name);
    return 2;
  }
  std::printf("process_faults: seed %" PRIu64 "\n", seed);
  std::fflush(stdout);
  ::setenv("PROCESS_FAULTS_DESCRIPTORS", std::to_string(inheritable_descriptors()).c_str(), 1);
  // The number of mappings shall not depend on which thread allocates what when.
  ::mallopt(M_ARENA_MAX, 1);
  ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
  const verbs_test::Device device(device_name);
  Survivor survivor{device, device_name, {}};
  for (const Fault& fault : faults) try_fault(survivor, fault, seed, cycles, at_once);
  survivor.tally.print();
  return 0;
}

}  // namespace
}  // namespace process_faults

int main(int argc, char** argv) {
  using namespace process_faults;
  if (verbs_test::flag(argc, argv, "--executed")) return executed_child_main();
  const char* name = verbs_test::option(argc, argv, "--device");
  const std::string device = name != nullptr ? name : "mrc0";
  if (const char* socket = verbs_test::option(argc, argv, "--peer"))
    return peer_main(std::atoi(socket), device);
  return survivor_main(argc, argv, device);
}
