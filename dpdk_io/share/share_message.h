// SPDX-License-Identifier: BSD-2-Clause
// What programs and mrcd tell each other on the socket through which mrcd shares its ports. Frames go by a
// link (dpdk_io/link/link_end.h) whose two arenas are exchanged here.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "dpdk_io/link/descriptor_message.h"
#include "libmrc/wire/identifiers.h"

namespace mrc {

// MRC_PORTS, else the place where mrcd listens; of a device that is not the first with its suffix behind it.
std::string share_socket_path(const std::string& suffix);

// The ports of mrcd, by plane.
struct SharedPorts {
  uint32_t shared = 0;  // bits: planes that mrcd has a port of
  uint32_t up = 0;      // bits: those whose link is up
  std::array<MacAddress, kPlanesMax> macs{};
  friend bool operator==(const SharedPorts&, const SharedPorts&) = default;
};

struct ShareMessage {
  enum class Type : uint16_t {
    kClaim = 1,    // program: "may I be this slot?", with the token that it was given before, or 0
    kClaimed = 2,  // mrcd: "you are", with a token to come back with; or an error
    kJoin = 3,     // program: "make your half of our link", with its memory
    kJoined = 4,   // mrcd: "I have", with the memory of this link; or an error
    kPorts = 5,    // mrcd: the ports have changed
  };
  static constexpr uint32_t kMagic = 0x4D524353;  // "MRCS"
  static constexpr uint16_t kVersion = 1;

  uint32_t magic = kMagic;
  uint16_t version = kVersion;
  Type type = Type::kClaim;
  uint32_t slot = 0;         // kClaim
  int32_t error = 0;         // kClaimed, kJoined: an errno
  uint64_t token = 0;        // kClaim, kClaimed
  uint64_t number = 0;       // kJoin, kJoined: of the link, the sender's
  uint64_t incarnation = 0;  // kJoin, kJoined: of the sender
  SharedPorts ports;         // kJoined, kPorts
};
static_assert(sizeof(ShareMessage) == 144);

// Never wait. False: the other end is gone, or does not read.
bool send_share_message(int socket, const ShareMessage& message, const SentPair* memory = nullptr);

enum class ShareReceived { kMessage, kNothing, kEnd };
// kEnd: the other end is gone, or talks nonsense. `memory` is empty before.
ShareReceived receive_share_message(int socket, ShareMessage* message, DescriptorPair* memory);

}  // namespace mrc
