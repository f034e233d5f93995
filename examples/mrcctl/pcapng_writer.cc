// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrcctl/pcapng_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace mrc {
namespace {

enum BlockType : uint32_t { kSection = 0x0A0D0D0A, kInterface = 1, kStatistics = 5, kPacket = 6 };
enum Option : uint16_t {
  kEnd = 0,
  kComment = 1,
  kApplication = 4,       // of a section
  kInterfaceName = 2,     // of an interface
  kTimeResolution = 9,    // of an interface
  kPacketFlags = 2,       // of a packet
  kInterfaceDropped = 5,  // of statistics
};
constexpr uint32_t kByteOrder = 0x1A2B3C4D;
constexpr uint16_t kEthernet = 1;
constexpr uint8_t kNanoseconds = 9;  // 10^-9
constexpr uint32_t kInbound = 1;
constexpr uint32_t kOutbound = 2;

}  // namespace

class PcapngWriter::Block {
 public:
  explicit Block(uint32_t type) : type_(type) {}
  uint32_t type() const { return type_; }
  std::span<const uint8_t> bytes() const { return bytes_; }

  // In the order of bytes of this machine, as the section says.
  template <typename Number>
  void number(Number value) {
    const auto at = bytes_.size();
    bytes_.resize(at + sizeof value);
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  void time(uint64_t ns) {
    number(static_cast<uint32_t>(ns >> 32));
    number(static_cast<uint32_t>(ns));
  }
  void padded(const void* from, size_t count) {
    const auto at = bytes_.size();
    bytes_.resize(at + (count + 3) / 4 * 4);
    std::memcpy(bytes_.data() + at, from, count);
  }
  void option(Option code, const void* from, size_t count) {
    count = std::min<size_t>(count, UINT16_MAX);
    number(static_cast<uint16_t>(code));
    number(static_cast<uint16_t>(count));
    padded(from, count);
  }
  void option(Option code, std::string_view text) { option(code, text.data(), text.size()); }
  void end_options() { number(uint32_t{kEnd}); }

 private:
  uint32_t type_;
  std::vector<uint8_t> bytes_;
};

PcapngWriter::~PcapngWriter() {
  if (file_ != nullptr && file_ != stdout) std::fclose(file_);
}

bool PcapngWriter::open() {
  return next_file();
}

bool PcapngWriter::next_file() {
  if (file_ != nullptr && file_ != stdout && std::fclose(file_) != 0) {
    file_ = nullptr;
    return false;
  }
  number_ = number_ % files_ + 1;
  written_ = 0;
  interfaces_.clear();
  if (name_ == "-") {
    file_ = stdout;
  } else {
    // What was captured is nobody else's business.
    const std::string path = files_ > 1 ? name_ + "." + std::to_string(number_) : name_;
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    file_ = fd < 0 ? nullptr : fdopen(fd, "wb");
    if (file_ == nullptr) return false;
  }
  Block section(kSection);
  section.number(kByteOrder);
  section.number(uint16_t{1});  // version 1.0
  section.number(uint16_t{0});
  section.number(int64_t{-1});  // its length is not said
  section.option(kApplication, "mrcctl capture");
  section.end_options();
  return put(section);
}

bool PcapngWriter::put(const Block& block) {
  const auto length = static_cast<uint32_t>(block.bytes().size() + 3 * sizeof(uint32_t));
  const uint32_t head[] = {block.type(), length};
  written_ += length;
  return std::fwrite(head, sizeof head, 1, file_) == 1 &&
         std::fwrite(block.bytes().data(), block.bytes().size(), 1, file_) == 1 &&
         std::fwrite(&length, sizeof length, 1, file_) == 1;
}

bool PcapngWriter::interface_of(std::string_view name, uint32_t* number) {
  const auto found = std::find(interfaces_.begin(), interfaces_.end(), name);
  *number = static_cast<uint32_t>(found - interfaces_.begin());
  if (found != interfaces_.end()) return true;
  interfaces_.emplace_back(name);
  Block block(kInterface);
  block.number(kEthernet);
  block.number(uint16_t{0});
  block.number(uint32_t{0});  // no limit of lengths
  block.option(kInterfaceName, name);
  block.option(kTimeResolution, &kNanoseconds, sizeof kNanoseconds);
  block.end_options();
  return put(block);
}

bool PcapngWriter::write(const PcapngPacket& packet) {
  if (files_ > 1 && written_ >= bytes_each_ && !next_file()) return false;
  uint32_t interface = 0;
  if (!interface_of(packet.interface, &interface)) return false;
  Block block(kPacket);
  block.number(interface);
  block.time(packet.time_ns);
  block.number(static_cast<uint32_t>(packet.bytes.size()));
  block.number(packet.length);
  block.padded(packet.bytes.data(), packet.bytes.size());
  const uint32_t flags = packet.leaves ? kOutbound : kInbound;
  block.option(kPacketFlags, &flags, sizeof flags);
  block.option(kComment, packet.comment);
  block.end_options();
  return put(block);
}

bool PcapngWriter::flush() {
  return std::fflush(file_) == 0;
}

bool PcapngWriter::close(uint64_t lost) {
  if (!interfaces_.empty()) {
    Block block(kStatistics);
    block.number(uint32_t{0});  // what was missed was of any interface; it is told of the first
    block.time(0);
    block.option(kInterfaceDropped, &lost, sizeof lost);
    block.end_options();
    if (!put(block)) return false;
  }
  std::FILE* file = file_;
  file_ = nullptr;
  return (file == stdout ? std::fflush(file) : std::fclose(file)) == 0;
}

}  // namespace mrc
