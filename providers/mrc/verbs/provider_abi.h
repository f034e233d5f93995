// SPDX-License-Identifier: BSD-2-Clause
// The private interface between libibverbs and its providers, number 34 (rdma-core 36 to 56), as far as a
// provider needs it. libibverbs-dev does not install it, so it is declared here from its layout; every offset
// that is used is pinned below, and context.cc checks at run time that the loaded library agrees.
#pragma once

#include <infiniband/verbs.h>
#include <sys/types.h>
#include <time.h>

#include <cstddef>
#include <cstdint>

namespace mrc::abi {

inline constexpr int kProviderAbi = 34;

struct ListNode {
  ListNode* next;
  ListNode* prev;
};

// --- how a provider says which devices are its own ---

enum class MatchKind : uint8_t { kEnd = 0, kPci = 1, kModalias = 2, kDriverId = 3 };

struct MatchEntry {
  void* driver_data;
  union {
    const char* modalias;
    uint64_t driver_id;
  };
  uint16_t vendor;
  uint16_t device;
  MatchKind kind;
};

// What libibverbs found of a device in the class tree.
struct SysfsDevice {
  ListNode entry;
  void* provider_data;
  const MatchEntry* match;
  unsigned int flags;
  char sysfs_name[IBV_SYSFS_NAME_MAX];
  dev_t sysfs_cdev;
  char ibdev_name[IBV_SYSFS_NAME_MAX];
  char ibdev_path[IBV_SYSFS_PATH_MAX];
  char modalias[512];
  uint64_t node_guid;
  uint32_t driver_id;
  enum ibv_node_type node_type;
  int ibdev_index;
  uint32_t port_count;
  uint32_t abi_version;
  struct timespec time_created;
};

struct Device;

struct DeviceOps {
  const char* name;
  uint32_t match_min_abi_version;
  uint32_t match_max_abi_version;
  const MatchEntry* match_table;
  const DeviceOps** static_providers;
  bool (*match_device)(SysfsDevice*);
  verbs_context* (*alloc_context)(ibv_device*, int command_fd, void* private_data);
  verbs_context* (*import_context)(ibv_device*, int command_fd);
  Device* (*alloc_device)(SysfsDevice*);
  void (*uninit_device)(Device*);
};

struct Device {
  ibv_device device;
  const DeviceOps* ops;
  int refcount;
  ListNode entry;
  SysfsDevice* sysfs;
  uint64_t core_support;
};

// --- objects that libibverbs wants to be larger than verbs.h says ---

enum QueuePairMask : uint32_t { kQpHasXrcDomain = 1, kQpHasExtendedPost = 2 };

struct QueuePair {
  union {
    ibv_qp qp;
    ibv_qp_ex qp_ex;
  };
  uint32_t comp_mask;
  // rdma-core 45 has given ibv_qp_ex one call more, so there the mask stands behind it. Built with older
  // headers, this is where a newer library looks; built with newer ones, it is what nobody reads.
  union {
    void* xrc_domain;
    uint32_t comp_mask_one_call_later;
  };
};

struct CompletionQueue {
  union {
    ibv_cq cq;
    ibv_cq_ex cq_ex;
  };
};

enum class RegionType : int { kRegion = 0, kNull = 1, kImported = 2, kDmabuf = 3 };

struct MemoryRegion {
  ibv_mr mr;
  RegionType type;
  int access;
};

// --- the calls of a context ---

// A call this provider never offers: libibverbs then answers EOPNOTSUPP itself.
using NotOffered = void (*)();

// Sorted by name: the order is the interface.
struct ContextOps {
  int (*advise_mr)(ibv_pd*, ibv_advise_mr_advice, uint32_t, ibv_sge*, uint32_t);
  ibv_dm* (*alloc_dm)(ibv_context*, ibv_alloc_dm_attr*);
  ibv_mw* (*alloc_mw)(ibv_pd*, ibv_mw_type);
  ibv_mr* (*alloc_null_mr)(ibv_pd*);
  ibv_pd* (*alloc_parent_domain)(ibv_context*, ibv_parent_domain_init_attr*);
  ibv_pd* (*alloc_pd)(ibv_context*);
  ibv_td* (*alloc_td)(ibv_context*, ibv_td_init_attr*);
  void (*async_event)(ibv_context*, ibv_async_event*);
  NotOffered attach_counters_point_flow;
  int (*attach_mcast)(ibv_qp*, const ibv_gid*, uint16_t);
  int (*bind_mw)(ibv_qp*, ibv_mw*, ibv_mw_bind*);
  int (*close_xrcd)(ibv_xrcd*);
  void (*cq_event)(ibv_cq*);
  ibv_ah* (*create_ah)(ibv_pd*, ibv_ah_attr*);
  NotOffered create_counters;
  ibv_cq* (*create_cq)(ibv_context*, int, ibv_comp_channel*, int);
  ibv_cq_ex* (*create_cq_ex)(ibv_context*, ibv_cq_init_attr_ex*);
  ibv_flow* (*create_flow)(ibv_qp*, ibv_flow_attr*);
  NotOffered create_flow_action_esp;
  ibv_qp* (*create_qp)(ibv_pd*, ibv_qp_init_attr*);
  ibv_qp* (*create_qp_ex)(ibv_context*, ibv_qp_init_attr_ex*);
  NotOffered create_rwq_ind_table;
  ibv_srq* (*create_srq)(ibv_pd*, ibv_srq_init_attr*);
  ibv_srq* (*create_srq_ex)(ibv_context*, ibv_srq_init_attr_ex*);
  NotOffered create_wq;
  int (*dealloc_mw)(ibv_mw*);
  int (*dealloc_pd)(ibv_pd*);
  int (*dealloc_td)(ibv_td*);
  int (*dereg_mr)(MemoryRegion*);
  int (*destroy_ah)(ibv_ah*);
  NotOffered destroy_counters;
  int (*destroy_cq)(ibv_cq*);
  int (*destroy_flow)(ibv_flow*);
  NotOffered destroy_flow_action;
  int (*destroy_qp)(ibv_qp*);
  NotOffered destroy_rwq_ind_table;
  int (*destroy_srq)(ibv_srq*);
  NotOffered destroy_wq;
  int (*detach_mcast)(ibv_qp*, const ibv_gid*, uint16_t);
  void (*free_context)(ibv_context*);
  int (*free_dm)(ibv_dm*);
  int (*get_srq_num)(ibv_srq*, uint32_t*);
  ibv_dm* (*import_dm)(ibv_context*, uint32_t);
  ibv_mr* (*import_mr)(ibv_pd*, uint32_t);
  ibv_pd* (*import_pd)(ibv_context*, uint32_t);
  int (*modify_cq)(ibv_cq*, ibv_modify_cq_attr*);
  NotOffered modify_flow_action_esp;
  int (*modify_qp)(ibv_qp*, ibv_qp_attr*, int);
  NotOffered modify_qp_rate_limit;
  int (*modify_srq)(ibv_srq*, ibv_srq_attr*, int);
  NotOffered modify_wq;
  ibv_qp* (*open_qp)(ibv_context*, ibv_qp_open_attr*);
  ibv_xrcd* (*open_xrcd)(ibv_context*, ibv_xrcd_init_attr*);
  int (*poll_cq)(ibv_cq*, int, ibv_wc*);
  int (*post_recv)(ibv_qp*, ibv_recv_wr*, ibv_recv_wr**);
  int (*post_send)(ibv_qp*, ibv_send_wr*, ibv_send_wr**);
  NotOffered post_srq_ops;
  int (*post_srq_recv)(ibv_srq*, ibv_recv_wr*, ibv_recv_wr**);
  int (*query_device_ex)(ibv_context*, const ibv_query_device_ex_input*, ibv_device_attr_ex*, size_t);
  int (*query_ece)(ibv_qp*, ibv_ece*);
  int (*query_port)(ibv_context*, uint8_t, ibv_port_attr*);
  int (*query_qp)(ibv_qp*, ibv_qp_attr*, int, ibv_qp_init_attr*);
  int (*query_qp_data_in_order)(ibv_qp*, ibv_wr_opcode, uint32_t);
  int (*query_rt_values)(ibv_context*, ibv_values_ex*);
  int (*query_srq)(ibv_srq*, ibv_srq_attr*);
  NotOffered read_counters;
  ibv_mr* (*reg_dm_mr)(ibv_pd*, ibv_dm*, uint64_t, size_t, unsigned int);
  ibv_mr* (*reg_dmabuf_mr)(ibv_pd*, uint64_t, size_t, uint64_t, int, int);
  ibv_mr* (*reg_mr)(ibv_pd*, void*, size_t, uint64_t, int);
  int (*req_notify_cq)(ibv_cq*, int);
  int (*rereg_mr)(MemoryRegion*, int, ibv_pd*, void*, size_t, int);
  int (*resize_cq)(ibv_cq*, int);
  int (*set_ece)(ibv_qp*, ibv_ece*);
  void (*unimport_dm)(ibv_dm*);
  void (*unimport_mr)(ibv_mr*);
  void (*unimport_pd)(ibv_pd*);
};

// Where things are in rdma-core 36 to 56 on 64-bit machines: every field, so that no edit can move one
// unnoticed.
static_assert(sizeof(void*) == 8);
static_assert(sizeof(ibv_device) == 664);
#define MRC_AT(type, field, offset) static_assert(offsetof(type, field) == (offset))
static_assert(sizeof(ListNode) == 16);
MRC_AT(ListNode, next, 0);
MRC_AT(ListNode, prev, 8);
static_assert(sizeof(MatchEntry) == 24);
MRC_AT(MatchEntry, driver_data, 0);
MRC_AT(MatchEntry, modalias, 8);
MRC_AT(MatchEntry, driver_id, 8);
MRC_AT(MatchEntry, vendor, 16);
MRC_AT(MatchEntry, device, 18);
MRC_AT(MatchEntry, kind, 20);
static_assert(sizeof(SysfsDevice) == 992);
MRC_AT(SysfsDevice, entry, 0);
MRC_AT(SysfsDevice, provider_data, 16);
MRC_AT(SysfsDevice, match, 24);
MRC_AT(SysfsDevice, flags, 32);
MRC_AT(SysfsDevice, sysfs_name, 36);
MRC_AT(SysfsDevice, sysfs_cdev, 104);
MRC_AT(SysfsDevice, ibdev_name, 112);
MRC_AT(SysfsDevice, ibdev_path, 176);
MRC_AT(SysfsDevice, modalias, 432);
MRC_AT(SysfsDevice, node_guid, 944);
MRC_AT(SysfsDevice, driver_id, 952);
MRC_AT(SysfsDevice, node_type, 956);
MRC_AT(SysfsDevice, ibdev_index, 960);
MRC_AT(SysfsDevice, port_count, 964);
MRC_AT(SysfsDevice, abi_version, 968);
MRC_AT(SysfsDevice, time_created, 976);
static_assert(sizeof(DeviceOps) == 72);
MRC_AT(DeviceOps, name, 0);
MRC_AT(DeviceOps, match_min_abi_version, 8);
MRC_AT(DeviceOps, match_max_abi_version, 12);
MRC_AT(DeviceOps, match_table, 16);
MRC_AT(DeviceOps, static_providers, 24);
MRC_AT(DeviceOps, match_device, 32);
MRC_AT(DeviceOps, alloc_context, 40);
MRC_AT(DeviceOps, import_context, 48);
MRC_AT(DeviceOps, alloc_device, 56);
MRC_AT(DeviceOps, uninit_device, 64);
static_assert(sizeof(Device) == 712);
MRC_AT(Device, device, 0);
MRC_AT(Device, ops, 664);
MRC_AT(Device, refcount, 672);
MRC_AT(Device, entry, 680);
MRC_AT(Device, sysfs, 696);
MRC_AT(Device, core_support, 704);
MRC_AT(CompletionQueue, cq, 0);
MRC_AT(CompletionQueue, cq_ex, 0);
MRC_AT(QueuePair, qp, 0);
MRC_AT(QueuePair, qp_ex, 0);
// The mask follows the larger of the two objects; a mutex and a condition, which are inside them, differ in
// size between architectures, and the number of calls between releases.
MRC_AT(QueuePair, comp_mask, sizeof(ibv_qp_ex));
static_assert(sizeof(ibv_qp_ex) >= sizeof(ibv_qp));
MRC_AT(QueuePair, xrc_domain, offsetof(QueuePair, comp_mask) + sizeof(void (*)()));
MRC_AT(QueuePair, comp_mask_one_call_later, offsetof(QueuePair, comp_mask) + sizeof(void (*)()));
MRC_AT(MemoryRegion, mr, 0);
MRC_AT(MemoryRegion, type, sizeof(ibv_mr));
MRC_AT(MemoryRegion, access, sizeof(ibv_mr) + 4);
static_assert(sizeof(ContextOps) == 76 * sizeof(void*));
MRC_AT(ContextOps, advise_mr, 0 * sizeof(void*));
MRC_AT(ContextOps, alloc_dm, 1 * sizeof(void*));
MRC_AT(ContextOps, alloc_mw, 2 * sizeof(void*));
MRC_AT(ContextOps, alloc_null_mr, 3 * sizeof(void*));
MRC_AT(ContextOps, alloc_parent_domain, 4 * sizeof(void*));
MRC_AT(ContextOps, alloc_pd, 5 * sizeof(void*));
MRC_AT(ContextOps, alloc_td, 6 * sizeof(void*));
MRC_AT(ContextOps, async_event, 7 * sizeof(void*));
MRC_AT(ContextOps, attach_counters_point_flow, 8 * sizeof(void*));
MRC_AT(ContextOps, attach_mcast, 9 * sizeof(void*));
MRC_AT(ContextOps, bind_mw, 10 * sizeof(void*));
MRC_AT(ContextOps, close_xrcd, 11 * sizeof(void*));
MRC_AT(ContextOps, cq_event, 12 * sizeof(void*));
MRC_AT(ContextOps, create_ah, 13 * sizeof(void*));
MRC_AT(ContextOps, create_counters, 14 * sizeof(void*));
MRC_AT(ContextOps, create_cq, 15 * sizeof(void*));
MRC_AT(ContextOps, create_cq_ex, 16 * sizeof(void*));
MRC_AT(ContextOps, create_flow, 17 * sizeof(void*));
MRC_AT(ContextOps, create_flow_action_esp, 18 * sizeof(void*));
MRC_AT(ContextOps, create_qp, 19 * sizeof(void*));
MRC_AT(ContextOps, create_qp_ex, 20 * sizeof(void*));
MRC_AT(ContextOps, create_rwq_ind_table, 21 * sizeof(void*));
MRC_AT(ContextOps, create_srq, 22 * sizeof(void*));
MRC_AT(ContextOps, create_srq_ex, 23 * sizeof(void*));
MRC_AT(ContextOps, create_wq, 24 * sizeof(void*));
MRC_AT(ContextOps, dealloc_mw, 25 * sizeof(void*));
MRC_AT(ContextOps, dealloc_pd, 26 * sizeof(void*));
MRC_AT(ContextOps, dealloc_td, 27 * sizeof(void*));
MRC_AT(ContextOps, dereg_mr, 28 * sizeof(void*));
MRC_AT(ContextOps, destroy_ah, 29 * sizeof(void*));
MRC_AT(ContextOps, destroy_counters, 30 * sizeof(void*));
MRC_AT(ContextOps, destroy_cq, 31 * sizeof(void*));
MRC_AT(ContextOps, destroy_flow, 32 * sizeof(void*));
MRC_AT(ContextOps, destroy_flow_action, 33 * sizeof(void*));
MRC_AT(ContextOps, destroy_qp, 34 * sizeof(void*));
MRC_AT(ContextOps, destroy_rwq_ind_table, 35 * sizeof(void*));
MRC_AT(ContextOps, destroy_srq, 36 * sizeof(void*));
MRC_AT(ContextOps, destroy_wq, 37 * sizeof(void*));
MRC_AT(ContextOps, detach_mcast, 38 * sizeof(void*));
MRC_AT(ContextOps, free_context, 39 * sizeof(void*));
MRC_AT(ContextOps, free_dm, 40 * sizeof(void*));
MRC_AT(ContextOps, get_srq_num, 41 * sizeof(void*));
MRC_AT(ContextOps, import_dm, 42 * sizeof(void*));
MRC_AT(ContextOps, import_mr, 43 * sizeof(void*));
MRC_AT(ContextOps, import_pd, 44 * sizeof(void*));
MRC_AT(ContextOps, modify_cq, 45 * sizeof(void*));
MRC_AT(ContextOps, modify_flow_action_esp, 46 * sizeof(void*));
MRC_AT(ContextOps, modify_qp, 47 * sizeof(void*));
MRC_AT(ContextOps, modify_qp_rate_limit, 48 * sizeof(void*));
MRC_AT(ContextOps, modify_srq, 49 * sizeof(void*));
MRC_AT(ContextOps, modify_wq, 50 * sizeof(void*));
MRC_AT(ContextOps, open_qp, 51 * sizeof(void*));
MRC_AT(ContextOps, open_xrcd, 52 * sizeof(void*));
MRC_AT(ContextOps, poll_cq, 53 * sizeof(void*));
MRC_AT(ContextOps, post_recv, 54 * sizeof(void*));
MRC_AT(ContextOps, post_send, 55 * sizeof(void*));
MRC_AT(ContextOps, post_srq_ops, 56 * sizeof(void*));
MRC_AT(ContextOps, post_srq_recv, 57 * sizeof(void*));
MRC_AT(ContextOps, query_device_ex, 58 * sizeof(void*));
MRC_AT(ContextOps, query_ece, 59 * sizeof(void*));
MRC_AT(ContextOps, query_port, 60 * sizeof(void*));
MRC_AT(ContextOps, query_qp, 61 * sizeof(void*));
MRC_AT(ContextOps, query_qp_data_in_order, 62 * sizeof(void*));
MRC_AT(ContextOps, query_rt_values, 63 * sizeof(void*));
MRC_AT(ContextOps, query_srq, 64 * sizeof(void*));
MRC_AT(ContextOps, read_counters, 65 * sizeof(void*));
MRC_AT(ContextOps, reg_dm_mr, 66 * sizeof(void*));
MRC_AT(ContextOps, reg_dmabuf_mr, 67 * sizeof(void*));
MRC_AT(ContextOps, reg_mr, 68 * sizeof(void*));
MRC_AT(ContextOps, req_notify_cq, 69 * sizeof(void*));
MRC_AT(ContextOps, rereg_mr, 70 * sizeof(void*));
MRC_AT(ContextOps, resize_cq, 71 * sizeof(void*));
MRC_AT(ContextOps, set_ece, 72 * sizeof(void*));
MRC_AT(ContextOps, unimport_dm, 73 * sizeof(void*));
MRC_AT(ContextOps, unimport_mr, 74 * sizeof(void*));
MRC_AT(ContextOps, unimport_pd, 75 * sizeof(void*));
#undef MRC_AT

}  // namespace mrc::abi

extern "C" {
void verbs_register_driver_34(const mrc::abi::DeviceOps* ops);
void* _verbs_init_and_alloc_context(ibv_device* device, int command_fd, size_t bytes,
                                    verbs_context* offset_in_bytes, uint32_t driver_id);
void verbs_uninit_context(verbs_context* context);
void verbs_set_ops(verbs_context* context, const mrc::abi::ContextOps* ops);
}
