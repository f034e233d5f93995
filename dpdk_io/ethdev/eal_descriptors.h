// SPDX-License-Identifier: BSD-2-Clause
// EAL leaves its descriptors open across exec(): the memory of all packets, its pipe and its epoll sets would
// be those of every program that the application starts.
#pragma once

namespace mrc {

// Before EAL starts. What cannot be redirected stays as it is.
void close_eal_descriptors_on_exec();

}  // namespace mrc
