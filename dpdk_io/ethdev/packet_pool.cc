// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/ethdev/packet_pool.h"

#include <rte_errno.h>
#include <rte_mempool.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace mrc {
namespace {

constexpr char kStackOps[] = "mrc_stack";

// No lock: only the data path takes and gives (see device_ports.h).
struct Stack {
  uint32_t count = 0;
  uint32_t capacity = 0;
  void* objects[];
};

int stack_alloc(rte_mempool* pool) {
  auto* stack = static_cast<Stack*>(std::calloc(1, sizeof(Stack) + pool->size * sizeof(void*)));
  if (stack == nullptr) return -ENOMEM;
  stack->capacity = pool->size;
  pool->pool_data = stack;
  return 0;
}

void stack_free(rte_mempool* pool) {
  std::free(pool->pool_data);
}

[[gnu::hot]] int stack_put(rte_mempool* pool, void* const* objects, unsigned count) {
  auto* stack = static_cast<Stack*>(pool->pool_data);
  if (count > stack->capacity - stack->count) return -ENOBUFS;
  std::memcpy(stack->objects + stack->count, objects, count * sizeof(void*));
  stack->count += count;
  return 0;
}

[[gnu::hot]] int stack_get(rte_mempool* pool, void** objects, unsigned count) {
  auto* stack = static_cast<Stack*>(pool->pool_data);
  if (count > stack->count) return -ENOBUFS;
  stack->count -= count;
  std::memcpy(objects, stack->objects + stack->count, count * sizeof(void*));
  return 0;
}

unsigned stack_count(const rte_mempool* pool) {
  return static_cast<const Stack*>(pool->pool_data)->count;
}

bool register_stack() {
  static const bool registered = [] {
    rte_mempool_ops ops{};
    std::strncpy(ops.name, kStackOps, sizeof ops.name - 1);
    ops.alloc = stack_alloc;
    ops.free = stack_free;
    ops.enqueue = stack_put;
    ops.dequeue = stack_get;
    ops.get_count = stack_count;
    return rte_mempool_register_ops(&ops) >= 0;
  }();
  return registered;
}

}  // namespace

std::unique_ptr<PacketPool> PacketPool::create(uint32_t mbufs, std::string* error) {
  static std::atomic<unsigned> number{0};
  const std::string name = "mrc_packets_" + std::to_string(number.fetch_add(1));
  rte_mempool* pool = nullptr;
  if (register_stack())
    pool = rte_pktmbuf_pool_create_by_ops(name.c_str(), mbufs, 0, 0, kBufferBytes + RTE_PKTMBUF_HEADROOM,
                                          SOCKET_ID_ANY, kStackOps);
  if (pool != nullptr) return std::unique_ptr<PacketPool>(new PacketPool(pool));
  *error = "mrc: no memory for " + std::to_string(mbufs) + " packet buffers: " + rte_strerror(rte_errno) +
           "; set mbufs in [limits] of the configuration to less";
  return nullptr;
}

PacketPool::~PacketPool() {
  rte_mempool_free(pool_);
}

uint32_t PacketPool::megabytes(uint32_t mbufs) {
  // DPDK reserves whole pages for an object larger than a page.
  constexpr uint64_t kMbufBytes = 8192;
  static_assert(kMbufBytes >= kBufferBytes + RTE_PKTMBUF_HEADROOM + sizeof(rte_mbuf) + 256);
  return static_cast<uint32_t>((mbufs * kMbufBytes >> 20) + 1);
}

}  // namespace mrc
