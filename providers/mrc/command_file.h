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

// One back end so far: write() and ioctl() are redirected in libibverbs alone, and the file is the
// placeholder.
class CommandFile {
 public:
  // `placeholder` is the open device file. The handler is called from now on, and outlives the file.
  // Null: `error` says why; the placeholder is still open.
  static std::unique_ptr<CommandFile> open(int placeholder, CommandHandler* handler, std::string* error);
  virtual ~CommandFile() = default;

  // libibverbs owns and closes it; the CommandFile must be gone before.
  int fd() const { return fd_; }

 protected:
  explicit CommandFile(int fd) : fd_(fd) {}

 private:
  int fd_;
};

}  // namespace mrc::provider
