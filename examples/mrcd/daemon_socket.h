// SPDX-License-Identifier: BSD-2-Clause
// A socket in the file system on which a daemon listens, for everybody to connect to.
#pragma once

#include <string>

namespace mrc {

class DaemonSocket {
 public:
  DaemonSocket() = default;
  ~DaemonSocket();  // removes it
  DaemonSocket(const DaemonSocket&) = delete;
  DaemonSocket& operator=(const DaemonSocket&) = delete;

  // `path` has a / in it. What a daemon that was killed has left there is replaced; that of one that runs,
  // and anything else, is not. False: `error` says why.
  bool listen_at(const std::string& path, int flags, std::string* error);
  int fd() const { return fd_; }

 private:
  int directory_ = -1;
  std::string name_;
  int fd_ = -1;
};

}  // namespace mrc
