// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/verbs/send_request.h"

#include <array>
#include <cerrno>
#include <cstring>

#include "providers/mrc/presence/address.h"
#include "providers/mrc/presence/limits.h"
#include "providers/mrc/verbs/ah.h"
#include "providers/mrc/verbs/context.h"
#include "providers/mrc/verbs/cq.h"
#include "providers/mrc/verbs/mw.h"

namespace mrc::provider {
namespace {

constexpr uint32_t kAtomicBytes = 8;

constexpr std::optional<Operation> find_operation(ibv_qp_type type, ibv_wr_opcode opcode) {
  // ibv_post_send(3) has the table.
  const bool connected = type != IBV_QPT_UD;
  if (type == IBV_QPT_RAW_PACKET)
    return opcode == IBV_WR_SEND ? std::optional(Operation::kSend) : std::nullopt;
  const bool reliable = type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND;
  if (type == IBV_QPT_XRC_RECV) return std::nullopt;
  switch (opcode) {
    case IBV_WR_SEND:
      return Operation::kSend;
    case IBV_WR_SEND_WITH_IMM:
      return Operation::kSendImm;
    case IBV_WR_SEND_WITH_INV:
      if (connected) return Operation::kSendInvalidate;
      break;
    case IBV_WR_RDMA_WRITE:
      if (connected) return Operation::kWrite;
      break;
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      if (connected) return Operation::kWriteImm;
      break;
    case IBV_WR_BIND_MW:
      if (connected) return Operation::kBindWindow;
      break;
    case IBV_WR_LOCAL_INV:
      if (connected) return Operation::kLocalInvalidate;
      break;
    case IBV_WR_RDMA_READ:
      if (reliable) return Operation::kRead;
      break;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      if (reliable) return Operation::kCompareSwap;
      break;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      if (reliable) return Operation::kFetchAdd;
      break;
    case IBV_WR_ATOMIC_WRITE:
      if (type == IBV_QPT_RC) return Operation::kAtomicWrite;
      break;
#ifdef MRC_HAS_FLUSH
    case IBV_WR_FLUSH:
      if (type == IBV_QPT_RC) return Operation::kFlush;
      break;
#endif
    default:
      break;
  }
  return std::nullopt;
}

// What most queue pairs ask for, worked out before.
constexpr auto kReliableOperations = [] {
  std::array<std::optional<Operation>, 16> found;
  for (size_t i = 0; i < found.size(); ++i)
    found[i] = find_operation(IBV_QPT_RC, static_cast<ibv_wr_opcode>(i));
  return found;
}();

}  // namespace

std::optional<Operation> operation_of(ibv_qp_type type, ibv_wr_opcode opcode) {
  const auto number = static_cast<size_t>(opcode);  // whatever the program has put there
  return type == IBV_QPT_RC && number < kReliableOperations.size() ? kReliableOperations[number]
                                                                   : find_operation(type, opcode);
}

[[gnu::hot]] void begin_request(const Qp& qp, Operation operation, uint64_t work_id, unsigned send_flags,
                                SendRequest* to) {
  to->work_id = work_id;
  to->operation = operation;
  to->segment_count = 0;
  to->bytes = 0;
  to->address_bytes = 0;
  to->flags = 0;
  if (qp.signal_all || (send_flags & IBV_SEND_SIGNALED) != 0) to->flags |= kSignaled;
  if ((send_flags & IBV_SEND_SOLICITED) != 0) to->flags |= kSolicited;
  if ((send_flags & IBV_SEND_FENCE) != 0) to->flags |= kFence;
  if (qp.verbs.qp.qp_type == IBV_QPT_UD) to->add_datagram_address() = {};
}

void set_destination(const ibv_ah* handle, uint32_t remote_qpn, uint32_t remote_key, SendRequest* to) {
  const Ah* address = reinterpret_cast<const Ah*>(handle);
  to->datagram_address() = {address->source, address->destination, Qpn{remote_qpn}, remote_key};
}

int set_window(const ibv_mw* window, uint32_t key, const ibv_mw_bind_info& wanted, SendRequest* to) {
  if (window == nullptr) return EINVAL;
  WindowBinding binding;
  const int error = to_binding(*window, key, wanted, &binding);
  to->set_binding(binding);
  return error;
}

uint64_t copy_segments(const ibv_sge* from, size_t count, Segment* to) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < count; ++i) {
    to[i] = {from[i].addr, from[i].length, MemoryKey{from[i].lkey}};
    bytes += from[i].length;
  }
  return bytes;
}

[[gnu::hot]] int set_segments(const Qp& qp, const ibv_sge* from, size_t count, SendRequest* to) {
  if (count > qp.capacity.max_send_sge || to->operation == Operation::kFlush) return EINVAL;
  const uint64_t bytes = copy_segments(from, count, to->segments());
  if (bytes > limits::kMessageBytes) return EINVAL;
  if (is_atomic(to->operation) && bytes < kAtomicBytes) return EINVAL;
  if (to->operation == Operation::kAtomicWrite && bytes != kAtomicBytes) return EINVAL;
  to->bytes = is_atomic(to->operation) ? kAtomicBytes : static_cast<uint32_t>(bytes);
  to->segment_count = static_cast<uint8_t>(count);
  to->flags &= static_cast<uint8_t>(~kInline);
  return 0;
}

int add_inline(const Qp& qp, const void* from, size_t bytes, SendRequest* to) {
  if (brings_data(to->operation) || to->operation == Operation::kFlush) return EINVAL;
  if (bytes > qp.capacity.max_inline_data - to->bytes) return EINVAL;
  to->flags |= kInline;
  if (bytes > 0) std::memcpy(to->inline_data() + to->bytes, from, bytes);
  to->bytes += static_cast<uint32_t>(bytes);
  return 0;
}

namespace {

int set_arguments(const ibv_send_wr& from, SendRequest* to) {
  switch (to->operation) {
    case Operation::kBindWindow:
      return set_window(from.bind_mw.mw, from.bind_mw.rkey, from.bind_mw.bind_info, to);
    case Operation::kLocalInvalidate:
    case Operation::kWrite:
    case Operation::kWriteImm:
    case Operation::kRead:
    case Operation::kAtomicWrite:
      to->remote_address = from.wr.rdma.remote_addr;
      to->remote_key = MemoryKey{from.wr.rdma.rkey};
      to->immediate = from.imm_data;
      break;
    case Operation::kSend:
    case Operation::kSendImm:
      to->immediate = from.imm_data;
      break;
    case Operation::kSendInvalidate:
      to->immediate = from.invalidate_rkey;
      break;
    case Operation::kCompareSwap:
    case Operation::kFetchAdd:
      to->remote_address = from.wr.atomic.remote_addr;
      to->remote_key = MemoryKey{from.wr.atomic.rkey};
      to->compare_add = from.wr.atomic.compare_add;
      to->swap = from.wr.atomic.swap;
      break;
    case Operation::kFlush:
      return EINVAL;  // ibv_send_wr has no room for what it needs
  }
  return 0;
}

}  // namespace

bool wants_checksums(ibv_qp_type type, unsigned send_flags) {
  return type == IBV_QPT_RAW_PACKET && (send_flags & IBV_SEND_IP_CSUM) != 0;
}

// As one function: what it calls is short, and done for every message.
[[gnu::hot, gnu::flatten]] int write_request(const Qp& qp, const ibv_send_wr& from, SendRequest* to) {
  const ibv_qp_type type = qp.verbs.qp.qp_type;
  const auto operation = operation_of(type, from.opcode);
  if (!operation || from.num_sge < 0) return EINVAL;
  if (wants_checksums(type, from.send_flags)) return EINVAL;
  begin_request(qp, *operation, from.wr_id, from.send_flags, to);
  if (const int error = set_arguments(from, to); error != 0) return error;
  if (is_local(*operation)) return 0;
  if (type == IBV_QPT_XRC_SEND) to->set_named_queue(from.qp_type.xrc.remote_srqn);
  if (type == IBV_QPT_UD) {
    if (from.wr.ud.ah == nullptr || from.wr.ud.remote_qpn > Qpn::kMask) return EINVAL;
    set_destination(from.wr.ud.ah, from.wr.ud.remote_qpn, from.wr.ud.remote_qkey, to);
  }
  if ((from.send_flags & IBV_SEND_INLINE) == 0)
    return set_segments(qp, from.sg_list, static_cast<size_t>(from.num_sge), to);
  // Inline data are not limited by the number of segments that fit into a slot, only by their bytes.
  for (int i = 0; i < from.num_sge; ++i) {
    const ibv_sge& piece = from.sg_list[i];
    if (const int error = add_inline(qp, pointer_at(piece.addr), piece.length, to); error != 0) return error;
  }
  if (*operation == Operation::kAtomicWrite && to->bytes != kAtomicBytes) return EINVAL;
  return 0;
}

namespace {

// Whether the next poll, or the last post of the group, is soon enough.
bool is_in_stream(Qp& qp) {
  const SendQueue& queue = qp.transport->send_queue();
  const uint64_t head = queue.head();  // first: others may post and finish meanwhile
  return qp.stream.goes_on(queue.tail(), head, qp.send_cq->polls.load(std::memory_order_relaxed));
}

}  // namespace

[[gnu::hot]] void start_work(Qp* qp) {
  Shard& shard = *qp->shard;
  if (is_in_stream(*qp)) return shard.engine().ring_doorbell(*qp->transport);
  shard.progress().drive_posted(*qp->transport);
}

}  // namespace mrc::provider
