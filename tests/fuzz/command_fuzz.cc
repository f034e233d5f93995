// SPDX-License-Identifier: BSD-2-Clause
// Any bytes as commands that libibverbs writes to the command file, and as ioctl()s on it. Addresses in them
// are the caller's own, so they are made good ones here: of memory that is exactly as long as the command
// says, at any alignment, or none at all. Nothing is read or written beside it, descriptors are not lost, and
// every answer is one.
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "providers/mrc/verbs/commands.h"

namespace {

using namespace mrc::provider;

void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

bool is_errno(long result) {
  return result < 0 && result >= -4095;
}

// Memory that the command may be answered in.
class Rooms {
 public:
  // The low bits of what stands there say how it is aligned; 0 stays 0.
  uint64_t make(uint64_t given, size_t bytes) {
    if (given == 0) return 0;
    const size_t shift = given % 8;
    rooms_.push_back(std::make_unique<uint8_t[]>(shift + bytes));
    return reinterpret_cast<uint64_t>(rooms_.back().get() + shift);
  }

 private:
  std::vector<std::unique_ptr<uint8_t[]>> rooms_;
};

void try_write(Commands& commands, std::span<const uint8_t> input) {
  constexpr size_t kResponseAt = sizeof(ib_uverbs_cmd_hdr);
  std::vector<uint8_t> command(input.begin(), input.end());
  command.shrink_to_fit();
  Rooms rooms;
  uint64_t answer = 0;
  if (command.size() >= kResponseAt + sizeof answer) {
    ib_uverbs_cmd_hdr header;
    std::memcpy(&header, command.data(), sizeof header);
    std::memcpy(&answer, command.data() + kResponseAt, sizeof answer);
    answer = rooms.make(answer, size_t{header.out_words} * 4);
    std::memcpy(command.data() + kResponseAt, &answer, sizeof answer);
  }
  const ssize_t result = commands.on_write(command.data(), command.size());
  must(is_errno(result) || static_cast<size_t>(result) == command.size(), "a write is taken as a whole");
  if (result < 0) return;
  uint32_t fd;
  std::memcpy(&fd, reinterpret_cast<const void*>(answer), sizeof fd);  // NOLINT(performance-no-int-to-ptr)
  must(commands.find_channel(static_cast<int>(fd)) != nullptr, "a new channel is known");
  must(close(static_cast<int>(fd)) == 0, "a new channel has a descriptor");
}

void try_ioctl(Commands& commands, std::span<const uint8_t> input) {
  // The argument has at least a header: the number of the ioctl() says so.
  const size_t bytes = std::max(input.size(), sizeof(ib_uverbs_ioctl_hdr));
  // In words of eight bytes, as programs have it.
  const auto words = std::make_unique<uint64_t[]>((bytes + 7) / 8);
  std::memcpy(words.get(), input.data(), input.size());
  auto* header = reinterpret_cast<ib_uverbs_ioctl_hdr*>(words.get());
  Rooms rooms;
  const size_t attributes = (bytes - sizeof *header) / sizeof header->attrs[0];
  // As long as it says; what is shorter would be the caller's fault.
  if (header->length > sizeof *header + attributes * sizeof header->attrs[0]) return;
  for (size_t i = 0; i < attributes; ++i) {
    ib_uverbs_attr& attribute = header->attrs[i];
    const bool table = header->method_id == UVERBS_METHOD_QUERY_GID_TABLE;
    const bool is_answer = table ? attribute.attr_id == UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES ||
                                       attribute.attr_id == UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES
                                 : attribute.attr_id == UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY;
    if (is_answer) attribute.data = rooms.make(attribute.data, attribute.len);
  }
  const int result = commands.on_ioctl(RDMA_VERBS_IOCTL, header);
  must(result == 0 || is_errno(result), "an ioctl has a result");
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  setenv("MRC_CONFIG", "/dev/null", 1);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  static auto* const commands = new Commands;  // kept: channels of one input are dropped by the next
  if (bytes == 0) return 0;
  const std::span<const uint8_t> rest(data + 1, bytes - 1);
  switch (data[0] % 3) {
    case 0:
      try_write(*commands, rest);
      break;
    case 1:
      try_ioctl(*commands, rest);
      break;
    default:
      must(commands->on_ioctl(data[0], nullptr) < 0, "ioctls that nobody knows are refused");
      must(commands->on_ioctl(RDMA_VERBS_IOCTL, nullptr) < 0, "an ioctl of nothing is refused");
  }
  return 0;
}
