// SPDX-License-Identifier: BSD-2-Clause
// Verbs objects that destroy themselves (and complain if that fails), and the shortest ways to use them.
#pragma once

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "case.h"

namespace conformance {

inline int destroy(ibv_context* object) {
  return ibv_close_device(object);
}
inline int destroy(ibv_pd* object) {
  return ibv_dealloc_pd(object);
}
inline int destroy(ibv_mr* object) {
  return ibv_dereg_mr(object);
}
inline int destroy(ibv_mw* object) {
  return ibv_dealloc_mw(object);
}
inline int destroy(ibv_cq* object) {
  return ibv_destroy_cq(object);
}
inline int destroy(ibv_comp_channel* object) {
  return ibv_destroy_comp_channel(object);
}
inline int destroy(ibv_srq* object) {
  return ibv_destroy_srq(object);
}
inline int destroy(ibv_qp* object) {
  return ibv_destroy_qp(object);
}
inline int destroy(ibv_ah* object) {
  return ibv_destroy_ah(object);
}
inline int destroy(ibv_td* object) {
  return ibv_dealloc_td(object);
}

inline int destroy(ibv_xrcd* object) {
  return ibv_close_xrcd(object);
}
inline int destroy(ibv_dm* object) {
  return ibv_free_dm(object);
}
inline int destroy(ibv_flow* object) {
  return ibv_destroy_flow(object);
}

template <typename T>
class Owned {
 public:
  Owned() = default;
  explicit Owned(T* object) : object_(object) {}
  Owned(Owned&& from) noexcept : object_(from.release()) {}
  Owned& operator=(Owned&& from) noexcept {
    if (this != &from) {
      reset();
      object_ = from.release();
    }
    return *this;
  }
  ~Owned() { reset(); }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  operator T*() const { return object_; }
  T* release() { return std::exchange(object_, nullptr); }
  void reset() {
    if (object_ == nullptr) return;
    if (const int error = destroy(release()); error != 0)
      complain(std::string("an object cannot be destroyed: ") + std::strerror(error));
  }

 private:
  T* object_ = nullptr;
};

// Throws when the verb refused.
template <typename T>
Owned<T> own(T* object, const char* what) {
  if (object == nullptr) throw Failure(std::string(what) + ": " + std::strerror(errno));
  return Owned<T>(object);
}

// mrc0, open for the whole life of the process.
ibv_context* device();
Owned<ibv_context> open_device();
ibv_device_attr device_attributes();

inline Owned<ibv_pd> make_pd(ibv_context* context = device()) {
  return own(ibv_alloc_pd(context), "ibv_alloc_pd");
}
Owned<ibv_cq> make_cq(int entries = 64, ibv_comp_channel* channel = nullptr, void* cookie = nullptr,
                      ibv_context* context = device());
Owned<ibv_comp_channel> make_channel(ibv_context* context = device());
Owned<ibv_srq> make_srq(ibv_pd* pd, uint32_t entries = 16, uint32_t segments = 4, uint32_t limit = 0);

constexpr int kAllAccess =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

// Page-aligned bytes with a region over them.
class Memory {
 public:
  Memory() = default;
  Memory(ibv_pd* pd, size_t bytes, int access = kAllAccess);

  uint8_t* data() const { return bytes_.get(); }
  size_t size() const { return size_; }
  uint64_t address(size_t offset = 0) const { return reinterpret_cast<uintptr_t>(data()) + offset; }
  ibv_sge piece(size_t offset, uint32_t bytes) const { return {address(offset), bytes, mr->lkey}; }
  uint64_t& word(size_t offset) { return *reinterpret_cast<uint64_t*>(data() + offset); }
  // A pattern that depends on seed and place; and whether it is there.
  void fill(uint8_t seed, size_t offset, size_t bytes);
  void fill(uint8_t seed) { fill(seed, 0, size_); }
  bool has(uint8_t seed, size_t offset, size_t bytes, size_t seed_offset) const;
  bool all(uint8_t value, size_t offset, size_t bytes) const;

 private:
  struct Free {
    void operator()(uint8_t* bytes) const { std::free(bytes); }
  };
  std::unique_ptr<uint8_t[], Free> bytes_;
  size_t size_ = 0;

 public:
  Owned<ibv_mr> mr;  // goes before the bytes
};

// --- queue pairs ---

constexpr uint32_t kQueueKey = 0x11111111;
constexpr uint32_t kPsn = 0xFFFFF0;  // wraps soon

ibv_qp_init_attr qp_wanted(ibv_cq* send, ibv_cq* receive, ibv_qp_type type = IBV_QPT_RC);
Owned<ibv_qp> make_qp(ibv_pd* pd, ibv_qp_init_attr wanted);

// The attributes of a connection; the defaults suit a test.
struct Path {
  ibv_mtu mtu = IBV_MTU_1024;
  uint8_t timeout = 17;  // half a second: the other side may have to wait for a CPU
  uint8_t retry_cnt = 7;
  uint8_t rnr_retry = 7;
  uint8_t min_rnr_timer = 1;
  uint8_t max_rd_atomic = 4;
  uint8_t max_dest_rd_atomic = 4;
  unsigned access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  uint32_t queue_key = kQueueKey;
};

// What the transition to a state needs, as the kernel's table has it, and good values for it.
int needed_mask(ibv_qp_type type, ibv_qp_state to);
ibv_qp_attr good_attributes(ibv_context* context, ibv_qp_state to, uint32_t destination_qpn = 0,
                            const Path& path = {});
int move(ibv_qp* qp, ibv_qp_state to, uint32_t destination_qpn = 0, const Path& path = {});
// Moves a new queue pair step by step; throws when a step is refused.
const char* type_name(ibv_qp_type type);
void bring_to(ibv_qp* qp, ibv_qp_state to, uint32_t destination_qpn = 0, const Path& path = {});
ibv_qp_state queried_state(ibv_qp* qp);
ibv_ah_attr address_of_self(ibv_context* context);
constexpr uint32_t kAllMembers = 0xFFFFFF;  // the number of every queue pair of a multicast group
// A group of the IP version that the first GID has; the number tells groups apart.
ibv_gid group_of(ibv_context* context, uint32_t number);

// --- work ---

class Request {
 public:
  explicit Request(ibv_wr_opcode opcode, uint64_t id = 1);
  Request& piece(const ibv_sge& one);
  Request& piece(const Memory& memory, size_t offset, uint32_t bytes) {
    return piece(memory.piece(offset, bytes));
  }
  Request& remote(uint64_t address, uint32_t key);
  Request& remote(const Memory& memory, size_t offset) {
    return remote(memory.address(offset), memory.mr->rkey);
  }
  Request& atomic(uint64_t address, uint32_t key, uint64_t compare_add, uint64_t swap = 0);
  Request& immediate(uint32_t value);
  Request& invalidate(uint32_t key);
  Request& flags(unsigned added);
  Request& silent();  // not signalled
  Request& to(ibv_ah* handle, uint32_t qpn, uint32_t queue_key = kQueueKey);

  ibv_send_wr& raw();
  // What ibv_post_send() answers; a refused request must be named.
  int post(ibv_qp* qp);

 private:
  ibv_send_wr request_{};
  std::vector<ibv_sge> pieces_;
};

// With mrc-strict there is nothing but WRITEs on connections. Such a case ends here, if what it needs is
// refused properly.
bool is_strict();
void need_operation(ibv_wr_opcode opcode);
void need_messages();  // SENDs

int post_receive(ibv_qp* qp, uint64_t id, std::vector<ibv_sge> pieces = {});
int post_receive(ibv_srq* srq, uint64_t id, std::vector<ibv_sge> pieces = {});

// The next completion; throws when none comes in time.
ibv_wc await(ibv_cq* cq, int seconds = 10);
// The next completion, which must have this id and status.
ibv_wc await(ibv_cq* cq, uint64_t id, ibv_wc_status status);
// Nothing completes for a while.
void expect_quiet(ibv_cq* cq, int milliseconds = 50);
// Whether the file descriptor becomes readable in time.
bool readable(int fd, int milliseconds);
void set_nonblocking(int fd);
// The next asynchronous event of the context, read but not acknowledged; throws when none comes.
ibv_async_event await_async(ibv_context* context, int seconds = 5);
// Reads events until the wanted one, acknowledging all.
void await_async(ibv_context* context, ibv_event_type type, int seconds = 5);

// --- two connected queue pairs of this process ---

struct Side {
  Owned<ibv_cq> send_cq;
  Owned<ibv_cq> receive_cq;
  Memory memory;
  Owned<ibv_srq> srq;
  Owned<ibv_qp> qp;
};

struct PairOptions {
  ibv_qp_type type = IBV_QPT_RC;
  ibv_qp_cap cap = {16, 16, 4, 4, 64};
  size_t bytes = 64 << 10;
  int region_access = kAllAccess;
  bool signal_all = false;
  bool with_srq = false;
  int cq_entries = 64;
  Path path = {};
  ibv_qp_state until = IBV_QPS_RTS;
  ibv_context* context = nullptr;  // null: the process's
};

// Work goes from `a` to `b`.
class Pair {
 public:
  explicit Pair(const PairOptions& options = {});

  ibv_context* context;
  Owned<ibv_pd> pd;
  Side a;
  Side b;
  Owned<ibv_ah> handle;  // datagrams only: to this host
};

// Both sides' regions are given different patterns.
constexpr uint8_t kSeedA = 17;
constexpr uint8_t kSeedB = 91;

}  // namespace conformance
