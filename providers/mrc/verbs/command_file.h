// SPDX-License-Identifier: BSD-2-Clause
// The file that libibverbs takes for the kernel's: for some calls it writes commands to it or calls ioctl()
// on it by itself. A CommandFile is where these arrive, a CommandHandler answers them, in the caller's
// address space.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>

namespace mrc::provider {

class CommandHandler {
 public:
  virtual ~CommandHandler() = default;
  // write() on the file: `bytes`, or a negative errno.
  virtual ssize_t on_write(const void* command, size_t bytes) = 0;
  // ioctl() on the file: 0, or a negative errno. -EPROTONOSUPPORT sends libibverbs to its other ways.
  virtual int on_ioctl(unsigned long request, void* argument) = 0;
};

class CommandFile {
 public:
  // `placeholder` is the open device file. The handler is called from now on, and outlives the file.
  // Which back end is used is chosen here; MRC_CMDFD (broker, fuse or got) forces one.
  // Null: `error` says why; the placeholder is still open. Otherwise it is part of the file, or closed.
  static std::unique_ptr<CommandFile> open(int placeholder, CommandHandler* handler, std::string* error);
  virtual ~CommandFile() = default;

  // libibverbs owns and closes it; the CommandFile must be gone before.
  int fd() const { return fd_; }

 protected:
  explicit CommandFile(int fd) : fd_(fd) {}

 private:
  int fd_;
};

// The back ends. Each takes over the placeholder only if it succeeds.

// command_file_got.cc: write() and ioctl() are redirected in libibverbs alone; the file is the placeholder.
std::unique_ptr<CommandFile> open_redirected_file(int placeholder, CommandHandler* handler,
                                                  std::string* error);
// command_file_fuse.cc: a FUSE file that this process serves itself. It is mounted here, which takes
// CAP_SYS_ADMIN, or by mrcd, which hands it over.
std::unique_ptr<CommandFile> open_fuse_file(int placeholder, CommandHandler* handler, std::string* error);
std::unique_ptr<CommandFile> open_brokered_file(int placeholder, CommandHandler* handler, std::string* error);

}  // namespace mrc::provider
