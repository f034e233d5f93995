// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/verbs/device_faults.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string>
#include <utility>

#include "dpdk_io/host/run_directory.h"
#include "providers/mrc/verbs/device.h"

namespace mrc::provider {

void DeviceFaults::open() {
  if (opened_.load(std::memory_order_acquire)) return;
  std::lock_guard lock(mutex_);
  if (opened_.load()) return;
  std::string run_directory;
  std::string error;
  if (!open_run_directory(&run_directory, &error)) return;
  FaultPage* page = map_fault_page(run_directory, &error, page_suffix(device_.settings()));
  if (page == nullptr) std::fprintf(stderr, "%s; mrcctl fault does not reach this process\n", error.c_str());
  page_.store(page);
  for (const FaultRule& rule : device_.settings().faults) {
    Own& own = own_.emplace_back();
    own.rule = rule;
    own.rule.id = ++last_id_;
  }
  opened_.store(true, std::memory_order_release);
}

bool DeviceFaults::collect(std::vector<FaultInjector::Counted>* rules, uint64_t* version) {
  const uint32_t own_changes = own_changes_.load();
  uint32_t page_changes = 0;
  std::vector<PlacedRule> placed;
  FaultPage* page = page_.load();
  if (page != nullptr && !read_faults(*page, &placed, &page_changes)) return false;
  for (const PlacedRule& each : placed) rules->push_back({each.rule, each.hits});
  for (Own& own : own_)
    if (own.rule.id != 0) rules->push_back({own.rule, &own.hits});
  *version = uint64_t{page_changes} << 32 | own_changes;
  return true;
}

bool DeviceFaults::make(unsigned shard, uint64_t* version, std::unique_ptr<FaultInjector>* injector) {
  std::lock_guard lock(mutex_);
  std::vector<FaultInjector::Counted> rules;
  if (!collect(&rules, version)) return false;
  std::erase_if(rules, [](const FaultInjector::Counted& each) {
    return each.rule.kind == FaultKind::kCall || each.rule.kind == FaultKind::kEvent;
  });
  if (!rules.empty())
    *injector = std::make_unique<FaultInjector>(
        rules, FaultInjector::Config{device_.settings().transport.dscp_trimmed, shard});
  return true;
}

void DeviceFaults::follow() {
  std::vector<FaultRule> raised;
  {
    std::lock_guard lock(mutex_);
    if (version() == followed_.load()) return;
    std::vector<FaultInjector::Counted> rules;
    uint64_t version = 0;
    if (!collect(&rules, &version)) return;
    std::vector<RuleState> calls;
    std::vector<RuleState> events;
    for (const FaultInjector::Counted& each : rules) {
      if (each.rule.kind != FaultKind::kCall && each.rule.kind != FaultKind::kEvent) continue;
      const bool is_call = each.rule.kind == FaultKind::kCall;
      RuleState& state = (is_call ? calls : events).emplace_back(each.rule, each.hits, 0);
      const std::vector<RuleState>& before = is_call ? calls_ : events_;
      const auto same = std::find_if(before.begin(), before.end(),
                                     [&](const RuleState& other) { return state.is_same(other); });
      if (same != before.end())
        state.go_on(*same);
      else if (!is_call && state.hits())
        raised.push_back(each.rule);
    }
    calls_ = std::move(calls);
    events_ = std::move(events);
    has_calls_.store(!calls_.empty());
    followed_.store(version);
  }
  for (const FaultRule& rule : raised) device_.raise(rule.value, rule.qpn);
}

int DeviceFaults::choose(FaultCall call) {
  std::lock_guard lock(mutex_);
  for (RuleState& state : calls_) {
    const auto wanted = static_cast<FaultCall>(state.rule().call);
    if ((wanted == FaultCall::kAny || wanted == call) && state.hits())
      return static_cast<int>(state.rule().value);
  }
  return 0;
}

int DeviceFaults::add(FaultRule* rule) {
  std::lock_guard lock(mutex_);
  if (own_.size() >= kOwnMax) return ENOSPC;
  Own& own = own_.emplace_back();
  own.rule = *rule;
  rule->id = own.rule.id = ++last_id_;
  own_changes_.fetch_add(1);
  return 0;
}

int DeviceFaults::remove(uint32_t id) {
  std::lock_guard lock(mutex_);
  for (Own& own : own_) {
    if (id == 0 || own.rule.id != id) continue;
    own.rule.id = 0;
    own_changes_.fetch_add(1);
    return 0;
  }
  return ENOENT;
}

}  // namespace mrc::provider
