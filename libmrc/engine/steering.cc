// SPDX-License-Identifier: BSD-2-Clause
// Frames for queue pairs of raw packets: those that are steered to them, and sniffers' copies of all others.
#include <algorithm>

#include "libmrc/engine/engine.h"
#include "libmrc/port/raw_frames.h"

namespace mrc {

void Engine::add_flow(const Flow& flow) {
  if (flow.kind == FlowKind::kSniffer) sniffed_.resize(kFrameBytesMax);
  flows_.add(flow);
  look_closely();
}

void Engine::remove_flow(uint64_t id) {
  flows_.remove(id);
  look_closely();
}

void Engine::set_capture(FrameCapture* capture) {
  capture_ = capture;
  look_closely();
}

void Engine::look_closely() {
  looks_closely_ = faults_ != nullptr || has_sniffers() || capture_ != nullptr;
  transmitter_.set_tap(looks_closely_ ? this : nullptr);
}

void Engine::hand_over(const Flow& flow, std::span<const uint8_t> frame) {
  if (!flow.qp->take_frame(frame, services_, time_)) flow.home->ring_doorbell(*flow.qp);
}

// Frames of other processes' raw packets, and what came from a wire. False: it is neither.
bool Engine::steer(std::span<const uint8_t> frame) {
  std::span<const uint8_t> raw = unwrap_raw_frame(frame);
  if (raw.empty() && frame.size() >= kEthernetBytes && !is_same_host(frame.data() + 6)) raw = frame;
  if (raw.empty()) return false;
  flows_.for_each_taker(raw, [&](const Flow& flow) { hand_over(flow, raw); });
  return true;
}

// Nobody reads the ICRC of frames that cannot be corrupted, so it is zero there; a copy gets the right one.
void Engine::sniff(std::span<const uint8_t> frame, bool intact) {
  if (const auto raw = unwrap_raw_frame(frame); !raw.empty()) {
    frame = raw;
  } else if (Packet packet;
             intact && frame.size() <= sniffed_.size() && decode(frame, &packet) == DecodeError::kNone) {
    const auto covered = static_cast<size_t>(packet.icrc_end - packet.icrc_begin);
    const uint32_t icrc = ~icrc_headers(packet.icrc_begin, covered);
    std::copy(frame.begin(), frame.end(), sniffed_.begin());
    uint8_t* to = sniffed_.data() + (packet.icrc_end - frame.data());
    for (size_t i = 0; i < kIcrcBytes; ++i) to[i] = static_cast<uint8_t>(icrc >> 8 * i);
    frame = {sniffed_.data(), frame.size()};
  }
  for (const Flow& flow : flows_.sniffers()) hand_over(flow, frame);
}

void Engine::show(Plane plane, bool leaves, std::span<const uint8_t> frame, bool intact) {
  const auto raw = unwrap_raw_frame(frame);
  capture_->look({time_, plane, leaves, intact && raw.empty(), raw.empty() ? frame : raw});
}

void Engine::frames_leave(Carrier& carrier, std::span<const TxFrame> frames, bool intact) {
  if (has_sniffers())
    for (const TxFrame& frame : frames) sniff({frame.data, frame.length}, intact);
  if (capture_ != nullptr)
    for (const TxFrame& frame : frames) show(frame.plane, true, {frame.data, frame.length}, intact);
  if (faults_ != nullptr)
    faults_->leave(carrier, frames, intact, counters_);
  else
    carrier.transmit(frames);
}

void Engine::watch_arriving(Plane plane, const RxFrame& frame) {
  if (has_sniffers()) sniff({frame.data, frame.length}, frame.intact);
  if (capture_ != nullptr) show(plane, false, {frame.data, frame.length}, frame.intact);
}

}  // namespace mrc
