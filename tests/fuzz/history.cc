// SPDX-License-Identifier: BSD-2-Clause
#include "tests/fuzz/history.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace mrc::fuzz {

namespace {
// Each input: its length in four bytes, then itself. A length of all ones ends them.
constexpr uint32_t kEnd = UINT32_MAX;
}  // namespace

void History::open(int argc, char** argv) {
  constexpr std::string_view kFlag = "-artifact_prefix=";
  std::string name;
  for (int i = 1; i < argc; ++i)
    if (const std::string_view argument = argv[i]; argument.starts_with(kFlag))
      name = argument.substr(kFlag.size());
  if (name.empty()) return;
  name += "history." + std::to_string(getpid());
  const int fd = ::open(name.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return;
  void* memory = MAP_FAILED;
  if (ftruncate(fd, kBytesMax) == 0)
    memory = mmap(nullptr, kBytesMax, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (memory == MAP_FAILED) return;
  memory_ = static_cast<uint8_t*>(memory);
  clear();
  // Who ends in order has found nothing.
  static std::string s_name;
  s_name = name;
  std::atexit([] { unlink(s_name.c_str()); });
}

void History::clear() {
  used_ = 0;
  if (memory_ != nullptr) std::memcpy(memory_, &kEnd, sizeof kEnd);
}

void History::add(std::span<const uint8_t> input) {
  const auto bytes = static_cast<uint32_t>(input.size());
  if (memory_ == nullptr || used_ + bytes + 2 * sizeof bytes > kBytesMax) return;
  uint8_t* at = memory_ + used_;
  if (bytes > 0) std::memcpy(at + sizeof bytes, input.data(), bytes);
  std::memcpy(at + sizeof bytes + bytes, &kEnd, sizeof kEnd);
  std::memcpy(at, &bytes, sizeof bytes);
  used_ += sizeof bytes + bytes;
}

void History::replay(const std::function<void(std::span<const uint8_t>)>& run) {
  const char* name = std::getenv("MRC_FUZZ_HISTORY");
  std::FILE* file = name != nullptr ? std::fopen(name, "rb") : nullptr;
  if (file == nullptr) return;
  std::vector<uint8_t> input;
  for (uint32_t bytes; std::fread(&bytes, sizeof bytes, 1, file) == 1 && bytes <= kBytesMax;) {
    input.resize(bytes);
    if (std::fread(input.data(), 1, bytes, file) == bytes) run(input);
  }
  std::fclose(file);
}

}  // namespace mrc::fuzz
