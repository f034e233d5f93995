// SPDX-License-Identifier: BSD-2-Clause
// mrcctl capture: frames of all running programs of a run directory into a pcapng file.
#pragma once

namespace mrc {

// The words are those behind the command. The exit status.
int capture_frames(int count, char** words);

}  // namespace mrc
