// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/cm/librdmacm.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdio>
#include <mutex>
#include <new>

#include "dpdk_io/host/cancellation.h"
#include "dpdk_io/host/import_redirect.h"
#include "dpdk_io/host/loaded_library.h"
#include "providers/mrc/cm/ucma.h"
#include "providers/mrc/verbs/fork_guard.h"
#include "providers/mrc/verbs/provider_abi.h"

namespace mrc::provider {
namespace {

constexpr const char* kFile = "/dev/infiniband/rdma_cm";

int failed(int error) {
  errno = error;
  return -1;
}

// --- what librdmacm calls instead of the C library ---

int redirected_open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if (strcmp(path, kFile) != 0) return ::open(path, flags, mode);
  if (forked_away()) return failed(EPERM);
  const WithoutCancellation whole;
  try {
    const int fd = Ucma::instance().open_channel();
    return fd >= 0 ? fd : failed(-fd);
  } catch (const std::bad_alloc&) {
    return failed(ENOMEM);
  }
}

int redirected_fstat(int fd, struct stat* status) {
  const int result = ::fstat(fd, status);
  // A character device is all that is asked for.
  if (result == 0 && !forked_away() && Ucma::instance().is_channel(fd)) {
    status->st_mode = S_IFCHR | 0600;
    status->st_rdev = makedev(10, 255);
  }
  return result;
}

int redirected_close(int fd) {
  const WithoutCancellation whole;
  if (!forked_away()) Ucma::instance().close_channel(fd);
  return ::close(fd);
}

ssize_t write_to_channel(int fd, const void* data, size_t bytes) {
  // A child of fork() has none of our threads, and a mutex that may be held for ever.
  if (forked_away()) return failed(EPERM);
  if (!Ucma::instance().is_channel(fd)) return ::write(fd, data, bytes);
  const WithoutCancellation whole;
  const ssize_t result = Ucma::instance().on_write(fd, data, bytes);
  return result >= 0 ? result : failed(static_cast<int>(-result));
}

// --- putting them there ---

struct Replacement {
  const char* name;
  void* function;
  bool optional;
};

void redirect_librdmacm() {
  static std::mutex mutex;
  static bool done = false;
  std::lock_guard lock(mutex);
  if (done) return;
  const void* library = find_loaded_library("librdmacm.so");
  if (library == nullptr) return;
  done = true;
  // With files of 64 bits the C library has further names for the same.
  const Replacement replacements[] = {
      {"open", reinterpret_cast<void*>(&redirected_open), false},
      {"open64", reinterpret_cast<void*>(&redirected_open), true},
      {"fstat", reinterpret_cast<void*>(&redirected_fstat), false},
      {"fstat64", reinterpret_cast<void*>(&redirected_fstat), true},
      {"close", reinterpret_cast<void*>(&redirected_close), false},
      {"write", reinterpret_cast<void*>(&write_to_channel), false},
  };
  for (const Replacement& replacement : replacements) {
    const int result = redirect_import(library, replacement.name, replacement.function);
    if (result > 0 || (replacement.optional && result == 0)) continue;
    std::fprintf(stderr,
                 "mrc: rdma_cm is not served; librdmacm's calls of %s() cannot be redirected: %s; use the "
                 "librdmacm of the distribution\n",
                 replacement.name, result < 0 ? strerror(-result) : "it does not import it");
    return;
  }
}

// libibverbs looks into sysfs at every ibv_get_device_list(), and librdmacm calls that before it opens its
// file: the place to notice a librdmacm that was loaded after us, as plug-ins of UCX and libfabric do.
DIR* redirected_opendir(const char* path) {
  redirect_librdmacm();
  return ::opendir(path);
}

}  // namespace

void serve_librdmacm() {
  const char* wanted = secure_getenv("MRC_RDMA_CM");
  if (wanted != nullptr && strcmp(wanted, "kernel") == 0) return;
  redirect_librdmacm();
  static const int redirected = redirect_import(reinterpret_cast<const void*>(&verbs_set_ops), "opendir",
                                                reinterpret_cast<void*>(&redirected_opendir));
  static_cast<void>(redirected);
}

}  // namespace mrc::provider
