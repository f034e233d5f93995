// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/presence/fuse_mount.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <system_error>
#include <thread>

#include "providers/mrc/presence/fuse_messages.h"

namespace mrc::provider {
namespace {

class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) close(fd_);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  int get() const { return fd_; }
  int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }

 private:
  int fd_;
};

bool fail(const char* what, std::string* error) {
  *error = std::string(what) + ": " + std::strerror(errno);
  return false;
}

bool set(int context, const char* key, const char* format, unsigned value) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, key, text, 0) == 0;
}

// The mount, or -1 with errno set.
int make_mount(int device_fd, uid_t user, gid_t group) {
  const Fd context(static_cast<int>(syscall(SYS_fsopen, "fuse", FSOPEN_CLOEXEC)));
  if (context.get() < 0) return -1;
  const bool configured = set(context.get(), "fd", "%u", static_cast<unsigned>(device_fd)) &&
                          set(context.get(), "rootmode", "%o", S_IFREG | 0600) &&
                          // Without allow_other nobody else can be made to wait for whoever serves it.
                          set(context.get(), "user_id", "%u", user) &&
                          set(context.get(), "group_id", "%u", group) &&
                          syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) == 0;
  if (!configured) return -1;
  return static_cast<int>(syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC,
                                  MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC));
}

// Answers what the kernel asks while the file is opened: nobody else does yet.
class Attendant {
 public:
  explicit Attendant(int device_fd) : stop_(eventfd(0, EFD_CLOEXEC)) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the program's own threads
    try {
      thread_ = std::thread([device_fd, stop = stop_.get()] { attend(device_fd, stop); });
    } catch (const std::system_error&) {
      errno = EAGAIN;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  ~Attendant() {
    const uint64_t one = 1;
    static_cast<void>(!write(stop_.get(), &one, sizeof one));
    if (thread_.joinable()) thread_.join();
  }
  bool running() const { return thread_.joinable(); }

 private:
  static void attend(int device_fd, int stop) {
    const auto buffer = std::make_unique<uint8_t[]>(kFuseRequestBytes);
    pollfd ready[] = {{device_fd, POLLIN, 0}, {stop, POLLIN, 0}};
    while (poll(ready, 2, -1) >= 0 || errno == EINTR) {
      if ((ready[0].revents & POLLIN) != 0) {
        if (!answer_fuse_request(device_fd, buffer.get(), {})) return;
      } else if (ready[0].revents != 0 || ready[1].revents != 0) {
        return;
      }
    }
  }

  Fd stop_;
  std::thread thread_;
};

// Opens the root of the mount, which is the file.
int open_root(int mount) {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", mount);
  // In a user namespace the owner is not known before the file was asked for it, and then it cannot be
  // written.
  struct stat status;
  if (stat(path, &status) != 0) return -1;
  // The first close teaches the kernel that there is no FUSE_FLUSH.
  const int first = open(path, O_RDWR | O_CLOEXEC);
  if (first < 0) return -1;
  close(first);
  return open(path, O_RDWR | O_CLOEXEC);
}

}  // namespace

bool make_fuse_mount(uid_t user, gid_t group, FuseMount* mount, std::string* error) {
  Fd device(open("/dev/fuse", O_RDWR | O_CLOEXEC));
  if (device.get() < 0) return fail("/dev/fuse", error);
  mount->mount_fd = make_mount(device.get(), user, group);
  if (mount->mount_fd < 0) return fail("a FUSE file cannot be mounted", error);
  mount->device_fd = device.release();
  return true;
}

bool open_fuse_mount(FuseMount mount, FuseFile* file, std::string* error) {
  Fd device(mount.device_fd);
  const Fd root(mount.mount_fd);
  const Attendant attendant(device.get());
  if (!attendant.running()) return fail("no thread to answer FUSE", error);
  file->file_fd = open_root(root.get());
  if (file->file_fd < 0) return fail("the FUSE file cannot be opened", error);
  file->device_fd = device.release();
  return true;
}

bool mount_fuse_file(FuseFile* file, std::string* error) {
  FuseMount mount;
  return make_fuse_mount(geteuid(), getegid(), &mount, error) && open_fuse_mount(mount, file, error);
}

void close_fuse_mount(FuseMount* mount) {
  if (mount->device_fd >= 0) close(mount->device_fd);
  if (mount->mount_fd >= 0) close(mount->mount_fd);
  *mount = FuseMount{};
}

void close_fuse_file(FuseFile* file) {
  if (file->device_fd >= 0) close(file->device_fd);
  if (file->file_fd >= 0) close(file->file_fd);
  *file = FuseFile{};
}

}  // namespace mrc::provider
