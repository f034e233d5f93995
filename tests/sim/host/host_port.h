// SPDX-License-Identifier: BSD-2-Clause
// A host's port on one plane, as the engine sees it: frames come from and go to one channel of the fabric.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "libmrc/port/port.h"
#include "tests/sim/core/channel.h"
#include "tests/sim/host/paced_sender.h"

namespace mrc::sim {

class HostPort : public Port, public Carrier {
 public:
  HostPort(Core& core, Plane plane, MacAddress address, Channel& out, uint32_t transmit_frames_max,
           uint32_t receive_frames_max, const std::optional<DcqcnSettings>& dcqcn = std::nullopt);
  ~HostPort() override;

  // --- the engine's side ---
  MacAddress address() const override { return address_; }
  bool link_up() const override { return up_; }
  Carrier* wire() override { return this; }
  bool resolve(const IpAddress& destination, Qpn, MacAddress* next_hop) override;
  size_t receive(std::span<RxFrame> frames) override;
  void release(std::span<const RxFrame> frames) override;
  size_t transmit_room(const MacAddress& next_hop) override {
    return paced_ == nullptr ? room() : paced_->room(flow_key(next_hop.bytes.data()));
  }
  size_t acquire(std::span<TxFrame> frames) override;
  void transmit(std::span<const TxFrame> frames) override;
  void discard(std::span<const TxFrame> frames) override;

  // --- the fabric's side ---
  // False: there was no room, and the frame is gone.
  bool arrive(uint32_t channel, Frame* frame);
  bool frames_wait() const { return !arrived_.empty(); }
  uint32_t frames_held() const { return arrived_.count() + (paced_ == nullptr ? 0 : paced_->frames_held()); }
  uint32_t room() const {
    const uint32_t queued = out_.data_frames();
    return queued < transmit_frames_max_ ? transmit_frames_max_ - queued : 0;
  }
  uint32_t transmit_frames_max() const { return transmit_frames_max_; }
  void set_up(bool up) { up_ = up; }
  Channel& out() { return out_; }
  // Null: whatever the engine sends goes to the wire at once.
  PacedSender* paced() { return paced_.get(); }

  uint64_t frames_sent() const { return frames_sent_; }
  uint64_t frames_received() const { return frames_received_; }

 private:
  static constexpr size_t kAcquireMax = 8;  // per call
  static constexpr uint32_t kDrafts = 32;   // of a plane: as many as an engine stages

  // What engines hold for the number of a draft.
  static inline std::array<char, kDrafts> handles_{};
  static void* draft_handle(uint32_t number) { return &handles_[number]; }
  static uint32_t draft_number(const void* handle) {
    return static_cast<uint32_t>(static_cast<const char*>(handle) - handles_.data());
  }

  Core& core_;
  Plane plane_;
  MacAddress address_;
  Channel& out_;
  uint32_t transmit_frames_max_;
  uint32_t receive_frames_max_;
  bool up_ = true;
  uint32_t drafts_held_ = 0;  // by the engine, one bit each
  FrameList arrived_;
  uint64_t frames_sent_ = 0;
  uint64_t frames_received_ = 0;
  std::unique_ptr<PacedSender> paced_;
};

}  // namespace mrc::sim
