// SPDX-License-Identifier: BSD-2-Clause
// own_root COMMAND...: for tests in a chroot, where the kernel lets nobody make user namespaces and most
// tools cannot make mount namespaces. The command runs in a mount namespace whose root the chroot is.
#include <sched.h>
#include <unistd.h>

#include <cstdio>

#include "examples/shared/own_mounts.h"

int main(int count, char** words) {
  if (count < 2) {
    std::fprintf(stderr, "usage: own_root COMMAND...\n");
    return 2;
  }
  if (unshare(CLONE_NEWNS) != 0 || !mrc::keep_mounts_here()) {
    std::perror("own_root: a mount namespace");
    return 126;
  }
  execvp(words[1], words + 1);
  std::perror(words[1]);
  return 127;
}
