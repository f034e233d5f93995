// SPDX-License-Identifier: BSD-2-Clause
// What a request that must not be served does: the requester's completion names the error and everything
// behind it is flushed; not one byte of the target changes; the target lives and serves the next queue pair.
//
//   access_errors --self [--seed S] [--only NAME] [--device mrc0]
//
// The client requests, the server is the target. Both walk through the same list of cases.
#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "examples/shared/verbs_peer.h"

namespace {

using verbs_test::Buffer;
using verbs_test::Device;
using verbs_test::Endpoint;
using verbs_test::EndpointOptions;
using verbs_test::fail;
using verbs_test::Peer;
using verbs_test::Region;

constexpr size_t kAreaBytes = 256u << 10;
constexpr size_t kRegionOffset = 64u << 10;  // the region that is attacked, in the middle of the area
constexpr size_t kRegionBytes = 60'001;
constexpr size_t kScratchBytes = 16u << 10;  // a region where writing is fine
constexpr int kTargetAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

enum class TargetSetup {
  kOrdinary,
  kRegionWithoutRight,
  kQueuePairWithoutRight,
  kDeregistered,
  kRegisteredAgain,  // the old key, after the same memory was given a new one
  kOtherDomain,
  kNoReceive,
};

struct Case {
  const char* name;
  TargetSetup setup;
  // The bad request, relative to the region.
  int64_t offset;
  uint32_t bytes;
  uint32_t key_change;  // xor'ed into the key
  ibv_wr_opcode opcode;
  bool bad_local_key;
  std::vector<ibv_wc_status> expected;  // any of them
  // Packets are placed one by one: of a long message the part inside the region may be written.
  bool inside_may_change;
};

const std::vector<ibv_wc_status> kAccessError = {IBV_WC_REM_ACCESS_ERR};

std::vector<Case> all_cases() {
  constexpr int64_t kEnd = kRegionBytes;
  constexpr auto kWrite = IBV_WR_RDMA_WRITE;
  constexpr auto kImmediate = IBV_WR_RDMA_WRITE_WITH_IMM;
  using T = TargetSetup;
  return {
      {"wrong-rkey", T::kOrdinary, 0, 1000, 0x00A5C300, kWrite, false, kAccessError, false},
      {"wrong-rkey-generation", T::kOrdinary, 0, 1000, 0x00000001, kWrite, false, kAccessError, false},
      {"wrong-rkey-long", T::kOrdinary, 0, 50'000, 0x5A000000, kWrite, false, kAccessError, false},
      {"wrong-rkey-immediate", T::kOrdinary, 0, 1000, 0x00A5C300, kImmediate, false, kAccessError, false},
      {"past-the-end", T::kOrdinary, kEnd - 999, 1000, 0, kWrite, false, kAccessError, false},
      {"past-the-end-long", T::kOrdinary, 1, kRegionBytes, 0, kWrite, false, kAccessError, true},
      {"behind-the-end", T::kOrdinary, kEnd + 4096, 1, 0, kWrite, false, kAccessError, false},
      {"before-the-start", T::kOrdinary, -1, 1000, 0, kWrite, false, kAccessError, false},
      {"before-the-start-long", T::kOrdinary, -1, 50'000, 0, kWrite, false, kAccessError, true},
      {"address-wraps", T::kOrdinary, INT64_MIN, 1000, 0, kWrite, false, kAccessError, false},
      {"region-without-right", T::kRegionWithoutRight, 0, 1000, 0, kWrite, false, kAccessError, false},
      {"region-without-right-long", T::kRegionWithoutRight, 0, 50'000, 0, kWrite, false, kAccessError, false},
      {"qp-without-right", T::kQueuePairWithoutRight, 0, 1000, 0, kWrite, false, kAccessError, false},
      {"deregistered", T::kDeregistered, 0, 1000, 0, kWrite, false, kAccessError, false},
      {"registered-again", T::kRegisteredAgain, 0, 1000, 0, kWrite, false, kAccessError, false},
      {"other-domain", T::kOtherDomain, 0, 1000, 0, kWrite, false, kAccessError, false},
      // IBTA: a request for no bytes needs no key.
      {"nothing-with-wrong-rkey", T::kOrdinary, 0, 0, 0x00A5C300, kWrite, false, {IBV_WC_SUCCESS}, false},
      {"bad-lkey", T::kOrdinary, 0, 1000, 0, kWrite, true, {IBV_WC_LOC_PROT_ERR}, false},
      {"bad-lkey-long", T::kOrdinary, 0, 50'000, 0, kWrite, true, {IBV_WC_LOC_PROT_ERR}, false},
      // Between two Soft-MRC peers as in RC: receiver not ready, and after rnr_retry the requester gives up.
      {"immediate-without-receive",
       T::kNoReceive,
       0,
       1000,
       0,
       kImmediate,
       false,
       {IBV_WC_RNR_RETRY_EXC_ERR},
       true},
  };
}

// What the target tells the requester.
struct Offer {
  uint64_t region;
  uint32_t region_key;
  uint32_t scratch_key;
  uint64_t scratch;
};

// Errors that end the target's queue pair, too.
bool remote_error(const Case& test) {
  const ibv_wc_status status = test.expected.front();
  return status != IBV_WC_SUCCESS && status != IBV_WC_LOC_PROT_ERR && status != IBV_WC_RNR_RETRY_EXC_ERR;
}

ibv_send_wr request(uint64_t id, ibv_sge* segment, uint64_t address, uint32_t key, unsigned flags,
                    ibv_wr_opcode opcode) {
  ibv_send_wr work{};
  work.wr_id = id;
  work.sg_list = segment;
  work.num_sge = 1;
  work.opcode = opcode;
  work.send_flags = flags;
  work.imm_data = 0x12345678;
  work.wr.rdma.remote_addr = address;
  work.wr.rdma.rkey = key;
  return work;
}

void post(Endpoint& endpoint, ibv_send_wr* work) {
  ibv_send_wr* bad = nullptr;
  if (const int error = ibv_post_send(endpoint.qp, work, &bad); error != 0)
    fail("ibv_post_send: %s", std::strerror(error));
}

void post_receive(Endpoint& endpoint, uint64_t id) {
  ibv_recv_wr work{};
  work.wr_id = id;
  ibv_recv_wr* bad = nullptr;
  if (const int error = ibv_post_recv(endpoint.qp, &work, &bad); error != 0)
    fail("ibv_post_recv: %s", std::strerror(error));
}

void expect(const ibv_wc& completion, uint64_t id, const std::vector<ibv_wc_status>& statuses,
            const char* what) {
  if (completion.wr_id != id)
    fail("%s: completion of request %" PRIu64 " (%s), expected request %" PRIu64, what, completion.wr_id,
         ibv_wc_status_str(completion.status), id);
  if (std::find(statuses.begin(), statuses.end(), completion.status) == statuses.end())
    fail("%s: request %" PRIu64 " completed with '%s', expected '%s'", what, id,
         ibv_wc_status_str(completion.status), ibv_wc_status_str(statuses.front()));
}

void expect_flushed(Endpoint& endpoint, ibv_cq* queue, uint64_t id) {
  const ibv_wc completion = verbs_test::wait_completion(queue);
  expect(completion, id, {IBV_WC_WR_FLUSH_ERR}, "behind the error");
  if (completion.qp_num != endpoint.qp->qp_num) fail("a flushed completion names QP 0x%x", completion.qp_num);
}

void wait_state(Endpoint& endpoint, ibv_qp_state wanted) {
  while (endpoint.state() != wanted) verbs_test::check_deadline();
}

// The two sides of one case. Step numbers keep them together.
class Target {
 public:
  Target(Peer& peer, const Device& device)
      : peer_(peer), device_(device), area_(kAreaBytes), scratch_(kScratchBytes) {
    other_domain_ = ibv_alloc_pd(device.context);
    if (other_domain_ == nullptr) fail("ibv_alloc_pd: %s", std::strerror(errno));
    scratch_region_ = Region(device.domain, scratch_.data, scratch_.bytes, kTargetAccess);
  }
  ~Target() {
    if (ibv_dealloc_pd(other_domain_) != 0) fail("ibv_dealloc_pd");
  }

  void attempt(const Case& test, uint64_t stream) {
    verbs_test::fill(area_.data, area_.bytes, stream, 0);
    EndpointOptions options;
    if (test.setup == TargetSetup::kQueuePairWithoutRight) options.access = 0;
    Endpoint endpoint(device_, options);
    const bool receives = test.setup != TargetSetup::kNoReceive;
    Region region = make_region(test);
    uint32_t key = region.mr->rkey;
    if (test.setup == TargetSetup::kDeregistered) region = Region();
    if (test.setup == TargetSetup::kRegisteredAgain) {
      region = Region();
      region = make_region(test);
      if (region.mr->rkey == key) fail("a new registration got the key of the old one at once");
    }
    endpoint.connect(peer_, static_cast<uint32_t>(stream));
    if (receives) post_receive(endpoint, 9);
    peer_.exchange(Offer{reinterpret_cast<uint64_t>(area_.data + kRegionOffset), key,
                         scratch_region_.mr->rkey, reinterpret_cast<uint64_t>(scratch_.data)});
    peer_.barrier(1);  // the requester has its completions
    check_area(test, stream);
    if (remote_error(test)) {  // both queue pairs go to error
      wait_state(endpoint, IBV_QPS_ERR);
      if (receives) expect_flushed(endpoint, endpoint.receive_queue, 9);
    } else if (endpoint.state() != IBV_QPS_RTS) {
      fail("%s: the target's queue pair left RTS although nothing wrong came to it", test.name);
    }
    peer_.barrier(2);
    check_area(test, stream);  // and nothing came late
  }

  // A new queue pair works, with data and an immediate.
  void alive(uint64_t stream) {
    Endpoint endpoint(device_, EndpointOptions{});
    std::memset(scratch_.data, 0, scratch_.bytes);
    endpoint.connect(peer_, static_cast<uint32_t>(stream) ^ 0x777);
    post_receive(endpoint, 21);
    peer_.exchange(Offer{0, 0, scratch_region_.mr->rkey, reinterpret_cast<uint64_t>(scratch_.data)});
    const ibv_wc completion = verbs_test::wait_completion(endpoint.receive_queue);
    expect(completion, 21, {IBV_WC_SUCCESS}, "the next queue pair");
    if (verbs_test::first_difference(scratch_.data, scratch_.bytes, stream, 0) != scratch_.bytes)
      fail("the next queue pair delivered wrong bytes");
    peer_.barrier(3);
  }

 private:
  Region make_region(const Case& test) {
    return {test.setup == TargetSetup::kOtherDomain ? other_domain_ : device_.domain,
            area_.data + kRegionOffset, kRegionBytes,
            test.setup == TargetSetup::kRegionWithoutRight ? IBV_ACCESS_LOCAL_WRITE : kTargetAccess};
  }

  void check_area(const Case& test, uint64_t stream) {
    const auto check = [&](size_t from, size_t to) {
      const size_t wrong = verbs_test::first_difference(area_.data + from, to - from, stream, from);
      if (wrong != to - from)
        fail("%s: byte %zd of the target (region is 0..%zu) was written", test.name,
             static_cast<ssize_t>(from + wrong) - static_cast<ssize_t>(kRegionOffset), kRegionBytes - 1);
    };
    check(0, kRegionOffset);
    if (!test.inside_may_change) check(kRegionOffset, kRegionOffset + kRegionBytes);
    check(kRegionOffset + kRegionBytes, kAreaBytes);
  }

  Peer& peer_;
  const Device& device_;
  Buffer area_;
  Buffer scratch_;
  ibv_pd* other_domain_ = nullptr;
  Region scratch_region_;
};

class Requester {
 public:
  Requester(Peer& peer, const Device& device)
      : peer_(peer),
        device_(device),
        source_(kAreaBytes),
        region_(device.domain, source_.data, source_.bytes, 0) {}

  void attempt(const Case& test, uint64_t stream) {
    EndpointOptions options;
    Endpoint endpoint(device_, options);
    endpoint.connect(peer_, static_cast<uint32_t>(stream) ^ 0x55AA);
    post_receive(endpoint, 9);
    const Offer offer = peer_.exchange(Offer{});

    // A good one ahead, the bad one, and two behind it that must not succeed.
    const uint32_t source_key = region_.mr->lkey;
    const auto source = reinterpret_cast<uint64_t>(source_.data);
    ibv_sge good{source, 512, source_key};
    ibv_sge bad{source + 4096, test.bytes, test.bad_local_key ? source_key ^ 0x00770000 : source_key};
    const uint64_t address =
        test.offset == INT64_MIN ? UINT64_MAX - 499 : offer.region + static_cast<uint64_t>(test.offset);
    std::array<ibv_send_wr, 4> work = {
        request(1, &good, offer.scratch, offer.scratch_key, IBV_SEND_SIGNALED, IBV_WR_RDMA_WRITE),
        request(2, &bad, address, offer.region_key ^ test.key_change, IBV_SEND_SIGNALED, test.opcode),
        request(3, &good, offer.scratch, offer.scratch_key, 0, IBV_WR_RDMA_WRITE),
        request(4, &good, offer.scratch, offer.scratch_key, IBV_SEND_SIGNALED, IBV_WR_RDMA_WRITE)};
    for (size_t i = 0; i + 1 < work.size(); ++i) work[i].next = &work[i + 1];
    // Without the right nothing can go ahead of it.
    const bool good_ahead = test.setup != TargetSetup::kQueuePairWithoutRight;
    post(endpoint, good_ahead ? work.data() : &work[1]);

    if (good_ahead)
      expect(verbs_test::wait_completion(endpoint.send_queue), 1, {IBV_WC_SUCCESS}, "ahead of the error");
    expect(verbs_test::wait_completion(endpoint.send_queue), 2, test.expected, test.name);
    if (test.expected.front() == IBV_WC_SUCCESS) {
      expect(verbs_test::wait_completion(endpoint.send_queue), 4, {IBV_WC_SUCCESS}, test.name);
    } else {
      expect_flushed(endpoint, endpoint.send_queue, 3);
      expect_flushed(endpoint, endpoint.send_queue, 4);
      expect_flushed(endpoint, endpoint.receive_queue, 9);
      if (endpoint.state() != IBV_QPS_ERR) fail("%s: the requester's queue pair is not in error", test.name);
      // Work that comes later is flushed as well.
      ibv_send_wr late =
          request(5, &good, offer.scratch, offer.scratch_key, IBV_SEND_SIGNALED, IBV_WR_RDMA_WRITE);
      post(endpoint, &late);
      expect_flushed(endpoint, endpoint.send_queue, 5);
      post_receive(endpoint, 10);
      expect_flushed(endpoint, endpoint.receive_queue, 10);
    }
    peer_.barrier(1);
    peer_.barrier(2);
  }

  void alive(uint64_t stream) {
    Endpoint endpoint(device_, EndpointOptions{});
    endpoint.connect(peer_, static_cast<uint32_t>(stream) ^ 0x999);
    const Offer offer = peer_.exchange(Offer{});
    verbs_test::fill(source_.data, kScratchBytes, stream, 0);
    ibv_sge segment{reinterpret_cast<uint64_t>(source_.data), kScratchBytes, region_.mr->lkey};
    ibv_send_wr work = request(20, &segment, offer.scratch, offer.scratch_key, IBV_SEND_SIGNALED,
                               IBV_WR_RDMA_WRITE_WITH_IMM);
    post(endpoint, &work);
    expect(verbs_test::wait_completion(endpoint.send_queue), 20, {IBV_WC_SUCCESS}, "the next queue pair");
    peer_.barrier(3);
  }

 private:
  Peer& peer_;
  const Device& device_;
  Buffer source_;
  Region region_;
};

template <typename Side>
void walk(Side&& side, const std::vector<Case>& cases, uint64_t seed, bool speaks) {
  verbs_test::Random random(seed);
  for (const Case& test : cases) {
    verbs_test::set_deadline(std::chrono::seconds(20), std::string("case ") + test.name);
    side.attempt(test, random.next());
    side.alive(random.next());
    if (speaks) std::printf("ok  %s\n", test.name), std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const verbs_test::PeerOptions options = verbs_test::peer_options(argc, argv);
  if (options.mode == verbs_test::PeerOptions::Mode::kNone) {
    std::fputs(
        "usage: access_errors --self | --server --port P | --client HOST --port P\n"
        "                     [--seed S] [--only CASE] [--device NAME]   (the same on both sides)\n",
        stdout);
    return 2;
  }
  uint64_t seed = verbs_test::seed_option(argc, argv);
  const char* only = verbs_test::option(argc, argv, "--only");
  const char* device_name = verbs_test::option(argc, argv, "--device");
  std::vector<Case> cases = all_cases();
  if (only != nullptr)
    std::erase_if(cases, [only](const Case& test) { return std::strcmp(test.name, only) != 0; });
  if (cases.empty()) fail("no case is called %s", only);

  verbs_test::set_deadline(std::chrono::seconds(30), "connecting");
  std::vector<std::string> client_arguments = {"--seed", std::to_string(seed)};
  for (const char* name : {"--only", "--device"})
    if (const char* value = verbs_test::option(argc, argv, name)) {
      client_arguments.emplace_back(name);
      client_arguments.emplace_back(value);
    }
  Peer peer(options, client_arguments);
  const uint64_t theirs = peer.exchange(seed);
  if (peer.role() == verbs_test::Role::kClient) seed = theirs;
  {
    const Device device(device_name != nullptr ? device_name : "mrc0");
    if (peer.role() == verbs_test::Role::kServer) {
      std::printf("access_errors: seed %" PRIu64 "\n", seed);
      walk(Target(peer, device), cases, seed, true);
    } else {
      walk(Requester(peer, device), cases, seed, false);
    }
  }
  verbs_test::set_deadline(std::chrono::seconds(20), "ending");
  peer.finish();
  return 0;
}
