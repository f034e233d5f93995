// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/verbs/totals_writer.h"

namespace mrc::provider {
namespace {

constexpr Nanoseconds kShowInterval = 500 * kMillisecond;

// In the order of Total.
TotalValues values_of(const Counters& c) {
  uint64_t undecodable = 0;
  for (const uint64_t drops : c.drops_undecodable) undecodable += drops;
  const uint64_t other = c.drops_unknown_qp + c.drops_wrong_peer + c.drops_wrong_state + c.drops_unsupported +
                         c.drops_bad_control + c.drops_bad_queue_key + c.drops_no_receive + c.drops_too_long +
                         c.drops_no_group + c.drops_bad_multicast;
  return {c.frames_sent,
          c.frames_received,
          c.payload_bytes_sent,
          c.payload_bytes_placed,
          c.data_packets_sent,
          c.messages_completed,
          c.datagrams_received,
          c.multicasts_received,
          c.retransmits_same_path,
          c.retransmits_reordering,
          c.retransmits_out_of_order,
          c.retransmits_timeout,
          c.retransmits_nack,
          c.retransmits_trimmed,
          c.retransmits_port_down,
          c.retransmits_ack_lost,
          c.retransmits_not_ready,
          c.retransmits_sequence,
          c.retransmissions_sent,
          c.copies_sent,
          c.retry_exceeded,
          c.not_ready_sent,
          c.not_ready_received,
          c.sacks_sent,
          c.sacks_received,
          c.acks_sent,
          c.acks_received,
          c.naks_sent,
          c.naks_received,
          c.nacks_sent,
          c.nacks_received,
          c.trimmed_received,
          c.probes_sent,
          c.probes_answered,
          c.reads_served,
          c.atomics_served,
          c.paths.skipped,
          c.paths_demoted,
          c.paths_restored,
          c.duplicates,
          c.out_of_window,
          c.out_of_sequence,
          c.drops_bad_icrc,
          undecodable,
          other,
          c.tx_no_buffer};
}

}  // namespace

TotalsWriter::TotalsWriter(const std::string& run_directory, const std::string& device)
    : page_(run_directory), place_(page_.place_of(device)) {}

void TotalsWriter::update(const Counters& counters) {
  if (!place_) return;
  const TotalValues now = values_of(counters);
  TotalValues more;
  for (size_t i = 0; i < kTotalCount; ++i) more[i] = now[i] - told_[i];
  page_.add(*place_, more);
  told_ = now;
}

void TotalsWriter::show(Nanoseconds now) {
  if (place_) page_.write_files(*place_, now, kShowInterval);
}

void TotalsWriter::show_last() {
  if (place_) page_.write_files(*place_);
}

}  // namespace mrc::provider
