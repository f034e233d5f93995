// SPDX-License-Identifier: BSD-2-Clause
// The extended completion queue: the same queue, read one completion and one field at a time.
#include <time.h>

#include <cerrno>
#include <mutex>
#include <new>
#include <span>

#include "providers/mrc/verbs/clock.h"
#include "providers/mrc/verbs/context.h"
#include "providers/mrc/verbs/cq.h"
#include "providers/mrc/verbs/fork_guard.h"
#include "providers/mrc/verbs/operations.h"

namespace mrc::provider {
namespace {

constexpr uint64_t kTimes =
    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
// Fields that this device knows.
constexpr uint64_t kFieldsKnown = IBV_WC_STANDARD_FLAGS | kTimes;

uint64_t time_of_day() {
  timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<uint64_t>(time.tv_sec) * kSecond + static_cast<uint64_t>(time.tv_nsec);
}

// One reading each, and only of what is asked for: it is done for every completion.
CompletionQueue::Clock clock_for(uint64_t fields) {
  switch (fields & kTimes) {
    case IBV_WC_EX_WITH_COMPLETION_TIMESTAMP:
      return [] { return CompletionTime{clock_now(), 0}; };
    case IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK:
      return [] { return CompletionTime{0, time_of_day()}; };
    default:
      return [] { return CompletionTime{clock_now(), time_of_day()}; };
  }
}

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
  return show(cq, cq->poll(std::span(&cq->current, 1), &cq->current_time));
}

int next_poll(ibv_cq_ex* queue) {
  Cq* cq = Cq::of(queue);
  std::lock_guard lock(cq->poll_lock);
  return show(cq, cq->ring.poll(std::span(&cq->current, 1), &cq->current_time));
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
  if ((attributes->wc_flags & kTimes) != 0) {
    try {
      cq->ring.keep_times(clock_for(attributes->wc_flags));
    } catch (const std::bad_alloc&) {
      delete cq;
      errno = ENOMEM;
      return nullptr;
    }
  }
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
  ex.read_completion_ts = [](ibv_cq_ex* queue) { return Cq::of(queue)->current_time.clock; };
  ex.read_completion_wallclock_ns = [](ibv_cq_ex* queue) { return Cq::of(queue)->current_time.wall; };
  return &ex;
}

}  // namespace mrc::provider
