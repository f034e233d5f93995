// SPDX-License-Identifier: BSD-2-Clause
// Checks every byte that RDMA WRITE and WRITE_WITH_IMM move between two processes, and every byte around
// them: random sizes of scatter lists, alignments, signalling and inline data, in both directions and both at
// once.
//
//   write_check --self [--seed S] [--sizes 0,1,4096] [--seconds T] [--device mrc0]    both processes in one
//   command write_check --server --port P ...  and  write_check --client HOST --port P ...    the same
//   options on both sides
//
// Both sides derive the same plan from the seed, so only addresses and keys are exchanged.
#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "examples/shared/verbs_peer.h"
#include "examples/terminal/program_words.h"

namespace {

using verbs_test::fail;
using verbs_test::Random;

constexpr char kUsage[] =
    "usage: write_check --self | --server --port P | --client HOST --port P | --help | --version\n"
    "                   [--seed S] [--sizes BYTES,...] [--seconds T] [--device NAME] [--quiet]\n"
    "  --sizes    message sizes (default 0,1,4095,4096,4097,1048576,67108864)\n"
    "  --seconds  start again until so much time is over (default: one pass)\n";

constexpr uint32_t kMessagesMax = 48;       // of one round
constexpr uint64_t kRoundBytes = 8u << 20;  // a round has several messages up to this sum
constexpr uint64_t kGapMax = 200;           // unwritten bytes between messages, all checked
constexpr uint64_t kGuardBytes = 8192;      // unwritten bytes at either end
constexpr uint32_t kSegmentsWanted = 16;
constexpr uint32_t kInlineWanted = 128;
constexpr size_t kSourceRegions = 3;

struct Settings {
  uint64_t seed = 0;
  double seconds = 0;
  bool quiet = false;
  std::string device = "mrc0";
  std::vector<uint64_t> sizes = {0, 1, 4095, 4096, 4097, 1u << 20, 64u << 20};
};

struct Piece {
  uint64_t source_offset;
  uint32_t bytes;
  uint32_t region;  // which of the source's registrations covers it
};

struct Message {
  uint64_t bytes;
  uint64_t target_offset;
  bool immediate;
  uint32_t immediate_value;
  bool signaled;
  bool inline_data;
  bool chained;  // posted together with the one behind it
  std::vector<Piece> pieces;
};

// Everything that one side sends in one round. Both sides compute the same.
struct Plan {
  std::vector<Message> messages;
  uint64_t target_bytes = 0;  // of the area, guards included
  uint64_t content = 0;       // stream numbers, see verbs_test::fill
  uint64_t guard = 0;

  uint32_t immediates() const {
    return static_cast<uint32_t>(
        std::count_if(messages.begin(), messages.end(), [](const Message& m) { return m.immediate; }));
  }
};

struct Limits {
  uint32_t segments;
  uint32_t inline_bytes;
};

uint64_t area_bytes(uint64_t message_bytes_max) {
  return 2 * kGuardBytes + std::max(kRoundBytes, message_bytes_max) + (kMessagesMax + 1) * kGapMax +
         uint64_t{kMessagesMax} * kSegmentsWanted * kGapMax;
}

// Cuts a message into pieces that lie in the source in any order, at any alignment.
void cut(Message& message, const Limits& limits, Random& random, uint64_t* source_offset) {
  if (message.bytes == 0) {  // none at all, or one that is empty
    if (random.chance(50)) message.pieces.push_back({*source_offset, 0, 0});
    return;
  }
  const uint64_t count = random.between(1, std::min<uint64_t>(limits.segments, message.bytes));
  std::vector<uint64_t> cuts = {0, message.bytes};
  for (uint64_t i = 1; i < count; ++i) cuts.push_back(random.between(1, message.bytes - 1));
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  for (size_t i = 0; i + 1 < cuts.size(); ++i)
    message.pieces.push_back({0, static_cast<uint32_t>(cuts[i + 1] - cuts[i]),
                              static_cast<uint32_t>(random.between(0, kSourceRegions - 1))});
  std::vector<size_t> order(message.pieces.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.between(0, i - 1)]);
  for (const size_t i : order) {
    *source_offset += random.between(0, kGapMax);
    message.pieces[i].source_offset = *source_offset;
    *source_offset += message.pieces[i].bytes;
  }
}

Plan make_plan(uint64_t seed, uint64_t size, const Limits& limits) {
  Random random(seed);
  Plan plan;
  plan.content = random.next();
  plan.guard = random.next();
  const uint64_t count = size == 0 ? 12 : std::clamp<uint64_t>(kRoundBytes / size, 1, kMessagesMax);
  uint64_t source = random.between(0, kGapMax);
  uint64_t target = kGuardBytes + random.between(0, kGapMax);
  for (uint64_t i = 0; i < count; ++i) {
    Message message{};
    message.bytes = size;
    message.target_offset = target;
    message.immediate = random.chance(50);
    message.immediate_value = static_cast<uint32_t>(random.next());
    message.signaled = random.chance(40) || i + 1 == count;  // the last says that all are done
    message.chained = random.chance(50);
    message.inline_data = size <= limits.inline_bytes && random.chance(50);
    cut(message, limits, random, &source);
    target += size + random.between(0, kGapMax);
    plan.messages.push_back(std::move(message));
  }
  plan.target_bytes = target + kGuardBytes;
  return plan;
}

// One side: its memory, its queue pairs, and the rounds on them.
class Checker {
 public:
  Checker(const Settings& settings, verbs_test::Peer& peer);

  // One round: `mine` is sent from here, `theirs` arrives here; either may be empty.
  void round(uint32_t number, size_t endpoint, const Plan& mine, const Plan& theirs);

  Limits limits() const { return limits_; }
  size_t endpoints() const { return endpoints_.size(); }
  uint64_t messages_checked() const { return messages_checked_; }
  uint64_t bytes_checked() const { return bytes_checked_; }

 private:
  struct RemoteArea {
    uint64_t address;
    uint32_t key;
  };

  void prepare_source(const Plan& plan);
  void prepare_target(const Plan& plan);
  void post_receives(const Plan& plan);
  // Posts messages from `next` on, as far as the send queue has room; returns the new `next`.
  size_t post_sends(const Plan& plan, size_t next);
  void transfer(const Plan& mine, const Plan& theirs);
  void on_send_completion(const Plan& plan, const ibv_wc& completion);
  void on_receive_completion(const Plan& plan, const ibv_wc& completion);
  void check_message(const Plan& plan, size_t index);
  void check_target(const Plan& plan);
  bool completes(const Message& message) const { return message.signaled || endpoint_->options.signal_all; }

  verbs_test::Peer& peer_;
  verbs_test::Device device_;
  Limits limits_{};
  verbs_test::Buffer source_;
  verbs_test::Buffer target_;
  std::array<verbs_test::Region, kSourceRegions> source_regions_;
  verbs_test::Region target_region_;
  std::vector<std::unique_ptr<verbs_test::Endpoint>> endpoints_;
  RemoteArea remote_{};

  // Of the current round.
  verbs_test::Endpoint* endpoint_ = nullptr;
  uint32_t round_ = 0;
  size_t send_done_ = 0;      // messages known to be complete: the send queue's free room
  size_t receives_done_ = 0;  // immediates seen
  size_t checked_ = 0;        // messages of the other side whose bytes have been compared

  uint64_t messages_checked_ = 0;
  uint64_t bytes_checked_ = 0;
};

Checker::Checker(const Settings& settings, verbs_test::Peer& peer)
    : peer_(peer),
      device_(settings.device),
      source_(area_bytes(*std::max_element(settings.sizes.begin(), settings.sizes.end()))),
      target_(source_.bytes) {
  for (verbs_test::Region& region : source_regions_)
    region = verbs_test::Region(device_.domain, source_.data, source_.bytes, 0);
  target_region_ = verbs_test::Region(device_.domain, target_.data, target_.bytes,
                                      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  limits_.segments = std::min<uint32_t>(kSegmentsWanted, static_cast<uint32_t>(device_.limits.max_sge));
  limits_.inline_bytes = kInlineWanted;
  Random random(settings.seed);
  for (const bool variant : {false, true}) {
    verbs_test::EndpointOptions options;
    options.segments = limits_.segments;
    options.inline_bytes = kInlineWanted;
    options.signal_all = variant;
    options.shared_queue = variant;
    // The second has less room than a round has messages: the queue must be refilled while it drains.
    options.send_entries = variant ? kMessagesMax / 3 : kMessagesMax;
    options.receive_entries = kMessagesMax;
    auto endpoint = std::make_unique<verbs_test::Endpoint>(device_, options);
    limits_.inline_bytes = std::min(limits_.inline_bytes, endpoint->inline_bytes);
    // Near the end of the number space, so that every run passes the wrap of the PSN.
    endpoint->connect(peer_, 0xFFFFFF - static_cast<uint32_t>(random.between(0, 2000)));
    endpoints_.push_back(std::move(endpoint));
  }
  const Limits theirs = peer_.exchange(limits_);
  limits_.segments = std::min(limits_.segments, theirs.segments);
  limits_.inline_bytes = std::min(limits_.inline_bytes, theirs.inline_bytes);
  remote_ = peer_.exchange(RemoteArea{reinterpret_cast<uint64_t>(target_.data), target_region_.mr->rkey});
}

void Checker::prepare_source(const Plan& plan) {
  for (const Message& message : plan.messages) {
    uint64_t offset = message.target_offset;  // content is a function of where it lands
    for (const Piece& piece : message.pieces) {
      verbs_test::fill(source_.data + piece.source_offset, piece.bytes, plan.content, offset);
      offset += piece.bytes;
    }
  }
}

void Checker::prepare_target(const Plan& plan) {
  verbs_test::fill(target_.data, plan.target_bytes, plan.guard, 0);
}

void Checker::post_receives(const Plan& plan) {
  for (uint32_t i = 0; i < plan.immediates(); ++i) {
    // WRITE_WITH_IMM takes a receive but never its memory: point it at bytes that must not change.
    ibv_sge segment{reinterpret_cast<uint64_t>(target_.data), 64, target_region_.mr->lkey};
    ibv_recv_wr request{};
    request.wr_id = (uint64_t{round_} << 32) | i;
    request.sg_list = &segment;
    request.num_sge = static_cast<int>(i % 2);
    ibv_recv_wr* bad = nullptr;
    if (const int error = ibv_post_recv(endpoint_->qp, &request, &bad); error != 0)
      fail("ibv_post_recv %u of %u: %s", i, plan.immediates(), std::strerror(error));
  }
}

size_t Checker::post_sends(const Plan& plan, size_t next) {
  const size_t end = std::min(plan.messages.size(), send_done_ + endpoint_->options.send_entries);
  if (next >= end) return next;
  std::array<ibv_send_wr, kMessagesMax> requests{};
  std::array<std::array<ibv_sge, kSegmentsWanted>, kMessagesMax> segments;
  for (size_t first = next; first < end; first = next) {
    size_t count = 0;
    bool more = true;
    while (more && next < end) {
      const Message& message = plan.messages[next];
      ibv_send_wr& request = requests[count];
      request = {};
      request.wr_id = (uint64_t{round_} << 32) | next;
      request.sg_list = segments[count].data();
      request.num_sge = static_cast<int>(message.pieces.size());
      for (size_t i = 0; i < message.pieces.size(); ++i) {
        const Piece& piece = message.pieces[i];
        // Inline data need no valid key.
        const uint32_t key = message.inline_data ? 0xDEAD : source_regions_[piece.region].mr->lkey;
        segments[count][i] = {reinterpret_cast<uint64_t>(source_.data + piece.source_offset), piece.bytes,
                              key};
      }
      request.opcode = message.immediate ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
      request.imm_data = message.immediate_value;
      if (message.signaled) request.send_flags |= IBV_SEND_SIGNALED;
      if (message.inline_data) request.send_flags |= IBV_SEND_INLINE;
      request.wr.rdma.remote_addr = remote_.address + message.target_offset;
      request.wr.rdma.rkey = remote_.key;
      if (count > 0) requests[count - 1].next = &request;
      ++count;
      ++next;
      more = message.chained;
    }
    ibv_send_wr* bad = nullptr;
    if (const int error = ibv_post_send(endpoint_->qp, requests.data(), &bad); error != 0)
      fail("ibv_post_send of message %zu (%" PRIu64 " bytes): %s", first, plan.messages[first].bytes,
           std::strerror(error));
    // Inline data were taken at once: the memory may be used again.
    for (size_t i = first; i < next; ++i)
      if (plan.messages[i].inline_data)
        for (const Piece& piece : plan.messages[i].pieces)
          std::memset(source_.data + piece.source_offset, 0xEE, piece.bytes);
  }
  return next;
}

void Checker::on_send_completion(const Plan& plan, const ibv_wc& completion) {
  while (send_done_ < plan.messages.size() && !completes(plan.messages[send_done_])) ++send_done_;
  if (send_done_ >= plan.messages.size()) fail("a completion too many, wr_id 0x%" PRIx64, completion.wr_id);
  if (completion.wr_id != ((uint64_t{round_} << 32) | send_done_))
    fail("completions out of order: wr_id 0x%" PRIx64 ", expected message %zu of round %u", completion.wr_id,
         send_done_, round_);
  if (completion.status != IBV_WC_SUCCESS)
    fail("message %zu (%" PRIu64 " bytes) of round %u: %s (vendor error 0x%x)", send_done_,
         plan.messages[send_done_].bytes, round_, ibv_wc_status_str(completion.status),
         completion.vendor_err);
  if (completion.opcode != IBV_WC_RDMA_WRITE) fail("opcode %d of a write's completion", completion.opcode);
  if (completion.qp_num != endpoint_->qp->qp_num) fail("completion names QP 0x%x", completion.qp_num);
  ++send_done_;
}

void Checker::on_receive_completion(const Plan& plan, const ibv_wc& completion) {
  if (completion.status != IBV_WC_SUCCESS)
    fail("receive %zu of round %u: %s", receives_done_, round_, ibv_wc_status_str(completion.status));
  if (completion.wr_id != ((uint64_t{round_} << 32) | receives_done_))
    fail("receives out of order: wr_id 0x%" PRIx64 ", expected %zu of round %u", completion.wr_id,
         receives_done_, round_);
  if (completion.opcode != IBV_WC_RECV_RDMA_WITH_IMM || (completion.wc_flags & IBV_WC_WITH_IMM) == 0)
    fail("opcode %d, flags 0x%x of an immediate's completion", completion.opcode, completion.wc_flags);
  // Everything up to this message must be there now, not only when the sender is done.
  for (; checked_ < plan.messages.size(); ++checked_) {
    check_message(plan, checked_);
    const Message& message = plan.messages[checked_];
    if (!message.immediate) continue;
    if (completion.imm_data != message.immediate_value)
      fail("immediate of message %zu, round %u: 0x%08x, expected 0x%08x", checked_, round_,
           completion.imm_data, message.immediate_value);
    if (completion.byte_len != message.bytes)
      fail("byte_len of message %zu, round %u: %u, expected %" PRIu64, checked_, round_, completion.byte_len,
           message.bytes);
    ++checked_;
    ++receives_done_;
    return;
  }
  fail("an immediate too many in round %u", round_);
}

void Checker::transfer(const Plan& mine, const Plan& theirs) {
  const uint32_t immediates = theirs.immediates();
  size_t next = 0;
  std::array<ibv_wc, 16> completions;
  while (send_done_ < mine.messages.size() || receives_done_ < immediates) {
    verbs_test::check_deadline();
    next = post_sends(mine, next);
    for (ibv_cq* queue : {endpoint_->send_queue, endpoint_->receive_queue}) {
      const int count = ibv_poll_cq(queue, static_cast<int>(completions.size()), completions.data());
      if (count < 0) fail("ibv_poll_cq: %d", count);
      for (int i = 0; i < count; ++i) {
        const ibv_wc& completion = completions[static_cast<size_t>(i)];
        // A failed completion tells only its wr_id; then the queue says which side it was, if it is not
        // shared.
        const bool receive = completion.status == IBV_WC_SUCCESS
                                 ? (completion.opcode & IBV_WC_RECV) != 0
                                 : queue == endpoint_->receive_queue && queue != endpoint_->send_queue;
        if (receive)
          on_receive_completion(theirs, completion);
        else
          on_send_completion(mine, completion);
      }
    }
  }
}

void Checker::check_message(const Plan& plan, size_t index) {
  const Message& message = plan.messages[index];
  const uint8_t* data = target_.data + message.target_offset;
  const size_t wrong = verbs_test::first_difference(data, message.bytes, plan.content, message.target_offset);
  if (wrong != message.bytes)
    fail("CORRUPTED: byte %zu of message %zu (%" PRIu64 " bytes, target +%" PRIu64
         ", %s) of round %u is 0x%02x%s",
         wrong, index, message.bytes, message.target_offset, message.immediate ? "with immediate" : "plain",
         round_, data[wrong],
         verbs_test::first_difference(data + wrong, 1, plan.guard, message.target_offset + wrong) == 1
             ? " (never written)"
             : "");
}

void Checker::check_target(const Plan& plan) {
  uint64_t guard_from = 0;
  for (size_t i = 0; i <= plan.messages.size(); ++i) {
    const bool last = i == plan.messages.size();
    const uint64_t guard_to = last ? plan.target_bytes : plan.messages[i].target_offset;
    const size_t wrong = verbs_test::first_difference(target_.data + guard_from, guard_to - guard_from,
                                                      plan.guard, guard_from);
    if (wrong != guard_to - guard_from)
      fail("CORRUPTED: byte +%" PRIu64 ", outside of every message, was written in round %u",
           guard_from + wrong, round_);
    if (last) break;
    check_message(plan, i);
    guard_from = guard_to + plan.messages[i].bytes;
  }
  messages_checked_ += plan.messages.size();
  bytes_checked_ += plan.target_bytes;
}

void Checker::round(uint32_t number, size_t endpoint, const Plan& mine, const Plan& theirs) {
  round_ = number;
  endpoint_ = endpoints_[endpoint].get();
  send_done_ = receives_done_ = checked_ = 0;
  prepare_source(mine);
  prepare_target(theirs);
  post_receives(theirs);
  peer_.barrier(2 * number);  // receives are posted and guards stand
  transfer(mine, theirs);
  peer_.barrier(2 * number + 1);  // the other side's completions are in: its data are here
  check_target(theirs);
  for (ibv_cq* queue : {endpoint_->send_queue, endpoint_->receive_queue}) {
    ibv_wc completion{};
    if (ibv_poll_cq(queue, 1, &completion) != 0)
      fail("a completion too many after round %u: wr_id 0x%" PRIx64, number, completion.wr_id);
  }
}

// Bit 0: the client sends, bit 1: the server sends.
constexpr std::array<unsigned, 3> kDirections = {1, 2, 3};

uint32_t pass(const Settings& settings, Checker& checker, verbs_test::Role role, uint32_t number) {
  for (const uint64_t size : settings.sizes)
    for (size_t endpoint = 0; endpoint < checker.endpoints(); ++endpoint)
      for (const unsigned direction : kDirections) {
        verbs_test::set_deadline(std::chrono::seconds(60),
                                 "round " + std::to_string(number) + ", messages of " + std::to_string(size) +
                                     " bytes, direction " + std::to_string(direction));
        const std::array<Plan, 2> plans = {
            (direction & 1) != 0 ? make_plan(settings.seed ^ (uint64_t{number} << 32), size, checker.limits())
                                 : Plan{},
            (direction & 2) != 0
                ? make_plan(~settings.seed ^ (uint64_t{number} << 32), size, checker.limits())
                : Plan{}};
        const size_t me = role == verbs_test::Role::kClient ? 0 : 1;
        checker.round(number, endpoint, plans[me], plans[1 - me]);
        ++number;
      }
  return number;
}

void run(const Settings& settings, verbs_test::Peer& peer) {
  const auto start = verbs_test::Clock::now();
  const auto elapsed = [start] {
    return std::chrono::duration<double>(verbs_test::Clock::now() - start).count();
  };
  {
    Checker checker(settings, peer);
    const bool speaks = peer.role() == verbs_test::Role::kServer && !settings.quiet;
    uint32_t number = 0;
    for (;;) {
      number = pass(settings, checker, peer.role(), number);
      // Each side has its own clock: go on only if both want to.
      const uint32_t more = elapsed() < settings.seconds ? 1 : 0;
      if ((peer.exchange(more) & more) == 0) break;
    }
    const uint64_t messages = checker.messages_checked() + peer.exchange(checker.messages_checked());
    const uint64_t bytes = checker.bytes_checked() + peer.exchange(checker.bytes_checked());
    if (speaks)
      std::printf("write_check: %" PRIu64
                  " messages, %.2f GB compared byte by byte in %.1f s, none wrong (%u rounds, "
                  "seed %" PRIu64 ")\n",
                  messages, static_cast<double>(bytes) / 1e9, elapsed(), number, settings.seed);
  }
  verbs_test::set_deadline(std::chrono::seconds(20), "ending");
  peer.finish();
}

std::vector<uint64_t> parse_sizes(const char* text) {
  std::vector<uint64_t> sizes;
  for (const char* at = text;;) {
    char* end = nullptr;
    sizes.push_back(std::strtoull(at, &end, 0));
    if (end == at || sizes.back() > (1u << 30)) fail("--sizes: not a list of sizes up to 1 GiB: %s", text);
    if (*end != ',') return sizes;
    at = end + 1;
  }
}

// Null: all are known.
const char* unknown_word(int argc, char** argv) {
  const auto is_one_of = [](std::string_view word, std::initializer_list<std::string_view> known) {
    return std::find(known.begin(), known.end(), word) != known.end();
  };
  for (int i = 1; i < argc; ++i) {
    if (is_one_of(argv[i], {"--self", "--server", "--quiet"})) continue;
    if (!is_one_of(argv[i], {"--client", "--port", "--seed", "--sizes", "--seconds", "--device"}) ||
        ++i == argc)
      return argv[std::min(i, argc - 1)];
  }
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (mrc::answer_words("write_check", kUsage, argc, argv)) return 0;
  if (const char* unknown = unknown_word(argc, argv)) return mrc::refuse_word("write_check", unknown);
  const verbs_test::PeerOptions options = verbs_test::peer_options(argc, argv);
  if (options.mode == verbs_test::PeerOptions::Mode::kNone) {
    std::fputs(kUsage, stderr);
    return mrc::kCalledWrongly;
  }
  Settings settings;
  settings.seed = verbs_test::seed_option(argc, argv);
  settings.quiet = verbs_test::flag(argc, argv, "--quiet");
  if (const char* sizes = verbs_test::option(argc, argv, "--sizes")) settings.sizes = parse_sizes(sizes);
  if (const char* seconds = verbs_test::option(argc, argv, "--seconds"))
    settings.seconds = std::strtod(seconds, nullptr);
  if (const char* device = verbs_test::option(argc, argv, "--device")) settings.device = device;

  // Printed first: a run that dies must be repeatable too.
  if (options.mode != verbs_test::PeerOptions::Mode::kClient && !settings.quiet) {
    std::printf("write_check: seed %" PRIu64 "\n", settings.seed);
    std::fflush(stdout);
  }
  verbs_test::set_deadline(std::chrono::seconds(30), "connecting");
  std::vector<std::string> client_arguments = {"--seed", std::to_string(settings.seed)};
  for (const char* name : {"--sizes", "--seconds", "--device"})
    if (const char* value = verbs_test::option(argc, argv, name)) {
      client_arguments.emplace_back(name);
      client_arguments.emplace_back(value);
    }
  verbs_test::Peer peer(options, client_arguments);
  // Two processes started by hand have two seeds unless told otherwise: the server's counts.
  const uint64_t theirs = peer.exchange(settings.seed);
  if (peer.role() == verbs_test::Role::kClient) settings.seed = theirs;
  run(settings, peer);
  return 0;
}
