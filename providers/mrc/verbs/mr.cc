// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/verbs/mr.h"

#include <cerrno>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <utility>

#include "providers/mrc/verbs/context.h"
#include "providers/mrc/verbs/fork_guard.h"
#include "providers/mrc/verbs/operations.h"
#include "providers/mrc/verbs/page_in.h"
#include "providers/mrc/verbs/pd.h"
#include "providers/mrc/verbs/refuse.h"

namespace mrc::provider {
namespace {

// IBV_ACCESS_FLUSH_GLOBAL, which older headers do not know. Not the one behind it: nothing is persistent
// here.
constexpr int kAccessFlushGlobal = 1 << 8;
constexpr int kAccessKnown = kAccessFlushGlobal | IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                             IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND |
                             IBV_ACCESS_ZERO_BASED | IBV_ACCESS_HUGETLB | IBV_ACCESS_ON_DEMAND |
                             IBV_ACCESS_OPTIONAL_RANGE;

// What advice about memory may be.
constexpr unsigned kAdvicesKnown = IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT + 1;

// 0 or an errno. Memory that is there on demand is not looked at.
int check(void* address, size_t bytes, int access) {
  const auto first = reinterpret_cast<uintptr_t>(address);
  if (bytes == 0 || first + bytes < first) return EINVAL;
  if (const int error = check_access(access); error != 0) return error;
  if ((access & IBV_ACCESS_ON_DEMAND) != 0) return 0;
  return page_in(address, bytes, (access & IBV_ACCESS_LOCAL_WRITE) != 0);
}

// With this flag addresses are offsets from the start of the region.
uint64_t first_address(uint64_t iova, int access) {
  return (access & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : iova;
}

ibv_mr* finish(std::unique_ptr<Mr> mr, ibv_pd* pd, void* address, size_t bytes, int access) {
  mr->verbs.access = access;
  mr->verbs.mr.context = pd->context;
  mr->verbs.mr.pd = pd;
  mr->verbs.mr.addr = address;
  mr->verbs.mr.length = bytes;
  mr->verbs.mr.lkey = mr->verbs.mr.rkey = mr->verbs.mr.handle = static_cast<uint32_t>(mr->key);
  ++mr->pd->users;
  return &mr.release()->verbs.mr;
}

}  // namespace

int check_access(int access) {
  if ((access & ~kAccessKnown) != 0) return EOPNOTSUPP;
  // The peer cannot have more rights to write than the owner.
  if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0 &&
      (access & IBV_ACCESS_LOCAL_WRITE) == 0)
    return EINVAL;
  return 0;
}

uint8_t rights_of(int access) {
  uint8_t rights = 0;
  if ((access & IBV_ACCESS_LOCAL_WRITE) != 0) rights |= kLocalWrite;
  if ((access & IBV_ACCESS_REMOTE_WRITE) != 0) rights |= kRemoteWrite;
  if ((access & IBV_ACCESS_REMOTE_READ) != 0) rights |= kRemoteRead;
  if ((access & IBV_ACCESS_REMOTE_ATOMIC) != 0) rights |= kRemoteAtomic;
  if ((access & IBV_ACCESS_MW_BIND) != 0) rights |= kWindowBind;
  if ((access & IBV_ACCESS_ON_DEMAND) != 0) rights |= kOnDemand;
  if ((access & kAccessFlushGlobal) != 0) rights |= kRemoteFlush;
  return rights;
}

ibv_mr* enter_region(std::unique_ptr<Mr> mr, ibv_pd* pd, void* place, size_t bytes, int access, void* shown) {
  Context* context = Context::of(pd->context);
  if (const int error = context->device().start(); error != 0) return refuse(error);
  mr->context = context;
  mr->pd = Pd::of(pd);
  Listed listed(context, mr.get());
  mr->key = context->device().memory().add(mr->pd->domain, place, bytes, first_address(mr->iova, access),
                                           rights_of(access));
  if (mr->key == MemoryKey{}) return refuse(ENOMEM);
  listed.keep();
  return finish(std::move(mr), pd, shown, bytes, access);
}

// --- verbs ---

ibv_mr* reg_mr(ibv_pd* verbs_pd, void* address, size_t bytes, uint64_t iova, int access) {
  if (forked_away()) return refuse(EPERM);
  if (const int error = check(address, bytes, access); error != 0) return refuse(error);
  // The implicit region, which is all memory: whoever is shown it knows no addresses but the real ones.
  if (address == nullptr && bytes == SIZE_MAX && iova != 0) return refuse(EINVAL);
  try {
    auto mr = std::make_unique<Mr>();
    mr->iova = iova;
    mr->verbs.type = abi::RegionType::kRegion;
    return enter_region(std::move(mr), verbs_pd, address, bytes, access, address);
  } catch (const std::bad_alloc&) {
    return refuse(ENOMEM);
  }
}

ibv_mr* alloc_null_mr(ibv_pd* pd) {
  if (forked_away()) return refuse(EPERM);
  Context* context = Context::of(pd->context);
  if (const int error = context->device().start(); error != 0) return refuse(error);
  try {
    auto mr = std::make_unique<Mr>();
    mr->context = context;
    mr->pd = Pd::of(pd);
    Listed listed(context, mr.get());
    mr->key = context->device().memory().add_nothing(mr->pd->domain);
    if (mr->key == MemoryKey{}) return refuse(ENOMEM);
    listed.keep();
    mr->verbs.type = abi::RegionType::kNull;
    return finish(std::move(mr), pd, nullptr, SIZE_MAX, IBV_ACCESS_LOCAL_WRITE);
  } catch (const std::bad_alloc&) {
    return refuse(ENOMEM);
  }
}

// libibverbs has checked the flags, and keeps address, length and domain of the ibv_mr itself.
int rereg_mr(abi::MemoryRegion* verbs, int flags, ibv_pd* new_pd, void* new_address, size_t new_bytes,
             int new_access) {
  if (forked_away()) return EPERM;
  Mr* mr = Mr::of(verbs);
  if (verbs->type != abi::RegionType::kRegion) return EINVAL;
  const bool moves = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
  const int access = (flags & IBV_REREG_MR_CHANGE_ACCESS) != 0 ? new_access : verbs->access;
  void* address = moves ? new_address : verbs->mr.addr;
  const size_t bytes = moves ? new_bytes : verbs->mr.length;
  const uint64_t iova = moves ? reinterpret_cast<uintptr_t>(new_address) : mr->iova;
  Pd* pd = (flags & IBV_REREG_MR_CHANGE_PD) != 0 ? Pd::of(new_pd) : mr->pd;
  if (const int error = check(address, bytes, access); error != 0) return error;
  if (!mr->context->device().memory().change(mr->key, pd->domain, address, bytes, first_address(iova, access),
                                             rights_of(access)))
    return EBUSY;  // a window is bound to it
  ++pd->users;
  --mr->pd->users;
  mr->pd = pd;
  mr->iova = iova;
  verbs->access = access;
  return 0;
}

// Advice that need not be taken: pages come in with the packets that use them, and the kernel is quick then.
int advise_mr(ibv_pd* pd, ibv_advise_mr_advice advice, uint32_t flags, ibv_sge* pieces, uint32_t count) {
  if (forked_away()) return EPERM;
  if (static_cast<unsigned>(advice) >= kAdvicesKnown) return EOPNOTSUPP;
  if ((flags & ~uint32_t{IBV_ADVISE_MR_FLAG_FLUSH}) != 0 || pieces == nullptr || count == 0) return EINVAL;
  Device& device = Context::of(pd->context)->device();
  if (const int error = device.start(); error != 0) return error;
  const uint8_t rights =
      advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE ? kLocalRead | kLocalWrite : kLocalRead;
  for (const ibv_sge& piece : std::span(pieces, count)) {
    const std::optional<MemoryRegion> region = device.memory().find(MemoryKey{piece.lkey});
    if (!region || region->domain != Pd::of(pd)->domain || (region->access & rights) != rights ||
        !region->contains(piece.addr, piece.length))
      return EFAULT;
  }
  return 0;
}

int dereg_mr(abi::MemoryRegion* verbs) {
  if (forked_away()) return EPERM;
  Mr* mr = Mr::of(verbs);
  // Somebody who has imported it may have been faster, or a window is bound to it.
  if (const int error = mr->context->device().memory().remove(mr->key); error != 0) return error;
  mr->context->remove(mr);
  --mr->pd->users;
  delete mr;
  return 0;
}

// Another name for a region. Where its memory is only the first one knows.
ibv_mr* import_mr(ibv_pd* verbs_pd, uint32_t handle) {
  if (forked_away()) return refuse(EPERM);
  Context* context = Context::of(verbs_pd->context);
  if (const int error = context->device().start(); error != 0) return refuse(error);
  auto mr = std::make_unique<Mr>();
  mr->context = context;
  mr->pd = Pd::of(verbs_pd);
  mr->key = MemoryKey{handle};
  mr->verbs.type = abi::RegionType::kImported;
  const std::optional<MemoryRegion> region = context->device().memory().find(mr->key);
  if (!region || region->domain != mr->pd->domain ||
      (region->kind != MemoryKind::kRegion && region->kind != MemoryKind::kNothing))
    return refuse(EINVAL);
  ibv_mr* result = finish(std::move(mr), verbs_pd, nullptr, region->bytes, 0);
  --Pd::of(verbs_pd)->users;  // it is counted already
  return result;
}

void unimport_mr(ibv_mr* verbs) {
  Mr* mr = Mr::of(reinterpret_cast<abi::MemoryRegion*>(verbs));
  if (forked_away()) return;
  mr->context->remove(mr);
  delete mr;
}

}  // namespace mrc::provider
