// SPDX-License-Identifier: BSD-2-Clause
// What carries the frames of one real interface, whatever drives it: a packet socket or a DPDK device.
#pragma once

#include <string>

#include "dpdk_io/host/port_counters.h"
#include "libmrc/port/carrier.h"
#include "libmrc/wire/identifiers.h"

namespace mrc {

class WireCarrier : public Carrier {
 public:
  // Of the interface, written into all that leaves. Any thread.
  virtual MacAddress address() const = 0;
  virtual PortCounters& counters() = 0;

  // --- the control loop ---
  // As the driver says; what the kernel says of its interfaces is asked elsewhere.
  virtual bool link_up() const { return true; }
  // From now on all frames come, or again only those that are this process's. Of a driver that has no filter
  // all come anyway.
  virtual void hear_all(bool /*wanted*/) {}
  // The interface has been made anew. False: `error` says why; frames are lost until it succeeds.
  virtual bool reopen(std::string* error) = 0;
  // Called now and then.
  virtual void tidy() {}
};

}  // namespace mrc
