// SPDX-License-Identifier: BSD-2-Clause
// write_count BYTES LIST COUNT [DEVICE]: that many WRITEs of so many bytes, posted LIST at a time, by one
// thread and a queue pair that is connected to itself. The last one of every four lists wants a completion,
// and eight lists are under way, as with perftest's -l. For compare_instructions.py, which counts what they
// cost.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "examples/shared/self_writer.h"

namespace {

using mrc::bench::fail;

constexpr uint64_t kListsUnderWay = 8;
constexpr uint64_t kListsPerCompletion = 4;

struct Lists {
  std::vector<ibv_sge> pieces;
  std::vector<ibv_send_wr> requests;
};

Lists make_list(uint8_t* memory, uint32_t bytes, size_t length, const ibv_mr& region) {
  Lists list;
  list.pieces.assign(length, {reinterpret_cast<uintptr_t>(memory), bytes, region.lkey});
  list.requests.resize(length);
  for (size_t i = 0; i < length; ++i) {
    ibv_send_wr& request = list.requests[i];
    request.sg_list = &list.pieces[i];
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_WRITE;
    request.wr.rdma.remote_addr = reinterpret_cast<uintptr_t>(memory) + bytes;
    request.wr.rdma.rkey = region.rkey;
    request.next = i + 1 < length ? &list.requests[i + 1] : nullptr;
  }
  return list;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) {
    std::fprintf(stderr, "usage: write_count BYTES LIST COUNT [DEVICE]\n");
    return 2;
  }
  const auto bytes = static_cast<uint32_t>(std::strtoul(argv[1], nullptr, 10));
  const auto length = std::strtoull(argv[2], nullptr, 10);
  const uint64_t lists = std::strtoull(argv[3], nullptr, 10) / std::max<uint64_t>(length, 1);
  if (bytes == 0 || length == 0 || lists % kListsPerCompletion != 0)
    fail("numbers above 0, and as many messages as four lists, or a multiple");
  const mrc::bench::OpenDevice device(argc == 5 ? argv[4] : "mrc0");
  std::vector<uint8_t> memory(size_t{2} * bytes);
  ibv_mr* region = ibv_reg_mr(device.domain, memory.data(), memory.size(),
                              IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  ibv_cq* queue = ibv_create_cq(device.context, kListsUnderWay, nullptr, nullptr, 0);
  if (region == nullptr || queue == nullptr) fail("ibv_reg_mr or ibv_create_cq");
  ibv_qp_init_attr wanted{};
  wanted.qp_type = IBV_QPT_RC;
  wanted.send_cq = wanted.recv_cq = queue;
  wanted.cap = {static_cast<uint32_t>(kListsUnderWay * length), 1, 1, 1, 0};
  ibv_qp* pair = ibv_create_qp(device.domain, &wanted);
  if (pair == nullptr) fail("ibv_create_qp");
  mrc::bench::connect_to_self(device, pair);

  Lists list = make_list(memory.data(), bytes, length, *region);
  uint64_t posted = 0;
  for (uint64_t done = 0; done < lists;) {
    for (; posted < lists && posted - done < kListsUnderWay; ++posted) {
      const bool told = (posted + 1) % kListsPerCompletion == 0;
      list.requests.back().send_flags = told ? static_cast<unsigned>(IBV_SEND_SIGNALED) : 0;
      ibv_send_wr* bad = nullptr;
      if (ibv_post_send(pair, list.requests.data(), &bad) != 0) fail("ibv_post_send");
    }
    ibv_wc completions[kListsUnderWay];
    const int count = ibv_poll_cq(queue, kListsUnderWay, completions);
    for (int i = 0; i < count; ++i)
      if (completions[i].status != IBV_WC_SUCCESS) fail(ibv_wc_status_str(completions[i].status));
    done += kListsPerCompletion * static_cast<uint64_t>(std::max(count, 0));
  }
  ibv_destroy_qp(pair);
  ibv_destroy_cq(queue);
  ibv_dereg_mr(region);
}
