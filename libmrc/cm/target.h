// SPDX-License-Identifier: BSD-2-Clause
// Which process of a host a MAD is for: QP 1 is everybody's. An answer names the communication id of the one
// who asked, and with it the slot; a first message names a service, and whoever listens on it is meant.
#pragma once

#include <cstdint>
#include <span>

#include "libmrc/cm/identifiers.h"
#include "libmrc/wire/identifiers.h"

namespace mrc::cm {

struct Target {
  enum class Kind : uint8_t {
    kNobody,   // not a MAD of a connection manager
    kProcess,  // the one in `slot`
    kService,  // the one that listens on `service` at `address`
    kAsked,    // cannot be told, but is one that was asked: the sender gave up before it learnt our id
    kNobodys,  // cannot be told, and has no business to be sent
  };
  Kind kind = Kind::kNobody;
  uint32_t slot = 0;
  ServiceId service{};
  IpAddress address;
};

Target target_of(std::span<const uint8_t> mad);

}  // namespace mrc::cm
