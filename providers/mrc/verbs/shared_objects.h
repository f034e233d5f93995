// SPDX-License-Identifier: BSD-2-Clause
// Verbs objects that have several names: who has imported one by its handle has a name of his own for it.
// What all of them have in common is found here, until the object is destroyed by one of them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace mrc::provider {

template <typename Shared>
class SharedObjects {
 public:
  void add(uint32_t handle, std::shared_ptr<Shared> object) {
    std::lock_guard lock(mutex_);
    objects_.emplace(handle, std::move(object));
  }
  // Null: there is none, or none any more.
  std::shared_ptr<Shared> find(uint32_t handle) {
    std::lock_guard lock(mutex_);
    const auto found = objects_.find(handle);
    return found != objects_.end() ? found->second : nullptr;
  }
  void remove(uint32_t handle) {
    std::lock_guard lock(mutex_);
    objects_.erase(handle);
  }

 private:
  std::mutex mutex_;
  std::map<uint32_t, std::shared_ptr<Shared>> objects_;
};

// Of the whole process. Never destroyed: threads of the application may outlive static destructors.
template <typename Shared>
SharedObjects<Shared>& shared_objects() {
  static auto* objects = new SharedObjects<Shared>;
  return *objects;
}

}  // namespace mrc::provider
