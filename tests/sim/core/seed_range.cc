// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/core/seed_range.h"

#include <cctype>
#include <cstdlib>
#include <cstring>

namespace mrc::sim {

namespace {

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

}  // namespace

bool parse_seeds(const char* text, SeedRange* range) {
  if (!is_digit(text[0])) return false;
  char* end = nullptr;
  SeedRange parsed;
  parsed.first = parsed.last = std::strtoull(text, &end, 10);
  if (std::strncmp(end, "..", 2) == 0) {
    if (!is_digit(end[2])) return false;
    parsed.last = std::strtoull(end + 2, &end, 10);
  }
  if (*end != 0 || parsed.empty()) return false;
  *range = parsed;
  return true;
}

}  // namespace mrc::sim
