// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/cm/general_service.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "dpdk_io/host/process_slot.h"
#include "libmrc/wire/packet.h"
#include "providers/mrc/verbs/clock.h"
#include "providers/mrc/verbs/spin_lock.h"

namespace mrc::provider {
namespace {

constexpr uint32_t kBuffers = 256;
constexpr uint32_t kSends = 256;
// No verbs object has it: those are counted from 1.
constexpr ProtectionDomain kDomain{0xFFFFFFFF};

constexpr size_t kIpv4At = kGrhBytes - 20;  // IBTA A17.4.4: an IPv4 header stands at the end of the GRH

cm::GidPair gids_of(const uint8_t* grh) {
  cm::GidPair gids;
  if (grh[0] >> 4 == 6) {
    std::memcpy(gids.remote.bytes.data(), grh + 8, 16);
    std::memcpy(gids.local.bytes.data(), grh + 24, 16);
  } else {
    const uint8_t* ip = grh + kIpv4At;
    gids.remote = IpAddress::v4(ip[12], ip[13], ip[14], ip[15]);
    gids.local = IpAddress::v4(ip[16], ip[17], ip[18], ip[19]);
  }
  return gids;
}

}  // namespace

struct alignas(64) GeneralService::Buffer {
  std::array<uint8_t, kGrhBytes + cm::kMadBytes> bytes;
};

GeneralService::GeneralService(Device& device, std::function<void()> wake)
    : device_(device), wake_(std::move(wake)), completions_(2 * kBuffers), buffers_(kBuffers) {}

GeneralService::~GeneralService() {
  {
    Progress::Control control(device_.progress());
    device_.set_watcher(nullptr);
    if (queue_pair_ != nullptr) device_.engine().destroy(queue_pair_);
  }
  device_.memory().remove(key_);
}

bool GeneralService::open() {
  key_ = device_.memory().add(kDomain, buffers_.data(), kBuffers * sizeof(Buffer),
                              reinterpret_cast<uintptr_t>(buffers_.data()), kLocalWrite);
  if (key_ == MemoryKey{}) return false;
  Progress::Control control(device_.progress());
  Engine& engine = device_.engine();
  QueuePairConfig config;
  config.type = QueuePairType::kDatagram;
  config.general_service = true;
  config.domain = kDomain;
  config.send_completions = config.receive_completions = &completions_;
  config.send_entries = kSends;
  config.receive_entries = kBuffers;
  config.inline_bytes_max = cm::kMadBytes;
  queue_pair_ = engine.create(config);
  if (queue_pair_ == nullptr) return false;
  device_.set_watcher(this);
  QueuePairAttributes attributes;
  attributes.state = QueuePairState::kInit;
  engine.modify(*queue_pair_, attributes, clock_now());
  for (uint32_t i = 0; i < kBuffers; ++i) post(i);
  attributes.state = QueuePairState::kReadyToReceive;
  engine.modify(*queue_pair_, attributes, clock_now());
  attributes.state = QueuePairState::kReadyToSend;
  attributes.send_psn = Psn{0};
  return engine.modify(*queue_pair_, attributes, clock_now());
}

void GeneralService::post(uint64_t index) {
  ReceiveQueue& queue = queue_pair_->receive_queue();
  ReceiveRequest* request = queue.reserve();
  Buffer& buffer = buffers_[index];
  request->work_id = index;
  request->segment_count = 1;
  request->bytes = static_cast<uint32_t>(buffer.bytes.size());
  request->segments()[0] = {reinterpret_cast<uintptr_t>(buffer.bytes.data()), request->bytes, key_};
  queue.publish(1);
}

bool GeneralService::send(const cm::Outgoing& out, uint32_t slot) {
  const auto& [mad, gids, target, to_stranger] = out;
  // An address of the other IP version would put the queue pair into error. Lost, as a datagram may be.
  if (gids.local.is_v4() != gids.remote.is_v4()) return true;
  SendQueue& queue = queue_pair_->send_queue();
  SendRequest* request = queue.reserve();
  if (request == nullptr) return false;
  *request = {};
  request->operation = Operation::kSend;
  request->flags = kInline;
  request->bytes = static_cast<uint32_t>(mad.size());
  DatagramAddress& address = request->add_datagram_address();
  address.source = gids.local;
  address.destination = gids.remote;
  address.qpn = kGeneralServiceQpn;
  address.queue_key = kGeneralServiceKey;
  if (slot != 0) address.via = first_qpn_of(slot);
  address.now_or_never = to_stranger;
  std::copy(mad.begin(), mad.end(), request->inline_data());
  queue.publish(1);
  device_.engine().ring_doorbell(*queue_pair_);
  full_fence();  // pairs with the one in Progress::turn()
  return true;
}

void GeneralService::poll(const Receive& receive) {
  std::array<Completion, 32> found;
  for (size_t count; (count = completions_.poll(found)) > 0;) {
    for (const Completion& completion : std::span(found).first(count)) {
      if (completion.kind != CompletionKind::kReceive) continue;
      const Buffer& buffer = buffers_[completion.work_id];
      if (completion.status == CompletionStatus::kSuccess && completion.byte_count == buffer.bytes.size() &&
          completion.source_qpn == kGeneralServiceQpn)
        receive(std::span(buffer.bytes).subspan(kGrhBytes), gids_of(buffer.bytes.data()));
      post(completion.work_id);
    }
  }
}

}  // namespace mrc::provider
