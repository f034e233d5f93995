// SPDX-License-Identifier: BSD-2-Clause
// The packet buffers (mbufs) of one device. The data path is single-threaded, so free buffers are kept in a
// plain stack instead of DPDK's shared ring: cheaper, and the buffer used next is the one that is still in
// the cache.
#pragma once

#include <rte_mbuf.h>

#include <cstdint>
#include <memory>
#include <string>

#include "libmrc/wire/frame.h"

namespace mrc {

// Room for one frame in an mbuf.
inline constexpr uint16_t kBufferBytes = 4352;
static_assert(kBufferBytes >= kFrameBytesMax && kBufferBytes % 64 == 0);

class PacketPool {
 public:
  // EAL must run. Null: `error` says why.
  static std::unique_ptr<PacketPool> create(uint32_t mbufs, std::string* error);
  ~PacketPool();
  PacketPool(const PacketPool&) = delete;
  PacketPool& operator=(const PacketPool&) = delete;

  rte_mempool* mempool() const { return pool_; }

  // Memory that EAL needs for so many mbufs.
  static uint32_t megabytes(uint32_t mbufs);

 private:
  explicit PacketPool(rte_mempool* pool) : pool_(pool) {}
  rte_mempool* const pool_;
};

}  // namespace mrc
