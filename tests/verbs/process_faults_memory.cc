// SPDX-License-Identifier: BSD-2-Clause
// No more address space: what needs some is refused with ENOMEM, what is under way goes on, and with memory
// again all is as before.
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "tests/verbs/process_faults_faults.h"

// This program's own objects shall not be what fails. What is taken from the reserve is not given back: it is
// little. The provider has a C++ library of its own.
namespace {

alignas(16) char g_reserve[4u << 20];
std::atomic<size_t> g_reserve_used{0};

bool in_reserve(const void* memory) {
  return memory >= g_reserve && memory < g_reserve + sizeof g_reserve;
}

}  // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void* operator new(size_t bytes) {
  if (void* memory = std::malloc(bytes); memory != nullptr) return memory;
  const size_t at = g_reserve_used.fetch_add((bytes + 15) & ~size_t{15});
  if (at + bytes > sizeof g_reserve) throw std::bad_alloc();
  return g_reserve + at;
}
void operator delete(void* memory) noexcept {
  if (!in_reserve(memory)) std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  operator delete(memory);
}
#endif

namespace process_faults {
namespace {

using verbs_test::fail;

// While it lives, the process gets no more address space than this beyond what it has.
class Shortage {
 public:
  explicit Shortage(uint64_t more) {
    unsigned long pages = 0;
    std::FILE* file = std::fopen("/proc/self/statm", "re");
    if (file == nullptr || std::fscanf(file, "%lu", &pages) != 1) fail("/proc/self/statm cannot be read");
    std::fclose(file);
    if (::getrlimit(RLIMIT_AS, &before_) != 0) fail("getrlimit: %s", std::strerror(errno));
    const rlimit less{pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) + more, before_.rlim_max};
    if (::setrlimit(RLIMIT_AS, &less) != 0) fail("setrlimit: %s", std::strerror(errno));
  }
  ~Shortage() { ::setrlimit(RLIMIT_AS, &before_); }
  Shortage(const Shortage&) = delete;
  Shortage& operator=(const Shortage&) = delete;

 private:
  rlimit before_{};
};

// Makes queues until there is no memory for more; all of them go again.
class Hoard {
 public:
  explicit Hoard(const verbs_test::Device& device) : device_(device) { queues_.reserve(kMost); }
  ~Hoard() {
    for (ibv_qp* pair : pairs_)
      if (ibv_destroy_qp(pair) != 0) fail("ibv_destroy_qp");
    for (ibv_srq* queue : shared_)
      if (ibv_destroy_srq(queue) != 0) fail("ibv_destroy_srq");
    for (ibv_cq* queue : queues_)
      if (ibv_destroy_cq(queue) != 0) fail("ibv_destroy_cq");
  }
  Hoard(const Hoard&) = delete;
  Hoard& operator=(const Hoard&) = delete;

  // False: one was refused.
  bool grow() {
    errno = 0;
    ibv_cq* queue = ibv_create_cq(device_.context, 4096, nullptr, nullptr, 0);
    if (queue == nullptr) return refused("ibv_create_cq");
    queues_.push_back(queue);
    ibv_srq_init_attr shared_wanted{};
    shared_wanted.attr = {1024, 1, 0};
    ibv_srq* shared = ibv_create_srq(device_.domain, &shared_wanted);
    if (shared == nullptr) return refused("ibv_create_srq");
    shared_.push_back(shared);
    ibv_qp_init_attr wanted{};
    wanted.qp_type = IBV_QPT_RC;
    wanted.send_cq = wanted.recv_cq = queue;
    wanted.cap = {1024, 1024, 4, 4, 0};
    ibv_qp* pair = ibv_create_qp(device_.domain, &wanted);
    if (pair == nullptr) return refused("ibv_create_qp");
    pairs_.push_back(pair);
    return pairs_.size() < kMost;
  }
  bool was_refused() const { return refused_; }

 private:
  // Links with peers of an earlier cycle may be given up meanwhile, tens of megabytes each: more than that.
  static constexpr size_t kMost = 1000;

  bool refused(const char* what) {
    if (errno != ENOMEM) fail("%s without memory: %s", what, std::strerror(errno));
    refused_ = true;
    return false;
  }

  const verbs_test::Device& device_;
  std::vector<ibv_cq*> queues_;
  std::vector<ibv_srq*> shared_;
  std::vector<ibv_qp*> pairs_;
  bool refused_ = false;
};

}  // namespace

void attempt_memory(Cycle& cycle) {
  Session first(cycle);
  Session second(cycle);
  first.connect(patient_terms(cycle));
  second.prepare(patient_terms(cycle));
  {
    const Shortage shortage(cycle.random.between(0, 8u << 20));
    Hoard hoard(cycle.survivor.device);
    while (hoard.grow()) first.run(microseconds(cycle.random.between(0, 100)));
    if (!hoard.was_refused()) fail("there was memory for everything");
    first.run(cycle.random_time(microseconds(5000)));
  }
  // A link between processes needs address space, too. It comes as soon as there is some.
  const bool late = cycle.chance(50);
  if (late) {
    const Shortage shortage(0);
    second.begin_join();
    first.run(cycle.random_time(milliseconds(400)));
  } else {
    second.begin_join();
  }
  second.finish_join();
  second.run(microseconds(2000));
  first.end();
  second.end();
  first.dismiss(true);
  second.dismiss(true);
}

}  // namespace process_faults
