// SPDX-License-Identifier: BSD-2-Clause
// sniffer FILE [COUNT]: what a capture library does on an RDMA device, call by call (raw packet queue pair in
// RTR, completion channel, sniffer flow), while a queue pair of this process writes to itself; with COUNT
// until so many frames of other processes were heard. FILE is then a capture that tcpdump reads.
#include <infiniband/verbs.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr uint32_t kReceives = 128;
constexpr uint32_t kFrameBytes = 10000;
constexpr uint32_t kWrites = 10;
constexpr uint32_t kWriteBytes = 1000;

void need(bool holds, const char* what) {
  if (holds) return;
  std::perror(what);
  std::exit(1);
}

struct Sniffer {
  explicit Sniffer(ibv_context* context) : frames(size_t{kReceives} * kFrameBytes) {
    need((pd = ibv_alloc_pd(context)) != nullptr, "ibv_alloc_pd");
    need((channel = ibv_create_comp_channel(context)) != nullptr, "ibv_create_comp_channel");
    need((cq = ibv_create_cq(context, kReceives, nullptr, channel, 0)) != nullptr, "ibv_create_cq");
    need(ibv_req_notify_cq(cq, 0) == 0, "ibv_req_notify_cq");
    ibv_qp_init_attr wanted{};
    wanted.send_cq = wanted.recv_cq = cq;
    wanted.cap.max_recv_wr = kReceives;
    wanted.cap.max_recv_sge = 1;
    wanted.qp_type = IBV_QPT_RAW_PACKET;
    need((qp = ibv_create_qp(pd, &wanted)) != nullptr, "ibv_create_qp");
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = 1;
    need(ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_PORT) == 0, "INIT");
    attributes.qp_state = IBV_QPS_RTR;
    need(ibv_modify_qp(qp, &attributes, IBV_QP_STATE) == 0, "RTR");
    ibv_flow_attr flow_wanted{};
    flow_wanted.type = IBV_FLOW_ATTR_SNIFFER;
    flow_wanted.size = sizeof flow_wanted;
    flow_wanted.port = 1;
    need((flow = ibv_create_flow(qp, &flow_wanted)) != nullptr, "ibv_create_flow");
    need((mr = ibv_reg_mr(pd, frames.data(), frames.size(), IBV_ACCESS_LOCAL_WRITE)) != nullptr,
         "ibv_reg_mr");
    for (uint32_t i = 0; i < kReceives; ++i) post(i);
  }
  ~Sniffer() {
    ibv_destroy_flow(flow);
    ibv_destroy_qp(qp);
    ibv_dereg_mr(mr);
    ibv_destroy_cq(cq);
    ibv_destroy_comp_channel(channel);
    ibv_dealloc_pd(pd);
  }
  Sniffer(const Sniffer&) = delete;
  Sniffer& operator=(const Sniffer&) = delete;

  uint8_t* frame(uint64_t id) { return frames.data() + id * kFrameBytes; }
  void post(uint64_t id) {
    ibv_sge piece{reinterpret_cast<uintptr_t>(frame(id)), kFrameBytes, mr->lkey};
    ibv_recv_wr request{id, nullptr, &piece, 1};
    ibv_recv_wr* bad = nullptr;
    need(ibv_post_recv(qp, &request, &bad) == 0, "ibv_post_recv");
  }

  std::vector<uint8_t> frames;
  ibv_pd* pd = nullptr;
  ibv_comp_channel* channel = nullptr;
  ibv_cq* cq = nullptr;
  ibv_qp* qp = nullptr;
  ibv_flow* flow = nullptr;
  ibv_mr* mr = nullptr;
};

// A capture file: https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcap
void write_word(std::FILE* file, uint32_t value) {
  need(std::fwrite(&value, sizeof value, 1, file) == 1, "fwrite");
}

void begin_capture(std::FILE* file) {
  constexpr uint32_t kEthernet = 1;
  for (const uint32_t word : {0xA1B2C3D4u, 4u << 16 | 2u, 0u, 0u, kFrameBytes, kEthernet})
    write_word(file, word);
}

void capture(std::FILE* file, uint32_t number, const uint8_t* frame, uint32_t bytes) {
  for (const uint32_t word : {number, 0u, bytes, bytes}) write_word(file, word);
  need(std::fwrite(frame, bytes, 1, file) == 1, "fwrite");
}

// A queue pair that is connected to itself.
ibv_qp* connect_to_self(ibv_context* context, ibv_pd* pd, ibv_cq* cq) {
  ibv_qp_init_attr wanted{};
  wanted.send_cq = wanted.recv_cq = cq;
  wanted.cap = {16, 16, 1, 1, 0};
  wanted.qp_type = IBV_QPT_RC;
  ibv_qp* qp = ibv_create_qp(pd, &wanted);
  need(qp != nullptr, "ibv_create_qp");
  ibv_qp_attr to{};
  to.qp_state = IBV_QPS_INIT;
  to.port_num = 1;
  to.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  need(ibv_modify_qp(qp, &to, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS) == 0,
       "INIT");
  to.qp_state = IBV_QPS_RTR;
  to.path_mtu = IBV_MTU_1024;
  to.dest_qp_num = qp->qp_num;
  to.ah_attr.port_num = to.ah_attr.is_global = 1;
  need(ibv_query_gid(context, 1, 0, &to.ah_attr.grh.dgid) == 0, "ibv_query_gid");
  need(ibv_modify_qp(qp, &to,
                     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                         IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0,
       "RTR");
  to.qp_state = IBV_QPS_RTS;
  to.timeout = 17;
  to.retry_cnt = to.rnr_retry = 7;
  need(ibv_modify_qp(qp, &to,
                     IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                         IBV_QP_MAX_QP_RD_ATOMIC) == 0,
       "RTS");
  return qp;
}

void write_to_self(ibv_qp* qp, ibv_cq* cq, const ibv_mr* mr) {
  ibv_sge piece{reinterpret_cast<uintptr_t>(mr->addr), kWriteBytes, mr->lkey};
  ibv_send_wr request{};
  request.opcode = IBV_WR_RDMA_WRITE;
  request.send_flags = IBV_SEND_SIGNALED;
  request.sg_list = &piece;
  request.num_sge = 1;
  request.wr.rdma = {piece.addr + kWriteBytes, mr->rkey};
  ibv_send_wr* bad = nullptr;
  need(ibv_post_send(qp, &request, &bad) == 0, "ibv_post_send");
  ibv_wc completion;
  while (ibv_poll_cq(cq, 1, &completion) == 0) {
  }
  need(completion.status == IBV_WC_SUCCESS, ibv_wc_status_str(completion.status));
}

// Until so many frames were seen, and so many with the data of a WRITE among them.
uint32_t sniff(Sniffer& sniffer, std::FILE* file, uint32_t frames, uint32_t data_frames) {
  uint32_t seen = 0;
  for (uint32_t data = 0; data < data_frames || seen < frames;) {
    ibv_wc completion;
    if (ibv_poll_cq(sniffer.cq, 1, &completion) == 0) {
      ibv_cq* told = nullptr;
      void* cookie = nullptr;
      need(ibv_get_cq_event(sniffer.channel, &told, &cookie) == 0, "ibv_get_cq_event");
      ibv_ack_cq_events(told, 1);
      need(ibv_req_notify_cq(told, 0) == 0, "ibv_req_notify_cq");
      continue;
    }
    need(completion.status == IBV_WC_SUCCESS, ibv_wc_status_str(completion.status));
    capture(file, ++seen, sniffer.frame(completion.wr_id), completion.byte_len);
    data += completion.byte_len > kWriteBytes ? 1 : 0;
    sniffer.post(completion.wr_id);
  }
  return seen;
}

}  // namespace

int main(int count, char** words) {
  if (count != 2 && count != 3) {
    std::fprintf(stderr, "usage: sniffer FILE [COUNT]\n");
    return 2;
  }
  ibv_device** devices = ibv_get_device_list(nullptr);
  need(devices != nullptr && devices[0] != nullptr, "no device");
  ibv_context* context = ibv_open_device(devices[0]);
  need(context != nullptr, "ibv_open_device");
  ibv_free_device_list(devices);
  std::FILE* file = std::fopen(words[1], "wb");
  need(file != nullptr, words[1]);
  begin_capture(file);
  if (count == 3) {
    Sniffer sniffer(context);
    std::fprintf(stderr, "listening\n");
    std::printf("%u frames\n", sniff(sniffer, file, static_cast<uint32_t>(std::atoi(words[2])), 0));
    need(std::fclose(file) == 0, "fclose");
    return 0;
  }
  ibv_pd* pd = ibv_alloc_pd(context);
  ibv_cq* cq = ibv_create_cq(context, 16, nullptr, nullptr, 0);
  std::vector<uint8_t> memory(2 * kWriteBytes, 7);
  ibv_mr* mr = ibv_reg_mr(pd, memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  need(pd != nullptr && cq != nullptr && mr != nullptr, "objects");
  ibv_qp* qp = connect_to_self(context, pd, cq);
  {
    Sniffer sniffer(context);
    for (uint32_t i = 0; i < kWrites; ++i) write_to_self(qp, cq, mr);
    // All WRITEs twice: as they left and as they came.
    std::printf("%u frames\n", sniff(sniffer, file, 0, 2 * kWrites));
  }
  need(std::fclose(file) == 0, "fclose");
  ibv_destroy_qp(qp);
  ibv_dereg_mr(mr);
  ibv_destroy_cq(cq);
  ibv_dealloc_pd(pd);
  return ibv_close_device(context);
}
