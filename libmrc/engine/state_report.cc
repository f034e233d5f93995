// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/engine/state_report.h"

#include <cstdio>
#include <utility>

#include "libmrc/engine/state_forms.h"

namespace mrc {
namespace {

// Of a portion. A line takes about as long to say as a packet to send.
constexpr uint32_t kEffortMax = kBurst;
// Places of queue pairs that are not there, looked at in the time of a line.
constexpr uint32_t kPlacesOfLine = 64;
// Most of it are paths: those to the first peers stand for the others.
constexpr size_t kPeersWithPaths = 64;

std::string whole(StateReport::Form form, Engine& engine, Nanoseconds now) {
  StateReport report(form);
  while (report.add_some(engine, now)) {
  }
  std::string text;
  for (const std::string& piece : report.pieces()) text += piece;
  return text;
}

}  // namespace

bool StateReport::add_some(Engine& engine, Nanoseconds now) {
  effort_ = 0;
  std::string piece;
  if (!begun_) begin(engine, now, &piece);
  begun_ = true;
  while (slot_ < engine.places() && effort_ < kEffortMax) {
    if (slot_ % kPlacesOfLine == 0) ++effort_;
    QueuePair* const qp = engine.at(slot_);
    if (form_ == Form::kJson)
      add_json(qp, &piece);
    else if (qp != nullptr)
      add_words(*qp, now, &piece);
    if (!in_paths_) ++slot_;
  }
  const bool more = slot_ < engine.places();
  if (!more) end(engine, &piece);
  pieces_.push_back(std::move(piece));
  return more;
}

void StateReport::add_words(QueuePair& qp, Nanoseconds now, std::string* to) {
  effort_ += kLinesOfQueuePair + static_cast<uint32_t>(qp.trace().size());
  add_queue_pair_words(to, qp, now);
}

// Its paths, of which there may be hundreds, need not be in one portion.
void StateReport::add_json(QueuePair* qp, std::string* to) {
  const auto has_paths = [qp] {
    return qp != nullptr && qp->connected() && qp->mrc() != nullptr && qp->sending();
  };
  if (!in_paths_) {
    if (qp == nullptr) return;
    if (told_++ > 0) *to += ",";
    add_queue_pair_json(to, *qp);
    ++effort_;
    path_ = 0;
    if (has_paths()) in_paths_ = begin_paths(*qp, to);
    *to += in_paths_ ? ",\"evs\":[" : "}";
  }
  if (!in_paths_) return;
  // Meanwhile it may have gone, and another one may be in its place.
  const bool there = has_paths() && qp->peer_paths()->number == paths_number_;
  if (!there) paths_told_.erase(paths_number_);  // another one tells of them
  const size_t paths = there ? qp->paths().size() : 0;
  for (; path_ < paths && effort_ < kEffortMax; ++path_, ++effort_) {
    if (path_ > 0) *to += ",";
    add_path_json(to, *qp, path_);
  }
  if (path_ < paths) return;
  *to += "]}";
  in_paths_ = false;
}

// Paths that several queue pairs share are told of once; the others name the queue pair where.
bool StateReport::begin_paths(const QueuePair& qp, std::string* to) {
  paths_number_ = qp.peer_paths()->number;
  const auto told = paths_told_.find(paths_number_);
  if (told != paths_told_.end()) {
    *to += ",\"evs_of\":" + std::to_string(told->second.value());
    return false;
  }
  if (paths_told_.size() == kPeersWithPaths) return false;
  paths_told_.emplace(paths_number_, qp.qpn());
  return true;
}

void StateReport::begin(Engine& engine, Nanoseconds now, std::string* to) const {
  if (form_ == Form::kJson) {
    *to += "{\"queue_pairs\":[";
    return;
  }
  char line[200];
  std::snprintf(line, sizeof line,
                "engine: %zu queue pairs, %u connected, %zu planes; wants its next turn %s%s\n",
                engine.queue_pairs(), engine.connected(), engine.plane_count(),
                when(engine.next_deadline(), now).c_str(),
                engine.doorbell_pending() ? "; a doorbell was not answered" : "");
  *to += line;
}

void StateReport::end(const Engine& engine, std::string* to) const {
  if (form_ == Form::kJson)
    add_counters_json(to, engine.counters());
  else
    add_counters_words(to, engine.counters());
}

std::string describe_state(Engine& engine, Nanoseconds now) {
  return whole(StateReport::Form::kWords, engine, now);
}

std::string state_as_json(Engine& engine) {
  return whole(StateReport::Form::kJson, engine, 0);
}

}  // namespace mrc
