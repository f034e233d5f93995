// SPDX-License-Identifier: BSD-2-Clause
// What the BPF program of a switch port (impair.bpf.c) and mrc_lab share. C and C++.
#pragma once

#include <linux/types.h>

// Index into the maps: ifindex * 2 + direction.
enum { LAB_EGRESS = 0, LAB_INGRESS = 1, LAB_DIRECTIONS = 2, LAB_PORT_ENTRIES = 16384 };

// A frame that the delay line has already held back carries this mark.
enum { LAB_MARK_DELAYED = 0x6d7263 };

struct lab_port_settings {
  __u32 drop_ppm;
  __u32 ce_ppm;
  __u32 trim_ppm;
  __u32 trim_bytes;    // a trimmed frame is this long
  __u32 dscp_trimmed;  // and gets this DSCP
  __u32 dscp_trimmable;
  __u32 dscp_trimmable_again;  // retransmissions
  // A queue that is drained at this rate: CE above the first, trimming above the second, drop above the
  // third.
  __u32 rate_mbps;  // 0: no queue
  __u32 queue_ce_bytes;
  __u32 queue_trim_bytes;
  __u32 queue_drop_bytes;
  __u32 delay_ifindex;  // 0: no delay; else the tap of the delay line
};

struct lab_port_counts {
  __u64 frames;
  __u64 bytes;
  __u64 dropped;
  __u64 marked;
  __u64 trimmed;
  __u64 queue_bytes_max;
};
