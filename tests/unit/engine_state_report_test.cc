// SPDX-License-Identifier: BSD-2-Clause
// What an engine tells of itself when somebody asks why nothing moves.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "libmrc/engine/state_report.h"
#include "tests/unit/engine_loop.h"
#include "tests/unit/qp_wire_pair.h"

namespace mrc::test {
namespace {

bool says(const std::string& text, const std::string& what) {
  return text.find(what) != std::string::npos;
}

TEST(StateReport, TellsWhatAConnectionWaitsFor) {
  bool cut = false;
  PairOptions options;
  options.timeout = kSecond;
  options.tune = [](EngineConfig* config) { config->trace_events = 32; };
  WirePair pair(options);
  for (auto& port : pair.b.ports) port->drop = [&](const PipePort::Frame&) { return cut; };
  pair.run_for(kMillisecond);  // they know each other
  cut = true;                  // nothing of b's arrives any more
  std::vector<uint8_t> data(3000), there(3000);
  const Segment target = pair.segment(pair.b, there.data(), 3000, kLocalWrite | kRemoteWrite);
  SendRequest* request =
      pair.post(pair.a, Operation::kWrite, 1, {pair.segment(pair.a, data.data(), 3000, 0)});
  request->remote_address = target.address;
  request->remote_key = target.key;
  pair.ring(pair.a);
  pair.run_for(10 * kMillisecond);
  const std::string waiting = describe_state(*pair.a.engine, pair.now());
  EXPECT_TRUE(says(waiting, "engine: 1 queue pairs, 1 connected, 2 planes")) << waiting;
  EXPECT_TRUE(says(waiting, ": mrc RTS")) << waiting;
  EXPECT_TRUE(says(waiting, "psn 5..8, ")) << waiting;
  EXPECT_TRUE(says(waiting, "1 requests unfinished, 1 of them wait for an answer")) << waiting;
  EXPECT_TRUE(says(waiting, "retransmission in ")) << waiting;
  EXPECT_TRUE(says(waiting, "send queue 1 of 64")) << waiting;
  EXPECT_TRUE(says(waiting, " data_packets_sent=3")) << waiting;
  EXPECT_TRUE(says(waiting, "probe_sent")) << "the events\n" << waiting;
  EXPECT_FALSE(says(waiting, "acks_received")) << "what is zero is left out\n" << waiting;
  const std::string answering = describe_state(*pair.b.engine, pair.now());
  EXPECT_TRUE(says(answering, "responder: expects psn 8, holds 0")) << answering;

  cut = false;
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }));
  const std::string done = describe_state(*pair.a.engine, pair.now());
  EXPECT_TRUE(says(done, "0 requests unfinished")) << done;
  EXPECT_TRUE(says(done, "completions of sends: 1 pushed, 1 not polled")) << done;
}

// The counts of every place, of a queue pair in JSON, of which there is one.
uint64_t sum_of(const std::string& text, const std::string& key, size_t from, size_t to) {
  const std::string quoted = "\"" + key + "\":";
  uint64_t sum = 0;
  for (size_t at = text.find(quoted, from); at < to; at = text.find(quoted, at + 1))
    sum += std::stoull(text.substr(at + quoted.size()));
  return sum;
}

TEST(StateReport, TellsWhyPacketsWereSentAgain) {
  PairOptions options;
  options.timeout = 10 * kMillisecond;
  WirePair pair(options);
  int sent = 0;
  for (auto& port : pair.a.ports)
    port->drop = [&](const PipePort::Frame& frame) { return frame.size() > 500 && ++sent % 10 == 0; };
  std::vector<uint8_t> data(200'000), there(data.size());
  const Segment target = pair.segment(pair.b, there.data(), 200'000, kLocalWrite | kRemoteWrite);
  SendRequest* request =
      pair.post(pair.a, Operation::kWrite, 1, {pair.segment(pair.a, data.data(), 200'000, 0)});
  request->remote_address = target.address;
  request->remote_key = target.key;
  pair.ring(pair.a);
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }));
  const Counters& counters = pair.a.engine->counters();
  const uint64_t gaps =
      counters.retransmits_same_path + counters.retransmits_reordering + counters.retransmits_out_of_order;
  ASSERT_GT(gaps, 0u);
  const std::string words = describe_state(*pair.a.engine, pair.now());
  EXPECT_TRUE(says(words, "  sent again: gap=" + std::to_string(gaps))) << words;
  // What is said of the queue pair, and of its paths together.
  const std::string json = state_as_json(*pair.a.engine);
  const size_t evs = json.find("\"evs\"");
  const size_t end = json.find("\"counters\"");
  ASSERT_LT(evs, end);
  EXPECT_EQ(sum_of(json, "gap", 0, evs), gaps) << json;
  EXPECT_EQ(sum_of(json, "gap", evs, end), gaps) << json;
  EXPECT_EQ(sum_of(json, "timeout", 0, evs), counters.retransmits_timeout);
  EXPECT_EQ(sum_of(json, "timeout", evs, end), counters.retransmits_timeout);
  EXPECT_EQ(sum_of(json, "nack", 0, end), 0u);
}

TEST(StateReport, TellsOfEveryKindOfQueuePair) {
  for (const bool datagrams : {false, true}) {
    PairOptions options;
    if (datagrams) {
      options.type = QueuePairType::kDatagram;
      options.queue_key = 7;
    } else {
      options.transport = Transport::kRc;
    }
    WirePair pair(options);
    pair.run_for(kMillisecond);
    const std::string text = describe_state(*pair.a.engine, pair.now());
    EXPECT_TRUE(says(text, datagrams ? ": ud RTS" : ": rc RTS")) << text;
  }
  EngineConfig config;
  Seen seen;
  PipePort port;
  Port* ports[] = {&port};
  Engine idle(config, ports, &seen);
  EXPECT_TRUE(says(describe_state(idle, 1), "engine: 0 queue pairs")) << describe_state(idle, 1);
}

// However many queue pairs and paths there are, who sends waits for a burst's worth of them.
TEST(StateReport, IsToldInPortions) {
  constexpr uint32_t kPairs = 512;
  Loop loop(4, 64, CongestionAlgorithm::kNone);
  for (uint32_t i = 0; i < kPairs; ++i) {
    loop.destination = IpAddress::v4(10, 1, 0, static_cast<uint8_t>(i % 128));
    loop.add_pair(1);
  }
  const std::string words = describe_state(*loop.engine, loop.now);
  const std::string json = state_as_json(*loop.engine);
  for (const StateReport::Form form : {StateReport::Form::kWords, StateReport::Form::kJson}) {
    StateReport report(form);
    uint32_t portions = 1;
    uint32_t most = 0;
    for (; report.add_some(*loop.engine, loop.now); ++portions) most = std::max(most, report.effort());
    EXPECT_GT(portions, 2 * kPairs / 16);
    EXPECT_LE(most, 2 * kBurst);
    size_t longest = 0;
    std::string all;
    for (const std::string& piece : report.pieces()) {
      longest = std::max(longest, piece.size());
      all += piece;
    }
    EXPECT_LT(longest, 16u << 10);
    EXPECT_EQ(all, form == StateReport::Form::kWords ? words : json);
  }
}

// Paths that many share are told of once.
TEST(StateReport, TellsOfSharedPathsOnce) {
  Loop loop(2, 8, CongestionAlgorithm::kNone);
  for (uint32_t i = 0; i < 4; ++i) {
    loop.destination = IpAddress::v4(10, 1, 0, static_cast<uint8_t>(i / 2));
    loop.add_pair(1);
  }
  const nlohmann::json parsed = nlohmann::json::parse(state_as_json(*loop.engine));
  const nlohmann::json& pairs = parsed["queue_pairs"];
  ASSERT_EQ(pairs.size(), 8u);
  for (size_t i = 0; i < 8; ++i) {
    const nlohmann::json& qp = pairs[i];
    EXPECT_EQ(qp["paths_all"], 2 * 8);
    ASSERT_EQ(qp.contains("evs"), i % 4 == 0) << i;
    if (i % 4 == 0)
      EXPECT_EQ(qp["evs"].size(), loop.qps[i]->paths().size());
    else
      EXPECT_EQ(qp["evs_of"], pairs[i / 4 * 4]["qpn"]) << i;
  }
}

// Queue pairs that go in the middle leave a report that can be read all the same.
TEST(StateReport, IsWholeWhenQueuePairsGoMeanwhile) {
  Loop loop(4, 64, CongestionAlgorithm::kNone);
  for (uint32_t i = 0; i < 20; ++i) loop.add_pair(1);
  StateReport report(StateReport::Form::kJson);
  bool more = report.add_some(*loop.engine, loop.now);
  ASSERT_TRUE(more);
  ASSERT_EQ(report.pieces().back().find("]}"), std::string::npos) << "the first is told to its end";
  for (size_t i = 0; i < 30; ++i) loop.engine->destroy(loop.qps[i]);
  while (more) more = report.add_some(*loop.engine, loop.now);
  std::string all;
  for (const std::string& piece : report.pieces()) all += piece;
  const nlohmann::json parsed = nlohmann::json::parse(all);
  EXPECT_EQ(parsed["queue_pairs"].size(), 11u);
  EXPECT_LT(parsed["queue_pairs"][0]["evs"].size(), loop.qps.back()->paths().size());
  EXPECT_EQ(parsed["queue_pairs"][1]["evs"].size(), loop.qps.back()->paths().size()) << "by who is left";
  EXPECT_EQ(parsed["queue_pairs"][10]["evs_of"], parsed["queue_pairs"][1]["qpn"]);
  EXPECT_GT(parsed["counters"].size(), 50u);
}

}  // namespace
}  // namespace mrc::test
