// SPDX-License-Identifier: BSD-2-Clause
// What can be broken, as text: "p1l1-p1s1 down", "at 2s plane1 up", "h1 loss 1%, after 500ms h1 clear".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "examples/lab/topology.h"

namespace mrc::lab {

enum class FaultKind : uint8_t { kDown, kUp, kBlackHole, kLoss, kCe, kTrim, kRate, kDelay, kClear };

struct Fault {
  std::string target;
  FaultKind kind = FaultKind::kClear;
  uint64_t value = 0;    // ppm, bits per second or microseconds
  uint64_t at_us = 0;    // from the start of the sequence
  std::string original;  // as written
};

inline constexpr const char* kFaultHelp =
    R"(TARGET   h1-p1l1      a link, both directions       h1:p1l1   only from h1 to p1l1
         p1s1 or h2   all links of a switch, host   plane1    all links of a plane
         all          every link                    paths     the last hop of every path, towards the hosts
         'h1-p[12]*'  links by pattern
FAULT    down | up | blackhole | loss 1% | ce 20% | trim 5% | rate 2gbit | delay 100us | clear
Steps are separated by commas; each may begin with 'at 2s' (from the start) or 'after 500ms' (from the step before).
)";

// False: `error` says which word is wrong.
bool parse_faults(const std::vector<std::string>& words, std::vector<Fault>* faults, std::string* error);

// One direction of a link; `up` is from the lower end (nearer to the host) to the upper.
struct Direction {
  uint32_t link;
  bool up;
};
bool find_target(const Topology& topology, const std::string& target, std::vector<Direction>* found,
                 std::string* error);

bool parse_time(const std::string& text, uint64_t* microseconds);

}  // namespace mrc::lab
