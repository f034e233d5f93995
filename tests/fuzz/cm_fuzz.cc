// SPDX-License-Identifier: BSD-2-Clause
// A connection manager with listeners and one honest connection, and somebody at another address who sends it
// whatever the input says, while its owner accepts, rejects and releases at any time. Whatever comes: the
// honest connection stays and can be ended in order, no message has more than one answer at once, and when
// all is released nothing is left.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "libmrc/cm/manager.h"
#include "libmrc/cm/target.h"

namespace mrc::cm {
namespace {

constexpr IpAddress kServer = IpAddress::v4(10, 0, 0, 2);
constexpr IpAddress kHonest = IpAddress::v4(10, 0, 0, 1);
constexpr IpAddress kHostile = IpAddress::v4(10, 0, 0, 66);
constexpr ServiceId kConnections = service_of(0x0106, 7174);
constexpr ServiceId kDatagrams = service_of(0x0111, 7174);
constexpr uint64_t kHonestOwner = 1;

void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

class Input {
 public:
  Input(const uint8_t* data, size_t size) : left_(data, size) {}
  bool empty() const { return left_.empty(); }
  uint8_t byte() {
    if (left_.empty()) return 0;
    const uint8_t value = left_[0];
    left_ = left_.subspan(1);
    return value;
  }

 private:
  std::span<const uint8_t> left_;
};

ManagerConfig config_of(uint32_t slot) {
  ManagerConfig config;
  config.slot = slot;
  config.guid = slot;
  config.seed = slot;
  config.connections_max = 64;
  config.pending_per_source_max = 16;
  return config;
}

class World {
 public:
  World() : server_(config_of(2)), honest_(config_of(1)) {
    server_.listen({kConnections, {}, false, 7});
    server_.listen({kDatagrams, {}, true, 8});
    connect_honest();
  }

  void run(Input input) {
    while (!input.empty()) {
      const uint8_t what = input.byte();
      switch (what & 7) {
        case 0:
          now_ += Nanoseconds{1} << (10 + what / 8 % 32);
          server_.on_time(now_);
          break;
        case 1:
          act(input, what / 8);
          break;
        default:
          send(input, what / 8);
      }
      take_events();
      server_.take_outgoing();
    }
    check();
  }

 private:
  // Between the honest ones, until they have nothing more to say.
  void pump() {
    for (bool more = true; more;) {
      more = false;
      for (const Outgoing& out : honest_.take_outgoing()) {
        server_.receive(out.mad, {kServer, kHonest}, now_);
        more = true;
      }
      for (const Outgoing& out : server_.take_outgoing()) {
        if (out.gids.remote != kHonest) continue;
        honest_.receive(out.mad, {kHonest, kServer}, now_);
        more = true;
      }
    }
  }

  void connect_honest() {
    Manager::Call call;
    call.service = kConnections;
    call.addresses = {5555, kHonest, kServer};
    call.gids = {kHonest, kServer};
    call.here.qpn = Qpn{0x4001};
    call.owner = kHonestOwner;
    client_id_ = honest_.connect(call, now_);
    pump();
    EndPoint here;
    here.qpn = Qpn{0x8001};
    server_id_ = server_.take_events().at(0).connection;
    server_.accept(server_id_, kHonestOwner, here, {}, now_);
    pump();
    honest_.ready(client_id_, {});
    pump();
    server_.take_events();
    must(server_.find(server_id_)->state == State::kEstablished, "the honest ones connect");
  }

  // A connection that the hostile one has asked for, or we of it.
  CommunicationId any(uint8_t choice) const {
    return known_.empty() ? CommunicationId{} : known_[choice % known_.size()];
  }

  void act(Input& input, uint8_t what) {
    const CommunicationId id = any(input.byte());
    EndPoint here;
    here.qpn = Qpn{0x9000u + what};
    switch (what % 8) {
      case 0:
        server_.accept(id, 9, here, {}, now_);
        break;
      case 1:
        server_.reject(id, RejectReason::kConsumer, {}, now_);
        break;
      case 2:
        server_.disconnect(id, {}, now_);
        break;
      case 3:
        if (server_.find(id) != nullptr) server_.release(id, now_);
        break;
      case 4:
        server_.ready(id, {});
        break;
      case 5:
        server_.established_by_data(id);
        break;
      default: {
        Manager::Call call;
        call.service = what % 8 == 6 ? kConnections : kDatagrams;
        call.gids = {kServer, kHostile};
        call.here = here;
        call.owner = 9;
        const CommunicationId made =
            what % 8 == 6 ? server_.connect(call, now_) : server_.request_service(call, now_);
        if (made != CommunicationId{}) known_.push_back(made);
      }
    }
  }

  Body body(uint8_t kind, CommunicationId ours) const {
    const CommunicationId theirs{3u << kSlotShift | kind};
    switch (kind % 9) {
      case 0: {
        Request request;
        request.local = theirs;
        request.service = kConnections;
        request.qpn = Qpn{0x4001};
        request.guid = 1;  // that of the honest one
        request.mtu = 5;
        request.local_gid = kHostile;
        request.remote_gid = kServer;
        write_ip_service({1, kHostile, kServer},
                         std::span<uint8_t>(request.private_data).first<IpServiceHeader::kBytes>());
        return request;
      }
      case 1: {
        ServiceRequest request;
        request.request = theirs;
        request.service = kDatagrams;
        write_ip_service({1, kHostile, kServer},
                         std::span<uint8_t>(request.private_data).first<IpServiceHeader::kBytes>());
        return request;
      }
      case 2: {
        Reply reply;
        reply.local = theirs;
        reply.remote = ours;
        return reply;
      }
      case 3: {
        Rejection rejection;
        rejection.local = theirs;
        rejection.remote = ours;
        return rejection;
      }
      case 4:
        return Receipt{theirs, ours, Subject{static_cast<uint8_t>(kind & 1)}, kind, {}};
      case 5:
        return Ready{theirs, ours, {}};
      case 6:
        return DisconnectRequest{theirs, ours, Qpn{0x9000}, {}};
      case 7:
        return DisconnectReply{theirs, ours, {}};
      default: {
        ServiceReply reply;
        reply.request = ours;
        return reply;
      }
    }
  }

  void send(Input& input, uint8_t kind) {
    const uint8_t choice = input.byte();
    // Of its own connections, or of the honest one, whose ids and transaction it has learnt somehow.
    const CommunicationId ours = choice % 4 == 0 ? server_id_ : any(choice);
    const Connection* connection = server_.find(ours);
    const uint64_t transaction = connection != nullptr && choice % 8 < 6 ? connection->transaction : choice;
    Mad mad = encode({transaction, body(kind, ours)});
    for (uint8_t changes = input.byte() % 8; changes > 0; --changes) {
      const uint8_t at = input.byte();
      mad[at] = input.byte();
    }
    const size_t bytes = choice == 255 ? input.byte() : mad.size();
    target_of(std::span(mad).first(bytes));
    server_.receive(std::span(mad).first(bytes), {kServer, kHostile}, now_);
    must(server_.take_outgoing().size() <= 1, "no message has more than one answer");
  }

  void take_events() {
    for (const Event& event : server_.take_events()) {
      must(event.connection != server_id_, "nobody is told anything about the honest connection");
      if (event.kind == Event::Kind::kRequest || event.kind == Event::Kind::kServiceRequest)
        known_.push_back(event.connection);
    }
  }

  void check() {
    must(server_.find(server_id_)->state == State::kEstablished, "the honest connection stays");
    for (const CommunicationId id : known_)
      if (server_.find(id) != nullptr) server_.release(id, now_);
    for (int i = 0; i < 64 && server_.next_deadline() != kNever; ++i) {
      now_ = std::max(now_, server_.next_deadline());
      server_.on_time(now_);
      server_.take_outgoing();
    }
    take_events();
    size_t count = 0;
    server_.for_each([&count](const Connection&) { ++count; });
    must(count == 1, "nothing is left of what was released");
    must(honest_.disconnect(client_id_, {}, now_), "the honest one ends the connection");
    pump();
    must(honest_.find(client_id_)->state == State::kTimeWait &&
             server_.find(server_id_)->state == State::kTimeWait,
         "and both know");
  }

  Nanoseconds now_ = kSecond;
  Manager server_;
  Manager honest_;
  CommunicationId client_id_{};
  CommunicationId server_id_{};
  std::vector<CommunicationId> known_;
};

}  // namespace
}  // namespace mrc::cm

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  mrc::cm::World world;
  world.run(mrc::cm::Input(data, size));
  return 0;
}
