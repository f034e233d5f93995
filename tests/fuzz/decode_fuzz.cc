// SPDX-License-Identifier: BSD-2-Clause
// Any bytes as a frame: decoded or refused, and what is decoded lies within the frame.
#include <cstdint>
#include <functional>
#include <span>

#include "libmrc/engine/flow_match.h"
#include "libmrc/port/raw_frames.h"
#include "libmrc/wire/ethernet.h"
#include "libmrc/wire/icrc.h"
#include "libmrc/wire/packet.h"

namespace {

void expect(bool holds) {
  if (!holds) __builtin_trap();
}

bool within(const uint8_t* begin, size_t bytes, std::span<const uint8_t> frame) {
  const std::less_equal<const uint8_t*> not_behind;
  return not_behind(frame.data(), begin) && not_behind(begin + bytes, frame.data() + frame.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace mrc;
  const std::span<const uint8_t> frame(data, bytes);
  uint8_t dscp = 0;
  if (peek_dscp(frame, &dscp)) expect(dscp < 64);
  Packet packet;
  if (decode(frame, &packet) == DecodeError::kNone) {
    expect(packet.payload.empty() || within(packet.payload.data(), packet.payload.size(), frame));
    const auto covered = static_cast<size_t>(packet.icrc_end - packet.icrc_begin);
    expect(within(packet.icrc_begin, covered + kIcrcBytes, frame));
    expect(packet.source.is_v4() == packet.destination.is_v4());
    (void)icrc_matches(packet);
    uint8_t grh[kGrhBytes];
    write_grh(grh, packet);
  }
  if (decode_trimmed(frame, &packet) == DecodeError::kNone) {
    expect(packet.payload.empty() && packet.trimmed && !icrc_matches(packet));
    expect(packet.source.is_v4() == packet.destination.is_v4());
  }
  const FlowView view(frame);
  expect(view.matches({view.layers(), view.key(), {}}));
  const auto raw = unwrap_raw_frame(frame);
  expect(raw.empty() || within(raw.data(), raw.size(), frame));
  return 0;
}
