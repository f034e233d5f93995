// SPDX-License-Identifier: BSD-2-Clause
// Checks every byte that SEND, WRITE, READ and atomics move between two verbs devices of any make, and that
// every atomic is carried out exactly once.
//
//   rc_check --server --port P --device rxe0 --gid 1     and     rc_check --client HOST --port P --device
//   mrc0
//       [--seed S] [--rounds N] [--mtu 1024] [--timeout 17]        of both sides, the seed of the server's
//
// Both sides derive the same plan from the seed. In turn one of them requests and the other one answers.
#include <infiniband/verbs.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "examples/shared/verbs_peer.h"

namespace {

using verbs_test::fail;
using verbs_test::Random;

constexpr uint32_t kOperations = 24;  // of one round
constexpr uint32_t kQueue = 6;        // posted and not complete, at most
constexpr uint32_t kBytesMax = 20'000;
constexpr uint32_t kGap = 64;  // bytes between messages, which nobody may touch
constexpr size_t kAreaBytes = 64 + kOperations * size_t{kBytesMax + kGap};
constexpr size_t kWordOffset = 8;  // of the word for atomics
constexpr int kAccess =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

struct Settings {
  uint64_t seed = 0;
  uint32_t rounds = 4;
  int gid_index = 0;
  ibv_mtu mtu = IBV_MTU_1024;
  uint8_t timeout = 14;
  std::string device = "mrc0";
};

struct Operation {
  ibv_wr_opcode opcode;
  uint32_t bytes;
  uint64_t offset;  // in the areas of both sides
  uint32_t immediate;
  uint64_t compare_add, swap;
  uint64_t original;  // what an atomic finds

  bool atomic() const { return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD; }
  bool sends() const { return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM; }
  bool has_immediate() const {
    return opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
  }
  bool takes_receive() const { return sends() || has_immediate(); }
};

struct Plan {
  std::vector<Operation> operations;
  uint64_t content, local_guard, remote_guard;  // stream numbers, see verbs_test::fill
  uint64_t word_before, word_after;
  bool late;  // receives are posted when the first SEND has already met none
};

Plan make_plan(uint64_t seed) {
  static constexpr ibv_wr_opcode kOpcodes[] = {
      IBV_WR_SEND,      IBV_WR_SEND_WITH_IMM,      IBV_WR_RDMA_WRITE,          IBV_WR_RDMA_WRITE_WITH_IMM,
      IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD};
  Random random(seed);
  Plan plan{{}, random.next(), random.next(), random.next(), random.next(), 0, random.chance(50)};
  uint64_t offset = 64;
  uint64_t word = plan.word_before;
  for (uint32_t i = 0; i < kOperations; ++i) {
    Operation operation{};
    operation.opcode = kOpcodes[random.between(0, std::size(kOpcodes) - 1)];
    operation.offset = offset;
    operation.immediate = static_cast<uint32_t>(random.next());
    if (operation.atomic()) {
      operation.bytes = sizeof word;
      operation.original = word;
      operation.swap = random.next();
      const bool adds = operation.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
      operation.compare_add = adds || random.chance(30) ? random.next() : word;
      if (adds)
        word += operation.compare_add;
      else if (operation.compare_add == word)
        word = operation.swap;
    } else {
      operation.bytes = static_cast<uint32_t>(random.between(0, random.chance(50) ? 2100 : kBytesMax));
    }
    offset += (operation.bytes + kGap + 7) & ~uint64_t{7};
    plan.operations.push_back(operation);
  }
  plan.word_after = word;
  return plan;
}

void check_bytes(const uint8_t* area, uint64_t from, uint64_t to, uint64_t stream, const char* what,
                 size_t index) {
  const size_t wrong = verbs_test::first_difference(area + from, to - from, stream, from);
  if (wrong != to - from)
    fail("CORRUPTED: %s, operation %zu: byte %zu of %" PRIu64, what, index, wrong, to - from);
}

// Everything behind the word: what the operations of `moved` brought, and what is between them.
template <typename Moved>
void check_area(const Plan& plan, const uint8_t* area, uint64_t guard, Moved moved, const char* what) {
  uint64_t from = 64;
  for (size_t i = 0; i < plan.operations.size(); ++i) {
    const Operation& operation = plan.operations[i];
    if (!moved(operation)) continue;
    check_bytes(area, from, operation.offset, guard, "outside of every message", i);
    from = operation.offset + operation.bytes;
    if (!operation.atomic()) check_bytes(area, operation.offset, from, plan.content, what, i);
  }
  check_bytes(area, from, kAreaBytes, guard, "behind every message", plan.operations.size());
}

class Checker {
 public:
  Checker(const Settings& settings, verbs_test::Peer& peer)
      : peer_(peer),
        device_(settings.device, settings.gid_index),
        area_(kAreaBytes),
        region_(device_.domain, area_.data, area_.bytes, kAccess),
        endpoint_(device_, options(settings)) {
    // Near the end of the number space: PSNs wrap in every run.
    endpoint_.connect(peer_, 0xFFFFFF - static_cast<uint32_t>(Random(settings.seed).between(0, 200)));
    remote_ = peer_.exchange(Remote{reinterpret_cast<uint64_t>(area_.data), region_.mr->rkey});
  }

  void request(const Plan& plan);
  void answer(const Plan& plan);

 private:
  struct Remote {
    uint64_t address;
    uint32_t key;
  };

  static verbs_test::EndpointOptions options(const Settings& settings) {
    verbs_test::EndpointOptions options;
    options.send_entries = kQueue;
    options.receive_entries = kOperations;
    options.signal_all = true;
    options.access = kAccess;
    options.mtu = settings.mtu;
    options.timeout = settings.timeout;
    options.reads = 4;
    options.rnr_retry = 7;
    return options;
  }

  void post(const Operation& operation, uint64_t index);
  void post_receives(const Plan& plan);
  void check_receives(const Plan& plan);

  verbs_test::Peer& peer_;
  verbs_test::Device device_;
  verbs_test::Buffer area_;
  verbs_test::Region region_;
  verbs_test::Endpoint endpoint_;
  Remote remote_{};
};

void Checker::post(const Operation& operation, uint64_t index) {
  ibv_sge segment{reinterpret_cast<uint64_t>(area_.data + operation.offset), operation.bytes,
                  region_.mr->lkey};
  ibv_send_wr request{};
  request.wr_id = index;
  request.sg_list = &segment;
  request.num_sge = operation.bytes > 0 ? 1 : 0;
  request.opcode = operation.opcode;
  request.imm_data = operation.immediate;
  if (operation.atomic()) {
    request.wr.atomic.remote_addr = remote_.address + kWordOffset;
    request.wr.atomic.rkey = remote_.key;
    request.wr.atomic.compare_add = operation.compare_add;
    request.wr.atomic.swap = operation.swap;
  } else {
    request.wr.rdma.remote_addr = remote_.address + operation.offset;
    request.wr.rdma.rkey = remote_.key;
  }
  ibv_send_wr* bad = nullptr;
  if (const int error = ibv_post_send(endpoint_.qp, &request, &bad); error != 0)
    fail("ibv_post_send %" PRIu64 ": %s", index, std::strerror(error));
}

void Checker::request(const Plan& plan) {
  verbs_test::fill(area_.data, kAreaBytes, plan.local_guard, 0);
  for (const Operation& operation : plan.operations)
    if (!operation.atomic() && operation.opcode != IBV_WR_RDMA_READ)
      verbs_test::fill(area_.data + operation.offset, operation.bytes, plan.content, operation.offset);
  peer_.barrier(1);
  size_t posted = 0;
  for (size_t done = 0; done < plan.operations.size(); ++done) {
    for (; posted < plan.operations.size() && posted < done + kQueue; ++posted)
      post(plan.operations[posted], posted);
    const ibv_wc completion = verbs_test::wait_completion(endpoint_.send_queue);
    if (completion.wr_id != done || completion.status != IBV_WC_SUCCESS)
      fail("operation %zu (opcode %d, %u bytes): completion of %" PRIu64 ", %s", done,
           plan.operations[done].opcode, plan.operations[done].bytes, completion.wr_id,
           ibv_wc_status_str(completion.status));
  }
  peer_.barrier(2);
  check_area(
      plan, area_.data, plan.local_guard, [](const Operation&) { return true; }, "here");
  for (size_t i = 0; i < plan.operations.size(); ++i) {
    const Operation& operation = plan.operations[i];
    uint64_t original = 0;
    std::memcpy(&original, area_.data + operation.offset, sizeof original);
    if (operation.atomic() && original != operation.original)
      fail("atomic %zu found 0x%" PRIx64 " instead of 0x%" PRIx64, i, original, operation.original);
  }
}

void Checker::post_receives(const Plan& plan) {
  for (size_t i = 0; i < plan.operations.size(); ++i) {
    const Operation& operation = plan.operations[i];
    if (!operation.takes_receive()) continue;
    ibv_sge segment{reinterpret_cast<uint64_t>(area_.data + operation.offset), operation.bytes,
                    region_.mr->lkey};
    ibv_recv_wr request{};
    request.wr_id = i;
    request.sg_list = &segment;
    request.num_sge = operation.sends() && operation.bytes > 0 ? 1 : 0;
    ibv_recv_wr* bad = nullptr;
    if (const int error = ibv_post_recv(endpoint_.qp, &request, &bad); error != 0)
      fail("ibv_post_recv %zu: %s", i, std::strerror(error));
  }
}

void Checker::check_receives(const Plan& plan) {
  for (size_t i = 0; i < plan.operations.size(); ++i) {
    const Operation& operation = plan.operations[i];
    if (!operation.takes_receive()) continue;
    const ibv_wc completion = verbs_test::wait_completion(endpoint_.receive_queue);
    if (completion.wr_id != i || completion.status != IBV_WC_SUCCESS)
      fail("receive %zu: completion of %" PRIu64 ", %s", i, completion.wr_id,
           ibv_wc_status_str(completion.status));
    if (completion.byte_len != operation.bytes)
      fail("receive %zu: %u bytes instead of %u", i, completion.byte_len, operation.bytes);
    const bool immediate = (completion.wc_flags & IBV_WC_WITH_IMM) != 0;
    if (immediate != operation.has_immediate() || (immediate && completion.imm_data != operation.immediate))
      fail("receive %zu: immediate data are wrong", i);
  }
}

void Checker::answer(const Plan& plan) {
  constexpr unsigned kLateUs = 20'000;
  verbs_test::fill(area_.data, kAreaBytes, plan.remote_guard, 0);
  for (const Operation& operation : plan.operations)
    if (operation.opcode == IBV_WR_RDMA_READ)
      verbs_test::fill(area_.data + operation.offset, operation.bytes, plan.content, operation.offset);
  std::memcpy(area_.data + kWordOffset, &plan.word_before, sizeof plan.word_before);
  if (!plan.late) post_receives(plan);
  peer_.barrier(1);
  if (plan.late) {
    ::usleep(kLateUs);
    post_receives(plan);
  }
  check_receives(plan);
  peer_.barrier(2);
  check_area(
      plan, area_.data, plan.remote_guard, [](const Operation& o) { return !o.atomic(); }, "there");
  uint64_t word = 0;
  std::memcpy(&word, area_.data + kWordOffset, sizeof word);
  if (word != plan.word_after)
    fail("the word of the atomics is 0x%" PRIx64 " instead of 0x%" PRIx64, word, plan.word_after);
}

ibv_mtu parse_mtu(const char* text) {
  for (int mtu = IBV_MTU_256; mtu <= IBV_MTU_4096; ++mtu)
    if (std::strtoul(text, nullptr, 10) == 128u << mtu) return static_cast<ibv_mtu>(mtu);
  fail("--mtu: %s is none of 256, 512, 1024, 2048, 4096", text);
}

}  // namespace

int main(int argc, char** argv) {
  const verbs_test::PeerOptions options = verbs_test::peer_options(argc, argv);
  if (options.mode != verbs_test::PeerOptions::Mode::kServer &&
      options.mode != verbs_test::PeerOptions::Mode::kClient)
    fail("give --server or --client HOST, and --port");
  Settings settings;
  settings.seed = verbs_test::seed_option(argc, argv);
  const auto number = [&](const char* name, unsigned long otherwise) {
    const char* text = verbs_test::option(argc, argv, name);
    return text != nullptr ? std::strtoul(text, nullptr, 10) : otherwise;
  };
  settings.rounds = static_cast<uint32_t>(number("--rounds", settings.rounds));
  settings.gid_index = static_cast<int>(number("--gid", 0));
  settings.timeout = static_cast<uint8_t>(number("--timeout", settings.timeout));
  if (const char* mtu = verbs_test::option(argc, argv, "--mtu")) settings.mtu = parse_mtu(mtu);
  if (const char* device = verbs_test::option(argc, argv, "--device")) settings.device = device;

  verbs_test::set_deadline(std::chrono::seconds(60), "connecting");
  verbs_test::Peer peer(options, {});
  const bool client = peer.role() == verbs_test::Role::kClient;
  const uint64_t theirs = peer.exchange(settings.seed);
  if (client) settings.seed = theirs;
  std::printf("rc_check: seed %" PRIu64 "\n", settings.seed);
  std::fflush(stdout);
  {
    Checker checker(settings, peer);
    for (uint32_t round = 0; round < settings.rounds; ++round) {
      verbs_test::set_deadline(std::chrono::seconds(60), "round " + std::to_string(round));
      const Plan plan = make_plan(settings.seed ^ (uint64_t{round} << 32));
      client == (round % 2 == 0) ? checker.request(plan) : checker.answer(plan);
      peer.barrier(100 + round);
    }
  }
  peer.finish();
  return 0;
}
