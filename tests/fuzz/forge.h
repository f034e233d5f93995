// SPDX-License-Identifier: BSD-2-Clause
// Packets as a hostile peer or a stranger would send them: well formed as far as the input wants, and near
// what the receiver waits for, because blind ones do not get far.
#pragma once

#include "tests/fuzz/input.h"
#include "tests/fuzz/world.h"

namespace mrc::fuzz {

void send_forged(World& world, End& to, Input& input);

}  // namespace mrc::fuzz
