// SPDX-License-Identifier: BSD-2-Clause
// uSID addresses: composing them, reading them, and the shift that every switch on the path performs.
#include "libmrc/wire/srv6.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "libmrc/wire/bytes.h"

namespace mrc {
namespace {

constexpr size_t kBlockBytes = 4;
constexpr size_t kUsidBytes = 2;

}  // namespace

IpAddress make_usid_address(uint32_t block, std::span<const uint16_t> usids) {
  // Not by a packet: lists of uSIDs come from the settings.
  assert(usids.size() <= kUsidsMax);
  IpAddress address;
  store_be(address.bytes.data(), block);
  for (size_t i = 0; i < std::min(usids.size(), kUsidsMax); ++i) {
    store_be(address.bytes.data() + kBlockBytes + kUsidBytes * i, usids[i]);
  }
  return address;
}

uint32_t usid_block(const IpAddress& address) {
  return load_be<uint32_t>(address.bytes.data());
}

uint16_t usid_at(const IpAddress& address, size_t index) {
  if (index >= kUsidsMax) return 0;
  return load_be<uint16_t>(address.bytes.data() + kBlockBytes + kUsidBytes * index);
}

// RFC 9800 4.1.1: with an argument of zero there is nothing to shift, and the address stays as it is.
bool shift_usid(IpAddress* address) {
  uint8_t* first = address->bytes.data() + kBlockBytes;
  const uint8_t* rest = first + kUsidBytes;
  const uint8_t* end = address->bytes.data() + address->bytes.size();
  if (std::all_of(rest, end, [](uint8_t byte) { return byte == 0; })) return false;
  std::memmove(first, rest, static_cast<size_t>(end - rest));
  store_be<uint16_t>(address->bytes.data() + address->bytes.size() - kUsidBytes, 0);
  return true;
}

}  // namespace mrc
