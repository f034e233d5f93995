// SPDX-License-Identifier: BSD-2-Clause
// A capture in the format pcapng (draft-ietf-opsawg-pcapng): one interface per plane, a comment on every
// packet; one file, or several that are written in turn.
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mrc {

struct PcapngPacket {
  std::string_view interface;  // its name
  uint64_t time_ns = 0;        // since 1970
  bool leaves = false;
  uint32_t length = 0;  // of the packet; `bytes` may be less
  std::span<const uint8_t> bytes;
  std::string_view comment;
};

class PcapngWriter {
 public:
  // "-" is standard output. With `files` > 1 they are NAME.1 to NAME.files, and each ends when it has
  // `bytes_each`.
  PcapngWriter(std::string name, uint32_t files, uint64_t bytes_each)
      : name_(std::move(name)), files_(files), bytes_each_(bytes_each) {}
  ~PcapngWriter();
  PcapngWriter(const PcapngWriter&) = delete;
  PcapngWriter& operator=(const PcapngWriter&) = delete;

  // False, of all of these: errno says why.
  bool open();
  bool write(const PcapngPacket& packet);
  bool flush();
  // The last words: how many packets were missed.
  bool close(uint64_t lost);

 private:
  // Bytes of a block between its two lengths.
  class Block;
  bool put(const Block& block);
  bool next_file();
  bool interface_of(std::string_view name, uint32_t* number);

  const std::string name_;
  const uint32_t files_;
  const uint64_t bytes_each_;
  std::FILE* file_ = nullptr;
  uint32_t number_ = 0;  // of the file
  uint64_t written_ = 0;
  std::vector<std::string> interfaces_;  // of the file
};

}  // namespace mrc
