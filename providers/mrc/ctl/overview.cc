// SPDX-License-Identifier: BSD-2-Clause
// mrcdv.h: denied links of the fabric, and which profiles there are.
#include <algorithm>
#include <vector>

#include "include/mrc/mrcdv.h"
#include "providers/mrc/ctl/change.h"

namespace mrc::provider {
namespace {

// 0 or an errno.
int check_device(const ibv_context* verbs) {
  if (verbs == nullptr) return EINVAL;
  return mrcdv_is_supported(verbs->device) != 0 ? 0 : EOPNOTSUPP;
}

bool same(const UsidLink& a, const UsidLink& b) {
  return a == b || (a.other != 0 && a.one == b.other && a.other == b.one);
}

int change_links(ControlModel& model, mrcdv_links_op op, const std::vector<UsidLink>& links) {
  std::vector<UsidLink>& denied = model.denied_links;
  if (op == MRCDV_LINKS_REPLACE) denied.clear();
  for (const UsidLink& link : links) {
    std::erase_if(denied, [&](const UsidLink& known) { return same(known, link); });
    if (op != MRCDV_LINKS_REMOVE) denied.push_back(link);
  }
  return 0;
}

int modify_links(ibv_context* verbs, mrcdv_links_op op, const mrcdv_link* links, int count) {
  if (const int error = check_device(verbs); error != 0) return error;
  if (count < 0 || (links == nullptr && count > 0) || op > MRCDV_LINKS_REMOVE) return EINVAL;
  std::vector<UsidLink> wanted;
  wanted.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    if (links[i].usid == 0) return EINVAL;
    wanted.push_back({links[i].usid, links[i].other});
  }
  const int result = change(
      verbs, [&](ControlModel& model, ControlPage&, Keep*) { return change_links(model, op, wanted); });
  return result == 0 ? 0 : errno;
}

int query_links(ibv_context* verbs, mrcdv_link* links, int count) {
  if (const int error = check_device(verbs); error != 0) return -error;
  if (count < 0 || (links == nullptr && count > 0)) return -EINVAL;
  int all = 0;
  const int result = look(verbs, [&](ControlModel& model, const ControlPage&) {
    for (const UsidLink& link : model.denied_links) {
      if (all < count) links[all] = {link.one, link.other};
      ++all;
    }
    return 0;
  });
  return result == 0 ? all : -errno;
}

int query_profiles(ibv_context* verbs, mrcdv_profile_kind kind, uint64_t* ids, int count) {
  if (const int error = check_device(verbs); error != 0) return -error;
  if (count < 0 || (ids == nullptr && count > 0) || kind > MRCDV_PROFILE_CC) return -EINVAL;
  int all = 0;
  const auto tell = [&](const auto& profiles) {
    for (const auto& [id, profile] : profiles) {
      if (all < count) ids[all] = id;
      ++all;
    }
  };
  const int result = look(verbs, [&](ControlModel& model, const ControlPage&) {
    if (kind == MRCDV_PROFILE_EV_FMT) tell(model.formats);
    if (kind == MRCDV_PROFILE_EV) tell(model.paths);
    if (kind == MRCDV_PROFILE_CC) tell(model.congestion);
    return 0;
  });
  return result == 0 ? all : -errno;
}

}  // namespace
}  // namespace mrc::provider

MRC_EXPORTED_API int mrcdv_modify_denied_links(ibv_context* context, mrcdv_links_op op,
                                               const mrcdv_link* links, int count) {
  try {
    return mrc::provider::modify_links(context, op, links, count);
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}
MRC_EXPORTED_API int mrcdv_query_denied_links(ibv_context* context, mrcdv_link* links, int count) {
  return mrc::provider::query_links(context, links, count);
}
MRC_EXPORTED_API int mrcdv_query_profiles(ibv_context* context, mrcdv_profile_kind kind, uint64_t* ids,
                                          int count) {
  return mrc::provider::query_profiles(context, kind, ids, count);
}
