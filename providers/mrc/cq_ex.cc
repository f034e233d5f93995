// SPDX-License-Identifier: BSD-2-Clause
// The extended completion queue: the same queue, read one completion and one field at a time.
#include <cerrno>
#include <mutex>
#include <span>

#include "providers/mrc/context.h"
#include "providers/mrc/cq.h"
#include "providers/mrc/fork_guard.h"
#include "providers/mrc/operations.h"

namespace mrc::provider {
namespace {

// Fields that this device knows; the clocks are not among them.
constexpr uint64_t kFieldsKnown = IBV_WC_STANDARD_FLAGS;

int show(Cq* cq, size_t count) {
  if (count == 0) return ENOENT;
  cq->verbs.cq_ex.wr_id = cq->current.work_id;
  cq->verbs.cq_ex.status = to_verbs(cq->current.status);
  return 0;
}

// One thread at a time may be between start and end, so `current` needs no lock.
int start_poll(ibv_cq_ex* queue, ibv_poll_cq_attr* attributes) {
  if (forked_away()) return EPERM;
  if (attributes != nullptr && attributes->comp_mask != 0) return EINVAL;
  Cq* cq = Cq::of(queue);
  return show(cq, cq->poll(std::span(&cq->current, 1)));
}

int next_poll(ibv_cq_ex* queue) {
  Cq* cq = Cq::of(queue);
  std::lock_guard lock(cq->poll_lock);
  return show(cq, cq->ring.poll(std::span(&cq->current, 1)));
}

}  // namespace

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attributes) {
  constexpr uint32_t kMasksKnown = IBV_CQ_INIT_ATTR_MASK_FLAGS;
  constexpr uint32_t kFlagsKnown = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
  const uint32_t flags = (attributes->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0 ? attributes->flags : 0;
  if ((attributes->comp_mask & ~kMasksKnown) != 0 || (attributes->wc_flags & ~kFieldsKnown) != 0 ||
      (flags & ~kFlagsKnown) != 0) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  Cq* cq = Cq::create(Context::of(context), attributes->cqe, attributes->channel,
                      static_cast<int>(attributes->comp_vector));
  if (cq == nullptr) return nullptr;
  ibv_cq_ex& ex = cq->verbs.cq_ex;
  ex.start_poll = start_poll;
  ex.next_poll = next_poll;
  ex.end_poll = [](ibv_cq_ex*) {};
  ex.read_opcode = [](ibv_cq_ex* queue) { return to_verbs(Cq::of(queue)->current.kind); };
  ex.read_vendor_err = [](ibv_cq_ex* queue) { return static_cast<uint32_t>(Cq::of(queue)->current.status); };
  ex.read_byte_len = [](ibv_cq_ex* queue) { return Cq::of(queue)->current.byte_count; };
  ex.read_imm_data = [](ibv_cq_ex* queue) -> __be32 { return Cq::of(queue)->current.immediate; };
  ex.read_qp_num = [](ibv_cq_ex* queue) { return Cq::of(queue)->current.qpn.value(); };
  ex.read_src_qp = [](ibv_cq_ex* queue) { return Cq::of(queue)->current.source_qpn.value(); };
  ex.read_wc_flags = [](ibv_cq_ex* queue) { return flags_of(Cq::of(queue)->current); };
  ex.read_slid = [](ibv_cq_ex*) -> uint32_t { return 0; };
  ex.read_sl = [](ibv_cq_ex* queue) { return service_level_of(Cq::of(queue)->current); };
  ex.read_dlid_path_bits = [](ibv_cq_ex*) -> uint8_t { return 0; };
  return &ex;
}

}  // namespace mrc::provider
