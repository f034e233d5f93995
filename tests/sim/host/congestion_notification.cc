// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/host/congestion_notification.h"

#include <array>
#include <cstring>

#include "libmrc/wire/ethernet.h"
#include "libmrc/wire/frame.h"
#include "libmrc/wire/headers.h"
#include "tests/sim/core/frame_headers.h"

namespace mrc::sim {

namespace {

struct Notification {
  static constexpr size_t kReserved = 16;
  static constexpr size_t kBytes = Bth::kBytes + kReserved;
  static constexpr uint8_t kBecn = 0x40;
  Qpn destination;

  void store(uint8_t* to) const {
    Bth bth;
    bth.opcode = Opcode{kNotificationOpcode};
    bth.migrated = true;
    bth.destination = destination;
    bth.store(to);
    to[4] |= kBecn;
    std::memset(to + Bth::kBytes, 0, kReserved);
  }
};

// Plain RoCEv2 only: nothing else has a reaction point.
const uint8_t* bth_of(const Frame& frame) {
  if (!frame.readable || frame.srv6) return nullptr;
  const size_t udp = kEthernetBytes + (frame.v4 ? kIpv4Bytes : kIpv6Bytes);
  if (frame.length < udp + kUdpBytes + Bth::kBytes) return nullptr;
  return frame.bytes() + udp + kUdpBytes;
}

}  // namespace

Frame* make_notification(FramePool& frames, const Connection& connection, uint32_t entropy) {
  NetworkHeader network;
  network.source = connection.source;
  network.destination = connection.destination;
  std::array<uint8_t, FramePool::kSmallBytes> bytes;
  FrameWriter writer(bytes.data(), network, Entropy{entropy}, Dscp::kControl, Ecn::kNotCapable,
                     Notification::kBytes);
  writer.add(Notification{connection.remote_qpn});
  writer.end_headers();
  const size_t length = writer.finish(0);
  Frame* frame = frames.keep(bytes.data(), static_cast<uint32_t>(length));
  read_headers(frame);
  return frame;
}

std::optional<Qpn> notified(const Frame& frame) {
  const uint8_t* bth = bth_of(frame);
  if (bth == nullptr || bth[0] != kNotificationOpcode) return std::nullopt;
  return Bth::load(bth).destination;
}

std::optional<Qpn> destination_qpn(const Frame& frame) {
  const uint8_t* bth = bth_of(frame);
  if (bth == nullptr) return std::nullopt;
  return Bth::load(bth).destination;
}

}  // namespace mrc::sim
