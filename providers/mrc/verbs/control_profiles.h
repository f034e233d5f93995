// SPDX-License-Identifier: BSD-2-Clause
// The controller's word inside an engine: the profiles that are online, as its queue pairs take them, and who
// uses which. Read again when the page of the run directory has changed.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "dpdk_io/host/control_page.h"
#include "libmrc/engine/engine.h"
#include "libmrc/path/denied_links.h"
#include "libmrc/path/ev_profile.h"
#include "libmrc/peer/profile_source.h"

namespace mrc::provider {

// All but the constructor and read() under the shard's lock.
class ControlProfiles final : public ProfileSource {
 public:
  // `slot`: of the shard, whose last owner's word does not count any more. `paths`: the device's own, may be
  // null.
  ControlProfiles(ControlPage& page, uint32_t slot, uint32_t mtu, const TransportConfig& transport,
                  PathSource* paths);

  // The device's own paths as the controller allows them; null where there are none.
  PathSource* allowed_paths() { return allowed_paths_ ? &*allowed_paths_ : nullptr; }

  // What the controller has told, as queue pairs take it.
  class Word;
  // Whether take() has not seen the newest; any thread, under no lock.
  bool changed() const { return page_.generation() != seen_.load(std::memory_order_relaxed); }
  // Reads it again, which takes a while. Under no lock; may throw bad_alloc.
  Word read() const;
  // That counts from now on, unless a newer one does, and the engine tells its queue pairs. What counted
  // until now is in `word` afterwards, to be freed under no lock.
  void take(Word* word, Engine& engine, Nanoseconds now);

  const PathProfile* paths(uint64_t id) override;
  const CongestionConfig* congestion(uint64_t id) override;

  // A queue pair begins to use a profile. Nothing: there is none that is online. Number 0 need not be there.
  std::optional<uint32_t> use(ControlPage::Kind kind, uint64_t id);
  void release(ControlPage::Kind kind, uint32_t place);

  // A path of a queue pair changed its state.
  void tell(const QueuePair& qp, const PathEvent& event);

 private:
  struct Paths {
    uint32_t place = 0;
    uint8_t event_mask = 0;  // what the controller asks for; queue pairs tell us everything
    PathProfile profile;
    std::vector<EvValue> values;
  };
  struct Congestion {
    uint32_t place = 0;
    CongestionConfig config;
  };

  static constexpr uint64_t kNothingSeen = UINT64_MAX;

  ControlPage& page_;
  const uint32_t slot_;
  PathSource* const own_paths_;
  DeniedLinks denied_;
  std::optional<AllowedPaths> allowed_paths_;
  CongestionConfig base_;
  std::atomic<uint64_t> seen_{kNothingSeen};
  std::map<uint64_t, Paths> paths_;
  std::map<uint64_t, Congestion> congestion_;
  std::map<std::pair<ControlPage::Kind, uint32_t>, uint32_t> users_;
};

class ControlProfiles::Word {
 private:
  friend class ControlProfiles;
  uint64_t generation = 0;
  DeniedLinks denied;
  std::map<uint64_t, Paths> paths;
  std::map<uint64_t, Congestion> congestion;
  PlaneMask ports_disabled = 0;
};

}  // namespace mrc::provider
