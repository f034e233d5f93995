// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/wire/next_hops.h"

#include <cstring>

namespace mrc {
namespace {

uint64_t hash_of(const IpAddress& address) {
  uint64_t halves[2];
  std::memcpy(halves, address.bytes.data(), sizeof halves);
  const uint64_t mixed = (halves[0] ^ (halves[1] >> 29) ^ halves[1]) * 0x9E3779B97F4A7C15u;
  return mixed ^ mixed >> 32;
}

}  // namespace

NextHops::NextHops()
    : macs_storage_(std::make_unique<std::array<std::atomic<uint64_t>, kMax>>()),
      macs_(*macs_storage_),
      entries_(std::make_unique<Entry[]>(kMax)),
      buckets_(std::make_unique<std::array<uint16_t, kBuckets>>()) {}

std::optional<uint32_t> NextHops::number_of(const IpAddress& destination, uint32_t most, bool* added) {
  *added = false;
  for (uint64_t at = hash_of(destination);; ++at) {
    uint16_t& bucket = (*buckets_)[at % kBuckets];
    if (bucket != 0) {
      const uint32_t number = bucket - 1u;
      if (entries_[number].destination == destination) return number;
      continue;
    }
    const uint32_t number = count_.load(std::memory_order_relaxed);
    if (number >= most) return std::nullopt;
    entries_[number].destination = destination;
    bucket = static_cast<uint16_t>(number + 1);
    count_.store(number + 1, std::memory_order_release);
    *added = true;
    return number;
  }
}

bool NextHops::write_mac(uint32_t number, uint8_t* to) const {
  if (number >= kMax) return false;
  const uint64_t mac = macs_[number].load(std::memory_order_relaxed);
  if ((mac & kKnown) == 0) return false;
  std::memcpy(to, &mac, 6);
  return true;
}

void NextHops::set_mac(uint32_t number, const MacAddress& mac) {
  uint64_t value = 0;
  std::memcpy(&value, mac.bytes.data(), mac.bytes.size());  // the low bytes: little-endian
  macs_[number].store(value | kKnown, std::memory_order_relaxed);
}

void NextHops::forget_macs() {
  for (uint32_t i = 0; i < count(); ++i) {
    macs_[i].store(0, std::memory_order_relaxed);
    entries_[i].neighbour.reset();
    entries_[i].ask_at = 0;
    entries_[i].asked = 0;
  }
}

void NextHops::look_again() {
  for (uint32_t i = 0; i < count(); ++i) entries_[i].ask_at = 0;
}

}  // namespace mrc
