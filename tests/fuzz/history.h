// SPDX-License-Identifier: BSD-2-Clause
// A world outlives its input, so what an input finds may depend on those before it. They are kept, from when
// the world was made, in a file that is there however the process ends: <artifact prefix>history.<pid>.
// MRC_FUZZ_HISTORY=FILE runs them again before the first input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace mrc::fuzz {

class History {
 public:
  // Opens the file, as libFuzzer's arguments say; without one nothing is kept.
  void open(int argc, char** argv);
  void clear();
  void add(std::span<const uint8_t> input);
  // All of what MRC_FUZZ_HISTORY names, in order.
  static void replay(const std::function<void(std::span<const uint8_t>)>& run);

 private:
  static constexpr size_t kBytesMax = 1 << 20;
  uint8_t* memory_ = nullptr;
  size_t used_ = 0;
};

}  // namespace mrc::fuzz
