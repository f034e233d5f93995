// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/cm/ip_service.h"

#include <algorithm>
#include <cstring>

#include "libmrc/wire/bytes.h"

namespace mrc::cm {
namespace {

constexpr uint8_t kVersion = 0;
constexpr size_t kSourceAt = 4;
constexpr size_t kDestinationAt = 20;

// An IPv4 address stands in the last four bytes of the field.
void write_address(const IpAddress& address, uint8_t* to) {
  if (address.is_v4())
    std::memcpy(to + 12, address.v4_bytes(), 4);
  else
    std::memcpy(to, address.bytes.data(), address.bytes.size());
}

IpAddress read_address(bool v4, const uint8_t* from) {
  if (v4) return IpAddress::v4(from[12], from[13], from[14], from[15]);
  IpAddress address;
  std::memcpy(address.bytes.data(), from, address.bytes.size());
  return address;
}

}  // namespace

void write_ip_service(const IpServiceHeader& header, std::span<uint8_t, IpServiceHeader::kBytes> to) {
  std::fill(to.begin(), to.end(), uint8_t{0});
  to[0] = kVersion;
  to[1] = header.destination.is_v4() ? 0x40 : 0x60;
  store_be<uint16_t>(to.data() + 2, header.source_port);
  write_address(header.source, to.data() + kSourceAt);
  write_address(header.destination, to.data() + kDestinationAt);
}

std::optional<IpServiceHeader> read_ip_service(std::span<const uint8_t> from) {
  if (from.size() < IpServiceHeader::kBytes || from[0] != kVersion) return std::nullopt;
  const unsigned ip = from[1] >> 4;
  if (ip != 4 && ip != 6) return std::nullopt;
  IpServiceHeader header;
  header.source_port = load_be<uint16_t>(from.data() + 2);
  header.source = read_address(ip == 4, from.data() + kSourceAt);
  header.destination = read_address(ip == 4, from.data() + kDestinationAt);
  return header;
}

}  // namespace mrc::cm
