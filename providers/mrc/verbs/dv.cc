// SPDX-License-Identifier: BSD-2-Clause
// mrcdv.h: what verbs cannot say about the device and its queue pairs.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "include/mrc/mrcdv.h"
#include "providers/mrc/presence/device_settings.h"
#include "providers/mrc/presence/limits.h"
#include "providers/mrc/verbs/c_boundary.h"
#include "providers/mrc/verbs/context.h"
#include "providers/mrc/verbs/fork_guard.h"
#include "providers/mrc/verbs/operations.h"
#include "providers/mrc/verbs/qp.h"
#include "providers/mrc/verbs/refuse.h"

namespace mrc::provider {
namespace {

bool is_ours(const ibv_device* device) {
  return reinterpret_cast<const abi::Device*>(device)->ops == &kDeviceOps;
}

std::optional<Transport> to_engine(mrcdv_transport transport) {
  switch (transport) {
    case MRCDV_TRANSPORT_MRC:
      return Transport::kMrc;
    case MRCDV_TRANSPORT_MRC_STRICT:
      return Transport::kMrcStrict;
    case MRCDV_TRANSPORT_RC:
      return Transport::kRc;
    default:
      return std::nullopt;
  }
}

uint8_t to_public(Transport transport) {
  switch (transport) {
    case Transport::kMrcStrict:
      return MRCDV_TRANSPORT_MRC_STRICT;
    case Transport::kRc:
      return MRCDV_TRANSPORT_RC;
    default:
      return MRCDV_TRANSPORT_MRC;
  }
}

bool is_mpr(uint32_t packets, const TransportConfig& transport) {
  return packets >= kMprUnit && packets % kMprUnit == 0 && packets <= transport.window_packets;
}

// 0 or an errno.
int to_engine(const mrcdv_qp_attr& from, uint32_t mask, const TransportConfig& transport,
              QueuePairAttributes* to) {
  const uint16_t immediates_max = transport.immediates_max;
  const auto in_range = [&](uint32_t bit, uint16_t value) {
    return (mask & bit) == 0 || (value >= 1 && value <= immediates_max);
  };
  constexpr uint32_t kAll = 2 * MRCDV_QP_PATHS_MIN_ACTIVE - 1;
  if ((mask & ~kAll) != 0) return EINVAL;
  if (!in_range(MRCDV_QP_MAX_WIMM, from.max_wimm) || !in_range(MRCDV_QP_MAX_WIMM_DEST, from.max_wimm_dest))
    return EINVAL;
  if ((mask & MRCDV_QP_MPR) != 0 && !is_mpr(from.mpr, transport)) return EINVAL;
  if ((mask & MRCDV_QP_MPR_DEST) != 0 && !is_mpr(from.mpr_dest, transport)) return EINVAL;
  if ((mask & MRCDV_QP_PATHS) != 0 &&
      (from.paths_per_plane < 1 || from.paths_per_plane > TransportConfig::kPathsPerPlaneMax))
    return EINVAL;
  if ((mask & MRCDV_QP_TIMEOUT) != 0) to->timeout = static_cast<Nanoseconds>(from.timeout_ns);
  if ((mask & MRCDV_QP_RETRY) != 0) {
    to->retry_linear = from.retry_linear;
    to->retry_exponential = from.retry_exponential;
  }
  if ((mask & MRCDV_QP_MAX_WIMM) != 0) to->immediates_max = from.max_wimm;
  if ((mask & MRCDV_QP_MAX_WIMM_DEST) != 0) to->immediates_taken = from.max_wimm_dest;
  if ((mask & MRCDV_QP_MPR) != 0) to->send_mpr = from.mpr;
  if ((mask & MRCDV_QP_MPR_DEST) != 0) to->mpr = from.mpr_dest;
  if ((mask & MRCDV_QP_DYNAMIC_MPR) != 0) to->dynamic_mpr = from.dynamic_mpr != 0;
  if ((mask & MRCDV_QP_EV_PROFILE) != 0) to->path_profile = from.ev_profile_id;
  if ((mask & MRCDV_QP_CC_PROFILE) != 0) to->congestion_profile = from.cc_profile_id;
  if ((mask & MRCDV_QP_EXPECTED_SENDERS) != 0) to->expected_senders = from.expected_senders;
  if ((mask & MRCDV_QP_PATHS) != 0) to->paths_per_plane = from.paths_per_plane;
  if ((mask & MRCDV_QP_PATHS_MIN_ACTIVE) != 0) to->paths_min_active = from.paths_min_active;
  return 0;
}

// What the program has set, for mrcdv_query_qp().
void remember(const mrcdv_qp_attr& from, uint32_t mask, mrcdv_qp_attr* to) {
  if ((mask & MRCDV_QP_TIMEOUT) != 0) to->timeout_ns = from.timeout_ns;
  if ((mask & MRCDV_QP_RETRY) != 0) {
    to->retry_linear = from.retry_linear;
    to->retry_exponential = from.retry_exponential;
  }
  if ((mask & MRCDV_QP_MAX_WIMM) != 0) to->max_wimm = from.max_wimm;
  if ((mask & MRCDV_QP_MAX_WIMM_DEST) != 0) to->max_wimm_dest = from.max_wimm_dest;
  if ((mask & MRCDV_QP_MPR) != 0) to->mpr = from.mpr;
  if ((mask & MRCDV_QP_MPR_DEST) != 0) to->mpr_dest = from.mpr_dest;
  if ((mask & MRCDV_QP_DYNAMIC_MPR) != 0) to->dynamic_mpr = from.dynamic_mpr != 0 ? 1 : 0;
  if ((mask & MRCDV_QP_EV_PROFILE) != 0) to->ev_profile_id = from.ev_profile_id;
  if ((mask & MRCDV_QP_CC_PROFILE) != 0) to->cc_profile_id = from.cc_profile_id;
  if ((mask & MRCDV_QP_EXPECTED_SENDERS) != 0) to->expected_senders = from.expected_senders;
  if ((mask & MRCDV_QP_PATHS) != 0) to->paths_per_plane = from.paths_per_plane;
  if ((mask & MRCDV_QP_PATHS_MIN_ACTIVE) != 0) to->paths_min_active = from.paths_min_active;
}

mrcdv_qp_attr defaults(const TransportConfig& transport) {
  mrcdv_qp_attr attributes{};
  attributes.max_wimm = attributes.max_wimm_dest = transport.immediates_max;
  attributes.mpr = attributes.mpr_dest = transport.window_packets;
  attributes.dynamic_mpr = transport.dynamic_mpr ? 1 : 0;
  attributes.expected_senders = transport.expected_senders;
  attributes.paths_per_plane = transport.paths_per_plane;
  attributes.paths_min_active = transport.paths_min_active;
  return attributes;
}

Qp* qp_of(ibv_qp* qp) {
  return qp != nullptr && is_ours(qp->context->device) ? Qp::of(qp) : nullptr;
}

const TransportConfig& transport_of(const Qp& qp) {
  return qp.context->device().settings().transport;
}

bool usable(const PathSet& paths, const Path& path) {
  return path.in_use() && (paths.port_planes() >> path.plane & 1) != 0;
}

void tell(const QueuePair& from, const Path& path, mrcdv_path* to) {
  *to = {};
  to->entropy = static_cast<uint32_t>(path.entropy);
  to->port = static_cast<uint8_t>(path.plane + 1);
  to->state = static_cast<uint8_t>(path.state);
  to->in_use = usable(from.paths(), path) ? 1 : 0;
  to->has_outer = path.has_outer ? 1 : 0;
  if (path.has_outer)
    std::memcpy(to->outer_destination, from.paths().way(path).outer_destination.bytes.data(),
                sizeof to->outer_destination);
  to->rtt_ns = from.mrc()->requester().recent_rtt(path.plane);
  to->newest = path.delivered_order;
  to->sent = path.sent;
  to->lost = from.paths().losses(path);
}

}  // namespace

int dv_query_device(ibv_context* context, mrcdv_device_attr* attributes) {
  if (context == nullptr || attributes == nullptr) return EINVAL;
  if (!is_ours(context->device)) return EOPNOTSUPP;
  const DeviceConfig& settings = Context::of(context)->device().settings();
  *attributes = {};
  attributes->planes = settings.planes;
  attributes->max_wimm = settings.transport.immediates_max;
  attributes->max_mpr = settings.transport.window_packets;
  Device& device = Context::of(context)->device();
  attributes->ports_enabled = device.ports_enabled() << 1;
  attributes->ports_up = (device.ports_up() & device.ports_enabled()) << 1;
  return 0;
}

ibv_qp* dv_create_qp(ibv_pd* pd, ibv_qp_init_attr* wanted, mrcdv_transport transport) {
  if (pd == nullptr || wanted == nullptr || !is_ours(pd->context->device)) return refuse(EINVAL);
  if (wanted->qp_type != IBV_QPT_RC || transport > MRCDV_TRANSPORT_RC) return refuse(EINVAL);
  return create_qp_of(pd, wanted, to_engine(transport));
}

int dv_modify_qp(ibv_qp* verbs, ibv_qp_attr* wanted, int mask, const mrcdv_qp_attr* dv_wanted,
                 uint32_t dv_mask) {
  Qp* qp = qp_of(verbs);
  ibv_qp_attr none{};
  if (wanted == nullptr && mask == 0) wanted = &none;
  if (qp == nullptr || wanted == nullptr) return EINVAL;
  QueuePairAttributes more;
  if (dv_mask != 0) {
    if (dv_wanted == nullptr || verbs->qp_type != IBV_QPT_RC) return EINVAL;
    if (const int error = to_engine(*dv_wanted, dv_mask, transport_of(*qp), &more); error != 0) return error;
  }
  if (const int error = modify_qp_with(verbs, wanted, mask, more); error != 0) return error;
  Progress::Control control(qp->shard->progress());
  if (!qp->chosen || ((mask & IBV_QP_STATE) != 0 && wanted->qp_state == IBV_QPS_RESET))
    qp->chosen = defaults(transport_of(*qp));
  if (dv_mask != 0) remember(*dv_wanted, dv_mask, &*qp->chosen);
  return 0;
}

int dv_query_qp(ibv_qp* verbs, mrcdv_qp_attr* attributes) {
  Qp* qp = qp_of(verbs);
  if (forked_away()) return EPERM;
  if (qp == nullptr || attributes == nullptr) return EINVAL;
  Progress::Control control(qp->shard->progress());
  *attributes = qp->chosen.value_or(defaults(transport_of(*qp)));
  attributes->transport = to_public(qp->transport->transport());
  return 0;
}

int dv_query_paths(ibv_qp* verbs, mrcdv_path* paths, int count) {
  Qp* qp = qp_of(verbs);
  if (forked_away()) return -EPERM;
  if (qp == nullptr || count < 0 || (paths == nullptr && count > 0)) return -EINVAL;
  Progress::Control control(qp->shard->progress());
  const QueuePair& engine_qp = *qp->transport;
  if (!engine_qp.connected() || engine_qp.mrc() == nullptr) return 0;
  const auto all = static_cast<int>(engine_qp.paths().size());
  for (int i = 0; i < std::min(all, count); ++i)
    tell(engine_qp, engine_qp.paths().at(PathId(static_cast<uint16_t>(i))), &paths[i]);
  return all;
}

int dv_query_spray(ibv_qp* verbs, mrcdv_spray* spray) {
  Qp* qp = qp_of(verbs);
  if (forked_away()) return EPERM;
  if (qp == nullptr || spray == nullptr) return EINVAL;
  Progress::Control control(qp->shard->progress());
  const PathSet& paths = qp->transport->paths();
  *spray = {};
  if (!qp->transport->connected() || qp->transport->mrc() == nullptr) return 0;
  spray->paths = static_cast<uint32_t>(paths.size());
  spray->active = static_cast<uint32_t>(paths.active());
  spray->min_active = static_cast<uint32_t>(paths.floor());
  spray->loss_permill = static_cast<uint32_t>(paths.loss_rate() * 1000);
  return 0;
}

}  // namespace mrc::provider

// --- for C ---

using mrc::provider::for_c;
#define MRC_EXPORTED extern "C" __attribute__((visibility("default")))

MRC_EXPORTED int mrcdv_is_supported(ibv_device* device) {
  return device != nullptr && mrc::provider::is_ours(device) ? 1 : 0;
}
MRC_EXPORTED int mrcdv_query_device(ibv_context* context, mrcdv_device_attr* attr) {
  return for_c<mrc::provider::dv_query_device>(context, attr);
}
MRC_EXPORTED ibv_qp* mrcdv_create_qp(ibv_pd* pd, ibv_qp_init_attr* init_attr, mrcdv_transport transport) {
  return for_c<mrc::provider::dv_create_qp>(pd, init_attr, transport);
}
MRC_EXPORTED int mrcdv_modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int attr_mask, const mrcdv_qp_attr* dv_attr,
                                 uint32_t dv_mask) {
  return for_c<mrc::provider::dv_modify_qp>(qp, attr, attr_mask, dv_attr, dv_mask);
}
MRC_EXPORTED int mrcdv_query_qp(ibv_qp* qp, mrcdv_qp_attr* dv_attr) {
  return for_c<mrc::provider::dv_query_qp>(qp, dv_attr);
}
MRC_EXPORTED int mrcdv_query_paths(ibv_qp* qp, mrcdv_path* paths, int count) {
  return for_c<mrc::provider::dv_query_paths>(qp, paths, count);
}
MRC_EXPORTED int mrcdv_query_spray(ibv_qp* qp, mrcdv_spray* spray) {
  return for_c<mrc::provider::dv_query_spray>(qp, spray);
}
