// SPDX-License-Identifier: BSD-2-Clause
// After unshare(CLONE_NEWNS): what the host mounts later shall appear here too, but nothing of ours there.
// False: errno is set.
#pragma once

namespace mrc {

bool keep_mounts_here();

}  // namespace mrc
