// SPDX-License-Identifier: BSD-2-Clause
// MRC 12.C2, 12.C3, 4.7: the controller's word reaches live queue pairs, and what happens to paths reaches
// it.
#include "libmrc/engine/engine.h"

namespace mrc {

void Engine::follow_profiles(Nanoseconds clock) {
  ++services_.profiles_told;
  tell_all(kNewsOfProfiles, advance(clock));
}

void Engine::tell_path_events(QueuePair& qp) {
  for (PathEvent event; qp.take_path_event(&event);) sink_->path_event(qp, event);
}

}  // namespace mrc
