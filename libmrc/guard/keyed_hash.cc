// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/guard/keyed_hash.h"

#include <bit>

namespace mrc {
namespace {

struct SipState {
  uint64_t a, b, c, d;

  void rounds(int count) {
    for (; count > 0; --count) {
      a += b;
      c += d;
      b = std::rotl(b, 13) ^ a;
      d = std::rotl(d, 16) ^ c;
      a = std::rotl(a, 32);
      c += b;
      a += d;
      b = std::rotl(b, 17) ^ c;
      d = std::rotl(d, 21) ^ a;
      c = std::rotl(c, 32);
    }
  }
  void take(uint64_t word) {
    d ^= word;
    rounds(2);
    a ^= word;
  }
};

}  // namespace

uint64_t KeyedHash::operator()(std::span<const uint64_t> words) const {
  SipState state{first_ ^ 0x736F6D6570736575u, second_ ^ 0x646F72616E646F6Du, first_ ^ 0x6C7967656E657261u,
                 second_ ^ 0x7465646279746573u};
  for (const uint64_t word : words) state.take(word);
  state.take(static_cast<uint64_t>(words.size() * 8) << 56);  // the last block holds the length alone
  state.c ^= 0xFF;
  state.rounds(4);
  return state.a ^ state.b ^ state.c ^ state.d;
}

}  // namespace mrc
