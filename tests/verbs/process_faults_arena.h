// SPDX-License-Identifier: BSD-2-Clause
// The memory of one side of a link: a region for each use, and between the regions bytes that nobody may
// touch.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace process_faults {

enum class Part : uint8_t {
  kTarget,    // the peer writes, and reads it back
  kReadable,  // the peer reads; its content never changes
  kWords,     // the peer's atomics
  kSource,    // what is sent
  kLanding,   // what is read
  kReceive,   // of the queue pair's own receives
  kShared,    // of the shared receive queue
};
inline constexpr size_t kParts = 7;
inline constexpr uint32_t kMessageMax = 1u << 20;
inline constexpr size_t kAreaBytes = 2 * kMessageMax;  // of a target, source or landing
inline constexpr size_t kReceives = 2;                 // posted at a time, each for the longest message

class Arena {
 public:
  Arena(ibv_pd* domain, uint64_t stream);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  uint8_t* at(Part part, size_t offset = 0) const;
  uint64_t address(Part part, size_t offset = 0) const {
    return reinterpret_cast<uintptr_t>(at(part, offset));
  }
  // Of its region, also when that is gone.
  uint32_t key(Part part) const { return keys_[static_cast<size_t>(part)]; }
  uint64_t stream() const { return stream_; }  // of kReadable
  bool mapped(Part part) const { return !unmapped_[static_cast<size_t>(part)]; }

  // Fails when a byte outside of the regions, or of kReadable, is another one than in the beginning.
  void check() const;
  // Takes a region away while it is in use. The memory goes too if asked.
  void deregister(Part part, bool unmap);
  // Takes the memory away, and leaves the region.
  void unmap(Part part);

 private:
  ibv_pd* domain_;
  uint64_t stream_;
  uint8_t* base_;
  std::array<ibv_mr*, kParts> regions_{};
  std::array<uint32_t, kParts> keys_{};
  std::array<bool, kParts> unmapped_{};
};

}  // namespace process_faults
