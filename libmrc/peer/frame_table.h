// SPDX-License-Identifier: BSD-2-Clause
// Ready headers towards next hops. They are the same for all queue pairs from one address to another in one
// class of traffic, and too large for each of thousands to have its own.
#pragma once

#include <compare>
#include <cstdint>
#include <map>

#include "libmrc/wire/frame.h"

namespace mrc {

// Of one plane, by kind of packet.
struct PlaneFrames {
  uint16_t station = 0;  // see TxFrame
  FrameTemplate data;
  FrameTemplate again;
  FrameTemplate control;
  FrameTemplate probe;
};

class FrameTable {
 public:
  struct Form {
    NetworkHeader network;
    uint8_t dscp_data = 0;
    uint8_t dscp_again = 0;
    uint8_t dscp_control = 0;
    uint8_t dscp_probe = 0;
    Ecn ecn = Ecn::kEct0;  // of data, data sent again and probes
    uint16_t station = 0;

    // NOLINTNEXTLINE(modernize-use-nullptr): of the 0 that nobody wrote
    friend auto operator<=>(const Form&, const Form&) = default;
  };

  // Every acquire() is followed by a release() some day.
  const PlaneFrames* acquire(const Form& form) {
    const auto [at, is_new] = entries_.try_emplace(form);
    Entry& entry = at->second;
    if (is_new) {
      entry.station = form.station;
      entry.data = FrameTemplate(form.network, form.dscp_data, form.ecn);
      entry.again = FrameTemplate(form.network, form.dscp_again, form.ecn);
      entry.control = FrameTemplate(form.network, form.dscp_control, Ecn::kNotCapable);
      entry.probe = FrameTemplate(form.network, form.dscp_probe, form.ecn);
      entry.form = &at->first;
    }
    ++entry.users;
    return &entry;
  }
  void release(const PlaneFrames* frames) {
    const auto at = entries_.find(*static_cast<const Entry*>(frames)->form);
    if (--at->second.users == 0) entries_.erase(at);
  }
  size_t size() const { return entries_.size(); }

 private:
  struct Entry : PlaneFrames {
    const Form* form = nullptr;  // its key
    uint32_t users = 0;
  };
  std::map<Form, Entry> entries_;
};

}  // namespace mrc
