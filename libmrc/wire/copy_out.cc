// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/wire/copy_out.h"

#if defined(__aarch64__)

#include <sys/auxv.h>

namespace mrc {
namespace {

constexpr unsigned long kHwcapCpuid = 1UL << 11;  // the kernel tells what processor it is
constexpr uint64_t kDesignBits = 0xFF00FFF0;      // implementer and part, without variant and revision
constexpr uint64_t kNeoverseN1 = 0x4100D0C0;

// 0: not told.
uint64_t design() {
  if ((getauxval(AT_HWCAP) & kHwcapCpuid) == 0) return 0;
  uint64_t processor;
  asm("mrs %0, midr_el1" : "=r"(processor));
  return processor & kDesignBits;
}

}  // namespace

bool can_claim_lines() {
  uint64_t zeroing;  // bits 0 to 3: words of a block, as a power of two; bit 4: not allowed
  asm("mrs %0, dczid_el0" : "=r"(zeroing));
  return (zeroing & 0x1F) == 4;
}

// 64 KiB WRITEs of a Neoverse N1 gain a sixth; those of a Neoverse V1, which sees by itself that whole lines
// are written, lose a quarter. Of others nothing is known: plain.
const bool kClaimsPay = can_claim_lines() && design() == kNeoverseN1;

}  // namespace mrc

#elif defined(__x86_64__)

#include <cpuid.h>

namespace mrc {
namespace {

constexpr unsigned kIntel = 0x756E6547;  // "Genu", of GenuineIntel
constexpr unsigned kAmd = 0x68747541;    // "Auth", of AuthenticAMD
constexpr unsigned kZen5 = 0x1A;
constexpr unsigned kFastStrings = 1U << 9;  // leaf 7, EBX

struct Leaf {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

// Zeros where the processor has no such leaf.
Leaf leaf(unsigned number) {
  Leaf found;
  __get_cpuid_count(number, 0, &found.a, &found.b, &found.c, &found.d);
  return found;
}

unsigned family() {
  const unsigned version = leaf(1).a;
  const unsigned base = version >> 8 & 0xF;
  return base == 0xF ? base + (version >> 20 & 0xFF) : base;
}

// Measured on a Sapphire Rapids and on a Zen 5, whose lines take three times as long to come when they are
// asked for, if the other CPU has another cache. Of others nothing is known: plain.
PayloadCopy fastest() {
  const unsigned maker = leaf(0).b;
  if (maker == kIntel) return PayloadCopy::kLinesAhead;
  const bool fast_strings = (leaf(7).b & kFastStrings) != 0;
  return maker == kAmd && family() >= kZen5 && fast_strings ? PayloadCopy::kString : PayloadCopy::kPlain;
}

}  // namespace

const PayloadCopy kPayloadCopy = fastest();

}  // namespace mrc

#endif
