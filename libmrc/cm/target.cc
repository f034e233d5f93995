// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/cm/target.h"

#include "libmrc/cm/ip_service.h"
#include "libmrc/cm/mad.h"

namespace mrc::cm {
namespace {

Target process_of(CommunicationId id) {
  Target target;
  target.slot = slot_of(id);
  target.kind = target.slot == 0 ? Target::Kind::kNobodys : Target::Kind::kProcess;
  return target;
}

template <typename M>
Target listener_of(const M& message) {
  Target target;
  target.kind = Target::Kind::kService;
  target.service = message.service;
  if (const auto header = read_ip_service(message.private_data)) target.address = header->destination;
  return target;
}

struct Finder {
  Target operator()(const Request& message) const { return listener_of(message); }
  Target operator()(const ServiceRequest& message) const { return listener_of(message); }
  Target operator()(const ServiceReply& message) const { return process_of(message.request); }
  Target operator()(const Rejection& message) const {
    Target target = process_of(message.remote);
    if (message.remote == CommunicationId{}) target.kind = Target::Kind::kAsked;
    return target;
  }
  template <typename M>
  Target operator()(const M& message) const {
    return process_of(message.remote);
  }
};

}  // namespace

Target target_of(std::span<const uint8_t> mad) {
  const auto message = decode(mad);
  return message ? std::visit(Finder{}, message->body) : Target{};
}

}  // namespace mrc::cm
