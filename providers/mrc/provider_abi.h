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
  uint32_t comp_mask;  // at 360 in rdma-core 44, at 368 from 45 on
  union {
    void* xrc_domain;
    uint32_t comp_mask_from_45;
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
  NotOffered advise_mr;
  NotOffered alloc_dm;
  ibv_mw* (*alloc_mw)(ibv_pd*, ibv_mw_type);
  ibv_mr* (*alloc_null_mr)(ibv_pd*);
  ibv_pd* (*alloc_parent_domain)(ibv_context*, ibv_parent_domain_init_attr*);
  ibv_pd* (*alloc_pd)(ibv_context*);
  ibv_td* (*alloc_td)(ibv_context*, ibv_td_init_attr*);
  void (*async_event)(ibv_context*, ibv_async_event*);
  NotOffered attach_counters_point_flow;
  int (*attach_mcast)(ibv_qp*, const ibv_gid*, uint16_t);
  int (*bind_mw)(ibv_qp*, ibv_mw*, ibv_mw_bind*);
  NotOffered close_xrcd;
  void (*cq_event)(ibv_cq*);
  ibv_ah* (*create_ah)(ibv_pd*, ibv_ah_attr*);
  NotOffered create_counters;
  ibv_cq* (*create_cq)(ibv_context*, int, ibv_comp_channel*, int);
  ibv_cq_ex* (*create_cq_ex)(ibv_context*, ibv_cq_init_attr_ex*);
  NotOffered create_flow;
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
  NotOffered destroy_flow;
  NotOffered destroy_flow_action;
  int (*destroy_qp)(ibv_qp*);
  NotOffered destroy_rwq_ind_table;
  int (*destroy_srq)(ibv_srq*);
  NotOffered destroy_wq;
  int (*detach_mcast)(ibv_qp*, const ibv_gid*, uint16_t);
  void (*free_context)(ibv_context*);
  NotOffered free_dm;
  NotOffered get_srq_num;
  NotOffered import_dm;
  NotOffered import_mr;
  NotOffered import_pd;
  int (*modify_cq)(ibv_cq*, ibv_modify_cq_attr*);
  NotOffered modify_flow_action_esp;
  int (*modify_qp)(ibv_qp*, ibv_qp_attr*, int);
  NotOffered modify_qp_rate_limit;
  int (*modify_srq)(ibv_srq*, ibv_srq_attr*, int);
  NotOffered modify_wq;
  NotOffered open_qp;
  NotOffered open_xrcd;
  int (*poll_cq)(ibv_cq*, int, ibv_wc*);
  int (*post_recv)(ibv_qp*, ibv_recv_wr*, ibv_recv_wr**);
  int (*post_send)(ibv_qp*, ibv_send_wr*, ibv_send_wr**);
  NotOffered post_srq_ops;
  int (*post_srq_recv)(ibv_srq*, ibv_recv_wr*, ibv_recv_wr**);
  int (*query_device_ex)(ibv_context*, const ibv_query_device_ex_input*, ibv_device_attr_ex*, size_t);
  int (*query_ece)(ibv_qp*, ibv_ece*);
  int (*query_port)(ibv_context*, uint8_t, ibv_port_attr*);
  int (*query_qp)(ibv_qp*, ibv_qp_attr*, int, ibv_qp_init_attr*);
  NotOffered query_qp_data_in_order;
  int (*query_rt_values)(ibv_context*, ibv_values_ex*);
  int (*query_srq)(ibv_srq*, ibv_srq_attr*);
  NotOffered read_counters;
  NotOffered reg_dm_mr;
  NotOffered reg_dmabuf_mr;
  ibv_mr* (*reg_mr)(ibv_pd*, void*, size_t, uint64_t, int);
  int (*req_notify_cq)(ibv_cq*, int);
  int (*rereg_mr)(MemoryRegion*, int, ibv_pd*, void*, size_t, int);
  int (*resize_cq)(ibv_cq*, int);
  int (*set_ece)(ibv_qp*, ibv_ece*);
  NotOffered unimport_dm;
  NotOffered unimport_mr;
  NotOffered unimport_pd;
};

// Where things are in rdma-core 36 to 56 on 64-bit machines.
static_assert(sizeof(void*) == 8);
static_assert(sizeof(ibv_device) == 664);
static_assert(sizeof(MatchEntry) == 24 && offsetof(MatchEntry, modalias) == 8 &&
              offsetof(MatchEntry, kind) == 20);
static_assert(sizeof(SysfsDevice) == 992);
static_assert(offsetof(SysfsDevice, sysfs_name) == 36 && offsetof(SysfsDevice, sysfs_cdev) == 104);
static_assert(offsetof(SysfsDevice, ibdev_name) == 112 && offsetof(SysfsDevice, ibdev_path) == 176);
static_assert(offsetof(SysfsDevice, node_guid) == 944);
static_assert(sizeof(DeviceOps) == 72);
static_assert(offsetof(DeviceOps, match_table) == 16 && offsetof(DeviceOps, match_device) == 32);
static_assert(offsetof(DeviceOps, alloc_context) == 40 && offsetof(DeviceOps, import_context) == 48);
static_assert(offsetof(DeviceOps, alloc_device) == 56 && offsetof(DeviceOps, uninit_device) == 64);
static_assert(sizeof(Device) == 712);
static_assert(offsetof(Device, ops) == 664 && offsetof(Device, refcount) == 672);
static_assert(offsetof(Device, entry) == 680 && offsetof(Device, sysfs) == 696);
static_assert(offsetof(Device, core_support) == 704);
static_assert(offsetof(QueuePair, comp_mask) == 360 || offsetof(QueuePair, comp_mask) == 368);
static_assert(offsetof(QueuePair, comp_mask_from_45) == offsetof(QueuePair, comp_mask) + 8);
static_assert(offsetof(MemoryRegion, type) == sizeof(ibv_mr) &&
              offsetof(MemoryRegion, access) == sizeof(ibv_mr) + 4);
constexpr size_t place_of(size_t offset) {
  return offset / sizeof(void*);
}
static_assert(place_of(sizeof(ContextOps)) == 76);
static_assert(place_of(offsetof(ContextOps, alloc_pd)) == 5 &&
              place_of(offsetof(ContextOps, cq_event)) == 12);
static_assert(place_of(offsetof(ContextOps, create_cq)) == 15 &&
              place_of(offsetof(ContextOps, create_qp)) == 19);
static_assert(place_of(offsetof(ContextOps, dereg_mr)) == 28 &&
              place_of(offsetof(ContextOps, free_context)) == 39);
static_assert(place_of(offsetof(ContextOps, modify_qp)) == 47 &&
              place_of(offsetof(ContextOps, poll_cq)) == 53);
static_assert(place_of(offsetof(ContextOps, query_device_ex)) == 58 &&
              place_of(offsetof(ContextOps, query_port)) == 60);
static_assert(place_of(offsetof(ContextOps, reg_mr)) == 68 &&
              place_of(offsetof(ContextOps, req_notify_cq)) == 69);
static_assert(place_of(offsetof(ContextOps, resize_cq)) == 71);

}  // namespace mrc::abi

extern "C" {
void verbs_register_driver_34(const mrc::abi::DeviceOps* ops);
void* _verbs_init_and_alloc_context(ibv_device* device, int command_fd, size_t bytes,
                                    verbs_context* offset_in_bytes, uint32_t driver_id);
void verbs_uninit_context(verbs_context* context);
void verbs_set_ops(verbs_context* context, const mrc::abi::ContextOps* ops);
}
