// SPDX-License-Identifier: BSD-2-Clause
// What verbs programs share which check a device: two processes on one host, joined by TCP for what verbs
// programs exchange out of band, and thin owners for verbs objects. Plain libibverbs, as any user would write
// it. Errors end the process.
#pragma once

#include <infiniband/verbs.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace verbs_test {

using Clock = std::chrono::steady_clock;

// Says what is wrong and ends this process and the peer it started; the exit status is 1.
[[noreturn]] void fail(const char* format, ...) __attribute__((format(printf, 1, 2)));

// From now on, whoever takes longer than this for the step that `what` names fails loudly.
void set_deadline(std::chrono::milliseconds limit, const std::string& what);
// For loops that wait: fails when the deadline is over.
void check_deadline();

enum class Role { kServer, kClient };

struct PeerOptions {
  enum class Mode { kNone, kServer, kClient, kSelf };
  Mode mode = Mode::kNone;
  std::string host = "127.0.0.1";
  uint16_t port = 0;  // 0 with kSelf: any free one
};

// The TCP connection to the other process. In mode kSelf this process serves, and starts itself once more as
// the client with `client_arguments`.
class Peer {
 public:
  Peer(const PeerOptions& options, const std::vector<std::string>& client_arguments);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  Role role() const { return role_; }

  void send(const void* data, size_t bytes);
  void receive(void* data, size_t bytes);
  // Both sides give theirs and get the other's.
  template <typename T>
  T exchange(const T& mine) {
    T theirs{};
    send(&mine, sizeof mine);
    receive(&theirs, sizeof theirs);
    return theirs;
  }
  // Returns when the other side has come here too; fails if it is somewhere else.
  void barrier(uint32_t step);
  // The last thing: waits for the other side, and for the end of a process started by us. Its failure is
  // ours.
  void finish();

 private:
  Role role_;
  int socket_ = -1;
};

// One device, opened, with one protection domain.
struct Device {
  explicit Device(const std::string& name, int gid_index = 0);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  ibv_context* context = nullptr;
  ibv_pd* domain = nullptr;
  ibv_device_attr limits{};
  int gid_index = 0;
  ibv_gid gid{};
};

struct Region {
  Region() = default;
  Region(ibv_pd* domain, void* start, size_t bytes, int access);
  ~Region();
  Region(Region&& other) noexcept : mr(other.mr) { other.mr = nullptr; }
  Region& operator=(Region&& other) noexcept;

  ibv_mr* mr = nullptr;
};

struct EndpointOptions {
  uint32_t send_entries = 64;
  uint32_t receive_entries = 64;
  uint32_t segments = 1;
  uint32_t inline_bytes = 0;
  bool signal_all = false;
  bool shared_queue = false;  // one completion queue for both directions
  int access = IBV_ACCESS_REMOTE_WRITE;
  ibv_mtu mtu = IBV_MTU_4096;
  uint8_t reads = 1;      // READs and atomics under way, either way
  uint8_t timeout = 17;   // half a second: the other side may have to wait for a CPU
  uint8_t rnr_retry = 2;  // 7 would be for ever
};

// A queue pair with its completion queues.
struct Endpoint {
  Endpoint(const Device& device, const EndpointOptions& options);
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  // What the other side has to know, and what it says.
  struct Address {
    uint32_t qpn;
    uint32_t psn;
    ibv_gid gid;
  };
  // Swaps addresses with the peer's endpoint and brings the queue pair to RTS.
  void connect(Peer& peer, uint32_t psn);
  ibv_qp_state state() const;

  const Device& device;
  EndpointOptions options;
  ibv_cq* send_queue = nullptr;
  ibv_cq* receive_queue = nullptr;
  ibv_qp* qp = nullptr;
  uint32_t inline_bytes = 0;
};

// Polls until a completion is there.
ibv_wc wait_completion(ibv_cq* queue);

// Memory from mmap, whole pages, zeroed.
struct Buffer {
  explicit Buffer(size_t bytes);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  uint8_t* data = nullptr;
  size_t bytes = 0;
};

// Deterministic content: byte `offset + i` of stream `stream` in data[i]. Any two streams differ nearly
// everywhere.
void fill(uint8_t* data, size_t bytes, uint64_t stream, uint64_t offset);
// Index of the first byte that differs, or `bytes` when none does.
size_t first_difference(const uint8_t* data, size_t bytes, uint64_t stream, uint64_t offset);

// A small seeded generator: the same sequence on both sides.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next();
  // In [low, high].
  uint64_t between(uint64_t low, uint64_t high) { return low + next() % (high - low + 1); }
  bool chance(unsigned percent) { return next() % 100 < percent; }

 private:
  uint64_t state_;
};

// --- command lines: `--name value` pairs ---
// The value behind `name`, or nullptr.
const char* option(int argc, char** argv, const char* name);
bool flag(int argc, char** argv, const char* name);
// --server | --client HOST | --self, and --port.
PeerOptions peer_options(int argc, char** argv);
// --seed, or one that differs from run to run.
uint64_t seed_option(int argc, char** argv);

}  // namespace verbs_test
