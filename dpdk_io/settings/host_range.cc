// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/settings/host_range.h"

#include <cstring>

#include "libmrc/wire/bytes.h"

namespace mrc {
namespace {

uint64_t low_half(const IpAddress& address) {
  return load_be<uint64_t>(address.bytes.data() + 8);
}

bool same_network(const IpAddress& a, const IpAddress& b) {
  return std::memcmp(a.bytes.data(), b.bytes.data(), 8) == 0;
}

std::optional<uint32_t> place_in(const IpAddress& gid, const IpAddress& first, uint64_t step,
                                 uint32_t count) {
  if (!same_network(gid, first) || low_half(gid) < low_half(first)) return std::nullopt;
  const uint64_t distance = low_half(gid) - low_half(first);
  if (distance % step != 0 || distance / step >= count) return std::nullopt;
  return static_cast<uint32_t>(distance / step);
}

// The addresses from the first to the last host, whatever lies between two of them.
bool may_meet(const HostRange& one, size_t a, const HostRange& other, size_t b) {
  return same_network(one.gids[a], other.gids[b]) &&
         low_half(one.gids[a]) <= low_half(other.gid_of(other.count - 1, b)) &&
         low_half(other.gids[b]) <= low_half(one.gid_of(one.count - 1, a));
}

}  // namespace

std::optional<IpAddress> HostRange::advance(const IpAddress& first, uint64_t number, uint64_t step) {
  uint64_t distance = 0;
  uint64_t low = 0;
  if (__builtin_mul_overflow(number, step, &distance) ||
      __builtin_add_overflow(low_half(first), distance, &low))
    return std::nullopt;
  IpAddress result = first;
  store_be(result.bytes.data() + 8, low);
  return result.is_v4() == first.is_v4() ? std::optional(result) : std::nullopt;
}

std::optional<uint32_t> HostRange::number_of(const IpAddress& gid) const {
  for (const IpAddress& first : gids)
    if (const auto number = place_in(gid, first, gid_step, count)) return number;
  return std::nullopt;
}

FabricPlace HostRange::place_of(uint32_t number) const {
  return {*leaf + number / hosts_per_leaf, host + number % hosts_per_leaf};
}

std::optional<IpAddress> common_gid(const HostRange& one, const HostRange& other) {
  const HostRange& few = one.count <= other.count ? one : other;
  const HostRange& many = one.count <= other.count ? other : one;
  for (size_t a = 0; a < few.gids.size(); ++a)
    for (size_t b = 0; b < many.gids.size(); ++b) {
      if (!may_meet(few, a, many, b)) continue;
      for (uint32_t number = 0; number < few.count; ++number)
        if (const IpAddress gid = few.gid_of(number, a); many.number_of(gid)) return gid;
    }
  return std::nullopt;
}

}  // namespace mrc
