// SPDX-License-Identifier: BSD-2-Clause
// Memory runs out at every allocation that a verb makes, one after the other: the verb answers ENOMEM, no
// exception reaches this program, and with memory again everything works. The provider allocates by this
// program's operator new.
#include <errno.h>
#include <infiniband/verbs.h>
#include <link.h>
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

// How many allocations of this thread succeed before one fails; -1: all.
thread_local long t_left = -1;
thread_local bool t_failed = false;
long g_failures = 0;

// Where the provider's code is, once it is loaded.
uintptr_t g_provider_begin = 0;
uintptr_t g_provider_end = 0;

int find_provider(dl_phdr_info* library, size_t, void*) {
  if (std::strstr(library->dlpi_name, "libmrc") == nullptr) return 0;
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const auto& part = library->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    g_provider_begin = library->dlpi_addr + part.p_vaddr;
    g_provider_end = g_provider_begin + part.p_memsz;
  }
  return 1;
}

bool is_provider(const void* caller) {
  const auto address = reinterpret_cast<uintptr_t>(caller);
  return address >= g_provider_begin && address < g_provider_end;
}

bool fails_now() {
  if (t_left < 0 || t_left-- > 0) return false;
  t_left = -1;
  t_failed = true;
  ++g_failures;
  return true;
}

}  // namespace

// glibc's own, behind those that are replaced here.
extern "C" void* __libc_malloc(size_t bytes);
extern "C" void* __libc_memalign(size_t alignment, size_t bytes);

// The provider's operator new ends here; it has a C++ library of its own.
extern "C" void* malloc(size_t bytes) {
  return is_provider(__builtin_return_address(0)) && fails_now() ? nullptr : __libc_malloc(bytes);
}
extern "C" void* aligned_alloc(size_t alignment, size_t bytes) {
  return is_provider(__builtin_return_address(0)) && fails_now() ? nullptr
                                                                 : __libc_memalign(alignment, bytes);
}

namespace {

constexpr long kAllocationsMax = 100000;

[[noreturn]] void fail(const std::string& what) {
  std::printf("FAILED: %s\n", what.c_str());
  std::exit(1);
}

// Calls it until it works, each time with more allocations before the one that fails: one more at first, then
// in larger steps, for to start the device takes thousands.
template <typename Call>
void sweep(const char* name, Call call) {
  const long before = g_failures;
  for (long n = 0; n < kAllocationsMax; n += 1 + n / 16) {
    t_failed = false;
    t_left = n;
    errno = 0;
    const bool done = call();
    const int error = errno;
    t_left = -1;
    if (!done && !t_failed) fail(std::string(name) + ": " + std::strerror(error));
    if (!done) continue;
    std::printf("%-20s %ld failures\n", name, g_failures - before);
    return;
  }
  fail(std::string(name) + " never works");
}

ibv_device* find_device(ibv_device** devices, int count) {
  for (int i = 0; i < count; ++i)
    if (std::strcmp(ibv_get_device_name(devices[i]), "mrc0") == 0) return devices[i];
  fail("there is no mrc0");
}

double seconds_now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

int to_init(ibv_qp* qp) {
  ibv_qp_attr wanted{};
  wanted.qp_state = IBV_QPS_INIT;
  wanted.port_num = 1;
  wanted.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  return ibv_modify_qp(qp, &wanted, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

int to_receive(ibv_qp* qp, const ibv_gid& gid) {
  ibv_qp_attr wanted{};
  wanted.qp_state = IBV_QPS_RTR;
  wanted.path_mtu = IBV_MTU_4096;
  wanted.dest_qp_num = qp->qp_num;
  wanted.max_dest_rd_atomic = 16;
  wanted.min_rnr_timer = 12;
  wanted.ah_attr.is_global = 1;
  wanted.ah_attr.port_num = 1;
  wanted.ah_attr.grh.dgid = gid;
  return ibv_modify_qp(qp, &wanted,
                       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                           IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

int to_send(ibv_qp* qp) {
  ibv_qp_attr wanted{};
  wanted.qp_state = IBV_QPS_RTS;
  wanted.timeout = 14;
  wanted.retry_cnt = 7;
  wanted.rnr_retry = 7;
  wanted.max_rd_atomic = 16;
  return ibv_modify_qp(qp, &wanted,
                       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                           IBV_QP_MAX_QP_RD_ATOMIC);
}

alignas(4096) uint8_t g_memory[1 << 20];

// While there is no memory. After a while nothing even asks for some: what grows with use has grown.
template <typename Call>
auto without_memory(bool settled, Call call) {
  t_failed = false;
  t_left = 0;
  const auto result = call();
  t_left = -1;
  if (settled && t_failed) fail("the data path allocates");
  return result;
}

// Writes to itself, with no memory to be had in any call, and waits for each one's event if there is a
// channel.
void move_data(ibv_qp* qp, ibv_cq* queue, const ibv_mr* region, ibv_comp_channel* channel) {
  for (uint64_t id = 0; id < 200; ++id) {
    const bool settled = id >= 100;
    if (channel != nullptr && without_memory(settled, [&] { return ibv_req_notify_cq(queue, 0); }) != 0)
      fail("req_notify_cq");
    ibv_sge from{reinterpret_cast<uintptr_t>(g_memory), 65536, region->lkey};
    ibv_send_wr request{};
    request.wr_id = id;
    request.sg_list = &from;
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_WRITE;
    request.send_flags = IBV_SEND_SIGNALED;
    request.wr.rdma.remote_addr = reinterpret_cast<uintptr_t>(g_memory) + (512 << 10);
    request.wr.rdma.rkey = region->rkey;
    ibv_send_wr* bad = nullptr;
    const int posted = without_memory(settled, [&] { return ibv_post_send(qp, &request, &bad); });
    if (posted != 0) fail("post: " + std::string(std::strerror(posted)));
    if (channel != nullptr) {
      ibv_cq* woken = nullptr;
      void* owner = nullptr;
      if (without_memory(settled, [&] { return ibv_get_cq_event(channel, &woken, &owner); }) != 0 ||
          woken != queue)
        fail("no event");
      ibv_ack_cq_events(queue, 1);
    }
    ibv_wc done{};
    const double until = seconds_now() + 20;
    for (int polled = 0; polled == 0;) {
      if (seconds_now() > until) fail("a WRITE without memory does not complete");
      polled = without_memory(settled, [&] { return ibv_poll_cq(queue, 1, &done); });
    }
    if (done.status != IBV_WC_SUCCESS) fail("a WRITE ended with status " + std::to_string(done.status));
  }
}

}  // namespace

int main() {
  int count = 0;
  ibv_device** devices = ibv_get_device_list(&count);
  if (devices == nullptr) fail("no devices");
  ibv_device* device = find_device(devices, count);
  dl_iterate_phdr(find_provider, nullptr);
  if (g_provider_begin == 0) fail("the provider is not loaded");
  ibv_context* context = nullptr;
  ibv_pd* domain = nullptr;
  ibv_mr* region = nullptr;
  ibv_comp_channel* channel = nullptr;
  ibv_cq* queue = nullptr;
  ibv_srq* shared = nullptr;
  ibv_qp* qp = nullptr;
  ibv_mw* window = nullptr;
  ibv_ah* handle = nullptr;
  ibv_gid gid;
  sweep("open_device", [&] { return (context = ibv_open_device(device)) != nullptr; });
  sweep("alloc_pd", [&] { return (domain = ibv_alloc_pd(context)) != nullptr; });
  const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_MW_BIND;
  sweep("reg_mr",
        [&] { return (region = ibv_reg_mr(domain, g_memory, sizeof g_memory, access)) != nullptr; });
  sweep("create_comp_channel", [&] { return (channel = ibv_create_comp_channel(context)) != nullptr; });
  sweep("create_cq", [&] { return (queue = ibv_create_cq(context, 64, nullptr, channel, 0)) != nullptr; });
  ibv_srq_init_attr shared_wanted{};
  shared_wanted.attr = {16, 1, 0};
  sweep("create_srq", [&] { return (shared = ibv_create_srq(domain, &shared_wanted)) != nullptr; });
  ibv_qp_init_attr wanted{};
  wanted.send_cq = wanted.recv_cq = queue;
  wanted.srq = shared;
  wanted.qp_type = IBV_QPT_RC;
  wanted.cap = {16, 16, 2, 2, 64};
  sweep("create_qp", [&] { return (qp = ibv_create_qp(domain, &wanted)) != nullptr; });
  sweep("alloc_mw", [&] { return (window = ibv_alloc_mw(domain, IBV_MW_TYPE_1)) != nullptr; });
  sweep("query_gid", [&] { return ibv_query_gid(context, 1, 0, &gid) == 0; });
  ibv_ah_attr address{};
  address.is_global = 1;
  address.port_num = 1;
  address.grh.dgid = gid;
  sweep("create_ah", [&] { return (handle = ibv_create_ah(domain, &address)) != nullptr; });
  sweep("modify_qp init", [&] { return to_init(qp) == 0; });
  sweep("modify_qp rtr", [&] { return to_receive(qp, gid) == 0; });
  sweep("modify_qp rts", [&] { return to_send(qp) == 0; });
  move_data(qp, queue, region, nullptr);
  move_data(qp, queue, region, channel);
  sweep("destroy_ah", [&] { return ibv_destroy_ah(handle) == 0; });
  sweep("dealloc_mw", [&] { return ibv_dealloc_mw(window) == 0; });
  sweep("destroy_qp", [&] { return ibv_destroy_qp(qp) == 0; });
  sweep("destroy_srq", [&] { return ibv_destroy_srq(shared) == 0; });
  sweep("resize_cq", [&] { return ibv_resize_cq(queue, 1024) == 0; });
  sweep("destroy_cq", [&] { return ibv_destroy_cq(queue) == 0; });
  sweep("destroy_comp_channel", [&] { return ibv_destroy_comp_channel(channel) == 0; });
  sweep("dereg_mr", [&] { return ibv_dereg_mr(region) == 0; });
  sweep("dealloc_pd", [&] { return ibv_dealloc_pd(domain) == 0; });
  sweep("close_device", [&] { return ibv_close_device(context) == 0; });
  ibv_free_device_list(devices);
  std::printf("%ld allocations failed, and all went well\n", g_failures);
  return g_failures > 0 ? 0 : 1;
}
