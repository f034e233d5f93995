// SPDX-License-Identifier: BSD-2-Clause
// Lets the last WRITE win. Packets are placed in any order, so a WRITE may arrive after a later one to the
// same place; it must not undo that one (IBTA 9.5: WRITEs take effect in order; UCX and others overwrite one
// place many times).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libmrc/containers/growing_ring.h"
#include "libmrc/memory/place_bytes.h"
#include "libmrc/reliability/receive_window.h"
#include "libmrc/wire/psn.h"

namespace mrc {

class WriteOrder {
 public:
  void reset();

  // So that a packet new to the window can be placed. False: there is no memory to remember it by.
  [[nodiscard]] bool make_place(const ReceiveWindow& window, Psn psn) noexcept {
    // Without a gap below it nothing can come that is older.
    return psn == window.expected() || (has_place(window, psn) && !newest_.empty()) || grow(window, psn);
  }
  // Copies the payload of a packet that is new to the window and has its place, except where a later packet
  // has written already.
  void place(const ReceiveWindow& window, Psn psn, uint8_t* to, std::span<const uint8_t> payload) {
    // Nothing has overtaken it, and it has overtaken nothing.
    if (psn == window.expected() && psn > window.highest()) [[likely]]
      return place_bytes(to, payload.data(), payload.size());
    place_part(window, psn, to, payload);
    claim(window, psn, to, payload.size());
  }
  // The same in parts: first the place is claimed, then parts of the payload are copied, in any order, as
  // long as the packet is not passed.
  void claim(const ReceiveWindow& window, Psn psn, uint8_t* to, size_t bytes) {
    if (psn != window.expected()) remember(window.highest(), psn, to, bytes);
  }
  void place_part(const ReceiveWindow& window, Psn psn, uint8_t* to, std::span<const uint8_t> part);
  // A packet that is new to the window and writes nothing.
  void pass_over(const ReceiveWindow& window, Psn psn) {
    if (has_place(window, psn)) written_.at(psn.value()).bytes = 0;
  }
  // Packets that were compared with later ones, byte by byte.
  uint64_t careful() const { return careful_; }

 private:
  struct Written {
    uint8_t* to = nullptr;
    uint32_t bytes = 0;
  };
  static constexpr size_t kPageSets = 256;  // power of two

  static uint64_t page_of(const uint8_t* at) { return reinterpret_cast<uintptr_t>(at) >> 12; }
  static size_t set_of(uint64_t page) { return (page ^ page >> 8) & (kPageSets - 1); }
  bool grow(const ReceiveWindow& window, Psn psn) noexcept;
  // Whether a packet above `psn` may have written there: no means no.
  bool may_be_overwritten(Psn highest, Psn psn, const uint8_t* to, size_t bytes) const;
  void remember(Psn highest, Psn psn, uint8_t* to, size_t bytes);
  void copy_rest(const ReceiveWindow& window, Psn psn, uint8_t* to, std::span<const uint8_t> payload);
  static bool is_later(Psn newest, Psn psn, Psn highest);

  bool has_place(const ReceiveWindow& window, Psn psn) const {
    return static_cast<uint64_t>(psn - window.expected()) < written_.size();
  }

  GrowingRing<Written> written_;  // by PSN: those that arrived above a gap, until the gap is closed
  std::vector<Psn> newest_;  // the highest of them that wrote to a page of the set; none until there is one
  uint64_t careful_ = 0;
};

}  // namespace mrc
