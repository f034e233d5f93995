// SPDX-License-Identifier: BSD-2-Clause
// What a process shows of its device to others of the same user: a file in the run directory, written by the
// provider's background thread every few milliseconds and read by mrc_top. Who wants to know more asks
// through it for the engine's state in words, as mrcctl does.
#pragma once

#include <atomic>
#include <cstdint>

namespace mrc {

struct StatsPage {
  static constexpr uint32_t kMagic = 0x4D524353;  // "MRCS"
  static constexpr uint32_t kVersion = 4;
  static constexpr const char* kFilePrefix = "stats.";     // + process slot
  static constexpr const char* kStatePrefix = "state.";    // + process slot: the answer to state_wanted
  static constexpr const char* kDetailPrefix = "detail.";  // likewise, of detail_wanted

  std::atomic<uint32_t> magic;  // written last, cleared when the device closes
  uint32_t version;
  uint32_t pid;
  uint32_t planes;
  char device[16];
  char command[32];
  // Plain counters, each always consistent in itself.
  std::atomic<uint64_t> updated_ns;  // CLOCK_MONOTONIC
  std::atomic<uint64_t> connected_qps;
  std::atomic<uint64_t> paths_active;
  std::atomic<uint64_t> paths_all;
  std::atomic<uint64_t> payload_bytes_sent;
  std::atomic<uint64_t> payload_bytes_placed;
  // Packets sent again, by cause.
  std::atomic<uint64_t> retransmits_gap;
  std::atomic<uint64_t> retransmits_timeout;
  std::atomic<uint64_t> retransmits_trim;
  std::atomic<uint64_t> retransmits_nack;
  std::atomic<uint64_t> retransmits_port_down;
  std::atomic<uint64_t> retransmits_other;
  std::atomic<uint64_t> paths_demoted;
  std::atomic<uint64_t> paths_restored;
  std::atomic<uint64_t> drops;  // all causes
  // Whoever wants the state counts this up; the process writes the file and repeats the number.
  std::atomic<uint32_t> state_wanted;
  std::atomic<uint32_t> state_written;
  // The same for the state as JSON.
  std::atomic<uint32_t> detail_wanted;
  std::atomic<uint32_t> detail_written;
};

}  // namespace mrc
