// SPDX-License-Identifier: BSD-2-Clause
// One golden frame: the values that went into it and the bytes that came out, as make_vectors.py computed
// them.
#pragma once

#include <cstdint>

namespace mrc::golden {

struct Frame {
  const char* name = "";
  bool encodable = true;  // false: a form that is understood but never sent
  // Network. Addresses in hex; IPv4 in its mapped form.
  const char* source_mac = "02a1b2c3d4e5";
  const char* destination_mac = "0211223344f6";
  const char* source = "";
  const char* destination = "";
  bool srv6 = false;
  const char* outer_source = "";
  const char* outer_destination = "";
  unsigned srh_segments = 0;
  unsigned trailing_bytes = 0;  // Ethernet padding behind the IP packet
  unsigned udp_port = 4791;
  uint8_t hop_limit = 61;
  uint32_t entropy = 0;
  uint8_t dscp = 0;
  uint8_t sent_ecn = 2;   // of the inner header
  uint8_t outer_ecn = 2;  // of the outer header
  uint8_t ecn = 2;        // as it must be decoded
  // The headers between BTH and payload, in order, by the names of golden_check.h.
  const char* layout = "";
  // BTH.
  uint8_t opcode = 0;
  uint8_t pad = 0;
  uint16_t pkey = 0xFFFF;
  uint32_t dqpn = 0;
  bool ack_request = false;
  bool retransmission = false;
  bool has_timestamp = false;
  uint32_t psn = 0;
  bool solicited = false;
  bool migrated = false;
  uint8_t congestion_bits = 0;  // byte 4; set by others, never by us
  uint8_t reserved_bits = 0;    // of byte 8; likewise
  // METH, TSETH, RETH, ImmDt, payload: byte i is payload_seed + 7 * i.
  uint16_t rqmsn = 0;
  uint16_t msn = 0;
  uint16_t stamp = 0;
  bool coarse = false;
  uint64_t va = 0;
  uint32_t rkey = 0;
  uint32_t message_bytes = 0;
  const char* immediate = "";
  unsigned payload_bytes = 0;
  uint8_t payload_seed = 0;
  // IETH, AtomicETH (with va and rkey), AtomicAckETH, DETH.
  uint32_t invalidate = 0;
  uint64_t swap_or_add = 0;
  uint64_t compare = 0;
  uint64_t original = 0;
  uint32_t qkey = 0;
  uint32_t sqpn = 0;
  // AETH.
  uint8_t syndrome = 0;
  uint32_t ack_msn = 0;
  // SETH and CC_STATE; several fields also serve the other control headers.
  uint8_t mark = 0;
  bool answers_probe = false;
  uint16_t trigger = 0;
  uint32_t echo_entropy = 0;
  uint16_t sqpn_low = 0;
  uint16_t dqpn_low = 0;
  uint32_t control_psn = 0;
  uint8_t mpr = 0;
  int16_t bitmap_offset = 0;
  uint64_t bitmap = 0;
  uint16_t echo_stamp = 0;
  uint16_t out_of_order = 0;
  bool restore = false;
  uint8_t penalty = 0;
  uint32_t received_units = 0;
  // NETH, PETH, ERTH, EETH.
  uint8_t reason = 0;
  uint8_t vendor = 0;
  uint16_t probe_id = 0;
  uint8_t operation = 0;
  uint32_t port_mask = 0;
  const char* hex = "";
};

}  // namespace mrc::golden
