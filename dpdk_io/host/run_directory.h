// SPDX-License-Identifier: BSD-2-Clause
// The user's run directory, where processes of one user on one host find each other: MRC_RUNDIR, else
// /run/mrc for root, else /run/user/<uid>/mrc, else /tmp/mrc-<uid>.
#pragma once

#include <string>

namespace mrc {

// Makes the directory if need be and checks that it is this user's own: same-host links trust whoever can
// reach it. Gives its absolute path. False: `error` says what, why and what to do.
bool open_run_directory(std::string* path, std::string* error);

// The same without looking at it: it may be another user's, or not be there.
std::string chosen_run_directory();

}  // namespace mrc
