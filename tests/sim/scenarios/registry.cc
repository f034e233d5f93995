// SPDX-License-Identifier: BSD-2-Clause
// The list of all scenarios.
#include "tests/sim/scenarios/scenario.h"

namespace mrc::sim {

const std::vector<Scenario>& all_scenarios() {
  static const std::vector<Scenario> kScenarios = {
      {"loss_sweep", "R1: goodput and completion times by loss rate, on all paths", run_loss_sweep},
      {"bad_ev", "R2: one EV of 16 drops 20 %", run_bad_ev},
      {"black_hole", "R2: a link swallows everything without a sign", run_black_hole},
      {"link_cuts", "R3: 20 leaf-spine links cut one after the other", run_link_cuts},
      {"plane_cut", "R4: a plane goes down and comes back", run_plane_cut},
      {"spine_reboot", "R3: a spine dies and reboots", run_spine_reboot},
      {"permutation", "R5: every host sends to another one, three tiers or two", run_permutation},
      {"permutation_degraded", "R5: the same with one core link of 128 at a tenth of its rate",
       run_permutation_degraded},
      {"incast", "R6: many to one", run_incast},
      {"incast_victim", "R6: seven to one, and a flow to a neighbour of the target", run_incast_victim},
      {"two_flows", "R7: two flows, two paths, one flow bound to one of them", run_two_flows},
      {"collective", "R8: ring all-reduce and all-to-all", run_collective},
      {"collective_sweep", "R8: the same with 64 hosts, from 4 MB up", run_collective_sweep},
      {"cold_start", "R9: some paths are dead from the start and nobody knows", run_cold_start},
      {"first_minute", "R9: what is lost per queue pair until the dead links are known", run_first_minute},
      {"sharing", "R6: flows that share a host or the uplinks of a leaf", run_sharing},
      {"uplinks_lost", "R3: three of the four uplinks of a leaf go, one after the other", run_uplinks_lost},
      {"incast15", "R6: fifteen to one, at once and one after the other", run_incast15},
  };
  return kScenarios;
}

const Scenario* find_scenario(const std::string& name) {
  for (const Scenario& scenario : all_scenarios())
    if (name == scenario.name) return &scenario;
  return nullptr;
}

}  // namespace mrc::sim
