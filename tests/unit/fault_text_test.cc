// SPDX-License-Identifier: BSD-2-Clause
// Rules in words: what is written is what was read.
#include "libmrc/fault/fault_text.h"

#include <gtest/gtest.h>

namespace mrc {
namespace {

TEST(FaultText, WordsComeBack) {
  for (const char* text :
       {"drop", "drop rate=0.5 seed=9 direction=send plane=0,3 opcode=write,sack", "mark psn=5-7 qpn=0x41",
        "corrupt skip=3 count=2", "black-hole ev=0xc001", "drop ev=0xc000/0xfff0", "delay delay_us=100",
        "trim opcode=data", "reorder opcode=control", "drop opcode=0x64", "request count=1 status=flush-err",
        "slow-cq delay_us=5", "full-cq count=1", "call call=reg-mr errno=ENOMEM", "event event=port-err",
        "event qpn=0x7 event=qp-fatal", "duplicate direction=receive opcode=datagram"}) {
    FaultRule rule;
    std::string wanted;
    ASSERT_TRUE(read_fault(text, &rule, &wanted)) << text << ": " << wanted;
    EXPECT_EQ(describe(rule), text);
  }
}

TEST(FaultText, OpcodesOfBothFamilies) {
  FaultRule rule;
  std::string wanted;
  ASSERT_TRUE(read_fault("drop opcode=write", &rule, &wanted)) << wanted;
  for (int opcode = 0; opcode < 256; ++opcode)
    EXPECT_EQ(rule.takes_opcode(static_cast<uint8_t>(opcode)),
              (opcode >= 0x06 && opcode <= 0x0B) || (opcode >= 0xC6 && opcode <= 0xCB))
        << opcode;
  ASSERT_TRUE(read_fault("drop nth=5", &rule, &wanted)) << wanted;
  EXPECT_EQ(rule.skip, 4u);
  EXPECT_EQ(rule.count, 1u);
}

TEST(FaultText, SaysWhatIsWanted) {
  const auto refused = [](const char* text) {
    FaultRule rule;
    std::string wanted;
    return read_fault(text, &rule, &wanted) ? "taken" : wanted;
  };
  EXPECT_EQ(refused("drop rate=0"), "rate must be a chance above 0 and up to 1");
  EXPECT_EQ(refused("drop psn=9-3"), "psn must be a packet sequence number, or a range: 100-200");
  EXPECT_EQ(refused("slow-cq"), "slow-cq needs delay_us");
  EXPECT_EQ(refused("event event=qp-fatal"), "event needs qpn: the event is of a queue pair");
  EXPECT_EQ(refused("drop rate"), "'rate' must be FIELD=VALUE");
  EXPECT_EQ(refused("what").rfind("the kind of fault must be one of drop, ", 0), 0u);
  EXPECT_EQ(refused("drop x=1").rfind("unknown field x; known fields: rate, ", 0), 0u);
}

}  // namespace
}  // namespace mrc
