// SPDX-License-Identifier: BSD-2-Clause
// How a program without privilege gets a FUSE file: mrcd, which runs as root, mounts it for the program's
// user and hands the mount over through a socket. The program opens and serves the file; mrcd never touches
// it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "providers/mrc/presence/fuse_mount.h"

namespace mrc::provider {

// MRC_BROKER, else the place where mrcd listens. Only root can make that one; whom it belongs to cannot be
// seen from a user namespace anyway.
std::string broker_path();
bool broker_is_there();

// What mrcd sends, with both descriptors of a FuseMount beside it if all went well.
struct BrokerAnswer {
  static constexpr uint32_t kMagic = 0x4D524345;  // "MRCD", the second
  uint32_t magic = kMagic;
  int32_t error = 0;           // an errno
  uint64_t pid_namespace = 0;  // of mrcd: FUSE counts threads as that one does
};
// False: the client cannot be told; it does not matter.
bool send_fuse_mount(int socket, const BrokerAnswer& answer, const FuseMount& mount);

// Asks mrcd. False: `error` says why not.
bool request_fuse_file(FuseFile* file, uint64_t* pid_namespace, std::string* error);

// Names the pid namespace of this process.
uint64_t own_pid_namespace();

}  // namespace mrc::provider
