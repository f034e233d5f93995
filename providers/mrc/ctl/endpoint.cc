// SPDX-License-Identifier: BSD-2-Clause
// mrc_ctl.h: endpoint operations, many at a time.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <vector>

#include "dpdk_io/host/cancellation.h"
#include "libmrc/path/fabric_shape.h"
#include "libmrc/wire/srv6.h"
#include "providers/mrc/ctl/change.h"
#include "providers/mrc/presence/gid_table.h"
#include "providers/mrc/verbs/clock.h"
#include "providers/mrc/verbs/context.h"

namespace mrc::provider {
namespace {

constexpr int kRequestsMax = 1024;  // the engine remembers 4096 at a time
constexpr uint8_t kDscpShift = 2;

// What asks where.
struct Asking {
  uint32_t planes;
  FabricShape fabric;  // SRv6
  const GidTable& own;
};

// SRv6: which spine, or core, the request passes. The answer comes back by the same one, for its EV says so.
uint32_t uplink_of(const mrc_ctl_ep_req& request, const FabricShape& fabric) {
  if (request.ev_fmt_mode != MRC_CTL_EV_FMT_MODE_SRV6) return 0;
  IpAddress route;
  std::memcpy(route.bytes.data(), request.req_ev.val, route.bytes.size());
  const auto plane = static_cast<Plane>(request.req_ev.port - 1);
  const auto number = [&](size_t at, UsidKind kind) -> std::optional<uint32_t> {
    const uint16_t usid = usid_at(route, at);
    if (usid == 0 || fabric.usids.kind_of(usid) != kind) return std::nullopt;
    return uint32_t{usid} - fabric.usids.usid(kind, plane, 0);
  };
  if (const auto core = number(2, UsidKind::kCore)) return *core;
  return number(1, UsidKind::kSpine).value_or(0) % fabric.spines;
}

// Who may not use the port of an EV, and so on, is told before anything is sent.
std::optional<EvEntry> way_of(const mrc_ctl_ep_req& request, const Asking& asking) {
  const auto mode = request.ev_fmt_mode;
  if (mode != MRC_CTL_EV_FMT_MODE_STEV && mode != MRC_CTL_EV_FMT_MODE_SRV6 && mode != MRC_CTL_EV_FMT_MODE_UDP)
    return std::nullopt;
  EvValue value;
  std::memcpy(value.bytes.data(), request.req_ev.val, sizeof request.req_ev.val);
  value.port = request.req_ev.port;
  if (value.port < 1 || value.port > asking.planes) return std::nullopt;
  return to_entry(static_cast<EvFormatMode>(mode), value, uplink_of(request, asking.fabric));
}

IpAddress address_of(const ibv_gid& gid) {
  IpAddress address;
  std::memcpy(address.bytes.data(), gid.raw, sizeof gid.raw);
  return address;
}

class Batch final : private Shard::Prober {
 public:
  // `number`: of no other batch, so that an answer that comes too late for its own is none for this.
  Batch(Shard& shard, uint32_t number, mrc_ctl_ep_rsp* answers)
      : shard_(shard), first_cookie_(uint64_t{number} << 32), answers_(answers) {}

  // 0 or an errno.
  int add(const mrc_ctl_ep_req& request, mrc_ctl_ep_op_type type, uint8_t dscp, const Asking& asking) {
    const std::optional<EvEntry> way = way_of(request, asking);
    const GidTable& own = asking.own;
    const IpAddress source = address_of(request.sgid);
    const auto is = [](const IpAddress& address) {
      return [&address](const GidEntry& entry) { return entry.gid == address; };
    };
    if (!way || std::none_of(own.entries.begin(), own.entries.end(), is(source))) return EINVAL;
    EvProbe probe;
    probe.source = source;
    probe.destination = address_of(request.dgid);
    if (probe.source.is_v4() != probe.destination.is_v4()) return EINVAL;
    probe.path = *way;
    probe.cookie = first_cookie_ + questions_.size();
    if (dscp != 0) probe.dscp = dscp;
    if (type == MRC_CTL_EP_OP_PORT_STATUS_UPDATE)
      probe.port_status = request.op.port_status_update.port_status >> 1;  // planes count from 0
    // On links of this host every process is a port of its own, and this one can answer.
    if (std::any_of(own.entries.begin(), own.entries.end(), is(probe.destination)))
      probe.destination_qpn = shard_.ports().first_qpn();
    questions_.push_back({probe, request.req_id, false, false});
    return 0;
  }

  // 0 or an errno; how many were answered.
  int run(Nanoseconds patience, int* answered) {
    const Nanoseconds until = clock_now() + patience;
    while (answered_ < questions_.size()) {
      const size_t before = sent_ + answered_;
      send_what_can_go();
      const Nanoseconds now = shard_.progress().drive();
      if (clock_now() >= until) break;
      // Others may want this CPU, but not after every burst.
      if (sent_ + answered_ != before)
        Progress::found_something();
      else
        shard_.progress().found_nothing(now);
    }
    Progress::Control control(shard_.progress());
    shard_.set_prober(nullptr);
    *answered = static_cast<int>(answered_);
    if (answered_ > 0) return 0;
    const bool any =
        std::any_of(questions_.begin(), questions_.end(), [](const Question& q) { return q.sent; });
    return any ? ETIMEDOUT : EAGAIN;  // no link, no next hop or no room so far
  }

 private:
  struct Question {
    EvProbe probe;
    uint16_t id;
    bool sent;
    bool answered;
  };

  void send_what_can_go() {
    if (sent_ == questions_.size()) return;
    Progress::Control control(shard_.progress());
    shard_.set_prober(this);
    for (Question& question : questions_) {
      if (question.sent || !shard_.engine().send_ev_probe(question.probe, clock_now())) continue;
      question.sent = true;
      ++sent_;
    }
  }
  void answered(uint64_t cookie, Nanoseconds rtt, Plane plane) override {
    const uint64_t index = cookie - first_cookie_;
    if (cookie < first_cookie_ || index >= questions_.size() || questions_[index].answered) return;
    questions_[index].answered = true;
    answers_[answered_++] = {questions_[index].id, static_cast<uint8_t>(plane + 1),
                             static_cast<unsigned>(std::min<Nanoseconds>(rtt, UINT32_MAX)), 0};
  }

  Shard& shard_;
  const uint64_t first_cookie_;
  mrc_ctl_ep_rsp* const answers_;
  std::vector<Question> questions_;
  size_t sent_ = 0;
  size_t answered_ = 0;
};

int run_batch(mrc_context* context, uint8_t traffic_class, mrc_ctl_ep_op_type type, mrc_ctl_ep_req* requests,
              int count, uint32_t patience_ns, mrc_ctl_ep_rsp* answers, int* answered) {
  if (requests == nullptr || answers == nullptr || answered == nullptr || count < 1 || *answered < count)
    return EINVAL;
  if (type != MRC_CTL_EP_OP_EV_PROBE && type != MRC_CTL_EP_OP_PORT_STATUS_UPDATE) return ENOTSUP;
  if (count > kRequestsMax) return ENOMEM;
  if (page_of(verbs_of(context)) == nullptr) return errno;
  *answered = 0;
  Device& device = Context::of(context->verbs)->device();
  if (device.start() != 0) return EIO;
  static std::mutex one_at_a_time;
  std::lock_guard lock(one_at_a_time);
  const GidTable own = read_gid_table(device.settings());
  const auto& srv6 = device.settings().network.srv6;
  const Asking asking{static_cast<uint32_t>(device.first().ports().ports().size()),
                      srv6 ? srv6->shape : FabricShape{}, own};
  static uint32_t batches = 0;
  Batch batch(device.first(), ++batches, answers);
  for (int i = 0; i < count; ++i)
    if (const int error = batch.add(requests[i], type, traffic_class >> kDscpShift, asking); error != 0)
      return error;
  return batch.run(patience_ns, answered);
}

}  // namespace
}  // namespace mrc::provider

MRC_EXPORTED_API int mrc_ctl_ep_batch_send_wait(mrc_context* mrc_ctx, uint8_t req_tc,
                                                mrc_ctl_ep_op_type op_type, mrc_ctl_ep_req* reqs, int num_req,
                                                uint32_t rsp_timeout_ns, mrc_ctl_ep_rsp* rsps, int* num_rsp) {
  const mrc::WithoutCancellation whole;
  try {
    return mrc::api::done(
        mrc::provider::run_batch(mrc_ctx, req_tc, op_type, reqs, num_req, rsp_timeout_ns, rsps, num_rsp));
  } catch (const std::bad_alloc&) {
    return mrc::api::done(ENOMEM);
  }
}
