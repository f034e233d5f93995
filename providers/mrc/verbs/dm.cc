// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/verbs/dm.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "providers/mrc/presence/limits.h"
#include "providers/mrc/verbs/fork_guard.h"
#include "providers/mrc/verbs/mr.h"
#include "providers/mrc/verbs/operations.h"
#include "providers/mrc/verbs/refuse.h"
#include "providers/mrc/verbs/shared_objects.h"

namespace mrc::provider {
namespace {

constexpr uint32_t kAlignLogMax = 12;
constexpr size_t kAlignLeast = 64;

std::atomic<uint64_t> g_dm_used{0};  // bytes

int copy_to_dm(ibv_dm* verbs, uint64_t offset, const void* from, size_t bytes) {
  const SharedDm& memory = *Dm::of(verbs)->shared;
  if (!memory.contains(offset, bytes)) return EFAULT;
  std::memcpy(memory.data() + offset, from, bytes);
  return 0;
}

int copy_from_dm(void* to, ibv_dm* verbs, uint64_t offset, size_t bytes) {
  const SharedDm& memory = *Dm::of(verbs)->shared;
  if (!memory.contains(offset, bytes)) return EFAULT;
  std::memcpy(to, memory.data() + offset, bytes);
  return 0;
}

ibv_dm* name_dm(ibv_context* context, std::shared_ptr<SharedDm> shared, uint32_t handle) {
  auto memory = std::make_unique<Dm>();
  memory->shared = std::move(shared);
  memory->verbs.context = context;
  memory->verbs.memcpy_to_dm = copy_to_dm;
  memory->verbs.memcpy_from_dm = copy_from_dm;
  memory->verbs.comp_mask = IBV_DM_MASK_HANDLE;
  memory->verbs.handle = handle;
  return &memory.release()->verbs;
}

}  // namespace

std::shared_ptr<SharedDm> SharedDm::make(size_t bytes, size_t align) {
  if (g_dm_used.fetch_add(bytes) + bytes <= limits::kDeviceMemoryBytes) {
    const size_t whole = (bytes + align - 1) & ~(align - 1);
    auto* data = static_cast<uint8_t*>(std::aligned_alloc(align, whole));
    if (data != nullptr) {
      std::memset(data, 0, whole);
      return std::shared_ptr<SharedDm>(new SharedDm(data, bytes));
    }
  }
  g_dm_used.fetch_sub(bytes);
  return nullptr;
}

SharedDm::~SharedDm() {
  std::free(data_);
  g_dm_used.fetch_sub(bytes_);
}

// --- verbs ---

ibv_dm* alloc_dm(ibv_context* context, ibv_alloc_dm_attr* wanted) {
  if (forked_away()) return refuse(EPERM);
  if (wanted->comp_mask != 0) return refuse(EOPNOTSUPP);
  if (wanted->length == 0 || wanted->log_align_req > kAlignLogMax) return refuse(EINVAL);
  if (wanted->length > limits::kDeviceMemoryBytes) return refuse(ENOMEM);
  auto shared = SharedDm::make(wanted->length, std::max(kAlignLeast, size_t{1} << wanted->log_align_req));
  if (shared == nullptr) return refuse(ENOMEM);
  static std::atomic<uint32_t> next{1};
  const uint32_t handle = next.fetch_add(1);
  ibv_dm* memory = name_dm(context, shared, handle);
  shared_objects<SharedDm>().add(handle, std::move(shared));
  return memory;
}

int free_dm(ibv_dm* verbs) {
  if (forked_away()) return EPERM;
  Dm* memory = Dm::of(verbs);
  if (memory->shared->regions.load() != 0) return EBUSY;
  shared_objects<SharedDm>().remove(verbs->handle);
  delete memory;
  return 0;
}

// Its addresses are offsets from where it begins: the memory has no others.
ibv_mr* reg_dm_mr(ibv_pd* pd, ibv_dm* verbs, uint64_t offset, size_t bytes, unsigned int access) {
  if (forked_away()) return refuse(EPERM);
  const std::shared_ptr<SharedDm>& memory = Dm::of(verbs)->shared;
  const auto flags = static_cast<int>(access);
  if (const int error = check_access(flags); error != 0) return refuse(error);
  if ((flags & IBV_ACCESS_ZERO_BASED) == 0 || (flags & IBV_ACCESS_ON_DEMAND) != 0) return refuse(EINVAL);
  if (bytes == 0 || !memory->contains(offset, bytes)) return refuse(EINVAL);
  auto mr = std::make_unique<Mr>();
  mr->verbs.type = abi::RegionType::kNull;  // not the application's own memory, so libibverbs leaves it alone
  ++memory->regions;
  mr->keeps = std::shared_ptr<void>(memory->data(), [kept = memory](void*) { --kept->regions; });
  return enter_region(std::move(mr), pd, memory->data() + offset, bytes, flags, nullptr);
}

ibv_dm* import_dm(ibv_context* context, uint32_t handle) {
  if (forked_away()) return refuse(EPERM);
  std::shared_ptr<SharedDm> shared = shared_objects<SharedDm>().find(handle);
  if (shared == nullptr) return refuse(EINVAL);
  return name_dm(context, std::move(shared), handle);
}

void unimport_dm(ibv_dm* verbs) {
  if (!forked_away()) delete Dm::of(verbs);
}

}  // namespace mrc::provider
