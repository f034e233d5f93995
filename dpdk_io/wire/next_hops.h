// SPDX-License-Identifier: BSD-2-Clause
// Where the frames of one port go first, by destination. The engine keeps a number instead of the MAC
// address, so that a neighbour may change its address, or come and go, without the engine's doing.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "libmrc/wire/identifiers.h"
#include "libmrc/wire/time.h"

namespace mrc {

class NextHops {
 public:
  static constexpr uint32_t kMax = 4096;
  // Numbers are not given back, and who writes to us under many addresses shall not use them up.
  static constexpr uint32_t kAskersMax = kMax / 2;  // of connection managers
  static constexpr uint32_t kStrangersMax = kMax / 4;

  NextHops();

  // --- the data path, under the engine's lock ---

  // The number of a destination, a new one if need be (*added). Nothing: there would be more than `most`.
  std::optional<uint32_t> number_of(const IpAddress& destination, uint32_t most, bool* added);
  bool known(uint32_t number) const { return (macs_[number].load(std::memory_order_relaxed) & kKnown) != 0; }
  // Writes it into a frame. False: not known.
  bool write_mac(uint32_t number, uint8_t* to) const;

  // A number as the engine carries it. A group address: no neighbour has one.
  static constexpr MacAddress handle(uint32_t number) {
    return MacAddress{{0x03, 0x4D, 0x53, 0, static_cast<uint8_t>(number >> 8), static_cast<uint8_t>(number)}};
  }
  static bool is_handle(const uint8_t* mac) { return mac[0] == 0x03 && mac[1] == 0x4D && mac[2] == 0x53; }
  static uint32_t number_in(const uint8_t* handle) {
    return static_cast<uint32_t>(handle[4]) << 8 | handle[5];
  }

  // --- the control loop ---

  struct Entry {
    IpAddress destination;  // written by the data path before the entry is counted
    // The control loop's own.
    std::optional<IpAddress> neighbour;
    Nanoseconds ask_at = 0;
    uint32_t asked = 0;  // in vain
  };
  uint32_t count() const { return count_.load(std::memory_order_acquire); }
  Entry& entry(uint32_t number) { return entries_[number]; }
  void set_mac(uint32_t number, const MacAddress& mac);
  void forget_macs();  // and asks for all of them at once
  void look_again();   // what leads to them may have changed; until that is known they stay

 private:
  static constexpr uint64_t kKnown = uint64_t{1} << 63;
  static constexpr uint32_t kBuckets = 2 * kMax;

  std::atomic<uint32_t> count_{0};
  std::unique_ptr<std::array<std::atomic<uint64_t>, kMax>> macs_storage_;
  std::array<std::atomic<uint64_t>, kMax>& macs_;
  std::unique_ptr<Entry[]> entries_;
  std::unique_ptr<std::array<uint16_t, kBuckets>> buckets_;  // number plus one; 0 = free
};

}  // namespace mrc
