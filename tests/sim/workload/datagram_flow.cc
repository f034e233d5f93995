// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/workload/datagram_flow.h"

#include <algorithm>
#include <cassert>

#include "tests/sim/core/random.h"
#include "tests/sim/workload/connection.h"

namespace mrc::sim {

namespace {
constexpr uint32_t kQueueKey = 0x1234;
constexpr uint32_t kSendEntries = 8;

QueuePair* make_queue_pair(Host& host, CompletionQueue& queue, ProtectionDomain domain, uint32_t receives) {
  QueuePairConfig config;
  config.type = QueuePairType::kDatagram;
  config.domain = domain;
  config.send_completions = config.receive_completions = &queue;
  config.send_entries = kSendEntries;
  config.receive_entries = receives;
  QueuePair* qp = host.engine().create(config);
  assert(qp != nullptr);
  QueuePairAttributes attributes;
  attributes.state = QueuePairState::kInit;
  attributes.queue_key = kQueueKey;
  must(host.engine().modify(*qp, attributes, 0));
  attributes = {};
  attributes.state = QueuePairState::kReadyToReceive;
  must(host.engine().modify(*qp, attributes, 0));
  attributes.state = QueuePairState::kReadyToSend;
  attributes.send_psn = Psn(0);
  must(host.engine().modify(*qp, attributes, 0));
  return qp;
}
}  // namespace

DatagramFlow::DatagramFlow(const DatagramConfig& config, uint64_t seed) : config_(config), seed_(seed) {
  source_.resize(uint64_t{kSendEntries} * config.bytes_max);
  target_.resize(config.receive_entries * slot_bytes());
  arrived_.assign(config.count, 0);
}

uint64_t DatagramFlow::slot_bytes() const {
  return kGrhBytes + config_.bytes_max;
}

uint32_t DatagramFlow::bytes_of(uint32_t index) const {
  return static_cast<uint32_t>(mix(seed_ + index) % (config_.bytes_max + 1));
}

uint8_t DatagramFlow::byte_of(uint32_t index, uint32_t at) const {
  return static_cast<uint8_t>(mix(seed_ * 31 + index * 0x10001u + at / 8) >> (at % 8 * 8));
}

void DatagramFlow::open(Host& from, Host& to, CompletionQueue& sent, CompletionQueue& received,
                        ProtectionDomain domain) {
  from_ = &from;
  to_ = &to;
  sender_ = make_queue_pair(from, sent, domain, 0);
  receiver_ = make_queue_pair(to, received, domain, config_.receive_entries);
  source_key_ = from.engine().memory().add(domain, source_.data(), source_.bytes(),
                                           reinterpret_cast<uint64_t>(source_.data()), 0);
  target_key_ = to.engine().memory().add(domain, target_.data(), target_.bytes(),
                                         reinterpret_cast<uint64_t>(target_.data()), kLocalWrite);
}

void DatagramFlow::post_sends() {
  bool posted = false;
  while (next_ < config_.count) {
    SendRequest* request = sender_->send_queue().reserve();
    if (request == nullptr) break;
    uint8_t* data = source_.data() + uint64_t{next_ % kSendEntries} * config_.bytes_max;
    const uint32_t bytes = bytes_of(next_);
    for (uint32_t i = 0; i < bytes; ++i) data[i] = byte_of(next_, i);
    request->work_id = next_;
    request->operation = Operation::kSendImm;
    request->flags = kSignaled;
    request->immediate = next_;
    request->bytes = bytes;
    request->add_datagram_address() = {from_->address(), to_->address(), receiver_->qpn(), kQueueKey};
    request->segment_count = bytes > 0 ? 1 : 0;
    if (bytes > 0) request->segments()[0] = {reinterpret_cast<uint64_t>(data), bytes, source_key_};
    sender_->send_queue().publish(1);
    ++next_;
    posted = true;
  }
  if (!posted) return;
  from_->engine().ring_doorbell(*sender_);
  from_->wake();
}

void DatagramFlow::post_receives() {
  // A buffer whose completion was not polled yet is not the application's.
  while (posted_receives_ - taken_receives_ < config_.receive_entries) {
    ReceiveRequest* request = receiver_->receive_queue().reserve();
    if (request == nullptr) break;
    const uint64_t slot = posted_receives_++ % config_.receive_entries;
    request->work_id = slot;
    request->segment_count = 1;
    request->bytes = static_cast<uint32_t>(slot_bytes());
    request->segments()[0] = {reinterpret_cast<uint64_t>(target_.data()) + slot * slot_bytes(),
                              static_cast<uint32_t>(slot_bytes()), target_key_};
    receiver_->receive_queue().publish(1);
  }
  to_->engine().ring_doorbell(*receiver_);
  to_->wake();
}

bool DatagramFlow::fail(const std::string& what) {
  if (failure_.empty())
    failure_ = "datagrams h" + std::to_string(from_->number()) + " > h" + std::to_string(to_->number()) +
               ": " + what;
  return false;
}

bool DatagramFlow::on_sent(const Completion& completion) {
  if (completion.status != CompletionStatus::kSuccess || completion.work_id != completed_)
    return fail("a send ended with an error or out of order");
  bytes_sent_ += bytes_of(completed_++);
  return true;
}

bool DatagramFlow::on_received(const Completion& completion) {
  ++taken_receives_;
  if (completion.status != CompletionStatus::kSuccess || !completion.has_immediate ||
      completion.immediate >= next_)
    return fail("something arrived that was not sent");
  const uint32_t index = completion.immediate;
  const uint32_t bytes = bytes_of(index);
  if (completion.byte_count != kGrhBytes + bytes) return fail("one arrived with another length");
  if (completion.source_qpn != sender_->qpn()) return fail("one arrived from another queue pair");
  const uint8_t* data = target_.data() + completion.work_id * slot_bytes() + kGrhBytes;
  for (uint32_t i = 0; i < bytes; ++i)
    if (data[i] != byte_of(index, i)) return fail("one arrived with other bytes");
  ++arrived_[index];
  bytes_received_ += bytes;
  return true;
}

bool DatagramFlow::check(bool duplicated) {
  if (!source_.guards_intact() || !target_.guards_intact())
    return fail("memory outside a region was written");
  const auto most = *std::max_element(arrived_.begin(), arrived_.end());
  if (most > 1 && !duplicated) return fail("one arrived more than once");
  return true;
}

}  // namespace mrc::sim
