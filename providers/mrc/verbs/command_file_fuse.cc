// SPDX-License-Identifier: BSD-2-Clause
// The command file by FUSE: a thread of this process serves it. What a forked child does with its copy of the
// file never reaches this process's memory.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>

#include "providers/mrc/presence/fuse_broker.h"
#include "providers/mrc/presence/fuse_messages.h"
#include "providers/mrc/presence/fuse_mount.h"
#include "providers/mrc/verbs/command_file.h"

namespace mrc::provider {
namespace {

// --- forks ---

// What a child has to let go, found without a lock: a fork may happen while any lock is held.
struct OpenFile {
  std::atomic<int> device_fd{-1};
  std::atomic<int> file_fd{-1};
};
constexpr size_t kOpenFiles = 1024;  // contexts of one process
std::array<OpenFile, kOpenFiles> g_open_files;

OpenFile* remember(const FuseFile& file) {
  for (OpenFile& slot : g_open_files) {
    int expected = -1;
    if (!slot.file_fd.compare_exchange_strong(expected, file.file_fd)) continue;
    slot.device_fd.store(file.device_fd);
    return &slot;
  }
  return nullptr;
}

// In a forked child. Without our end the connection ends with the parent, so nobody waits for the dead. And
// the file becomes one that cannot be written: a number that libibverbs still uses must not become free.
void let_go_in_child() {
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  for (OpenFile& slot : g_open_files) {
    const int file_fd = slot.file_fd.load();
    const int device_fd = slot.device_fd.load();
    if (file_fd < 0) continue;
    if (nothing >= 0) dup3(nothing, file_fd, O_CLOEXEC);
    if (device_fd >= 0) close(device_fd);
    slot.device_fd.store(-1);
  }
  if (nothing >= 0) close(nothing);
}

void install_child_handler() {
  static const int installed = pthread_atfork(nullptr, nullptr, let_go_in_child);
  static_cast<void>(installed);
}

// --- the file ---

class ServedFile final : public CommandFile {
 public:
  // Takes the files over. `same_pids`: FUSE counts threads as this process does.
  ServedFile(const FuseFile& file, OpenFile* slot, CommandHandler* handler, bool same_pids)
      : CommandFile(file.file_fd), file_(file), slot_(slot), handler_(handler), same_pids_(same_pids) {}

  ~ServedFile() override {
    if (thread_.joinable()) {
      const uint64_t one = 1;
      static_cast<void>(!write(stop_fd_, &one, sizeof one));
      thread_.join();
    }
    slot_->device_fd.store(-1);
    slot_->file_fd.store(-1);
    // Before libibverbs closes the file: then that finds nobody to wait for.
    close(file_.device_fd);
    if (stop_fd_ >= 0) close(stop_fd_);
  }

  // False: errno is set.
  bool start() {
    stop_fd_ = eventfd(0, EFD_CLOEXEC);
    if (stop_fd_ < 0) return false;
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the program's own threads
    bool started = true;
    try {
      thread_ = std::thread([this] { serve(); });
      pthread_setname_np(thread_.native_handle(), "mrc-command");
    } catch (const std::system_error&) {
      errno = EAGAIN;
      started = false;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return started;
  }

 private:
  void serve() {
    alignas(16) uint8_t buffer[kFuseRequestBytes];
    FuseAnswers answers;
    answers.on_write = [this](uint32_t thread, const void* data, size_t bytes) {
      return ours(thread) ? handler_->on_write(data, bytes) : -EPERM;
    };
    answers.on_ioctl = [this](uint32_t thread, uint32_t request, void* argument) {
      return ours(thread) ? handler_->on_ioctl(request, argument) : -EPERM;
    };
    pollfd ready[] = {{file_.device_fd, POLLIN, 0}, {stop_fd_, POLLIN, 0}};
    while (poll(ready, 2, -1) >= 0 || errno == EINTR) {
      if (ready[1].revents != 0) return;
      if ((ready[0].revents & POLLIN) != 0) {
        if (!answer_fuse_request(file_.device_fd, buffer, answers)) return;
      } else if (ready[0].revents != 0) {
        return;
      }
    }
  }

  // Addresses in a request mean something only if the caller is a thread of this process.
  bool ours(uint32_t thread) const { return !same_pids_ || syscall(SYS_tgkill, getpid(), thread, 0) == 0; }

  FuseFile file_;
  OpenFile* slot_;
  CommandHandler* handler_;
  bool same_pids_;
  int stop_fd_ = -1;
  std::thread thread_;
};

std::unique_ptr<CommandFile> serve(int placeholder, FuseFile file, CommandHandler* handler, bool same_pids,
                                   std::string* error) {
  install_child_handler();
  OpenFile* slot = remember(file);
  if (slot == nullptr) {
    close_fuse_file(&file);
    *error = "too many open contexts; a process may have " + std::to_string(kOpenFiles) + "; close some";
    return nullptr;
  }
  auto served = std::make_unique<ServedFile>(file, slot, handler, same_pids);
  if (!served->start()) {
    *error = std::string("no thread to serve the FUSE file: ") + std::strerror(errno);
    served.reset();
    close(file.file_fd);
    return nullptr;
  }
  close(placeholder);
  return served;
}

}  // namespace

std::unique_ptr<CommandFile> open_fuse_file(int placeholder, CommandHandler* handler, std::string* error) {
  FuseFile file;
  if (!mount_fuse_file(&file, error)) {
    *error += "; mounting takes CAP_SYS_ADMIN, /dev/fuse and a kernel with FUSE (5.2 or later)";
    return nullptr;
  }
  return serve(placeholder, file, handler, true, error);
}

std::unique_ptr<CommandFile> open_brokered_file(int placeholder, CommandHandler* handler,
                                                std::string* error) {
  FuseFile file;
  uint64_t pid_namespace = 0;
  if (!request_fuse_file(&file, &pid_namespace, error)) return nullptr;
  return serve(placeholder, file, handler, pid_namespace == own_pid_namespace(), error);
}

}  // namespace mrc::provider
