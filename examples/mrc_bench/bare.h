// SPDX-License-Identifier: BSD-2-Clause
// The reference of mrc_bench: what two processes reach over the bare ports, copying in and out, with no
// protocol.
#pragma once

#include <cstddef>
#include <string>

namespace mrc::bench {

struct BareRun {
  std::string program;      // this program; it starts itself again, once for each end
  double seconds = 1;       // of measuring
  size_t region_bytes = 0;  // bandwidth: what is copied from and to
  int passive_cpu = -1;     // >= 0: pinned there
  int active_cpu = -1;
};

// 0: it did not work; the reason has been printed.
double bare_gigabits(const BareRun& run);
double bare_half_round_trip_us(const BareRun& run);
// By DPDK's own link between two processes of a host.
double memif_half_round_trip_us(const BareRun& run, const std::string& socket);

// What the processes do that the functions above start: --role and its words. 2: there is no such role.
int run_bare_role(int count, char** words);

}  // namespace mrc::bench
