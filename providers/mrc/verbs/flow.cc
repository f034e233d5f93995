// SPDX-License-Identifier: BSD-2-Clause
// Flow steering: which frames a queue pair of raw packets gets.
#include <cerrno>
#include <memory>

#include "providers/mrc/verbs/context.h"
#include "providers/mrc/verbs/flow_specs.h"
#include "providers/mrc/verbs/fork_guard.h"
#include "providers/mrc/verbs/operations.h"
#include "providers/mrc/verbs/privilege.h"
#include "providers/mrc/verbs/qp.h"
#include "providers/mrc/verbs/refuse.h"

namespace mrc::provider {
namespace {

struct VerbsFlow {
  ibv_flow verbs{};  // first: libibverbs knows only this
  uint64_t id = 0;
};

}  // namespace

// --- verbs ---

ibv_flow* create_flow(ibv_qp* verbs, ibv_flow_attr* wanted) {
  if (forked_away() || !may_use_raw_packets()) return refuse(EPERM);
  if (verbs->qp_type != IBV_QPT_RAW_PACKET) return refuse(verbs->qp_type == IBV_QPT_UD ? EOPNOTSUPP : EINVAL);
  Flow flow;
  if (const int error = to_flow(*wanted, &flow); error != 0) return refuse(error);
  auto made = std::make_unique<VerbsFlow>();
  made->verbs.context = verbs->context;
  Qp* qp = Qp::of(verbs);
  if (const int error = qp->context->device().flows().add(qp, flow, &made->id); error != 0)
    return refuse(error);
  made->verbs.handle = static_cast<uint32_t>(made->id);
  return &made.release()->verbs;
}

int destroy_flow(ibv_flow* verbs) {
  if (forked_away()) return EPERM;
  auto* flow = reinterpret_cast<VerbsFlow*>(verbs);
  Context::of(verbs->context)->device().flows().remove(flow->id);
  delete flow;
  return 0;
}

}  // namespace mrc::provider
