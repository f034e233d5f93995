// SPDX-License-Identifier: BSD-2-Clause
// What each of the 256 opcodes is and is not, spelt out.
#include <gtest/gtest.h>

#include <set>

#include "libmrc/wire/packet.h"

namespace mrc {
namespace {

using Set = std::set<int>;

// Both the MRC and the plain RC form of each.
Set both(const Set& low) {
  Set out;
  for (const int opcode : low) out.insert({opcode, 0xC0 | opcode});
  return out;
}

// The form predicates also speak of codes that no family has; only the known ones are asked.
bool known(int opcode) {
  const int family = opcode >> 5, low = opcode & 0x1F;
  if (family == 3) return low == 4 || low == 5;
  if (family == 6 && (low == 0x18 || low == 0x19 || (low >= 0x1C && low <= 0x1E))) return true;
  return (family == 0 || family == 6) && (low <= 0x17 || low == 0x1A);
}

void expect_exactly(const char* what, bool (*predicate)(Opcode), const Set& expected) {
  for (int opcode = 0; opcode < 256; ++opcode) {
    if (!known(opcode)) continue;
    EXPECT_EQ(predicate(static_cast<Opcode>(opcode)), expected.contains(opcode)) << what << " " << opcode;
  }
}

TEST(Opcodes, KindsOfTheMrcStream) {
  expect_exactly("send", is_send, {0xC0, 0xC1, 0xC2, 0xC3, 0xC4, 0xC5, 0xD6, 0xD7});
  expect_exactly("write", is_write, {0xC6, 0xC7, 0xC8, 0xC9, 0xCA, 0xCB});
  expect_exactly("read response", is_read_response, {0xCD, 0xCE, 0xCF, 0xD0});
  expect_exactly("atomic request", is_atomic_request, {0xD3, 0xD4, 0xD5});
  expect_exactly("request", is_request,
                 {0xC0, 0xC1, 0xC2, 0xC3, 0xC4, 0xC5, 0xC6, 0xC7, 0xC8, 0xC9, 0xCA, 0xCB,
                  0xCC, 0xCD, 0xCE, 0xCF, 0xD0, 0xD2, 0xD3, 0xD4, 0xD5, 0xD6, 0xD7, 0xDA});
  for (int opcode = 0; opcode < 256; ++opcode) {
    const auto op = static_cast<Opcode>(opcode);
    if (!known(opcode)) {
      EXPECT_FALSE(is_send(op) || is_write(op) || is_read_response(op) || is_request(op)) << opcode;
    }
  }
}

TEST(Opcodes, Forms) {
  Set starts =
      both({0x00, 0x04, 0x05, 0x06, 0x0A, 0x0B, 0x0C, 0x0D, 0x10, 0x12, 0x13, 0x14, 0x15, 0x17, 0x1A});
  Set ends = both({0x02, 0x03, 0x04, 0x05, 0x08, 0x09, 0x0A, 0x0B, 0x0C, 0x0F, 0x10, 0x12, 0x13, 0x14, 0x15,
                   0x16, 0x17, 0x1A});
  Set immediates = both({0x03, 0x05, 0x09, 0x0B});
  starts.insert({0x64, 0x65});
  ends.insert({0x64, 0x65});
  immediates.insert(0x65);
  expect_exactly("message start", is_message_start, starts);
  expect_exactly("message end", is_message_end, ends);
  expect_exactly("immediate", has_immediate, immediates);
  expect_exactly("invalidate", has_invalidate, both({0x16, 0x17}));
}

TEST(Opcodes, Families) {
  for (int opcode = 0; opcode < 256; ++opcode) {
    const auto op = static_cast<Opcode>(opcode);
    EXPECT_EQ(is_mrc(op), opcode >= 0xC0 && opcode <= 0xDF);
    EXPECT_EQ(is_plain_rc(op), opcode <= 0x1F);
    EXPECT_EQ(is_ud(op), opcode >= 0x60 && opcode <= 0x7F);
  }
  for (int low = 0; low < 32; ++low) {
    EXPECT_EQ(to_mrc(static_cast<Opcode>(low)), static_cast<Opcode>(0xC0 + low));
    EXPECT_EQ(to_plain_rc(static_cast<Opcode>(0xC0 + low)), static_cast<Opcode>(low));
  }
  static_assert(to_plain_rc(Opcode::kSendOnlyInvalidate) == Opcode::kRcSendOnlyInvalidate);
  static_assert(to_mrc(Opcode::kRcAtomicAcknowledge) == Opcode::kAtomicAcknowledge);
}

}  // namespace
}  // namespace mrc
