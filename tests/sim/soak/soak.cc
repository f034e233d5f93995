// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/soak/soak.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <map>
#include <memory>
#include <numeric>
#include <vector>

#include "libmrc/fault/fault_injector.h"
#include "libmrc/path/denied_links.h"
#include "libmrc/peer/profile_source.h"
#include "libmrc/wire/srv6.h"
#include "tests/sim/core/frame_headers.h"
#include "tests/sim/fabric/fabric.h"
#include "tests/sim/fabric/faults.h"
#include "tests/sim/soak/soak_plan.h"
#include "tests/sim/workload/checked_flow.h"
#include "tests/sim/workload/connection.h"
#include "tests/sim/workload/datagram_flow.h"
#include "tests/sim/workload/usid_paths.h"

namespace mrc::sim {

namespace {

// A healthy run of any seed takes far less.
constexpr Picoseconds kDeadline = 5 * kPerSecond;
// How long after the end of the work the rest of the traffic is watched: it must change nothing.
constexpr Picoseconds kAftermath = 20 * kPerMillisecond;
constexpr uint32_t kCompletionEntries = 1024;
constexpr int kStepsAtOnce = 64;

std::string differ(const std::string& what, uint64_t counted, uint64_t expected) {
  return what + ": " + std::to_string(counted) + " counted, " + std::to_string(expected) + " expected";
}

// The operator of one host, who denies links. There are no profiles beside.
class Operator final : public ProfileSource {
 public:
  const PathProfile* paths(uint64_t) override { return nullptr; }
  const CongestionConfig* congestion(uint64_t) override { return nullptr; }
  // Of all these only those that he allows.
  PathSource* judge(PathSource& all) {
    allowed_ = std::make_unique<AllowedPaths>(all, denied_);
    return allowed_.get();
  }
  void deny(std::vector<UsidLink> links, Host& host, Picoseconds now) {
    denied_.assign(std::move(links));
    host.engine().follow_profiles(to_nanoseconds(now));
    host.wake();
  }

 private:
  DeniedLinks denied_;
  std::unique_ptr<AllowedPaths> allowed_;
};

// The application of one host: hands completions to the flows they belong to.
class SoakApplication : public HostListener {
 public:
  explicit SoakApplication(Host& host) : host_(host) { host.set_listener(this); }

  struct Connected {
    QueuePair* qp;
    CheckedFlow* outgoing;
    CheckedFlow* incoming;
    CompletionQueue* sends;
  };
  SharedReceives& make_shared(uint32_t entries, uint32_t buffer_bytes) {
    constexpr ProtectionDomain kOwn{2000};
    if (shared_ == nullptr) shared_ = std::make_unique<SharedReceives>(host_, entries, buffer_bytes, kOwn);
    return *shared_;
  }
  CompletionQueue& new_queue() { return queues_.emplace_back(kCompletionEntries); }
  void add(const Connected& connected) { connected_.push_back(connected); }
  const std::vector<Connected>& connected() const { return connected_; }
  void add(DatagramFlow* flow) { datagrams_.push_back(flow); }
  Host& host() { return host_; }
  const std::string& failure() const { return failure_; }
  void fail(const std::string& what) {
    if (failure_.empty()) failure_ = what + " at h" + std::to_string(host_.number());
  }

  void on_completions(CompletionQueue& queue) override {
    Completion completions[16];
    for (size_t count; (count = queue.poll(completions)) > 0;)
      for (size_t i = 0; i < count; ++i) handle(completions[i]);
  }
  void on_event(QueuePair&, QueuePairEvent event) override {
    if (event == QueuePairEvent::kLastReceiveReached && shared_ != nullptr) return;
    if (event != QueuePairEvent::kConnected)
      fail("queue pair event " + std::to_string(static_cast<int>(event)));
  }
  void on_overrun(CompletionQueue&) override { fail("completion queue overrun"); }
  void on_run(uint32_t) override {
    // MRC 4.2: never fewer paths in use than ev_min_active.
    for (const Connected& connected : connected_) {
      if (!connected.qp->connected() || connected.qp->transport() == Transport::kRc) continue;
      const PathSet& paths = connected.qp->paths();
      // Ports that are down take their paths and their share of the floor along (MRC 4.6).
      const bool all_up = std::popcount(paths.port_planes()) == static_cast<int>(host_.port_count());
      size_t floor = std::min<size_t>(all_up ? floor_ : paths.floor(), paths.size());
      if (denies_) floor -= std::min(floor, look_at_denied(connected));
      if (paths.active() < floor)
        fail("only " + std::to_string(paths.active()) + " paths in use, the floor is " +
             std::to_string(floor));
    }
  }
  void set_floor(uint32_t floor) { floor_ = floor; }
  // From now on it denies some paths, which may be more than the floor leaves.
  void watch_denied() { denies_ = true; }

 private:
  // MRC 4.2: what is denied carries nothing. How many paths are.
  size_t look_at_denied(const Connected& connected) {
    const PathSet& paths = connected.qp->paths();
    std::vector<uint32_t>& sent = sent_when_denied_[connected.qp];
    sent.resize(paths.size(), kAllowed);
    size_t count = 0;
    for (size_t i = 0; i < paths.size(); ++i) {
      const Path& path = paths.at(PathId(static_cast<uint16_t>(i)));
      if (path.state != PathState::kDenied) {
        sent[i] = kAllowed;
        continue;
      }
      ++count;
      if (sent[i] == kAllowed) sent[i] = path.sent;
      if (sent[i] != path.sent) fail("data went by a path that is denied");
    }
    return count;
  }

  void handle(const Completion& completion) {
    for (const Connected& connected : connected_) {
      if (connected.qp->qpn() != completion.qpn) continue;
      if (completion.kind == CompletionKind::kReceive ||
          completion.kind == CompletionKind::kReceiveRdmaImmediate) {
        // A program that has seen a reply looks whether its own request is complete.
        on_completions(*connected.sends);
        if (!connected.incoming->on_received(completion)) fail(connected.incoming->failure());
        connected.incoming->post_receives();
      } else {
        if (!connected.outgoing->on_sent(completion)) fail(connected.outgoing->failure());
        connected.outgoing->post_sends();
      }
      return;
    }
    for (DatagramFlow* flow : datagrams_)
      if (handle(completion, *flow)) return;
    fail("completion of an unknown queue pair");
  }

  bool handle(const Completion& completion, DatagramFlow& flow) {
    // Both hosts number their queue pairs alike.
    const bool receives = completion.kind == CompletionKind::kReceive;
    const QueuePair* qp = receives ? flow.receiver() : flow.sender();
    if (qp->qpn() != completion.qpn || host_.engine().find(completion.qpn) != qp) return false;
    if (!(receives ? flow.on_received(completion) : flow.on_sent(completion))) fail(flow.failure());
    receives ? flow.post_receives() : flow.post_sends();
    return true;
  }

  Host& host_;
  std::deque<CompletionQueue> queues_;
  std::vector<Connected> connected_;
  std::vector<DatagramFlow*> datagrams_;
  std::unique_ptr<SharedReceives> shared_;
  static constexpr uint32_t kAllowed = UINT32_MAX;
  bool denies_ = false;
  std::map<const QueuePair*, std::vector<uint32_t>> sent_when_denied_;  // by path
  uint32_t floor_ = 1;
  std::string failure_;
};

class Soak : private AlarmListener {
 public:
  Soak(uint64_t seed, const SoakOptions& options)
      : plan_(draw_soak_plan(seed, options.operations,
                             options.controllers != 0 ? options.controllers : kControllersDrawn)),
        fabric_(plan_.topology, mix(seed)),
        faults_(fabric_) {
    result_.setting = plan_.describe();
    draw_faults(plan_, fabric_, &faults_);
    if (options.trace != nullptr) {
      fabric_.print_trace_to(options.trace);
      for (uint32_t i = 0; i < faults_.faults().size(); ++i)
        std::fprintf(options.trace, "fault: %s\n", faults_.describe(i).c_str());
    }
  }
  SoakResult run();

 private:
  void build();
  std::unique_ptr<FaultInjector> disorder(uint32_t host) const;
  void join(const PlannedConnection& planned, uint32_t number);
  void open_datagrams(const DatagramConfig& planned, uint32_t number);
  enum Alarm : uint32_t { kLookForProgress, kDeny, kAllow };
  void on_alarm(uint32_t what) override;
  void look_for_progress();
  UsidLink draw_link() const;
  bool done() const;
  void run_work();
  void check_counters();
  void check_books(uint32_t host);
  void check_sums();
  void check_frames();
  void collect();
  void fail(const std::string& what) {
    if (result_.failure.empty()) result_.failure = what;
  }

  SoakPlan plan_;
  Fabric fabric_;
  FaultPlan faults_;
  std::vector<std::unique_ptr<PathSource>> path_sources_;  // by host
  Operator operator_;
  std::vector<std::unique_ptr<SoakApplication>> applications_;  // by host
  std::vector<std::unique_ptr<CheckedFlow>> flows_;
  std::vector<std::unique_ptr<DatagramFlow>> datagrams_;
  std::vector<uint64_t> progress_;  // by flow, when last looked at
  SoakResult result_;
};

// Every host from a seed of its own.
std::unique_ptr<FaultInjector> Soak::disorder(uint32_t host) const {
  FaultRule rule;
  rule.id = 1;
  rule.kind = mrc::FaultKind::kDisorder;
  rule.seed = mix(plan_.seed + 0xD150 + host);
  rule.delay_ns = plan_.disorder_hold;
  const FaultInjector::Counted rules[] = {{rule, nullptr}};
  return std::make_unique<FaultInjector>(rules, FaultInjector::Config{Dscp::kTrimmed, host});
}

void Soak::build() {
  Random random(mix(plan_.seed + 0xB111D));
  const TransportConfig& transport = plan_.host.engine.transport;
  const uint32_t paths = plan_.topology.planes * transport.paths_per_plane;
  const uint32_t floor =
      transport.paths_min_active != 0 ? std::min(transport.paths_min_active, paths) : std::max(1u, paths / 4);
  for (uint32_t number = 0; number < fabric_.host_count(); ++number) {
    HostConfig config = plan_.host;
    config.engine.seed = random.next();
    config.engine.transport.interop = plan_.interop[number % 2];
    if (plan_.srv6) {
      path_sources_.push_back(std::make_unique<UsidPathSource>(
          fabric_, number, transport.paths_per_plane + transport.backups_for(transport.paths_per_plane)));
      config.engine.path_source = path_sources_.back().get();
    }
    if (number == plan_.denier) {
      config.engine.path_source = operator_.judge(*config.engine.path_source);
      config.engine.profiles = &operator_;
    }
    applications_.push_back(std::make_unique<SoakApplication>(fabric_.add_host(number, config)));
    applications_.back()->set_floor(floor);
    if (plan_.disorder_hold != 0) applications_.back()->host().engine().set_faults(disorder(number), 0);
    applications_.back()->host().watch(true);
  }
  for (uint32_t i = 0; i < plan_.connections.size(); ++i) join(plan_.connections[i], i);
  for (uint32_t i = 0; i < plan_.datagrams.size(); ++i) open_datagrams(plan_.datagrams[i], i);
  progress_.assign(flows_.size(), 0);
}

void Soak::join(const PlannedConnection& planned, uint32_t number) {
  ConnectionConfig config;
  config.domain = ProtectionDomain{number + 1};
  config.mtu = plan_.mtu;
  config.timeout = plan_.timeout;
  config.retry_linear = plan_.retry_linear;
  config.retry_exponential = plan_.retry_exponential;
  config.rnr_timer = plan_.rnr_timer;
  config.reads_max = plan_.reads_max;
  const bool cut_off = planned.host[0] == plan_.cut_off || planned.host[1] == plan_.cut_off;
  if (plan_.mpr != 0) config.mpr = plan_.mpr;
  if (planned.plain_rc) {
    config.transport = Transport::kRc;
    // One path: while it is down nothing helps but patience.
    if (!cut_off) config.retry_exponential = RetryPolicy::kForEver;
  }
  SoakApplication* ends[2];
  CheckedFlow* flows[2];
  for (int side = 0; side < 2; ++side) {
    ends[side] = applications_[planned.host[side]].get();
    config.end[side].send_completions = &ends[side]->new_queue();
    config.end[side].receive_completions = &ends[side]->new_queue();
    config.end[side].send_entries = planned.send_entries[side];
    config.end[side].receive_entries = planned.receive_entries[side];
    if (plan_.shared_entries != 0)
      config.end[side].shared_receives =
          &ends[side]->make_shared(plan_.shared_entries, kSharedPacketsMax * plan_.mtu).queue();
    config.end[side].segments_max = planned.flow[side].segments_max;
    config.end[side].inline_bytes_max = planned.flow[side].inline_bytes_max;
    config.end[side].first_psn = planned.first_psn[side];
    flows_.push_back(std::make_unique<CheckedFlow>(
        planned.flow[side], mix(plan_.seed) + number * 2 + static_cast<uint64_t>(side)));
    flows[side] = flows_.back().get();
  }
  const QueuePairs pairs = connect(ends[0]->host(), ends[1]->host(), config);
  for (int side = 0; side < 2; ++side) {
    flows[side]->open(ends[side]->host(), ends[1 - side]->host(), *pairs.end[side], *pairs.end[1 - side],
                      config.domain);
    ends[side]->add({pairs.end[side], flows[side], flows[1 - side], config.end[side].send_completions});
    if (plan_.shared_entries != 0)
      flows[side]->share(&ends[1 - side]->make_shared(plan_.shared_entries, kSharedPacketsMax * plan_.mtu));
    // Plain RC and MRC 1.0 have no room for the proof, and late completions come when they come.
    if (!planned.plain_rc && !plan_.host.engine.transport.strict && plan_.disorder_hold == 0)
      flows[side]->expect_replies_in_order(flows[1 - side]);
    if (plan_.disorder_hold != 0) flows[side]->expect_late_receives();
    if (cut_off) flows[side]->allow_failure();
  }
  for (CheckedFlow* flow : flows) flow->post_receives();
  for (CheckedFlow* flow : flows) flow->post_sends();
}

void Soak::open_datagrams(const DatagramConfig& planned, uint32_t number) {
  datagrams_.push_back(std::make_unique<DatagramFlow>(planned, mix(plan_.seed + 0xDA7A + number)));
  DatagramFlow& flow = *datagrams_.back();
  SoakApplication& from = *applications_[planned.host[0]];
  SoakApplication& to = *applications_[planned.host[1]];
  flow.open(from.host(), to.host(), from.new_queue(), to.new_queue(), ProtectionDomain{1000 + number});
  from.add(&flow);
  to.add(&flow);
  flow.post_receives();
  flow.post_sends();
}

bool Soak::done() const {
  return std::all_of(flows_.begin(), flows_.end(), [](const auto& flow) { return flow->done(); }) &&
         std::all_of(datagrams_.begin(), datagrams_.end(), [](const auto& flow) { return flow->done(); });
}

// One of those on the way between the ends of the first connection, or all of one switch.
UsidLink Soak::draw_link() const {
  Random random(mix(plan_.seed + 0x114C));
  const auto& host = plan_.connections[0].host;
  const size_t from = random.below(2);
  const auto plane = static_cast<Plane>(random.below(plan_.topology.planes));
  const auto choice = static_cast<uint32_t>(random.below(plan_.host.engine.transport.paths_per_plane));
  const IpAddress way = fabric_.usid_path(host[from], host[1 - from], plane, choice);
  size_t hops = 0;
  while (hops < kUsidsMax && usid_at(way, hops) != 0) ++hops;
  const size_t at = random.below(hops - 1);
  const bool whole_switch = random.chance(0.2);
  return {usid_at(way, at), whole_switch ? uint16_t{0} : usid_at(way, at + 1)};
}

void Soak::on_alarm(uint32_t what) {
  if (what == kLookForProgress) return look_for_progress();
  std::vector<UsidLink> links;
  if (what == kDeny) links.push_back(draw_link());
  applications_[plan_.denier]->watch_denied();
  operator_.deny(std::move(links), fabric_.host(plan_.denier), fabric_.now());
}

void Soak::look_for_progress() {
  for (size_t i = 0; i < flows_.size(); ++i) {
    const CheckedFlow& flow = *flows_[i];
    // A connection that is cut off has the schedule of its retries instead.
    const bool late = !flow.may_fail() || fabric_.now() > plan_.cut_off_at + kGiveUpMax;
    if (!flow.done() && flow.position() == progress_[i] && late)
      fail((flow.may_fail()
                ? "cut off for " + std::to_string(kGiveUpMax / kPerMillisecond) + " ms without an error"
                : "no progress within " + std::to_string(kRecoveryMax / kPerMillisecond) +
                      " ms although the faults have healed") +
           " at message " + std::to_string(flow.completed()) + " of " + std::to_string(flow.message_count()) +
           " (" + flow.where() + ")");
    progress_[i] = flow.position();
  }
  if (!done()) fabric_.set_alarm(fabric_.now() + kRecoveryMax, *this, kLookForProgress);
}

void Soak::run_work() {
  AlarmListener& looker = *this;
  const Picoseconds healed = std::max(faults_.healed_at(), plan_.cut_off != kNoHost ? plan_.cut_off_at : 0);
  for (size_t i = 0; i < flows_.size(); ++i) progress_[i] = UINT64_MAX;
  fabric_.set_alarm(healed, looker, kLookForProgress);
  if (plan_.denier != kNoHost) {
    fabric_.set_alarm(plan_.denied_at, looker, kDeny);
    if (plan_.allowed_at != kForever) fabric_.set_alarm(plan_.allowed_at, looker, kAllow);
  }
  while (result_.failure.empty() && !done()) {
    for (int i = 0; i < kStepsAtOnce && result_.failure.empty(); ++i) {
      if (fabric_.step(kDeadline)) continue;
      if (!done()) fail("the workload did not finish");
      return;
    }
    for (const auto& application : applications_)
      if (!application->failure().empty()) return fail(application->failure());
  }
}

SoakResult Soak::run() {
  build();
  run_work();
  result_.virtual_time = fabric_.now();
  if (result_.failure.empty()) fabric_.run_until(fabric_.now() + kAftermath);
  for (const auto& application : applications_)
    if (!application->failure().empty()) fail(application->failure());
  for (const auto& flow : flows_)
    if (result_.failure.empty() && !flow->check_memory()) fail(flow->failure());
  const bool duplicated = fabric_.core().trace.count(Fate::kDuplicated) > 0;
  for (const auto& flow : datagrams_)
    if (result_.failure.empty() && !flow->check(duplicated)) fail(flow->failure());
  collect();
  if (result_.failure.empty()) check_counters();
  applications_.clear();
  fabric_.remove_hosts();
  if (result_.failure.empty()) check_frames();
  result_.trace = fabric_.core().trace.hash();
  result_.ok = result_.failure.empty();
  return result_;
}

void Soak::collect() {
  const Trace& trace = fabric_.core().trace;
  result_.frames = trace.count(Fate::kSent);
  result_.frames_gone = trace.gone();
  result_.events = fabric_.events_run();
  OperationSet operations = 0;
  for (const auto& flow : flows_) {
    result_.messages += flow->completed();
    operations |= flow->operations_completed();
    if (flow->ended_in_error()) ++result_.errors;
  }
  uint64_t told_bad = 0;
  for (uint32_t i = 0; i < fabric_.host_count(); ++i) {
    const Counters& counters = fabric_.host(i).engine().counters();
    result_.retransmits += counters.retransmits();
    told_bad += counters.paths.told_bad;
  }
  if (told_bad > 0 && plan_.denier == kNoHost) fail("a path was left because of what nobody denies");
  result_.coverage.note(plan_, faults_, result_.virtual_time, operations, told_bad > 0);
}

// What the engines counted against what the workload and the fabric know.
void Soak::check_counters() {
  uint64_t placed = 0;
  uint64_t sent_bytes = 0;
  uint64_t sent_packets = 0;
  uint64_t completed = 0;
  uint64_t reads_served = 0;
  uint64_t atomics_served = 0;
  uint64_t flushes_served = 0;
  for (uint32_t number = 0; number < fabric_.host_count(); ++number) {
    Host& host = fabric_.host(number);
    const Counters& counters = host.engine().counters();
    uint64_t frames_sent = 0;
    uint64_t frames_received = 0;
    for (size_t plane = 0; plane < host.port_count(); ++plane) {
      frames_sent += host.port(static_cast<Plane>(plane)).frames_sent();
      frames_received += host.port(static_cast<Plane>(plane)).frames_received();
    }
    if (frames_sent != counters.frames_sent || frames_received != counters.frames_received)
      fail("the engine of h" + std::to_string(number) + " counts other frames than its ports");
    check_books(number);
    placed += counters.payload_bytes_placed;
    sent_bytes += counters.payload_bytes_sent;
    sent_packets += counters.data_packets_sent;
    completed += counters.messages_completed;
    reads_served += counters.reads_served;
    atomics_served += counters.atomics_served;
    flushes_served += counters.flushes_served;
    uint64_t unreadable = counters.drops_bad_icrc;
    for (const uint64_t count : counters.drops_undecodable) unreadable += count;
    const Trace& trace = fabric_.core().trace;
    if (unreadable > 0 && trace.count(Fate::kCorrupted) + trace.count(Fate::kTrimmed) == 0)
      fail("frames were dropped as unreadable though none was changed");
  }
  uint64_t bytes = 0;
  uint64_t packets = 0;
  uint64_t messages = 0;
  uint64_t reads = 0;
  uint64_t atomics = 0;
  uint64_t flushes = 0;
  for (const auto& flow : flows_) {
    bytes += flow->payload_bytes();
    packets += flow->packets();
    messages += flow->completed();
    reads += flow->reads();
    atomics += flow->atomics();
    flushes += flow->flushes();
  }
  for (const auto& flow : datagrams_) {
    sent_bytes -= flow->bytes_sent();
    sent_packets -= flow->sent();
    placed -= flow->bytes_received();
    messages += flow->sent();
  }
  check_sums();
  if (plan_.cut_off != kNoHost) return;  // nobody knows how much of the last messages got through
  if (placed != bytes) fail(differ("bytes were placed more than once, or not counted", placed, bytes));
  if (completed != messages) fail(differ("completed messages do not add up", completed, messages));
  // Plain RC answers a READ again when the answer was lost, and counts that as a first transmission or not at
  // all.
  if (plan_.has_plain_rc() && reads + atomics + flushes > 0) return;
  if (sent_bytes != bytes) fail(differ("bytes first sent do not add up", sent_bytes, bytes));
  if (sent_packets != packets) fail(differ("first transmissions do not add up", sent_packets, packets));
  if (reads_served != reads) fail(differ("READs were not served exactly once", reads_served, reads));
  if (atomics_served != atomics)
    fail(differ("atomics were not served exactly once", atomics_served, atomics));
  if (flushes_served != flushes)
    fail(differ("FLUSHes were not served exactly once", flushes_served, flushes));
}

// Every frame an engine sent or received is counted once by what it was, or by why it was dropped; and what
// is counted by cause or reason adds up.
void Soak::check_books(uint32_t number) {
  Host& host = fabric_.host(number);
  const Counters& c = host.engine().counters();
  const std::string where = " of h" + std::to_string(number);
  if (c.nacks_sent != std::accumulate(c.nacks_sent_by.begin(), c.nacks_sent_by.end(), uint64_t{0}) ||
      c.nacks_received !=
          std::accumulate(c.nacks_received_by.begin(), c.nacks_received_by.end(), uint64_t{0}))
    fail("NACKs" + where + " do not add up by reason");
  if (c.nacks_stale + c.retransmits_nack > c.nacks_received) fail("NACKs" + where + " do not add up");
  const PathCounters& p = c.paths;
  if (p.restored_probe + p.restored_floor + p.restored_port + p.denied_bad > p.assumed_bad)
    fail("paths" + where + " came back more often than they went");
  if (p.forgiven > p.skipped + p.restored_probe) fail("paths" + where + " were forgiven without a mark");
  for (const SoakApplication::Connected& connected : applications_[number]->connected())
    if (connected.qp->transport() == Transport::kRc) return;  // counts its packets in its own way
  if (c.retransmissions_sent > c.retransmits()) fail("retransmissions" + where + " without a cause");
  const uint64_t sent = c.data_packets_sent + c.retransmissions_sent + c.copies_sent + c.sacks_sent +
                        c.acks_sent + c.naks_sent + c.not_ready_sent + c.nacks_sent + c.probes_sent +
                        c.endpoint_answers_sent + c.capability_requests_sent + c.port_updates_sent +
                        c.ev_probes_sent;
  if (sent != c.frames_sent)
    fail("frames sent" + where + " do not add up: " + std::to_string(c.frames_sent) + " frames, " +
         std::to_string(sent) + " by kind");
  const uint64_t dropped =
      std::accumulate(c.drops_undecodable.begin(), c.drops_undecodable.end(), c.drops_bad_icrc) +
      c.drops_bad_partition_key + c.drops_unknown_qp + c.drops_wrong_peer + c.drops_wrong_state +
      c.drops_unsupported + c.drops_bad_control + c.drops_bad_queue_key + c.drops_no_receive +
      c.drops_too_long + c.drops_no_group + c.drops_bad_multicast;
  const uint64_t requests = c.requests_received + c.requests_refused + c.requests_in_vain + c.duplicates +
                            c.out_of_window + c.trimmed_received + c.datagrams_received;
  const uint64_t control = c.sacks_received + c.acks_received + c.naks_received + c.nacks_received +
                           c.probes_received + c.endpoint_requests_received + c.endpoint_answers_received;
  if (dropped + requests + control != c.frames_received)
    fail("frames received" + where + " do not add up: " + std::to_string(c.frames_received) + " frames, " +
         std::to_string(dropped + requests + control) + " by kind");
}

// Nobody hears what nobody said.
void Soak::check_sums() {
  if (fabric_.core().trace.count(Fate::kDuplicated) > 0) return;
  Counters sum;
  for (uint32_t number = 0; number < fabric_.host_count(); ++number) {
    const Counters& c = fabric_.host(number).engine().counters();
    for (const auto field : {&Counters::sacks_sent, &Counters::sacks_received, &Counters::nacks_sent,
                             &Counters::nacks_received, &Counters::acks_sent, &Counters::acks_received,
                             &Counters::naks_sent, &Counters::naks_received, &Counters::not_ready_sent,
                             &Counters::probes_sent, &Counters::probes_received, &Counters::probes_answered})
      sum.*field += c.*field;
  }
  if (sum.sacks_received > sum.sacks_sent || sum.nacks_received > sum.nacks_sent ||
      sum.acks_received + sum.naks_received > sum.acks_sent + sum.naks_sent + sum.not_ready_sent ||
      sum.probes_received > sum.probes_sent || sum.probes_answered > sum.probes_received)
    fail("more answers were heard than given");
}

// Every frame that entered the network has left it or is still in it, and every buffer is accounted for.
void Soak::check_frames() {
  const Trace& trace = fabric_.core().trace;
  uint64_t inside = 0;
  for (uint32_t id = 0; id < fabric_.channel_count(); ++id) {
    const Channel& channel = fabric_.channel(id);
    const ChannelCounters& counters = channel.counters();
    inside += channel.frames_inside();
    if (counters.offered + counters.duplicated !=
        counters.delivered + counters.dropped + channel.frames_inside())
      fail("frames on " + fabric_.channel_name(id) + " do not add up");
  }
  if (trace.count(Fate::kSent) + trace.count(Fate::kDuplicated) !=
      trace.count(Fate::kDelivered) + trace.gone() + inside)
    fail("sent frames are not delivered, lost or under way");
  if (fabric_.core().frames.outstanding() != inside) fail("frame buffers leaked");
}

}  // namespace

SoakResult run_soak_seed(uint64_t seed, const SoakOptions& options) {
  return Soak(seed, options).run();
}

}  // namespace mrc::sim
