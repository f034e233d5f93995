// SPDX-License-Identifier: BSD-2-Clause
#include "examples/shared/own_mounts.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace mrc {
namespace {

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) close(fd_);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

bool detach_from_host() {
  return mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0;
}

// In a chroot "/" is no mount, and its mounts belong to a root that cannot be named from inside: entering our
// own namespace once more leads there. Then the directory that we came from becomes the root of the
// namespace.
bool make_chroot_the_root() {
  const Fd chroot_directory(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const Fd own_namespace(open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC));
  if (chroot_directory.get() < 0 || own_namespace.get() < 0) return false;
  const Fd working_directory(open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  char path[4096];
  const bool has_path = getcwd(path, sizeof path) != nullptr;
  if (setns(own_namespace.get(), CLONE_NEWNS) != 0) return false;
  const bool moved = [&] {
    if (fchdir(chroot_directory.get()) != 0 || !detach_from_host()) return false;
    const Fd root(open_tree(AT_FDCWD, ".", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE));
    return root.get() >= 0 && move_mount(root.get(), "", AT_FDCWD, ".", MOVE_MOUNT_F_EMPTY_PATH) == 0 &&
           fchdir(root.get()) == 0 && syscall(SYS_pivot_root, ".", ".") == 0 && umount2(".", MNT_DETACH) == 0;
  }();
  if (!moved) {
    const int why = errno;
    if (fchdir(chroot_directory.get()) == 0 && chroot(".") == 0 && fchdir(working_directory.get()) == 0)
      errno = why;
    return false;
  }
  return (has_path && chdir(path) == 0) || chdir("/") == 0;
}

}  // namespace

bool keep_mounts_here() {
  return detach_from_host() || (errno == EINVAL && make_chroot_the_root());
}

}  // namespace mrc
