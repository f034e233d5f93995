// SPDX-License-Identifier: BSD-2-Clause
// What the device and its port can do. Needs no running device: ibv_devinfo must not start DPDK.
#include <endian.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "providers/mrc/presence/device_settings.h"
#include "providers/mrc/presence/limits.h"
#include "providers/mrc/verbs/clock.h"
#include "providers/mrc/verbs/context.h"
#include "providers/mrc/verbs/operations.h"

namespace mrc::provider {
namespace {

constexpr uint32_t kNoVendor = 0xFFFFFF;  // there is no hardware and so no vendor's OUI
// As the kernel counts them; not in every header.
#ifdef MRC_HAS_FLUSH
constexpr uint64_t kCanFlushGlobally = uint64_t{1} << 38;
#endif
constexpr uint64_t kCanWriteAtomically = uint64_t{1} << 40;

constexpr uint32_t kPart = 0x4D5243;  // "MRC"

// As verbs count them; the names are in no header.
constexpr uint8_t kWidth4X = 2;
constexpr uint8_t kSpeedEdr = 32;
constexpr uint8_t kPhysicalPolling = 2;
constexpr uint8_t kPhysicalLinkUp = 5;

// 256 bytes are 1, 512 are 2, and so on.
ibv_mtu to_verbs_mtu(uint32_t bytes) {
  return static_cast<ibv_mtu>(std::bit_width(bytes) - 8);
}

}  // namespace

int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input,
                    ibv_device_attr_ex* attributes, size_t bytes) {
  if (input != nullptr && input->comp_mask != 0) return EINVAL;
  if (bytes < sizeof attributes->orig_attr) return EINVAL;
  // ibv_query_device() gives room for the original attributes only.
  ibv_device_attr_ex all{};
  ibv_device_attr& device = all.orig_attr;
  std::snprintf(device.fw_ver, sizeof device.fw_ver, "%s", MRC_VERSION);
  device.node_guid = device.sys_image_guid = ibv_get_device_guid(context->device);
  device.max_mr_size = UINT64_MAX;
  device.page_size_cap = 4096;
  device.vendor_id = kNoVendor;
  device.vendor_part_id = kPart;
  device.hw_ver = 1;
  device.max_qp = limits::kQueuePairs;
  device.max_qp_wr = static_cast<int>(limits::kWorkRequests);
  device.device_cap_flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_SYS_IMAGE_GUID |
                            IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_MEM_WINDOW |
                            IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_XRC |
                            IBV_DEVICE_MANAGED_FLOW_STEERING;
  device.max_sge = static_cast<int>(limits::kSegments);
  device.max_sge_rd = static_cast<int>(limits::kSegments);
  device.max_qp_rd_atom = device.max_qp_init_rd_atom = limits::kReads;
  device.max_res_rd_atom = limits::kReads * limits::kQueuePairs;
  device.max_srq = limits::kSharedReceiveQueues;
  device.max_srq_wr = static_cast<int>(limits::kWorkRequests);
  device.max_srq_sge = static_cast<int>(limits::kSegments);
  device.max_ah = limits::kAddressHandles;
  device.max_raw_ethy_qp = limits::kQueuePairs;
  device.max_mcast_grp = limits::kGroups;
  device.max_mcast_qp_attach = limits::kGroupMembers;
  device.max_total_mcast_qp_attach = limits::kGroups * limits::kGroupMembers;
  device.max_cq = limits::kCompletionQueues;
  device.max_cqe = limits::kCompletions;
  device.max_mr = limits::kMemoryRegions;
  device.max_mw = limits::kMemoryRegions;  // they share a table
  device.max_pd = limits::kProtectionDomains;
  device.atomic_cap = IBV_ATOMIC_GLOB;  // they are the CPU's own
  device.max_pkeys = 1;
  device.phys_port_cnt = 1;
  all.phys_port_cnt_ex = 1;
  all.device_cap_flags_ex = device.device_cap_flags | kCanWriteAtomically;
#ifdef MRC_HAS_FLUSH
  all.device_cap_flags_ex |= kCanFlushGlobally;
#endif
  // Memory is never pinned, so what costs NICs much is little here.
  all.odp_caps.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
  constexpr uint32_t kMessages = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_SRQ_RECV;
  all.odp_caps.per_transport_caps = {
      kMessages | IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC,
      kMessages | IBV_ODP_SUPPORT_WRITE, kMessages};
  all.xrc_odp_caps = all.odp_caps.per_transport_caps.rc_odp_caps;
  all.max_dm_size = limits::kDeviceMemoryBytes;
  all.completion_timestamp_mask = UINT64_MAX;
  all.hca_core_clock = limits::kClockKilohertz;
  std::memcpy(attributes, &all, std::min(bytes, sizeof all));
  return 0;
}

// As NICs do it: all of the clock is in tv_nsec, for it is a count of ticks and programs take it as one.
int query_rt_values(ibv_context*, ibv_values_ex* values) {
  if ((values->comp_mask & ~uint32_t{IBV_VALUES_MASK_RAW_CLOCK}) != 0) return EINVAL;
  if ((values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK) != 0)
    values->raw_clock = {0, static_cast<long>(clock_now())};
  return 0;
}

int query_port(ibv_context* context, uint8_t port, ibv_port_attr* attributes) {
  // 1 is the whole device; the others are planes, as OCP's interface counts them.
  Device& device = Context::of(context)->device();
  if (port == 0 || (port != limits::kPort && port > Context::of(context)->device().settings().planes))
    return EINVAL;
  ibv_port_attr result{};
  const PlaneMask planes = device.ports_enabled() & device.ports_up();
  const bool up = port == limits::kPort ? device.port_up() && planes != 0 : (planes >> (port - 1) & 1) != 0;
  result.state = up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
  result.max_mtu = result.active_mtu = to_verbs_mtu(Context::of(context)->device().settings().mtu);
  result.gid_tbl_len = limits::kGids;
  result.port_cap_flags = IBV_PORT_IP_BASED_GIDS;
  result.max_msg_sz = limits::kMessageBytes;
  result.pkey_tbl_len = 1;
  result.active_width = kWidth4X;
  result.active_speed = kSpeedEdr;
  result.phys_state = up ? kPhysicalLinkUp : kPhysicalPolling;
  result.link_layer = IBV_LINK_LAYER_ETHERNET;
  *attributes = result;
  return 0;
}

}  // namespace mrc::provider
