// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/verbs/qp.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "providers/mrc/presence/limits.h"
#include "providers/mrc/verbs/clock.h"
#include "providers/mrc/verbs/context.h"
#include "providers/mrc/verbs/cq.h"
#include "providers/mrc/verbs/fork_guard.h"
#include "providers/mrc/verbs/left_completions.h"
#include "providers/mrc/verbs/mcast.h"
#include "providers/mrc/verbs/operations.h"
#include "providers/mrc/verbs/pd.h"
#include "providers/mrc/verbs/privilege.h"
#include "providers/mrc/verbs/qp_attributes.h"
#include "providers/mrc/verbs/refuse.h"
#include "providers/mrc/verbs/srq.h"
#include "providers/mrc/verbs/xrcd.h"

namespace mrc::provider {
namespace {

// --- creation ---

int check(const ibv_qp_init_attr& wanted) {
  const bool initiates = wanted.qp_type == IBV_QPT_XRC_SEND;
  if (wanted.qp_type != IBV_QPT_RC && wanted.qp_type != IBV_QPT_UC && wanted.qp_type != IBV_QPT_UD &&
      wanted.qp_type != IBV_QPT_RAW_PACKET && !initiates)
    return EOPNOTSUPP;
  if (wanted.qp_type == IBV_QPT_RAW_PACKET) {
    if (!may_use_raw_packets()) return EPERM;
    if (wanted.srq != nullptr) return EINVAL;
  }
  if (wanted.send_cq == nullptr || (wanted.recv_cq == nullptr && !initiates)) return EINVAL;
  const ibv_qp_cap& cap = wanted.cap;
  if (cap.max_send_wr > limits::kWorkRequests || cap.max_recv_wr > limits::kWorkRequests) return EINVAL;
  if (cap.max_send_sge > limits::kSegments || cap.max_recv_sge > limits::kSegments) return EINVAL;
  if (cap.max_inline_data > limits::kInlineBytes) return EINVAL;
  return 0;
}

QueuePairConfig config_of(Qp* qp, ibv_qp_type type, std::optional<Transport> transport = std::nullopt) {
  QueuePairConfig config;
  config.transport = transport;
  // An unreliable connection is one that happens to lose only what cannot be taken: on the wire it is a
  // reliable one.
  if (type == IBV_QPT_UD) config.type = QueuePairType::kDatagram;
  if (type == IBV_QPT_RAW_PACKET) config.type = QueuePairType::kRaw;
  config.lossy = type == IBV_QPT_UC;
  config.xrc = type == IBV_QPT_XRC_SEND || type == IBV_QPT_XRC_RECV;
  if (type == IBV_QPT_XRC_RECV) {
    config.served = &qp->domain->shared->queues;
    config.receive_segments_max = limits::kSegments;  // of any queue that is named
    config.send_completions = config.receive_completions = qp->no_completions.get();
    config.owner = qp;
    return config;
  }
  config.shared_receives = qp->srq != nullptr ? &qp->srq->queue : nullptr;
  config.domain = qp->pd->domain;
  config.send_completions = &qp->send_cq->ring;
  config.receive_completions = &qp->receive_cq->ring;
  config.send_entries = qp->capacity.max_send_wr;
  config.receive_entries = qp->capacity.max_recv_wr;
  config.send_segments_max = qp->capacity.max_send_sge;
  config.receive_segments_max = qp->capacity.max_recv_sge;
  config.inline_bytes_max = qp->capacity.max_inline_data;
  config.signal_all = qp->signal_all;
  config.owner = qp;
  return config;
}

void fill_verbs(Qp* qp, ibv_context* context, ibv_pd* pd, const ibv_qp_init_attr& wanted) {
  ibv_qp& verbs = qp->verbs.qp;
  verbs.context = context;
  verbs.qp_context = wanted.qp_context;
  verbs.pd = pd;
  verbs.send_cq = wanted.send_cq;
  verbs.recv_cq = wanted.recv_cq;
  verbs.srq = wanted.srq;
  verbs.qp_num = verbs.handle = qp->transport->qpn().value();
  verbs.state = IBV_QPS_RESET;
  verbs.qp_type = wanted.qp_type;
  pthread_mutex_init(&verbs.mutex, nullptr);
  pthread_cond_init(&verbs.cond, nullptr);
}

QueuePairAttributes no_profiles() {
  QueuePairAttributes attributes;
  attributes.path_profile = attributes.congestion_profile = 0;
  return attributes;
}

void set_capacity(const ibv_qp_init_attr& wanted, ibv_qp_cap* capacity) {
  *capacity = wanted.cap;
  capacity->max_send_wr = std::max(1u, wanted.cap.max_send_wr);
  capacity->max_send_sge = std::max(1u, wanted.cap.max_send_sge);
  capacity->max_recv_sge = std::max(1u, wanted.cap.max_recv_sge);
  if (wanted.srq != nullptr || wanted.qp_type == IBV_QPT_XRC_SEND)
    capacity->max_recv_wr = capacity->max_recv_sge = 0;
  // Inline data lie where else the segments do: there is room for as much at least.
  const auto room = static_cast<uint32_t>(capacity->max_send_sge * sizeof(Segment));
  capacity->max_inline_data = std::clamp(room, capacity->max_inline_data, limits::kInlineBytes);
}

// A connected queue pair stays with its peer.
bool moves_elsewhere(const Qp& qp, const QueuePairAttributes& attributes) {
  const Connection& connection = qp.transport->connection();
  return qp.transport->connected() && attributes.destination &&
         (*attributes.destination != connection.destination || *attributes.source != connection.source);
}

// Extended connections are none of MRC 1.0's. True: it was one, and is gone.
bool refuse_strict(Qp* qp) {
  if (!qp->transport->config().xrc || qp->transport->transport() != Transport::kMrcStrict) return false;
  Progress::Control control(qp->shard->progress());
  qp->shard->engine().take_out(qp->transport);
  return true;
}

// Whether whoever destroys it now is the last; nobody can open it any more then.
bool last_name(Qp* qp) {
  Progress::Control control(qp->shard->progress());
  if (--qp->names != 0) return false;
  qp->domain->shared->targets.erase(qp->transport->qpn().value());
  return true;
}

// What is complete but waits for a link has left before its queue pair goes. The engine waits no longer than
// two seconds for one.
void let_datagrams_leave(Qp* qp) {
  for (const Nanoseconds until = clock_now() + 3 * kSecond; clock_now() < until; usleep(200)) {
    Progress::Control control(qp->shard->progress());
    qp->shard->engine().progress(clock_now());
    if (!qp->transport->holds_datagrams()) return;
  }
}

// The profiles that a queue pair names, and uses from then on: a controller cannot take them offline. False:
// there is none of that number. Under the shard's lock.
bool use_profile(Qp* qp, ControlPage::Kind kind, uint64_t id, uint64_t* named,
                 std::optional<uint32_t>* place) {
  ControlProfiles& profiles = qp->shard->profiles();
  if (place->has_value() && *named == id) return true;
  const std::optional<uint32_t> used = profiles.use(kind, id);
  if (!used && id != 0) return false;
  if (place->has_value()) profiles.release(kind, **place);
  *place = used;
  *named = id;
  return true;
}

void release_profiles(Qp* qp) {
  ControlProfiles& profiles = qp->shard->profiles();
  if (qp->paths_place) profiles.release(ControlPage::Kind::kPaths, *qp->paths_place);
  if (qp->congestion_place) profiles.release(ControlPage::Kind::kCongestion, *qp->congestion_place);
  qp->paths_place.reset();
  qp->congestion_place.reset();
  qp->paths_id = qp->congestion_id = 0;
}

// What the transition names, or what is used by those who name nothing when they connect.
bool use_profiles(Qp* qp, const QueuePairAttributes& attributes, bool connects) {
  if (!connects && !attributes.path_profile && !attributes.congestion_profile) return true;
  if (attributes.path_profile || connects)
    if (!use_profile(qp, ControlPage::Kind::kPaths, attributes.path_profile.value_or(qp->paths_id),
                     &qp->paths_id, &qp->paths_place))
      return false;
  if (attributes.congestion_profile || connects)
    if (!use_profile(qp, ControlPage::Kind::kCongestion,
                     attributes.congestion_profile.value_or(qp->congestion_id), &qp->congestion_id,
                     &qp->congestion_place))
      return false;
  return true;
}

// What an unreliable connection cannot be told: how long to try before the peer counts as gone.
void set_unreliable_defaults(QueuePairAttributes* attributes) {
  attributes->timeout = Nanoseconds{4096} << 14;
  attributes->retry_linear = 7;
  attributes->rnr_retry = 7;
}

// Nobody waits while its queues are allocated and cleared. Null: there is no number left. May throw
// bad_alloc.
QueuePair* create_in(Shard& shard, const QueuePairConfig& config) {
  std::optional<Engine::Birth> birth;
  {
    Progress::Control control(shard.progress());
    birth = shard.engine().begin_create(config);
  }
  if (!birth) return nullptr;
  std::unique_ptr<QueuePair> made;
  try {
    made = shard.engine().make(*birth, config);
  } catch (const std::bad_alloc&) {
    Progress::Control control(shard.progress());
    shard.engine().end_create(*birth, nullptr);
    throw;  // Not by a packet: who creates a queue pair.
  }
  Progress::Control control(shard.progress());
  return shard.engine().end_create(*birth, std::move(made));
}

// `left`: not null if it is to be reset.
int change_qp(Qp* qp, ibv_qp* verbs, const ibv_qp_attr& wanted, int mask, QueuePairAttributes attributes,
              LeftCompletions* left) {
  std::optional<ControlProfiles::Word> told = qp->shard->read_profiles();
  // Who is just posting must not publish his request to a queue that was emptied meanwhile.
  std::unique_lock<SpinLock> posting[2];
  if (left != nullptr) {
    posting[0] = std::unique_lock(qp->send_lock);
    posting[1] = std::unique_lock(qp->receive_lock);
  }
  Progress::Control control(qp->shard->progress());
  qp->shard->take_profiles(told);
  const ibv_qp_state from = to_verbs(qp->transport->state());
  const ibv_qp_state to = (mask & IBV_QP_STATE) != 0 ? wanted.qp_state : from;
  if ((mask & IBV_QP_CUR_STATE) != 0 && wanted.cur_qp_state != from) return EINVAL;
  if (!transition_allowed(verbs->qp_type, from, to, mask)) return EINVAL;
  if (moves_elsewhere(*qp, attributes)) return EOPNOTSUPP;
  if (verbs->qp_type == IBV_QPT_UC && to == IBV_QPS_RTS) set_unreliable_defaults(&attributes);
  const bool connects = to == IBV_QPS_RTR && verbs->qp_type != IBV_QPT_UD;
  if (!use_profiles(qp, attributes, connects)) return EINVAL;
  if (!qp->shard->engine().modify(*qp->transport, attributes, clock_now())) return EINVAL;
  if (left != nullptr) {
    release_profiles(qp);
    qp->shard->engine().modify(*qp->transport, no_profiles(), clock_now());
    left->begin();
    qp->attributes = {};
  }
  remember(wanted, mask, &qp->attributes);
  verbs->state = to;
  return 0;
}

}  // namespace

// --- verbs ---

ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* wanted) {
  return create_qp_of(pd, wanted, std::nullopt);
}

ibv_qp* create_qp_of(ibv_pd* pd, ibv_qp_init_attr* wanted, std::optional<Transport> transport) {
  if (forked_away()) return refuse(EPERM);
  if (const int error = check(*wanted); error != 0) return refuse(error);
  Context* context = Context::of(pd->context);
  if (const int error = context->device().start(); error != 0) return refuse(error);
  try {
    auto qp = std::make_unique<Qp>();
    qp->context = context;
    qp->pd = Pd::of(pd);
    qp->send_cq = Cq::of(wanted->send_cq);
    // Half of an extended connection receives nothing.
    const bool initiates = wanted->qp_type == IBV_QPT_XRC_SEND;
    qp->receive_cq = initiates ? qp->send_cq : Cq::of(wanted->recv_cq);
    qp->srq = wanted->srq != nullptr && !initiates ? Srq::of(wanted->srq) : nullptr;
    qp->signal_all = wanted->sq_sig_all != 0;
    set_capacity(*wanted, &qp->capacity);
    qp->shard = wanted->qp_type == IBV_QPT_RAW_PACKET
                    ? &context->device().settle_in_first(*qp->send_cq, *qp->receive_cq)
                    : &context->device().settle(*qp->send_cq, *qp->receive_cq, qp->srq);
    Listed listed(context, qp.get());
    qp->transport = create_in(*qp->shard, config_of(qp.get(), wanted->qp_type, transport));
    if (qp->transport == nullptr) return refuse(ENOMEM);
    if (refuse_strict(qp.get())) return refuse(EOPNOTSUPP);
    listed.keep();
    fill_verbs(qp.get(), pd->context, pd, *wanted);
    ++qp->pd->users;
    ++qp->send_cq->users;
    ++qp->receive_cq->users;
    if (qp->srq != nullptr) ++qp->srq->users;
    wanted->cap = qp->capacity;
    return &qp.release()->verbs.qp;
  } catch (const std::bad_alloc&) {
    return refuse(ENOMEM);
  }
}

ibv_qp* create_xrc_target(ibv_context* verbs_context, ibv_xrcd* domain, ibv_qp_init_attr* wanted) {
  if (forked_away()) return refuse(EPERM);
  Context* context = Context::of(verbs_context);
  if (const int error = context->device().start(); error != 0) return refuse(error);
  auto qp = std::make_unique<Qp>();
  qp->context = context;
  qp->domain = Xrcd::of(domain);
  qp->shard = &context->device().first();  // as all shared receive queues that peers name
  qp->no_completions = std::make_unique<CompletionQueue>(1);
  Listed listed(context, qp.get());
  qp->transport = create_in(*qp->shard, config_of(qp.get(), IBV_QPT_XRC_RECV));
  if (qp->transport == nullptr) return refuse(ENOMEM);
  if (refuse_strict(qp.get())) return refuse(EOPNOTSUPP);
  const uint32_t number = qp->transport->qpn().value();
  {
    Progress::Control control(qp->shard->progress());
    try {
      qp->domain->shared->targets.emplace(number, qp.get());
    } catch (const std::bad_alloc&) {
      qp->shard->engine().take_out(qp->transport);
      return refuse(ENOMEM);
    }
  }
  listed.keep();
  wanted->cap = qp->capacity;
  ibv_qp_init_attr nothing{};
  nothing.qp_context = wanted->qp_context;
  nothing.qp_type = IBV_QPT_XRC_RECV;
  fill_verbs(qp.get(), verbs_context, nullptr, nothing);
  ++qp->domain->users;
  return &qp.release()->verbs.qp;
}

// The queue pair itself once more: it goes when all who opened it have destroyed it.
ibv_qp* open_qp(ibv_context*, ibv_qp_open_attr* wanted) {
  constexpr uint32_t kNeeded = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
  if (forked_away()) return refuse(EPERM);
  if ((wanted->comp_mask & ~(kNeeded | IBV_QP_OPEN_ATTR_CONTEXT)) != 0) return refuse(EOPNOTSUPP);
  if ((wanted->comp_mask & kNeeded) != kNeeded || wanted->qp_type != IBV_QPT_XRC_RECV ||
      wanted->xrcd == nullptr)
    return refuse(EINVAL);
  const Xrcd* domain = Xrcd::of(wanted->xrcd);
  Device& device = Context::of(wanted->xrcd->context)->device();
  if (const int error = device.start(); error != 0) return refuse(error);
  Progress::Control control(device.progress());
  const auto found = domain->shared->targets.find(wanted->qp_num);
  if (found == domain->shared->targets.end()) return refuse(EINVAL);
  ++found->second->names;
  return &found->second->verbs.qp;
}

int modify_qp(ibv_qp* verbs, ibv_qp_attr* wanted, int mask) {
  return modify_qp_with(verbs, wanted, mask, {});
}

int modify_qp_with(ibv_qp* verbs, ibv_qp_attr* wanted, int mask, const QueuePairAttributes& more) {
  if (forked_away()) return EPERM;
  Qp* qp = Qp::of(verbs);
  try {
    QueuePairAttributes attributes = more;
    if (const int error = to_engine(qp->context->device().settings(), *wanted, mask, &attributes); error != 0)
      return error;
    // They say it more exactly.
    if (more.timeout) attributes.timeout = more.timeout;
    if (more.retry_linear) attributes.retry_linear = more.retry_linear;
    const bool resets = (mask & IBV_QP_STATE) != 0 && wanted->qp_state == IBV_QPS_RESET;
    std::optional<LeftCompletions> left;
    if (resets) left.emplace(*qp);
    const int error = change_qp(qp, verbs, *wanted, mask, attributes, resets ? &*left : nullptr);
    if (resets) left->take_rest();
    return error;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

int query_qp(ibv_qp* verbs, ibv_qp_attr* attributes, int, ibv_qp_init_attr* init_attributes) {
  if (forked_away()) return EPERM;
  Qp* qp = Qp::of(verbs);
  {
    Progress::Control control(qp->shard->progress());
    *attributes = qp->attributes;
    attributes->qp_state = attributes->cur_qp_state = to_verbs(qp->transport->state());
    attributes->sq_draining = qp->transport->draining() ? 1 : 0;
  }
  attributes->cap = qp->capacity;
  attributes->path_mig_state = IBV_MIG_MIGRATED;
  *init_attributes = {verbs->qp_context, verbs->send_cq, verbs->recv_cq,        verbs->srq,
                      qp->capacity,      verbs->qp_type, qp->signal_all ? 1 : 0};
  return 0;
}

// Whether a program may look at the last byte of what comes to see that all is there. Bits: 1, the whole
// message is written in order; what newer libraries ask beyond follows from it. libibverbs asks on x86 only.
int query_qp_data_in_order(ibv_qp* verbs, ibv_wr_opcode operation, uint32_t) {
  constexpr int kWholeMessage = 1;
  const Qp* qp = Qp::of(verbs);
  const bool sends = operation == IBV_WR_SEND || operation == IBV_WR_SEND_WITH_IMM;
  // A datagram is one packet, and every packet is written in order.
  if (verbs->qp_type == IBV_QPT_UD || verbs->qp_type == IBV_QPT_RAW_PACKET) return sends ? kWholeMessage : 0;
  const bool brings_data = sends || operation == IBV_WR_SEND_WITH_INV || operation == IBV_WR_RDMA_WRITE ||
                           operation == IBV_WR_RDMA_WRITE_WITH_IMM || operation == IBV_WR_RDMA_READ;
  // Packets of MRC are written where they belong as they come, by all planes at once.
  return brings_data && qp->transport->transport() == Transport::kRc ? kWholeMessage : 0;
}

int destroy_qp(ibv_qp* verbs) {
  if (forked_away()) return EPERM;
  Qp* qp = Qp::of(verbs);
  if (in_any_group(qp) || qp->flows != 0) return EBUSY;  // as the kernel does
  if (qp->domain != nullptr && !last_name(qp)) return 0;
  qp->context->remove(qp);
  let_datagrams_leave(qp);
  std::unique_ptr<QueuePair> gone;  // freed under no lock
  LeftCompletions left(*qp);
  {
    Progress::Control control(qp->shard->progress());
    // The peer may still wait for an acknowledgement that was put off to the next burst.
    qp->shard->engine().progress(clock_now());
    release_profiles(qp);
    gone = qp->shard->engine().take_out(qp->transport);
    left.begin();
    qp->context->forget_async(verbs);
  }
  left.take_rest();
  // As the kernel does: wait until the application has acknowledged the events that it has read.
  pthread_mutex_lock(&verbs->mutex);
  while (static_cast<int32_t>(verbs->events_completed - qp->async_reported.load()) < 0)
    pthread_cond_wait(&verbs->cond, &verbs->mutex);
  pthread_mutex_unlock(&verbs->mutex);
  if (qp->domain != nullptr) {
    --qp->domain->users;
  } else {
    --qp->pd->users;
    --qp->send_cq->users;
    --qp->receive_cq->users;
    if (qp->srq != nullptr) --qp->srq->users;
  }
  delete qp;
  return 0;
}

}  // namespace mrc::provider
