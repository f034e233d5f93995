// SPDX-License-Identifier: BSD-2-Clause
// Rules in words, as the settings and mrcctl have them: a kind, then fields such as rate=0.01 or plane=1.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libmrc/fault/fault_rule.h"

namespace mrc {

// False: `wanted` says what it must be.
bool read_fault_kind(std::string_view word, FaultRule* rule, std::string* wanted);
// One field. False: `wanted` says what it must be, or which fields there are.
bool read_fault_field(std::string_view key, std::string_view value, FaultRule* rule, std::string* wanted);
// After all fields: what only shows when they are seen together.
bool check_fault(const FaultRule& rule, std::string* wanted);

// All of it in one line: "drop rate=0.01 plane=1". False: `wanted` says what is wrong.
bool read_fault(std::string_view text, FaultRule* rule, std::string* wanted);

// The fields that are not as they are at first, as read_fault_field() takes them.
std::vector<std::pair<std::string, std::string>> fields_of(const FaultRule& rule);
// Kind and fields in one line.
std::string describe(const FaultRule& rule);

}  // namespace mrc
