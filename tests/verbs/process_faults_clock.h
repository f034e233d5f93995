// SPDX-License-Identifier: BSD-2-Clause
// The time of day of this process, and of the libraries in it, can jump; that of the machine is left alone.
#pragma once

namespace process_faults {

void jump_clock(long seconds);  // from where it really is

}  // namespace process_faults
