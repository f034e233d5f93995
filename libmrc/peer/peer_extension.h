// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace mrc {

// Whether a peer speaks the extension (SEND, READ, atomics) beside MRC 1.0.
enum class PeerExtension : uint8_t {
  kUnknown,
  kSupported,
  kRefused,
  kUnanswered,  // it does not say
};

}  // namespace mrc
