// SPDX-License-Identifier: BSD-2-Clause
// A thread of the application that is cancelled (pthread_cancel) must not end while it holds a lock of ours
// or is inside the engine: then it would be held for ever. Control operations forbid it for as long as they
// take; the data path instead has no point where it can happen, for to forbid and to allow it again costs
// time.
#pragma once

#include <pthread.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstddef>

#if defined(__SANITIZE_THREAD__)
#define MRC_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MRC_THREAD_SANITIZER
#endif
#endif

namespace mrc {

class WithoutCancellation {
 public:
  WithoutCancellation() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~WithoutCancellation() { pthread_setcancelstate(before_, nullptr); }
  WithoutCancellation(const WithoutCancellation&) = delete;
  WithoutCancellation& operator=(const WithoutCancellation&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

// The C library's calls of these names end a thread that is to be cancelled; these do not.
namespace uncancelled {

#ifdef MRC_THREAD_SANITIZER  // it knows what comes before what by the C library's calls alone
inline ssize_t write(int fd, const void* data, size_t bytes) {
  const WithoutCancellation meanwhile;
  return ::write(fd, data, bytes);
}
inline ssize_t read(int fd, void* data, size_t bytes) {
  const WithoutCancellation meanwhile;
  return ::read(fd, data, bytes);
}
inline ssize_t sendto(int fd, const void* data, size_t bytes, int flags, const sockaddr* to,
                      socklen_t length) {
  const WithoutCancellation meanwhile;
  return ::sendto(fd, data, bytes, flags, to, length);
}
#else
inline ssize_t write(int fd, const void* data, size_t bytes) {
  return syscall(SYS_write, fd, data, bytes);
}
inline ssize_t read(int fd, void* data, size_t bytes) {
  return syscall(SYS_read, fd, data, bytes);
}
inline ssize_t sendto(int fd, const void* data, size_t bytes, int flags, const sockaddr* to,
                      socklen_t length) {
  return syscall(SYS_sendto, fd, data, bytes, flags, to, length);
}
#endif
inline void sleep(const timespec& span) {
  syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &span, nullptr);
}

}  // namespace uncancelled

}  // namespace mrc
