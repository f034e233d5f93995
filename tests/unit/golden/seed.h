// SPDX-License-Identifier: BSD-2-Clause
// The seed of a randomised test: MRC_SEED if set, else a fresh one; printed, so that a failure can be
// replayed.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

namespace mrc::golden {

inline std::mt19937_64 seeded_random() {
  const char* given = std::getenv("MRC_SEED");
  const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 0) : std::random_device{}();
  ::testing::Test::RecordProperty("seed", std::to_string(seed));
  std::cout << "MRC_SEED=" << seed << "\n";
  return std::mt19937_64(seed);
}

}  // namespace mrc::golden
