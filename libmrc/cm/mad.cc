// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/cm/mad.h"

#include <algorithm>

#include "libmrc/wire/bytes.h"

namespace mrc::cm {
namespace {

// IBTA 13.4.2: the common MAD header.
constexpr uint8_t kBaseVersion = 1;
constexpr uint8_t kClass = 0x07;
constexpr uint8_t kClassVersion = 2;
constexpr uint8_t kMethodSend = 0x03;

// A message can be written and read by one list of its fields: Writer and Reader have the same calls.
class Writer {
 public:
  explicit Writer(uint8_t* data) : data_(data) {}

  // The field of `bits` bits whose lowest is bit `low` of the big-endian number that ends before `end`.
  template <typename T>
  void bits(size_t byte, unsigned low, unsigned count, const T& value) {
    const auto mask = static_cast<uint8_t>((1u << count) - 1);
    data_[byte] =
        static_cast<uint8_t>((data_[byte] & ~(mask << low)) | (static_cast<unsigned>(value) & mask) << low);
  }
  void u16(size_t at, uint16_t value) { store_be<uint16_t>(data_ + at, value); }
  void u32(size_t at, uint32_t value) { store_be<uint32_t>(data_ + at, value); }
  void u64(size_t at, uint64_t value) { store_be<uint64_t>(data_ + at, value); }
  void number(size_t at, uint8_t value) { data_[at] = value; }
  void id(size_t at, CommunicationId value) { u32(at, static_cast<uint32_t>(value)); }
  void service(size_t at, ServiceId value) { u64(at, static_cast<uint64_t>(value)); }
  void qpn(size_t at, Qpn value) { store_be24(data_ + at, value.value()); }
  void psn(size_t at, Psn value) { store_be24(data_ + at, value.value()); }
  void reason(size_t at, RejectReason value) { u16(at, static_cast<uint16_t>(value)); }
  template <size_t kBytes>
  void bytes(size_t at, const std::array<uint8_t, kBytes>& value) {
    std::copy(value.begin(), value.end(), data_ + at);
  }

 private:
  uint8_t* data_;
};

class Reader {
 public:
  explicit Reader(const uint8_t* data) : data_(data) {}

  template <typename T>
  void bits(size_t byte, unsigned low, unsigned count, T& value) {
    value = static_cast<T>(data_[byte] >> low & ((1u << count) - 1));
  }
  void u16(size_t at, uint16_t& value) { value = load_be<uint16_t>(data_ + at); }
  void u32(size_t at, uint32_t& value) { value = load_be<uint32_t>(data_ + at); }
  void u64(size_t at, uint64_t& value) { value = load_be<uint64_t>(data_ + at); }
  void number(size_t at, uint8_t& value) { value = data_[at]; }
  void id(size_t at, CommunicationId& value) { value = CommunicationId{load_be<uint32_t>(data_ + at)}; }
  void service(size_t at, ServiceId& value) { value = ServiceId{load_be<uint64_t>(data_ + at)}; }
  void qpn(size_t at, Qpn& value) { value = Qpn{load_be24(data_ + at)}; }
  void psn(size_t at, Psn& value) { value = Psn{load_be24(data_ + at)}; }
  void reason(size_t at, RejectReason& value) { value = RejectReason{load_be<uint16_t>(data_ + at)}; }
  template <size_t kBytes>
  void bytes(size_t at, std::array<uint8_t, kBytes>& value) {
    std::copy_n(data_ + at, kBytes, value.begin());
  }

 private:
  const uint8_t* data_;
};

// Where the fields stand behind the MAD header: IBTA tables 99 and following. `m` is const for a Writer.

template <typename Access, typename M>
void fields(Access& a, M& m, const Request*) {
  a.id(0, m.local);
  a.service(8, m.service);
  a.u64(16, m.guid);
  a.u32(28, m.queue_key);
  a.qpn(32, m.qpn);
  a.number(35, m.responder_resources);
  a.number(39, m.initiator_depth);
  a.bits(43, 3, 5, m.remote_response_timeout);
  a.bits(43, 1, 2, m.transport);
  a.bits(43, 0, 1, m.flow_control);
  a.psn(44, m.first_psn);
  a.bits(47, 3, 5, m.local_response_timeout);
  a.bits(47, 0, 3, m.retry_count);
  a.u16(48, m.partition_key);
  a.bits(50, 4, 4, m.mtu);
  a.bits(50, 0, 3, m.rnr_retry_count);
  a.bits(51, 4, 4, m.retries_max);
  a.bits(51, 3, 1, m.shared_receives);
  a.bytes(56, m.local_gid.bytes);
  a.bytes(72, m.remote_gid.bytes);
  a.bits(91, 0, 6, m.rate);
  a.number(92, m.traffic_class);
  a.number(93, m.hop_limit);
  a.bits(95, 3, 5, m.ack_timeout);
  a.bytes(140, m.private_data);
}

template <typename Access, typename M>
void fields(Access& a, M& m, const Receipt*) {
  a.id(0, m.local);
  a.id(4, m.remote);
  a.bits(8, 6, 2, m.subject);
  a.bits(9, 3, 5, m.service_timeout);
  a.bytes(10, m.private_data);
}

template <typename Access, typename M>
void fields(Access& a, M& m, const Rejection*) {
  a.id(0, m.local);
  a.id(4, m.remote);
  a.bits(8, 6, 2, m.subject);
  a.bits(9, 1, 7, m.info_bytes);
  a.reason(10, m.reason);
  a.bytes(12, m.info);
  a.bytes(84, m.private_data);
}

template <typename Access, typename M>
void fields(Access& a, M& m, const Reply*) {
  a.id(0, m.local);
  a.id(4, m.remote);
  a.u32(8, m.queue_key);
  a.qpn(12, m.qpn);
  a.psn(20, m.first_psn);
  a.number(24, m.responder_resources);
  a.number(25, m.initiator_depth);
  a.bits(26, 3, 5, m.target_ack_delay);
  a.bits(26, 0, 1, m.flow_control);
  a.bits(27, 5, 3, m.rnr_retry_count);
  a.bits(27, 4, 1, m.shared_receives);
  a.u64(28, m.guid);
  a.bytes(36, m.private_data);
}

template <typename Access, typename M>
void fields(Access& a, M& m, const Ready*) {
  a.id(0, m.local);
  a.id(4, m.remote);
  a.bytes(8, m.private_data);
}

template <typename Access, typename M>
void fields(Access& a, M& m, const DisconnectRequest*) {
  a.id(0, m.local);
  a.id(4, m.remote);
  a.qpn(8, m.remote_qpn);
  a.bytes(12, m.private_data);
}

template <typename Access, typename M>
void fields(Access& a, M& m, const DisconnectReply*) {
  a.id(0, m.local);
  a.id(4, m.remote);
  a.bytes(8, m.private_data);
}

template <typename Access, typename M>
void fields(Access& a, M& m, const ServiceRequest*) {
  a.id(0, m.request);
  a.u16(4, m.partition_key);
  a.service(8, m.service);
  a.bytes(16, m.private_data);
}

template <typename Access, typename M>
void fields(Access& a, M& m, const ServiceReply*) {
  a.id(0, m.request);
  a.bits(4, 0, 8, m.status);
  a.qpn(8, m.qpn);
  a.service(12, m.service);
  a.u32(20, m.queue_key);
  a.bytes(96, m.private_data);
}

template <typename M>
Body read(const uint8_t* data) {
  M message;
  Reader reader(data);
  fields(reader, message, static_cast<const M*>(nullptr));
  return message;
}

std::optional<Body> read_body(uint16_t attribute, const uint8_t* data) {
  switch (Attribute{attribute}) {
    case Attribute::kRequest:
      return read<Request>(data);
    case Attribute::kReceipt:
      return read<Receipt>(data);
    case Attribute::kRejection:
      return read<Rejection>(data);
    case Attribute::kReply:
      return read<Reply>(data);
    case Attribute::kReady:
      return read<Ready>(data);
    case Attribute::kDisconnectRequest:
      return read<DisconnectRequest>(data);
    case Attribute::kDisconnectReply:
      return read<DisconnectReply>(data);
    case Attribute::kServiceRequest:
      return read<ServiceRequest>(data);
    case Attribute::kServiceReply:
      return read<ServiceReply>(data);
  }
  return std::nullopt;  // LAP and APR: there are no alternate paths
}

}  // namespace

Mad encode(const Message& message) {
  Mad mad{};
  mad[0] = kBaseVersion;
  mad[1] = kClass;
  mad[2] = kClassVersion;
  mad[3] = kMethodSend;
  store_be<uint64_t>(mad.data() + 8, message.transaction);
  std::visit(
      [&mad](const auto& body) {
        using M = std::decay_t<decltype(body)>;
        store_be<uint16_t>(mad.data() + 16, static_cast<uint16_t>(M::kAttribute));
        Writer writer(mad.data() + kMadHeaderBytes);
        fields(writer, body, static_cast<const M*>(nullptr));
      },
      message.body);
  return mad;
}

std::optional<Message> decode(std::span<const uint8_t> bytes) {
  if (bytes.size() != kMadBytes) return std::nullopt;
  if (bytes[0] != kBaseVersion || bytes[1] != kClass || bytes[2] != kClassVersion || bytes[3] != kMethodSend)
    return std::nullopt;
  auto body = read_body(load_be<uint16_t>(bytes.data() + 16), bytes.data() + kMadHeaderBytes);
  if (!body) return std::nullopt;
  return Message{load_be<uint64_t>(bytes.data() + 8), *body};
}

}  // namespace mrc::cm
