// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/verbs/context.h"

#include <errno.h>
#include <rdma/ib_user_verbs.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <new>
#include <string>

#include "providers/mrc/presence/address.h"
#include "providers/mrc/presence/device_settings.h"
#include "providers/mrc/presence/limits.h"
#include "providers/mrc/verbs/c_boundary.h"
#include "providers/mrc/verbs/call_faults.h"
#include "providers/mrc/verbs/clock.h"
#include "providers/mrc/verbs/cq.h"
#include "providers/mrc/verbs/fork_guard.h"
#include "providers/mrc/verbs/mcast.h"
#include "providers/mrc/verbs/mr.h"
#include "providers/mrc/verbs/operations.h"
#include "providers/mrc/verbs/qp.h"
#include "providers/mrc/verbs/srq.h"

namespace mrc::provider {
namespace {

// Sorted by name. What is not here libibverbs answers with EOPNOTSUPP. Those of the data path need nothing
// between them and C: they allocate nothing but in Progress, which catches it.
constexpr abi::ContextOps make_operations() {
  abi::ContextOps ops{};
  ops.advise_mr = for_c<advise_mr>;
  ops.alloc_dm = for_c<alloc_dm>;
  ops.alloc_mw = for_c<can_fail<alloc_mw, FaultCall::kAllocMw>>;
  ops.alloc_null_mr = for_c<alloc_null_mr>;
  ops.alloc_parent_domain = for_c<alloc_parent_domain>;
  ops.alloc_pd = for_c<can_fail<alloc_pd, FaultCall::kAllocPd>>;
  ops.alloc_td = for_c<alloc_td>;
  ops.attach_mcast = for_c<attach_mcast>;
  ops.bind_mw = for_c<bind_mw>;
  ops.close_xrcd = for_c<close_xrcd>;
  ops.cq_event = cq_event;
  ops.create_ah = for_c<can_fail<create_ah, FaultCall::kCreateAh>>;
  ops.create_cq = for_c<can_fail<create_cq, FaultCall::kCreateCq>>;
  ops.create_cq_ex = for_c<can_fail<create_cq_ex, FaultCall::kCreateCq>>;
  ops.create_flow = for_c<create_flow>;
  ops.create_qp = for_c<can_fail<create_qp, FaultCall::kCreateQp>>;
  ops.create_qp_ex = for_c<can_fail<create_qp_ex, FaultCall::kCreateQp>>;
  ops.create_srq = for_c<can_fail<create_srq, FaultCall::kCreateSrq>>;
  ops.create_srq_ex = for_c<can_fail<create_srq_ex, FaultCall::kCreateSrq>>;
  ops.dealloc_mw = for_c<dealloc_mw>;
  ops.dealloc_pd = for_c<dealloc_pd>;
  ops.dealloc_td = for_c<dealloc_td>;
  ops.dereg_mr = for_c<dereg_mr>;
  ops.destroy_ah = for_c<destroy_ah>;
  ops.destroy_cq = for_c<destroy_cq>;
  ops.destroy_flow = for_c<destroy_flow>;
  ops.destroy_qp = for_c<destroy_qp>;
  ops.destroy_srq = for_c<destroy_srq>;
  ops.detach_mcast = for_c<detach_mcast>;
  ops.free_context = for_c<free_context>;
  ops.free_dm = for_c<free_dm>;
  ops.get_srq_num = for_c<get_srq_num>;
  ops.import_dm = for_c<import_dm>;
  ops.import_mr = for_c<import_mr>;
  ops.import_pd = for_c<import_pd>;
  ops.modify_qp = for_c<can_fail<modify_qp, FaultCall::kModifyQp>>;
  ops.modify_srq = for_c<modify_srq>;
  ops.open_qp = for_c<open_qp>;
  ops.open_xrcd = for_c<open_xrcd>;
  ops.poll_cq = poll_cq;
  ops.post_recv = post_recv;
  ops.post_send = post_send;
  ops.post_srq_recv = post_srq_recv;
  ops.query_device_ex = for_c<query_device_ex>;
  ops.query_port = for_c<query_port>;
  ops.query_qp = for_c<query_qp>;
  ops.query_qp_data_in_order = query_qp_data_in_order;
  ops.query_rt_values = for_c<query_rt_values>;
  ops.query_srq = for_c<query_srq>;
  ops.reg_dm_mr = for_c<can_fail<reg_dm_mr, FaultCall::kRegMr>>;
  ops.reg_dmabuf_mr = for_c<can_fail<reg_dmabuf_mr, FaultCall::kRegMr>>;
  ops.reg_mr = for_c<can_fail<reg_mr, FaultCall::kRegMr>>;
  ops.req_notify_cq = req_notify_cq;
  ops.rereg_mr = for_c<rereg_mr>;
  ops.resize_cq = for_c<can_fail<resize_cq, FaultCall::kResizeCq>>;
  ops.unimport_dm = for_c<unimport_dm>;
  ops.unimport_mr = for_c<unimport_mr>;
  ops.unimport_pd = for_c<unimport_pd>;
  return ops;
}
constexpr abi::ContextOps kOperations = make_operations();

// libibverbs copies some calls to places that verbs.h fixes. If they arrived there, its table is the one we
// filled: the table is sorted, so a call that it has and we do not know would have moved those behind it.
bool layout_agrees(const verbs_context& context) {
  const ibv_context_ops& public_ops = context.context.ops;
  return public_ops.poll_cq == poll_cq && public_ops.post_recv == post_recv &&
         public_ops.post_send == post_send && public_ops.req_notify_cq == req_notify_cq &&
         context.create_qp_ex == kOperations.create_qp_ex &&
         context.query_device_ex == for_c<query_device_ex> &&
         reinterpret_cast<void*>(public_ops._compat_alloc_pd) ==
             reinterpret_cast<void*>(kOperations.alloc_pd) &&
         reinterpret_cast<void*>(public_ops._compat_resize_cq) ==
             reinterpret_cast<void*>(kOperations.resize_cq);
}

// How many events about the object the application has to acknowledge; null: it is none, but the port.
std::atomic<uint32_t>* reported_of(ibv_event_type type, uintptr_t element) {
  switch (type) {
    case IBV_EVENT_CQ_ERR:
      return &static_cast<Cq*>(pointer_at(element))->async_reported;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      return &static_cast<Qp*>(pointer_at(element))->async_reported;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      return &static_cast<Srq*>(pointer_at(element))->async_reported;
    default:
      return nullptr;
  }
}

ContextShell* shell_of(ibv_context* context) {
  auto* verbs = reinterpret_cast<uint8_t*>(context) - offsetof(verbs_context, context);
  static_assert(offsetof(ContextShell, verbs) == 0);
  return reinterpret_cast<ContextShell*>(verbs);
}

}  // namespace

Context* Context::of(ibv_context* context) {
  return shell_of(context)->context;
}

verbs_context* Context::open(ibv_device* device, int placeholder) {
  if (forked_away()) {
    ::close(placeholder);
    errno = EPERM;
    return nullptr;
  }
  std::string error;
  auto* self = new (std::nothrow) Context;
  if (self == nullptr) {
    ::close(placeholder);
    errno = ENOMEM;
    return nullptr;
  }
  self->commands_.set_device(device_settings(device->name));
  // Before libibverbs makes the context: it calls ioctl() on the file at once.
  self->command_file_ = CommandFile::open(placeholder, &self->commands_, &error);
  if (self->command_file_ == nullptr) {
    std::fprintf(stderr, "mrc: %s cannot be opened: %s\n", device->name, error.c_str());
    ::close(placeholder);
    delete self;
    errno = ENOTSUP;
    return nullptr;
  }
  const int command_fd = self->command_file_->fd();
  auto* shell = static_cast<ContextShell*>(
      _verbs_init_and_alloc_context(device, command_fd, sizeof(ContextShell), nullptr, 0));
  if (shell == nullptr) {
    delete self;
    return nullptr;
  }
  shell->context = self;
  verbs_set_ops(&shell->verbs, &kOperations);
  ibv_context& context = shell->verbs.context;
  int result = 0;
  if (!layout_agrees(shell->verbs)) {
    std::fprintf(stderr,
                 "mrc: %s cannot be opened: this libibverbs lays out its provider interface %d differently; "
                 "install the libmrc that was built for it\n",
                 device->name, abi::kProviderAbi);
    result = ENOTSUP;
  } else {
    result = self->async_events_.open();
  }
  if (result != 0) {
    self->command_file_.reset();
    verbs_uninit_context(&shell->verbs);
    free(shell);
    delete self;
    errno = result;
    return nullptr;
  }
  // So libibverbs does not ask for one; for an imported context it does nevertheless.
  context.async_fd = self->async_events_.application_fd();
  self->commands_.set_async_fd(context.async_fd);
  context.num_comp_vectors = limits::kCompletionVectors;
  self->device_ = Device::open(device->name);
  self->device_->add(self);
  return &shell->verbs;
}

Context::Context() {
  guard_from_forks();
}

Context::~Context() {
  if (!forked_away()) let_forks_go();
  if (device_ == nullptr || forked_away()) return;
  for (Qp* qp : queue_pairs_) {
    leave_all_groups(qp);
    device_->flows().remove_all_to(qp);
  }
  if (!queue_pairs_.empty() || !regions_.empty()) {
    for (unsigned i = 0; i < device_->shards(); ++i) {
      Shard& shard = device_->shard(i);
      Progress::Control control(shard.progress());
      shard.engine().answer_all(clock_now());
      for (Qp* qp : queue_pairs_)
        if (qp->shard == &shard) shard.engine().take_out(qp->transport);
    }
    for (const Mr* mr : regions_) device_->memory().remove(mr->key);
  }
  device_->remove(this);
  device_->close();
}

void Context::close(ibv_context* context) {
  ContextShell* shell = shell_of(context);
  Context* self = shell->context;
  self->command_file_.reset();
  delete self;
  verbs_uninit_context(&shell->verbs);
  free(shell);
}

void Context::post_async(ibv_event_type type, uintptr_t element) {
  const ib_uverbs_async_event_desc event{element, static_cast<uint32_t>(type), 0};
  std::lock_guard lock(async_mutex_);
  // A full queue means that nobody reads it: the event is lost, as it would be for the kernel's readers.
  if (async_events_.send(&event, sizeof event) != EventQueue::Delivery::kSent) return;
  // Counted now, not when libibverbs tells that it has read it: as with the events of completion queues.
  if (auto* reported = reported_of(type, element); reported != nullptr) reported->fetch_add(1);
}

void Context::forget_async(const void* element) {
  std::lock_guard lock(async_mutex_);
  async_events_.remove(sizeof(ib_uverbs_async_event_desc), [element](const void* event) {
    const auto& unread = *static_cast<const ib_uverbs_async_event_desc*>(event);
    if (unread.element != reinterpret_cast<uintptr_t>(element)) return false;
    auto* reported = reported_of(static_cast<ibv_event_type>(unread.event_type), unread.element);
    if (reported != nullptr) reported->fetch_sub(1);
    return true;
  });
}

void Context::raise(ibv_event_type type, uint32_t qpn) {
  if (qpn == 0) return post_async(type, limits::kPort);
  std::lock_guard lock(objects_mutex_);
  for (Qp* qp : queue_pairs_)
    if (qp->verbs.qp.qp_num == qpn) post_async(type, &qp->verbs.qp);
}

void Context::add(Qp* qp) {
  std::lock_guard lock(objects_mutex_);
  queue_pairs_.insert(qp);
}

void Context::remove(Qp* qp) {
  std::lock_guard lock(objects_mutex_);
  queue_pairs_.erase(qp);
}

void Context::add(Mr* mr) {
  std::lock_guard lock(objects_mutex_);
  mr->place = regions_.insert(regions_.end(), mr);
}

void Context::remove(Mr* mr) {
  std::lock_guard lock(objects_mutex_);
  if (!mr->place) return;
  regions_.erase(*mr->place);
  mr->place.reset();
}

// --- verbs ---

void free_context(ibv_context* context) {
  Context::close(context);
}

}  // namespace mrc::provider
