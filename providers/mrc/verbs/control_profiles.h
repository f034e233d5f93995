// SPDX-License-Identifier: BSD-2-Clause
// The controller's word inside an engine: the profiles that are online, as its queue pairs take them, and who
// uses which. Read again when the page of the run directory has changed.
#pragma once

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

// All but the constructor under the shard's lock.
class ControlProfiles final : public ProfileSource {
 public:
  // `slot`: of the shard, whose last owner's word does not count any more. `paths`: the device's own, may be
  // null.
  ControlProfiles(ControlPage& page, uint32_t slot, uint32_t mtu, const TransportConfig& transport,
                  PathSource* paths);

  // The device's own paths as the controller allows them; null where there are none.
  PathSource* allowed_paths() { return allowed_paths_ ? &*allowed_paths_ : nullptr; }

  bool changed() const { return page_.generation() != seen_; }
  // Reads them again and tells the engine. May throw bad_alloc; then it has changed still.
  void apply(Engine& engine, Nanoseconds now);

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

  ControlPage& page_;
  const uint32_t slot_;
  PathSource* const own_paths_;
  DeniedLinks denied_;
  std::optional<AllowedPaths> allowed_paths_;
  CongestionConfig base_;
  std::unique_ptr<ControlState> state_;
  std::optional<uint64_t> seen_;
  std::map<uint64_t, Paths> paths_;
  std::map<uint64_t, Congestion> congestion_;
  std::map<std::pair<ControlPage::Kind, uint32_t>, uint32_t> users_;
};

}  // namespace mrc::provider
