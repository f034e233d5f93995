// SPDX-License-Identifier: BSD-2-Clause
// The names that connection managers use: communication ids, service ids and reasons to reject.
#pragma once

#include <cstdint>

namespace mrc::cm {

// Names a connection at one end. Our own begin with the slot of the process, so that an answer says which
// process of the host it is for.
enum class CommunicationId : uint32_t {};  // 0 = none
inline constexpr unsigned kSlotShift = 22;

constexpr uint32_t slot_of(CommunicationId id) {
  return static_cast<uint32_t>(id) >> kSlotShift;
}

enum class ServiceId : uint64_t {};

// IBTA annex A11: what a service id of the RDMA IP CM service is made of.
constexpr ServiceId service_of(uint16_t port_space, uint16_t port) {
  return ServiceId{uint64_t{port_space} << 16 | port};
}
constexpr uint16_t port_space_of(ServiceId service) {
  return static_cast<uint16_t>(static_cast<uint64_t>(service) >> 16);
}
constexpr uint16_t port_of(ServiceId service) {
  return static_cast<uint16_t>(service);
}

// IBTA 12.6.7.2
enum class RejectReason : uint16_t {
  kNoResources = 3,
  kTimeout = 4,
  kUnsupportedRequest = 5,
  kInvalidCommunicationId = 6,
  kInvalidServiceId = 8,
  kInvalidTransport = 9,
  kStaleConnection = 10,
  kInvalidGid = 12,
  kInvalidMtu = 26,
  kConsumer = 28,
};

// IBTA 12.11.2.2
enum class ServiceStatus : uint8_t { kValid = 0, kUnsupported = 1, kRejected = 2, kNoQueuePair = 3 };

}  // namespace mrc::cm
