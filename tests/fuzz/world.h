// SPDX-License-Identifier: BSD-2-Clause
// Two engines in virtual time, made once and used for many inputs: a queue pair at each end that is attacked,
// others beside it that must not notice, and memory with guards around what is granted.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "libmrc/engine/engine.h"
#include "tests/fuzz/pipe_port.h"

namespace mrc::fuzz {

inline constexpr uint32_t kPlanes = 2;
inline constexpr uint32_t kMtu = 256;
inline constexpr uint32_t kFirstPsn = 0xFFFFF0;  // of both directions: soon it wraps
inline constexpr uint32_t kQueueKey = 0x11223344;

// Ends the process: the fuzzer keeps the input.
[[noreturn]] void fail(const char* what);

// Guards between all of these; [begin, begin + bytes) in an end's arena.
struct Place {
  size_t begin;
  uint32_t bytes;
};
inline constexpr Place kGranted{512, 2048};   // the peer may do everything with it
inline constexpr Place kReadable{3072, 512};  // read only
inline constexpr Place kSource{4096, 2048};   // our own requests read it, nobody writes
inline constexpr Place kSink{6656, 2048};     // our own requests write to it, as far as they say
inline constexpr Place kInnocent{9216, 256};  // of another domain
inline constexpr size_t kArenaBytes = 9984;
inline constexpr Place kPlaces[] = {kGranted, kReadable, kSource, kSink, kInnocent};

// The kinds of queue pairs that are attacked, one of them at a time.
enum class Victim : uint8_t { kOwnReceives, kSharedReceives, kLossy, kDatagram };
inline constexpr size_t kVictims = 4;
// Beside them: MRC and plain RC.
inline constexpr size_t kInnocents = 2;

struct End : EventSink {
  void completions(CompletionQueue&) override {}
  void completion_queue_overrun(CompletionQueue&) override { fail("a completion queue has overrun"); }
  void queue_pair_event(QueuePair&, QueuePairEvent) override {}

  uint8_t* at(const Place& place) { return arena + place.begin; }
  const uint8_t* at(const Place& place) const { return arena + place.begin; }
  uint64_t address(const Place& place) const { return reinterpret_cast<uint64_t>(at(place)); }

  std::array<PipePort, kPlanes> ports;
  // Behind the ports, which must outlive it.
  CompletionQueue sends{256};
  CompletionQueue receives{256};
  CompletionQueue innocent_sends{64};
  std::unique_ptr<SharedReceiveQueue> shared;
  std::unique_ptr<Engine> engine;
  std::array<QueuePair*, kVictims> victims{};
  QueuePair* victim = nullptr;  // the one that is attacked now
  std::array<QueuePair*, kInnocents> innocents{};
  uint64_t posted = 0;     // by the victim's owner
  uint64_t completed = 0;  // of these
  uint64_t receives_posted = 0;
  uint64_t receives_completed = 0;
  uint32_t sink_bytes = 0;  // that requests of this input may have written
  MemoryKey granted{}, readable{}, source{}, sink{}, innocent{}, window{};
  alignas(4096) uint8_t arena[kArenaBytes];
};

struct WorldOptions {
  Transport transport = Transport::kMrc;
  Victim victim = Victim::kOwnReceives;
  bool ipv6 = false;
  bool plain_innocents = false;  // those of plain RC have something to send, else those of MRC
  std::array<QueuePairState, 2> states{QueuePairState::kReadyToSend, QueuePairState::kReadyToSend};
};

// A request of a victim's owner.
struct Work {
  Operation operation{};
  uint32_t bytes = 0;
  uint32_t offset = 0;  // at the peer
  uint8_t how = 0;      // keys and flags
};

class World {
 public:
  explicit World(CongestionAlgorithm congestion);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // The victims get into these states, and the innocent begin to send.
  void start(const WorldOptions& options);

  End& end(uint32_t index) { return ends_[index & 1]; }
  End& peer_of(const End& end) { return ends_[&end == &ends_[0] ? 1 : 0]; }
  IpAddress address_of(const End& end, bool ipv6) const;
  const WorldOptions& options() const { return options_; }
  Nanoseconds now() const { return now_; }

  bool post(End& end, const Work& work);
  void post_receive(End& end, uint32_t bytes);
  void set_state(End& end, QueuePairState state);
  // From RESET, whatever is under way.
  void connect_victim(End& end, QueuePairState state);
  // The same with another queue pair of the same kind.
  void replace_victim(End& end);
  // The peer's key is good no more.
  void withdraw_memory(End& end);
  void set_faults(End& end, Plane plane, uint8_t faults);
  void drop(End& end, uint32_t frames);
  void step(Nanoseconds time);
  // To when one of the engines has something to do.
  void skip();
  // A forged packet may outlast its input, by what a peer is believed to have said of its ports.
  void note_lasting() { lasting_ = true; }

  // Nothing hostile comes any more: what was posted ends in bounded time, the innocent still work, and memory
  // that was not granted is as it was. Then everything goes back to RESET, whatever state it is in.
  // `patient`: else what has not ended soon is cut short by that.
  void finish(bool patient);

 private:
  QueuePair* create_victim(End& end, Victim kind);
  void connect(End& end, QueuePair& qp, QueuePair& to, QueuePairState state, bool victim);
  void connect_innocents();
  void reset_innocents();
  void clear_ports();
  void register_memory(End& end);
  void fill_memory();
  void write_innocently(End& from);
  static bool pending(const End& end);
  void take_completions(End& end);
  static void forget(End& end);
  bool done(End& end);
  bool innocents_done();
  void check_innocents();
  void check_memory();
  bool run_until_done(bool patient);
  void close();

  std::array<End, 2> ends_;
  WorldOptions options_;
  Nanoseconds now_ = kMillisecond;
  bool lasting_ = false;
  uint8_t innocent_value_ = 0;
  uint32_t innocent_sent_ = 0;
  uint32_t innocent_completed_ = 0;
};

}  // namespace mrc::fuzz
