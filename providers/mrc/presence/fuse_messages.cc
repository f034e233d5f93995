// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/presence/fuse_messages.h"

#include <linux/fuse.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "providers/mrc/presence/address.h"

namespace mrc::provider {
namespace {

constexpr uint32_t kWriteBytesMax = 4096;

void reply(int device_fd, uint64_t request, int error, const void* body = nullptr, size_t bytes = 0) {
  fuse_out_header header{};
  header.len = static_cast<uint32_t>(sizeof header + bytes);
  header.error = error;
  header.unique = request;
  iovec parts[] = {{&header, sizeof header}, {const_cast<void*>(body), bytes}};
  // A caller that was interrupted or has gone does not want the answer any more.
  static_cast<void>(!writev(device_fd, parts, bytes > 0 ? 2 : 1));
}

template <typename Body>
void reply_with(int device_fd, uint64_t request, const Body& body) {
  reply(device_fd, request, 0, &body, sizeof body);
}

void answer_init(int device_fd, uint64_t request, const fuse_init_in& in) {
  fuse_init_out out{};
  out.major = FUSE_KERNEL_VERSION;
  out.minor = FUSE_KERNEL_MINOR_VERSION;
  out.max_readahead = in.max_readahead;
  out.max_background = 16;
  out.congestion_threshold = 12;
  out.max_write = kWriteBytesMax;
  out.time_gran = 1;
  reply_with(device_fd, request, out);
}

void answer_attributes(int device_fd, uint64_t request) {
  fuse_attr_out out{};
  out.attr_valid = 1000000;
  out.attr.ino = FUSE_ROOT_ID;
  out.attr.mode = S_IFREG | 0600;
  out.attr.nlink = 1;
  // Ours: in a user namespace nobody else may exist, and a file of nobody's cannot be written.
  out.attr.uid = geteuid();
  out.attr.gid = getegid();
  out.attr.blksize = 4096;
  reply_with(device_fd, request, out);
}

void answer_open(int device_fd, uint64_t request) {
  fuse_open_out out{};
  out.open_flags = FOPEN_DIRECT_IO | FOPEN_NONSEEKABLE | FOPEN_STREAM;
  reply_with(device_fd, request, out);
}

void answer_write(int device_fd, const fuse_in_header& header, const fuse_write_in& in, const void* data,
                  const FuseAnswers& answers) {
  const ssize_t result = answers.on_write ? answers.on_write(header.pid, data, in.size) : -EPERM;
  if (result < 0) return reply(device_fd, header.unique, static_cast<int>(result));
  fuse_write_out out{};
  out.size = static_cast<uint32_t>(result);
  reply_with(device_fd, header.unique, out);
}

// The kernel has copied what the request's number says the argument holds, and copies as much back: the same
// bytes again, for the handler reads and writes at the caller's address itself.
void answer_ioctl(int device_fd, const fuse_in_header& header, const fuse_ioctl_in& in,
                  const FuseAnswers& answers) {
  void* argument = pointer_at(in.arg);
  const int result = answers.on_ioctl ? answers.on_ioctl(header.pid, in.cmd, argument) : -EPERM;
  if (result < 0) return reply(device_fd, header.unique, result);
  struct {
    fuse_ioctl_out out;
    uint8_t copied[256];
  } body{};
  const size_t bytes = in.out_size <= sizeof body.copied ? in.out_size : 0;
  std::memcpy(body.copied, argument, bytes);
  reply(device_fd, header.unique, 0, &body, sizeof body.out + bytes);
}

}  // namespace

bool answer_fuse_request(int device_fd, void* buffer, const FuseAnswers& answers) {
  const ssize_t bytes = read(device_fd, buffer, kFuseRequestBytes);
  // ENOENT: the request was taken back before we could read it. ENODEV: all is over.
  if (bytes < 0) return errno == EINTR || errno == EAGAIN || errno == ENOENT;
  const auto& header = *static_cast<const fuse_in_header*>(buffer);
  if (static_cast<size_t>(bytes) < sizeof header) return true;
  const auto* body = static_cast<const uint8_t*>(buffer) + sizeof header;
  switch (header.opcode) {
    case FUSE_INIT:
      answer_init(device_fd, header.unique, *reinterpret_cast<const fuse_init_in*>(body));
      break;
    case FUSE_GETATTR:
      answer_attributes(device_fd, header.unique);
      break;
    case FUSE_OPEN:
      answer_open(device_fd, header.unique);
      break;
    case FUSE_WRITE: {
      const auto& in = *reinterpret_cast<const fuse_write_in*>(body);
      answer_write(device_fd, header, in, body + sizeof in, answers);
      break;
    }
    case FUSE_IOCTL:
      answer_ioctl(device_fd, header, *reinterpret_cast<const fuse_ioctl_in*>(body), answers);
      break;
    case FUSE_RELEASE:
      reply(device_fd, header.unique, 0);
      break;
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT:  // every request is answered at once anyway
      break;
    case FUSE_DESTROY:
      return false;
    default:
      // Among them FUSE_FLUSH: after this answer it is never sent again. A process that exits must not wait
      // for an answer of a thread that is already gone.
      reply(device_fd, header.unique, -ENOSYS);
      break;
  }
  return true;
}

}  // namespace mrc::provider
