// SPDX-License-Identifier: BSD-2-Clause
// An open context: what libibverbs sees of it, and what belongs to it.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_set>

#include "providers/mrc/verbs/command_file.h"
#include "providers/mrc/verbs/commands.h"
#include "providers/mrc/verbs/device.h"
#include "providers/mrc/verbs/event_queue.h"
#include "providers/mrc/verbs/provider_abi.h"

namespace mrc::provider {

struct Mr;
struct Qp;

// libibverbs allocates and zeroes this one; everything of ours is behind `context`.
class Context;
struct ContextShell {
  verbs_context verbs;
  Context* context;
};

class Context {
 public:
  static Context* of(ibv_context* context);

  // Null: errno is set. Takes over the placeholder file in any case.
  static verbs_context* open(ibv_device* device, int placeholder);
  static void close(ibv_context* context);

  Device& device() { return *device_; }
  Commands& commands() { return commands_; }

  // Any thread. `element` is the ibv_qp, ibv_cq or ibv_srq that the event is about, or the port's number.
  void post_async(ibv_event_type type, void* element) {
    post_async(type, reinterpret_cast<uintptr_t>(element));
  }
  void post_async(ibv_event_type type, uintptr_t element);
  // Takes back the unread events about an object that is being destroyed.
  void forget_async(const void* element);

  // What the application forgets to destroy is taken out of the engine when the context closes.
  // An asynchronous event on purpose: of the queue pair with this number, if it is here; of none: of the
  // port.
  void raise(ibv_event_type type, uint32_t qpn);
  void add(Qp* qp);
  void remove(Qp* qp);
  void add(Mr* mr);
  void remove(Mr* mr);

 private:
  Context();
  ~Context();

  Device* device_ = nullptr;
  Commands commands_;
  std::unique_ptr<CommandFile> command_file_;
  EventQueue async_events_;
  std::mutex async_mutex_;
  std::mutex objects_mutex_;
  std::unordered_set<Qp*> queue_pairs_;
  std::list<Mr*> regions_;
};

// An object that is being made, in its context's list before the engine knows it: what memory runs out for
// later must not leave something in the engine that nobody has.
template <typename Object>
class Listed {
 public:
  Listed(Context* context, Object* object) : context_(context), object_(object) { context->add(object); }
  ~Listed() {
    if (object_ != nullptr) context_->remove(object_);
  }
  Listed(const Listed&) = delete;
  Listed& operator=(const Listed&) = delete;
  void keep() { object_ = nullptr; }

 private:
  Context* context_;
  Object* object_;
};

}  // namespace mrc::provider
