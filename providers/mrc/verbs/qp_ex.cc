// SPDX-License-Identifier: BSD-2-Clause
// The extended queue pair: ibv_create_qp_ex(), and the ibv_wr_*() calls that build work requests in place.
#include <cerrno>
#include <cstdint>

#include "providers/mrc/verbs/fork_guard.h"
#include "providers/mrc/verbs/operations.h"
#include "providers/mrc/verbs/qp.h"
#include "providers/mrc/verbs/send_request.h"

namespace mrc::provider {
namespace {

// --- a batch ---

void start_batch(ibv_qp_ex* verbs) {
  Qp* qp = Qp::of(verbs);
  // Not in a child of fork(): a thread that is not there may hold the lock.
  if (!forked_away()) qp->send_lock.lock();
  qp->building = nullptr;
  qp->built = 0;
  qp->build_error = 0;
  if (forked_away())
    qp->build_error = EPERM;
  else if (!may_send(qp->transport->state()))
    qp->build_error = EINVAL;
}

// All or nothing: one bad request takes the others of its batch with it.
int complete_batch(ibv_qp_ex* verbs) {
  Qp* qp = Qp::of(verbs);
  const int error = qp->build_error;
  const uint32_t count = error == 0 ? qp->built : 0;
  if (count > 0) qp->transport->send_queue().publish(count);
  qp->building = nullptr;
  qp->send_lock.unlock();
  if (count > 0) start_work(qp);
  return error;
}

void abort_batch(ibv_qp_ex* verbs) {
  Qp* qp = Qp::of(verbs);
  qp->building = nullptr;
  qp->send_lock.unlock();
}

// --- one request of it ---

// Null: something is wrong, and complete_batch() will say so.
SendRequest* begin(ibv_qp_ex* verbs, ibv_wr_opcode opcode) {
  Qp* qp = Qp::of(verbs);
  qp->building = nullptr;
  if (qp->build_error != 0) return nullptr;
  auto operation = operation_of(verbs->qp_base.qp_type, opcode);
  if (wants_checksums(verbs->qp_base.qp_type, verbs->wr_flags)) operation.reset();
  SendRequest* request = operation ? qp->transport->send_queue().reserve(qp->built) : nullptr;
  if (request == nullptr) {
    qp->build_error = operation ? ENOMEM : EINVAL;
    return nullptr;
  }
  begin_request(*qp, *operation, verbs->wr_id, verbs->wr_flags, request);
  ++qp->built;
  return qp->building = request;
}

void begin_remote(ibv_qp_ex* verbs, ibv_wr_opcode opcode, uint32_t key, uint64_t address,
                  uint32_t immediate = 0) {
  SendRequest* request = begin(verbs, opcode);
  if (request == nullptr) return;
  request->remote_key = MemoryKey{key};
  request->remote_address = address;
  request->immediate = immediate;
}

void begin_atomic(ibv_qp_ex* verbs, ibv_wr_opcode opcode, uint32_t key, uint64_t address,
                  uint64_t compare_add, uint64_t swap) {
  SendRequest* request = begin(verbs, opcode);
  if (request == nullptr) return;
  request->remote_key = MemoryKey{key};
  request->remote_address = address;
  request->compare_add = compare_add;
  request->swap = swap;
}

// What is written is taken along at once.
void begin_atomic_write(ibv_qp_ex* verbs, uint32_t key, uint64_t address, const void* value) {
  SendRequest* request = begin(verbs, IBV_WR_ATOMIC_WRITE);
  if (request == nullptr) return;
  request->remote_key = MemoryKey{key};
  request->remote_address = address;
  Qp* qp = Qp::of(verbs);
  if (const int error = add_inline(*qp, value, sizeof(uint64_t), request); error != 0)
    qp->build_error = error;
}

#ifdef MRC_HAS_FLUSH
void begin_flush(ibv_qp_ex* verbs, uint32_t key, uint64_t address, size_t bytes, uint8_t placement,
                 uint8_t selectivity) {
  SendRequest* request = begin(verbs, IBV_WR_FLUSH);
  if (request == nullptr) return;
  const bool whole = selectivity == IBV_FLUSH_MR;
  const bool known = (placement & ~(IBV_FLUSH_GLOBAL | IBV_FLUSH_PERSISTENT)) == 0 && placement != 0 &&
                     (whole || selectivity == IBV_FLUSH_RANGE) && bytes <= UINT32_MAX;
  if (!known) Qp::of(verbs)->build_error = EINVAL;
  request->remote_key = MemoryKey{key};
  request->remote_address = address;
  request->set_flush(placement, selectivity, static_cast<uint32_t>(bytes));
}
#endif

void begin_send(ibv_qp_ex* verbs, ibv_wr_opcode opcode, uint32_t immediate = 0) {
  if (SendRequest* request = begin(verbs, opcode); request != nullptr) request->immediate = immediate;
}

void begin_bind(ibv_qp_ex* verbs, ibv_mw* window, uint32_t key, const ibv_mw_bind_info* wanted) {
  SendRequest* request = begin(verbs, IBV_WR_BIND_MW);
  if (request == nullptr) return;
  if (const int error = set_window(window, key, *wanted, request); error != 0)
    Qp::of(verbs)->build_error = error;
}

void set_datagram_address(ibv_qp_ex* verbs, ibv_ah* handle, uint32_t remote_qpn, uint32_t remote_key) {
  Qp* qp = Qp::of(verbs);
  if (qp->building == nullptr) return;
  if (handle == nullptr || qp->building->address_bytes == 0) {
    qp->build_error = EINVAL;
  } else {
    set_destination(handle, remote_qpn, remote_key, qp->building);
  }
}

void name_queue(ibv_qp_ex* verbs, uint32_t number) {
  Qp* qp = Qp::of(verbs);
  if (qp->building == nullptr) return;
  if (verbs->qp_base.qp_type != IBV_QPT_XRC_SEND)
    qp->build_error = EINVAL;
  else
    qp->building->set_named_queue(number);
}

void set_data(ibv_qp_ex* verbs, size_t count, const ibv_sge* pieces) {
  Qp* qp = Qp::of(verbs);
  if (qp->building == nullptr) return;
  if (const int error = set_segments(*qp, pieces, count, qp->building); error != 0) qp->build_error = error;
}

void set_inline_data(ibv_qp_ex* verbs, size_t count, const ibv_data_buf* pieces) {
  Qp* qp = Qp::of(verbs);
  if (qp->building == nullptr) return;
  for (size_t i = 0; i < count; ++i)
    if (const int error = add_inline(*qp, pieces[i].addr, pieces[i].length, qp->building); error != 0)
      qp->build_error = error;
}

void offer_calls(Qp* qp) {
  ibv_qp_ex& calls = qp->verbs.qp_ex;
  calls.wr_start = start_batch;
  calls.wr_complete = complete_batch;
  calls.wr_abort = abort_batch;
  calls.wr_send = [](ibv_qp_ex* verbs) { begin_send(verbs, IBV_WR_SEND); };
  calls.wr_send_imm = [](ibv_qp_ex* verbs, __be32 immediate) {
    begin_send(verbs, IBV_WR_SEND_WITH_IMM, immediate);
  };
  calls.wr_send_inv = [](ibv_qp_ex* verbs, uint32_t key) { begin_send(verbs, IBV_WR_SEND_WITH_INV, key); };
  calls.wr_rdma_write = [](ibv_qp_ex* verbs, uint32_t key, uint64_t address) {
    begin_remote(verbs, IBV_WR_RDMA_WRITE, key, address);
  };
  calls.wr_rdma_write_imm = [](ibv_qp_ex* verbs, uint32_t key, uint64_t address, __be32 immediate) {
    begin_remote(verbs, IBV_WR_RDMA_WRITE_WITH_IMM, key, address, immediate);
  };
  calls.wr_rdma_read = [](ibv_qp_ex* verbs, uint32_t key, uint64_t address) {
    begin_remote(verbs, IBV_WR_RDMA_READ, key, address);
  };
  calls.wr_atomic_cmp_swp = [](ibv_qp_ex* verbs, uint32_t key, uint64_t address, uint64_t compare,
                               uint64_t swap) {
    begin_atomic(verbs, IBV_WR_ATOMIC_CMP_AND_SWP, key, address, compare, swap);
  };
  calls.wr_atomic_fetch_add = [](ibv_qp_ex* verbs, uint32_t key, uint64_t address, uint64_t add) {
    begin_atomic(verbs, IBV_WR_ATOMIC_FETCH_AND_ADD, key, address, add, 0);
  };
  calls.wr_atomic_write = begin_atomic_write;
#ifdef MRC_HAS_FLUSH
  calls.wr_flush = begin_flush;
#endif
  calls.wr_local_inv = [](ibv_qp_ex* verbs, uint32_t key) { begin_send(verbs, IBV_WR_LOCAL_INV, key); };
  calls.wr_bind_mw = begin_bind;
  calls.wr_set_ud_addr = set_datagram_address;
  calls.wr_set_xrc_srqn = name_queue;
  calls.wr_set_sge = [](ibv_qp_ex* verbs, uint32_t key, uint64_t address, uint32_t bytes) {
    const ibv_sge piece{address, bytes, key};
    set_data(verbs, 1, &piece);
  };
  calls.wr_set_sge_list = set_data;
  calls.wr_set_inline_data = [](ibv_qp_ex* verbs, void* address, size_t bytes) {
    const ibv_data_buf piece{address, bytes};
    set_inline_data(verbs, 1, &piece);
  };
  calls.wr_set_inline_data_list = set_inline_data;
}

uint64_t operations_of(ibv_qp_type type) {
  if (type == IBV_QPT_RAW_PACKET) return IBV_QP_EX_WITH_SEND;
  uint64_t known = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
  const bool reliable = type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND;
  if (reliable || type == IBV_QPT_UC)
    known |= IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND_WITH_INV |
             IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW;
  if (reliable)
    known |=
        IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
  if (type == IBV_QPT_RC) known |= IBV_QP_EX_WITH_ATOMIC_WRITE;
#ifdef MRC_HAS_FLUSH
  if (type == IBV_QPT_RC) known |= IBV_QP_EX_WITH_FLUSH;
#endif
  return known;
}

// For the library of these headers, and for one that is newer by one call (QueuePair).
void mark_extended(Qp* qp) {
  qp->verbs.comp_mask |= abi::kQpHasExtendedPost;
  qp->verbs.comp_mask_one_call_later |= abi::kQpHasExtendedPost;
}

}  // namespace

ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* wanted) {
  constexpr uint32_t kMasksKnown =
      IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  const uint32_t mask = wanted->comp_mask;
  if (wanted->qp_type == IBV_QPT_XRC_RECV) {
    ibv_qp_init_attr plain{};
    plain.qp_context = wanted->qp_context;
    errno = (mask & ~(IBV_QP_INIT_ATTR_XRCD | kMasksKnown)) != 0 ? EOPNOTSUPP : EINVAL;
    if ((mask & IBV_QP_INIT_ATTR_XRCD) == 0 || wanted->xrcd == nullptr || errno == EOPNOTSUPP) return nullptr;
    ibv_qp* target = create_xrc_target(context, wanted->xrcd, &plain);
    if (target != nullptr) wanted->cap = plain.cap;
    return target;
  }
  const uint64_t operations = (mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0 ? wanted->send_ops_flags : 0;
  int error = 0;
  if ((mask & ~kMasksKnown) != 0 || (operations & ~operations_of(wanted->qp_type)) != 0 ||
      ((mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0 && wanted->create_flags != 0))
    error = EOPNOTSUPP;
  else if ((mask & IBV_QP_INIT_ATTR_PD) == 0 || wanted->pd == nullptr)
    error = EINVAL;
  if (error != 0) {
    errno = error;
    return nullptr;
  }
  ibv_qp_init_attr plain{wanted->qp_context, wanted->send_cq, wanted->recv_cq,   wanted->srq,
                         wanted->cap,        wanted->qp_type, wanted->sq_sig_all};
  ibv_qp* qp = create_qp(wanted->pd, &plain);
  if (qp == nullptr) return nullptr;
  wanted->cap = plain.cap;
  if ((mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0) {
    offer_calls(Qp::of(qp));
    mark_extended(Qp::of(qp));
  }
  return qp;
}

}  // namespace mrc::provider
