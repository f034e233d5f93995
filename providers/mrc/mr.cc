// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/mr.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <new>

#include "providers/mrc/address.h"
#include "providers/mrc/context.h"
#include "providers/mrc/fork_guard.h"
#include "providers/mrc/operations.h"
#include "providers/mrc/pd.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

namespace mrc::provider {
namespace {

constexpr int kAccessKnown = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                             IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED |
                             IBV_ACCESS_HUGETLB | IBV_ACCESS_OPTIONAL_RANGE;

// Whether the process's map says that all of [first, end) may be read, and written if asked.
bool mapped(uintptr_t first, uintptr_t end, bool writable) {
  std::FILE* map = std::fopen("/proc/self/maps", "re");
  if (map == nullptr) return true;  // nobody can say
  char line[512];
  while (first < end && std::fgets(line, sizeof line, map) != nullptr) {
    unsigned long from = 0;
    unsigned long to = 0;
    char rights[5] = "";
    // The rest of a line with a very long name does not look like one.
    if (std::sscanf(line, "%lx-%lx %4s ", &from, &to, rights) != 3 || to <= first) continue;
    if (from > first || rights[0] != 'r' || (writable && rights[1] != 'w')) break;
    first = to;
  }
  std::fclose(map);
  return first >= end;
}

// Brings the pages in, as pinning them for a NIC would. What cannot be read or written as asked must be found
// out now: later it would be a SIGSEGV in the data path. 0 or an errno.
int populate(void* address, size_t bytes, bool writable) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t first = reinterpret_cast<uintptr_t>(address) & ~(page - 1);
  const uintptr_t end = (reinterpret_cast<uintptr_t>(address) + bytes + page - 1) & ~(page - 1);
  void* pages = pointer_at(first);
  while (madvise(pages, end - first, writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) != 0) {
    if (errno == EINTR || errno == EAGAIN) continue;
    // Says a kernel before 5.14, and any other about a device's memory and about missing rights.
    if (errno == EINVAL && mapped(first, end, writable)) return 0;
    return EFAULT;
  }
  return 0;
}

int check(void* address, size_t bytes, int access) {
  const auto first = reinterpret_cast<uintptr_t>(address);
  if (bytes == 0 || first + bytes < first) return EINVAL;
  if ((access & ~kAccessKnown) != 0) return EOPNOTSUPP;
  // The peer cannot have more rights to write than the owner.
  if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0 &&
      (access & IBV_ACCESS_LOCAL_WRITE) == 0)
    return EINVAL;
  return 0;
}

ibv_mr* fail(int error) {
  errno = error;
  return nullptr;
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
  mr->context->add(mr.get());
  ++mr->pd->users;
  return &mr.release()->verbs.mr;
}

}  // namespace

uint8_t rights_of(int access) {
  uint8_t rights = 0;
  if ((access & IBV_ACCESS_LOCAL_WRITE) != 0) rights |= kLocalWrite;
  if ((access & IBV_ACCESS_REMOTE_WRITE) != 0) rights |= kRemoteWrite;
  if ((access & IBV_ACCESS_REMOTE_READ) != 0) rights |= kRemoteRead;
  if ((access & IBV_ACCESS_REMOTE_ATOMIC) != 0) rights |= kRemoteAtomic;
  if ((access & IBV_ACCESS_MW_BIND) != 0) rights |= kWindowBind;
  return rights;
}

// --- verbs ---

ibv_mr* reg_mr(ibv_pd* verbs_pd, void* address, size_t bytes, uint64_t iova, int access) {
  if (forked_away()) return fail(EPERM);
  if (const int error = check(address, bytes, access); error != 0) return fail(error);
  if (const int error = populate(address, bytes, (access & IBV_ACCESS_LOCAL_WRITE) != 0); error != 0)
    return fail(error);
  Pd* pd = Pd::of(verbs_pd);
  Context* context = Context::of(verbs_pd->context);
  if (const int error = context->device().start(); error != 0) return fail(error);
  try {
    auto mr = std::make_unique<Mr>();
    mr->context = context;
    mr->pd = pd;
    {
      Progress::Control control(context->device().progress());
      mr->key = context->device().engine().memory().add(pd->domain, address, bytes,
                                                        first_address(iova, access), rights_of(access));
    }
    if (mr->key == MemoryKey{}) return fail(ENOMEM);
    mr->iova = iova;
    mr->verbs.type = abi::RegionType::kRegion;
    return finish(std::move(mr), verbs_pd, address, bytes, access);
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM);
  }
}

ibv_mr* alloc_null_mr(ibv_pd* pd) {
  if (forked_away()) return fail(EPERM);
  Context* context = Context::of(pd->context);
  if (const int error = context->device().start(); error != 0) return fail(error);
  try {
    auto mr = std::make_unique<Mr>();
    mr->context = context;
    mr->pd = Pd::of(pd);
    {
      Progress::Control control(context->device().progress());
      mr->key = context->device().engine().memory().add_nothing(mr->pd->domain);
    }
    if (mr->key == MemoryKey{}) return fail(ENOMEM);
    mr->verbs.type = abi::RegionType::kNull;
    return finish(std::move(mr), pd, nullptr, SIZE_MAX, IBV_ACCESS_LOCAL_WRITE);
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM);
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
  if (const int error = populate(address, bytes, (access & IBV_ACCESS_LOCAL_WRITE) != 0); error != 0)
    return error;
  {
    Progress::Control control(mr->context->device().progress());
    if (!mr->context->device().engine().memory().change(mr->key, pd->domain, address, bytes,
                                                        first_address(iova, access), rights_of(access)))
      return EBUSY;  // a window is bound to it
  }
  ++pd->users;
  --mr->pd->users;
  mr->pd = pd;
  mr->iova = iova;
  verbs->access = access;
  return 0;
}

int dereg_mr(abi::MemoryRegion* verbs) {
  if (forked_away()) return EPERM;
  Mr* mr = Mr::of(verbs);
  {
    Progress::Control control(mr->context->device().progress());
    if (!mr->context->device().engine().memory().remove(mr->key)) return EBUSY;  // a window is bound to it
  }
  mr->context->remove(mr);
  --mr->pd->users;
  delete mr;
  return 0;
}

}  // namespace mrc::provider
