// SPDX-License-Identifier: BSD-2-Clause
#include <map>

#include "libmrc/api/objects.h"

namespace mrc::api {
namespace {

// Never destroyed: threads of the program may outlive static destructors.
template <typename Verbs, typename Object>
struct Registry {
  std::mutex mutex;
  std::map<const Verbs*, Object*> objects;
  static Registry& get() {
    static auto* registry = new Registry;
    return *registry;
  }
};
using QueuePairs = Registry<ibv_qp, mrc_qp>;
using CompletionQueues = Registry<ibv_cq, mrc_cq>;

template <typename Table, typename Object>
void enter(Object* object) {
  std::lock_guard lock(Table::get().mutex);
  Table::get().objects.emplace(object->verbs, object);
}

template <typename Table, typename Object>
void leave(const Object* object) {
  std::lock_guard lock(Table::get().mutex);
  Table::get().objects.erase(object->verbs);
}

template <typename Object, typename Table, typename Verbs>
Object* look_up(const Verbs* verbs) {
  std::lock_guard lock(Table::get().mutex);
  const auto found = Table::get().objects.find(verbs);
  return found == Table::get().objects.end() ? nullptr : found->second;
}

}  // namespace

void add(mrc_qp* qp) {
  enter<QueuePairs>(qp);
}
void add(mrc_cq* cq) {
  enter<CompletionQueues>(cq);
}
void remove(const mrc_qp* qp) {
  leave<QueuePairs>(qp);
}
void remove(const mrc_cq* cq) {
  leave<CompletionQueues>(cq);
}
mrc_qp* find(const ibv_qp* qp) {
  return look_up<mrc_qp, QueuePairs>(qp);
}
mrc_cq* find(const ibv_cq* cq) {
  return look_up<mrc_cq, CompletionQueues>(cq);
}

}  // namespace mrc::api
