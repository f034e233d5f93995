// SPDX-License-Identifier: BSD-2-Clause
// What the opaque types of mrc.h are: objects of libibverbs, and what MRC adds.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>

#include "include/mrc/mrc_ctl.h"

// Who uses it counts: it cannot go before they do.
struct mrc_context {
  ibv_context* verbs = nullptr;
  uint32_t api_version = 0;  // never 0: MRC_API_CURRENT_VERSION if the program did not say
  std::atomic<unsigned> users{0};
};

struct mrc_comp_channel {
  ibv_comp_channel* verbs = nullptr;
  mrc_context* context = nullptr;
};

namespace mrc::api {
// A queue of something else than completions, with the means of one. Its ibv_cq is only there to be armed and
// to raise events.
class EventSource {
 public:
  virtual ~EventSource() = default;
  virtual int arm() = 0;
};
}  // namespace mrc::api

struct mrc_cq {
  ibv_cq* verbs = nullptr;
  mrc_context* context = nullptr;
  void* cq_context = nullptr;
  mrc::api::EventSource* events = nullptr;  // null: completions
};

struct mrc_qp_hint {
  mrc_context* context = nullptr;
  std::mutex mutex;  // of the attributes
  mrc_qp_hint_attr attributes{};
  std::atomic<unsigned> users{0};
};

struct mrc_qp {
  ibv_qp* verbs = nullptr;  // first: programs count on it
  mrc_context* context = nullptr;
  void* qp_context = nullptr;
  mrc_cq* send_cq = nullptr;
  mrc_cq* recv_cq = nullptr;
  uint64_t send_ops_flags = 0;
  mrc_protocol_version protocol_version = MRC_PROTOCOL_VERSION_0;
  std::mutex mutex;  // whoever modifies it, and of the rest
  mrc_qp_attr attributes{};
  mrc_qp_hint* hint = nullptr;
};

namespace mrc::api {

// 0, or -1 with errno set.
inline int done(int error) {
  if (error == 0) return 0;
  errno = error;
  return -1;
}
// As libibverbs: 0 or the error, which is in errno, too.
inline int told(int error) {
  if (error != 0) errno = error;
  return error;
}

// Which ibv_qp and ibv_cq are MRC's; an event may be about one that is not. registry.cc
void add(mrc_qp* qp);
void add(mrc_cq* cq);
void remove(const mrc_qp* qp);
void remove(const mrc_cq* cq);
mrc_qp* find(const ibv_qp* qp);
mrc_cq* find(const ibv_cq* cq);

}  // namespace mrc::api

#define MRC_EXPORTED_API extern "C" __attribute__((visibility("default")))
