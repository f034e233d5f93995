// SPDX-License-Identifier: BSD-2-Clause
// Lets a child end with its parent, also if the parent ends before the child has asked the kernel for that.
// getppid() cannot tell: the parent may be of another PID namespace.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "examples/lab/netlink.h"

namespace mrc::lab {

// Made before fork() and kept by the parent for as long as it lives.
class Leash {
 public:
  Leash() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    child_end_ = Fd(ends[0]);
    parent_end_ = Fd(ends[1]);
  }

  // In the child: from now on it gets `signal_number` when the parent ends. False: the parent has ended.
  bool take(int signal_number) {
    parent_end_ = Fd();
    ::prctl(PR_SET_PDEATHSIG, signal_number);
    return !parent_has_ended();
  }
  bool parent_has_ended() const {
    pollfd state{child_end_.get(), 0, 0};  // tells of a hang-up only
    return child_end_ && ::poll(&state, 1, 0) > 0;
  }

 private:
  Fd child_end_;
  Fd parent_end_;
};

}  // namespace mrc::lab
