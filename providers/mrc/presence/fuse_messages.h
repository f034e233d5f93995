// SPDX-License-Identifier: BSD-2-Clause
// The few words of the FUSE protocol that a command file needs.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>

namespace mrc::provider {

// Room for any request: FUSE refuses to hand one over otherwise.
inline constexpr size_t kFuseRequestBytes = 16 << 10;

// What a write() or an ioctl() is answered with; both may be empty, and are then refused.
struct FuseAnswers {
  // The calling thread, as the mounter sees its number; the data; a size or a negative errno.
  std::function<ssize_t(uint32_t thread, const void* data, size_t bytes)> on_write;
  // 0 or a negative errno. `argument` is an address of the caller's.
  std::function<int(uint32_t thread, uint32_t request, void* argument)> on_ioctl;
};

// Reads one request and answers it. False: the connection has ended.
bool answer_fuse_request(int device_fd, void* buffer, const FuseAnswers& answers);

}  // namespace mrc::provider
