// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrcctl/ask_ways.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace mrc {
namespace {

std::vector<IpAddress> own_addresses(OpenDevice& device) {
  std::vector<IpAddress> found;
  ibv_port_attr port{};
  if (ibv_query_port(device.verbs(), 1, &port) != 0) return found;
  for (int i = 0; i < port.gid_tbl_len; ++i) {
    ibv_gid gid{};
    IpAddress address;
    if (ibv_query_gid(device.verbs(), 1, i, &gid) != 0) continue;
    std::memcpy(address.bytes.data(), gid.raw, sizeof gid.raw);
    if (address != IpAddress{}) found.push_back(address);
  }
  return found;
}

ibv_gid gid_of(const IpAddress& address) {
  ibv_gid gid;
  std::memcpy(gid.raw, address.bytes.data(), sizeof gid.raw);
  return gid;
}

mrc_ctl_ep_req request_for(const ProbeWay& way, uint16_t id) {
  mrc_ctl_ep_req request{};
  request.req_id = id;
  request.sgid = gid_of(way.source);
  request.dgid = gid_of(way.destination);
  request.req_ev.port = static_cast<uint8_t>(way.plane + 1);
  if (way.route) {
    request.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_SRV6;
    std::copy(way.route->bytes.begin(), way.route->bytes.end(), request.req_ev.val);
  } else {
    request.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_STEV;
    // UDP source port, then the low half of the flow label.
    const uint8_t bytes[] = {static_cast<uint8_t>(way.ev >> 8), static_cast<uint8_t>(way.ev),
                             static_cast<uint8_t>(way.ev >> 24), static_cast<uint8_t>(way.ev >> 16)};
    std::copy(std::begin(bytes), std::end(bytes), request.req_ev.val);
  }
  return request;
}

// Nobody has answered, or nothing could be sent: these are losses, the others mistakes.
bool is_loss(int why) {
  return why == ETIMEDOUT || why == EAGAIN;
}

}  // namespace

std::optional<IpAddress> own_address_for(OpenDevice& device, const IpAddress& destination) {
  const auto all = own_addresses(device);
  if (std::find(all.begin(), all.end(), destination) != all.end()) return destination;
  for (const IpAddress& address : all)
    if (address.is_v4() == destination.is_v4()) return address;
  return std::nullopt;
}

std::optional<IpAddress> own_address(OpenDevice& device) {
  const auto all = own_addresses(device);
  return all.empty() ? std::nullopt : std::optional(all.front());
}

int ask_ways(OpenDevice& device, const std::vector<ProbeWay>& ways, Nanoseconds patience,
             std::vector<std::optional<Nanoseconds>>* answers) {
  answers->assign(ways.size(), std::nullopt);
  for (size_t first = 0; first < ways.size(); first += kWaysAtATime) {
    const size_t count = std::min(kWaysAtATime, ways.size() - first);
    std::vector<mrc_ctl_ep_req> requests;
    requests.reserve(count);
    for (size_t i = 0; i < count; ++i)
      requests.push_back(request_for(ways[first + i], static_cast<uint16_t>(i)));
    std::vector<mrc_ctl_ep_rsp> responses(count);
    int answered = static_cast<int>(count);
    if (mrc_ctl_ep_batch_send_wait(device.control(), 0, MRC_CTL_EP_OP_EV_PROBE, requests.data(),
                                   static_cast<int>(count), static_cast<uint32_t>(patience), responses.data(),
                                   &answered) != 0) {
      if (!is_loss(errno)) return errno;
      continue;
    }
    for (int i = 0; i < answered; ++i) {
      const mrc_ctl_ep_rsp& response = responses[static_cast<size_t>(i)];
      (*answers)[first + response.req_id] = response.rtt;
    }
  }
  return 0;
}

}  // namespace mrc
