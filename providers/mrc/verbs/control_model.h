// SPDX-License-Identifier: BSD-2-Clause
// The controller's profiles as objects, made of the page of the run directory and written back to it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "dpdk_io/host/control_page.h"
#include "include/mrc/mrc_ctl.h"
#include "libmrc/path/denied_links.h"
#include "libmrc/path/ev_profile.h"

namespace mrc::provider {

using VendorConfig = std::array<uint8_t, kControlVendorBytes>;

struct FormatProfile {
  EvFormatProfile profile;
  VendorConfig vendor{};
};

struct PathsProfile {
  uint32_t place = 0;  // in the page, as long as it exists
  uint64_t format = 0;
  EvProfile profile;
  VendorConfig vendor{};
};

struct CongestionProfile {
  uint32_t place = 0;
  ProfileState state = ProfileState::kInit;
  bool has_algorithm = false;
  bool nscc = false;  // else no congestion control
  std::optional<mrc_ctl_cc_nscc_cfg> config;
  VendorConfig vendor{};
};

struct ControlModel {
  ControlModel() = default;
  ControlModel(const ControlModel&) = delete;  // profiles point to formats
  ControlModel& operator=(const ControlModel&) = delete;

  std::map<uint64_t, FormatProfile> formats;
  std::map<uint64_t, PathsProfile> paths;
  std::map<uint64_t, CongestionProfile> congestion;
  uint32_t ports_disabled = 0;
  std::vector<UsidLink> denied_links;

  // What makes no sense is left out. May throw bad_alloc.
  void load(const ControlState& state);
  // 0 or an errno: E2BIG, there are too many EVs; ENOMEM, too many profiles or links.
  int store(ControlState* state) const;
  uint32_t evs() const;
  // A profile in INIT that nobody has told anything is none.
  void drop_empty();

  // The profile, or a new one in INIT; null: there is no place for it.
  FormatProfile* format(uint64_t id);
  PathsProfile* path_profile(uint64_t id);
  CongestionProfile* congestion_profile(uint64_t id);
};

}  // namespace mrc::provider
