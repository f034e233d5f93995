// SPDX-License-Identifier: BSD-2-Clause
// Watches the pages of faults for what an operator does to planes: of the first device, and of the others.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "dpdk_io/host/fault_page.h"

namespace mrc {

class FaultWatch {
 public:
  explicit FaultWatch(std::string run_directory);
  ~FaultWatch();
  FaultWatch(const FaultWatch&) = delete;
  FaultWatch& operator=(const FaultWatch&) = delete;

  // In words, what changed since the last call; empty when nothing did.
  std::string changes();
  // "plane 1 cut (black hole)", "mrc1 plane 0 cut (link down)"; as of the last call of changes().
  std::vector<std::string> standing() const;

 private:
  using Faults = std::array<PlaneFault, kPlanesMax>;
  struct Watched {
    FaultPage* page = nullptr;
    Faults last{};
  };
  void look_for_pages();

  const std::string run_directory_;
  std::map<std::string, Watched> pages_;  // by the suffix of their file
};

}  // namespace mrc
