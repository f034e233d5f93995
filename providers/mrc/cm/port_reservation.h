// SPDX-License-Identifier: BSD-2-Clause
// A port that was chosen for a server. The registry of ports belongs to processes whose device runs, and a
// program that only looks around shall not start it: an abstract socket of that name keeps the other
// processes of the host off the port. It goes with the process.
#pragma once

#include "libmrc/cm/identifiers.h"

namespace mrc::provider {

class PortReservation {
 public:
  PortReservation() = default;
  PortReservation(PortReservation&& other) noexcept;
  PortReservation& operator=(PortReservation&& other) noexcept;
  ~PortReservation();

  // False: another process has it. Where no socket can be had at all, the port counts as free.
  bool take(cm::ServiceId service);

 private:
  int fd_ = -1;
};

}  // namespace mrc::provider
