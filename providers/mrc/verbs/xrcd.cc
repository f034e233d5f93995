// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/verbs/xrcd.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <mutex>

#include "providers/mrc/verbs/fork_guard.h"
#include "providers/mrc/verbs/operations.h"
#include "providers/mrc/verbs/refuse.h"

namespace mrc::provider {
namespace {

// Never destroyed: threads of the application may outlive static destructors.
struct XrcFiles {
  std::mutex mutex;
  std::map<std::pair<dev_t, ino_t>, std::weak_ptr<SharedXrcd>> open;
};
XrcFiles& xrc_files() {
  static auto* files = new XrcFiles;
  return *files;
}

// 0 or an errno, as the kernel has them.
int find_domain(const ibv_xrcd_init_attr& wanted, Xrcd* domain) {
  const bool creates = (wanted.oflags & O_CREAT) != 0;
  if (wanted.fd == -1) {
    if (!creates) return EINVAL;
    domain->shared = std::make_shared<SharedXrcd>();
    return 0;
  }
  struct stat file {};
  if (fstat(wanted.fd, &file) != 0) return EBADF;
  domain->file = {file.st_dev, file.st_ino};
  std::lock_guard lock(xrc_files().mutex);
  std::weak_ptr<SharedXrcd>& known = xrc_files().open[*domain->file];
  domain->shared = known.lock();
  if (domain->shared != nullptr) return (wanted.oflags & O_EXCL) != 0 ? EINVAL : 0;
  if (!creates) return EAGAIN;
  known = domain->shared = std::make_shared<SharedXrcd>();
  return 0;
}

}  // namespace

// --- verbs ---

ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* wanted) {
  constexpr uint32_t kMasks = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  if (forked_away()) return refuse(EPERM);
  if ((wanted->comp_mask & ~kMasks) != 0) return refuse(EOPNOTSUPP);
  if (wanted->comp_mask != kMasks || (wanted->oflags & ~(O_CREAT | O_EXCL)) != 0) return refuse(EINVAL);
  auto domain = std::make_unique<Xrcd>();
  if (const int error = find_domain(*wanted, domain.get()); error != 0) return refuse(error);
  domain->verbs.context = context;
  return &domain.release()->verbs;
}

int close_xrcd(ibv_xrcd* verbs) {
  if (forked_away()) return EPERM;
  Xrcd* domain = Xrcd::of(verbs);
  if (domain->users.load() != 0) return EBUSY;
  delete domain;
  return 0;
}

}  // namespace mrc::provider
