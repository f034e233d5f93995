// SPDX-License-Identifier: BSD-2-Clause
#include "tests/verbs/process_faults_arena.h"

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "examples/shared/verbs_peer.h"

namespace process_faults {
namespace {

using verbs_test::fail;

constexpr size_t kCanaryBytes = 4096;

struct Plan {
  size_t bytes;
  int access;
};
constexpr std::array<Plan, kParts> kPlans = {{
    {kAreaBytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ},
    {kMessageMax, IBV_ACCESS_REMOTE_READ},
    {4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC},
    {kAreaBytes, 0},
    {kAreaBytes, IBV_ACCESS_LOCAL_WRITE},
    {kReceives * kMessageMax, IBV_ACCESS_LOCAL_WRITE},
    {kReceives * kMessageMax, IBV_ACCESS_LOCAL_WRITE},
}};

constexpr size_t start_of(size_t part) {
  size_t at = kCanaryBytes;
  for (size_t i = 0; i < part; ++i) at += kPlans[i].bytes + kCanaryBytes;
  return at;
}
constexpr size_t kArenaBytes = start_of(kParts);

// Far below what is mapped anywhere. What is unmapped must stay a hole, and where the kernel chooses, the
// next small mapping of anybody would fill it: then requests find that one's memory, and nothing fails.
void* lonely_place() {
  constexpr uintptr_t kFirst = uintptr_t{64} << 30;
  constexpr uintptr_t kEach = uintptr_t{64} << 20;
  constexpr uintptr_t kPlaces = 2048;  // then from the beginning
  static_assert(kArenaBytes <= kEach);
  static std::atomic<uintptr_t> used{0};
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return reinterpret_cast<void*>(kFirst + kEach * (used++ % kPlaces));
}

// All canaries: the pages before and behind every part.
template <typename Visit>
void each_canary(uint8_t* base, Visit visit) {
  for (size_t part = 0; part <= kParts; ++part) {
    const size_t at = start_of(part) - kCanaryBytes;
    visit(base + at, at);
  }
}

}  // namespace

Arena::Arena(ibv_pd* domain, uint64_t stream) : domain_(domain), stream_(stream) {
  void* mapped =
      ::mmap(lonely_place(), kArenaBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) fail("no memory for an arena");
  base_ = static_cast<uint8_t*>(mapped);
  each_canary(base_, [this](uint8_t* canary, size_t offset) {
    verbs_test::fill(canary, kCanaryBytes, ~stream_, offset);
  });
  verbs_test::fill(at(Part::kReadable), kMessageMax, stream_, 0);
  for (size_t part = 0; part < kParts; ++part) {
    regions_[part] = ibv_reg_mr(domain_, base_ + start_of(part), kPlans[part].bytes, kPlans[part].access);
    if (regions_[part] == nullptr) fail("ibv_reg_mr: %s", std::strerror(errno));
    keys_[part] = regions_[part]->lkey;  // the same as the rkey
  }
}

Arena::~Arena() {
  for (size_t part = 0; part < kParts; ++part)
    if (regions_[part] != nullptr && ibv_dereg_mr(regions_[part]) != 0) fail("ibv_dereg_mr");
  // Without what is gone already: something else may be there by now.
  size_t from = 0;
  for (size_t part = 0; part < kParts; ++part) {
    if (!unmapped_[part]) continue;
    ::munmap(base_ + from, start_of(part) - from);
    from = start_of(part) + kPlans[part].bytes;
  }
  ::munmap(base_ + from, kArenaBytes - from);
}

uint8_t* Arena::at(Part part, size_t offset) const {
  return base_ + start_of(static_cast<size_t>(part)) + offset;
}

void Arena::check() const {
  each_canary(base_, [this](uint8_t* canary, size_t offset) {
    const size_t wrong = verbs_test::first_difference(canary, kCanaryBytes, ~stream_, offset);
    if (wrong != kCanaryBytes) fail("byte %zu of the arena is in no region, and was written", offset + wrong);
  });
  if (!mapped(Part::kReadable)) return;
  const size_t wrong = verbs_test::first_difference(at(Part::kReadable), kMessageMax, stream_, 0);
  if (wrong != kMessageMax) fail("byte %zu of a region that may only be read was written", wrong);
}

void Arena::deregister(Part part, bool also_unmap) {
  ibv_mr*& region = regions_[static_cast<size_t>(part)];
  if (ibv_dereg_mr(region) != 0) fail("ibv_dereg_mr under traffic");
  region = nullptr;
  if (also_unmap) unmap(part);
}

void Arena::unmap(Part part) {
  if (::munmap(at(part), kPlans[static_cast<size_t>(part)].bytes) != 0)
    fail("munmap: %s", std::strerror(errno));
  unmapped_[static_cast<size_t>(part)] = true;
}

}  // namespace process_faults
