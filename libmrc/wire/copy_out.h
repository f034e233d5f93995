// SPDX-License-Identifier: BSD-2-Clause
// Copies payload into a frame that another CPU has read before. A plain copy first fetches every line of the
// old frame from that CPU's cache, to write over all of it, unless the processor sees by itself that whole
// lines are written. Where it does not, and lines can be claimed without their contents, that is spared.
// Where they cannot, they are at least asked for early: stores wait for their lines one after the other. x86
// has an instruction that copies, and where that takes lines without fetching them it is what to use.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "libmrc/wire/cache_line.h"

namespace mrc {

// Below this, what is spared does not pay for the claim.
inline constexpr size_t kClaimFrom = 8 * kCacheLine;

#if defined(__aarch64__)
// Whether this machine lets programs claim lines of this size.
bool can_claim_lines();
// Whether that makes a copy faster: on some designs only.
extern const bool kClaimsPay;

// Makes every whole line of [to, to + bytes) this CPU's own. Its contents are lost.
[[gnu::always_inline]] inline void claim_lines(uint8_t* to, size_t bytes) {
  const uintptr_t first = (reinterpret_cast<uintptr_t>(to) + kCacheLine - 1) & ~(kCacheLine - 1);
  const uintptr_t end = (reinterpret_cast<uintptr_t>(to) + bytes) & ~(kCacheLine - 1);
  for (uintptr_t line = first; line < end; line += kCacheLine)
    asm volatile("dc zva, %0" ::"r"(line) : "memory");
}
#else
// The processor's own memcpy does it, or nothing can.
inline constexpr bool kClaimsPay = false;
[[gnu::always_inline]] inline void claim_lines(uint8_t*, size_t) {}
#endif

#if defined(__x86_64__)
enum class PayloadCopy : uint8_t { kPlain, kLinesAhead, kString };
// What is fastest on this machine.
extern const PayloadCopy kPayloadCopy;

// Lines of so many bytes are asked for while as many before them are written, and none behind the end: they
// may be of a frame that is being read.
inline constexpr size_t kAskedAhead = 8 * kCacheLine;

inline void copy_with_lines_ahead(uint8_t* to, const uint8_t* from, size_t bytes) {
  const auto fetch = [](const uint8_t* first, size_t count) {
    for (size_t at = 0; at < count; at += kCacheLine) fetch_to_write(first + at);
  };
  fetch(to, std::min(bytes, kAskedAhead));
  for (; bytes > kAskedAhead; to += kAskedAhead, from += kAskedAhead, bytes -= kAskedAhead) {
    fetch(to + kAskedAhead, std::min(bytes - kAskedAhead, kAskedAhead));
    std::memcpy(to, from, kAskedAhead);
  }
  std::memcpy(to, from, bytes);
}

// From the beginning of a line: elsewhere the instruction may be many times slower.
inline void copy_by_string(uint8_t* to, const uint8_t* from, size_t bytes) {
  const size_t before = std::min(bytes, -reinterpret_cast<uintptr_t>(to) & (kCacheLine - 1));
  if (before > 0) std::memcpy(to, from, before);
  to += before;
  from += before;
  bytes -= before;
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}
#endif

// As memcpy. Nobody else may be reading there yet.
inline void copy_out(uint8_t* to, const uint8_t* from, size_t bytes) {
#if defined(__x86_64__)
  if (bytes >= kAskedAhead && kPayloadCopy == PayloadCopy::kString) return copy_by_string(to, from, bytes);
  if (bytes >= kAskedAhead && kPayloadCopy == PayloadCopy::kLinesAhead)
    return copy_with_lines_ahead(to, from, bytes);
#else
  if (kClaimsPay && bytes >= kClaimFrom) claim_lines(to, bytes);
#endif
  std::memcpy(to, from, bytes);
}

}  // namespace mrc
