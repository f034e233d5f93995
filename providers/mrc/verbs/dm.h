// SPDX-License-Identifier: BSD-2-Clause
// Device memory: memory of the process that the application reaches by copies only, as if it were on a NIC.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace mrc::provider {

// What all names of a piece of device memory have in common.
class SharedDm {
 public:
  // Null: the device's memory is used up, or the process's is. `align` is a power of two.
  static std::shared_ptr<SharedDm> make(size_t bytes, size_t align);
  ~SharedDm();
  SharedDm(const SharedDm&) = delete;
  SharedDm& operator=(const SharedDm&) = delete;

  uint8_t* data() const { return data_; }
  size_t size() const { return bytes_; }
  bool contains(uint64_t offset, size_t bytes) const { return bytes <= bytes_ && offset <= bytes_ - bytes; }

  std::atomic<unsigned> regions{0};  // registered in it

 private:
  SharedDm(uint8_t* data, size_t bytes) : data_(data), bytes_(bytes) {}

  uint8_t* data_;
  size_t bytes_;
};

struct Dm {
  ibv_dm verbs{};  // first: libibverbs knows only this
  std::shared_ptr<SharedDm> shared;

  static Dm* of(ibv_dm* memory) { return reinterpret_cast<Dm*>(memory); }
};

}  // namespace mrc::provider
