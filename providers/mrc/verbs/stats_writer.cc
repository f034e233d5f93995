// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/verbs/stats_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "dpdk_io/host/private_file.h"

namespace mrc::provider {
namespace {

uint64_t all_drops(const Counters& counters) {
  uint64_t drops = counters.drops_bad_icrc + counters.drops_bad_partition_key + counters.drops_unknown_qp +
                   counters.drops_wrong_peer + counters.drops_wrong_state + counters.drops_unsupported +
                   counters.drops_bad_control + counters.tx_no_buffer;
  for (const uint64_t undecodable : counters.drops_undecodable) drops += undecodable;
  return drops;
}

bool write_all(int fd, const std::string& text) {
  size_t done = 0;
  ssize_t bytes = 1;
  while (done < text.size() && (bytes = ::write(fd, text.data() + done, text.size() - done)) > 0)
    done += static_cast<size_t>(bytes);
  return done == text.size();
}

}  // namespace

StatsWriter::StatsWriter(const std::string& run_directory, uint32_t slot, const char* device, uint32_t planes)
    : path_(run_directory + "/" + StatsPage::kFilePrefix + std::to_string(slot)),
      state_{.path = run_directory + "/" + StatsPage::kStatePrefix + std::to_string(slot)},
      detail_{.path = run_directory + "/" + StatsPage::kDetailPrefix + std::to_string(slot)} {
  // A file of a dead process with our slot may be mapped by a reader: leave it that one, make a new one.
  remove_private_file(path_);
  std::string why;
  const int fd = open_private_file(path_, O_RDWR | O_CREAT | O_EXCL, &why);
  void* mapped = MAP_FAILED;
  if (fd >= 0) {
    if (allocate_file(fd, sizeof(StatsPage)))
      mapped = mmap(nullptr, sizeof(StatsPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED) {
      why = std::strerror(errno);
      unlink(path_.c_str());
    }
    close(fd);
  }
  if (mapped == MAP_FAILED) {
    std::fprintf(stderr, "mrc: %s: %s; mrc_top and mrcctl state will not show this process\n", path_.c_str(),
                 why.c_str());
    return;
  }
  page_ = static_cast<StatsPage*>(mapped);  // a new file is all zeroes
  page_->version = StatsPage::kVersion;
  page_->pid = static_cast<uint32_t>(getpid());
  page_->planes = planes;
  std::snprintf(page_->device, sizeof page_->device, "%s", device);
  std::snprintf(page_->command, sizeof page_->command, "%s", program_invocation_short_name);
  page_->magic.store(StatsPage::kMagic, std::memory_order_release);
}

StatsWriter::~StatsWriter() {
  remove_file();
  if (page_ != nullptr) munmap(page_, sizeof(StatsPage));
}

void StatsWriter::update(Engine& engine, Nanoseconds now) {
  if (page_ == nullptr) return;
  const Counters& counters = engine.counters();
  const PathTotals& paths = engine.paths();
  const auto set = [](std::atomic<uint64_t>& to, uint64_t value) {
    to.store(value, std::memory_order_relaxed);
  };
  set(page_->connected_qps, engine.connected());
  set(page_->paths_active, paths.active);
  set(page_->paths_all, paths.all);
  set(page_->payload_bytes_sent, counters.payload_bytes_sent);
  set(page_->payload_bytes_placed, counters.payload_bytes_placed);
  const Counters& c = counters;
  set(page_->retransmits_gap, c.retransmits_same_path + c.retransmits_reordering +
                                  c.retransmits_out_of_order + c.retransmits_sequence);
  set(page_->retransmits_timeout, c.retransmits_timeout);
  set(page_->retransmits_trim, c.retransmits_trimmed);
  set(page_->retransmits_nack, c.retransmits_nack - c.retransmits_trimmed);
  set(page_->retransmits_port_down, c.retransmits_port_down);
  set(page_->retransmits_other, c.retransmits_ack_lost + c.retransmits_not_ready);
  set(page_->paths_demoted, counters.paths_demoted);
  set(page_->paths_restored, counters.paths_restored);
  set(page_->drops, all_drops(counters));
  page_->updated_ns.store(now, std::memory_order_release);
  begin_if_asked(page_->state_wanted, StateReport::Form::kWords, &state_);
  begin_if_asked(page_->detail_wanted, StateReport::Form::kJson, &detail_);
}

// Who asks once more while the answer is on its way has to wait for it.
void StatsWriter::begin_if_asked(const std::atomic<uint32_t>& wanted, StateReport::Form form,
                                 Answer* answer) {
  const uint32_t number = wanted.load(std::memory_order_acquire);
  if (answer->report || number == answer->number) return;
  answer->number = number;
  answer->report.emplace(form);
  answer->whole = false;
}

bool StatsWriter::is_answering() const {
  return (state_.report && !state_.whole) || (detail_.report && !detail_.whole);
}

void StatsWriter::answer_some(Engine& engine, Nanoseconds now) {
  for (Answer* answer : {&state_, &detail_}) {
    if (!answer->report || answer->whole) continue;
    answer->whole = !answer->report->add_some(engine, now);
    return;
  }
}

void StatsWriter::write_answers() {
  if (state_.report && state_.whole) write(&state_, &page_->state_written);
  if (detail_.report && detail_.whole) write(&detail_, &page_->detail_written);
}

void StatsWriter::write(Answer* answer, std::atomic<uint32_t>* written) {
  // A reader finds the whole text or none.
  bool whole = false;
  const int fd =
      remove_private_file(answer->path) ? open_private_file(answer->path, O_WRONLY | O_CREAT | O_EXCL) : -1;
  if (fd >= 0) {
    whole = true;
    for (const std::string& piece : answer->report->pieces()) whole = whole && write_all(fd, piece);
    close(fd);
    if (!whole) unlink(answer->path.c_str());
  }
  answer->is_there = answer->is_there || whole;
  answer->report.reset();
  written->store(answer->number, std::memory_order_release);
}

void StatsWriter::remove_file() {
  if (page_ == nullptr) return;
  page_->magic.store(0, std::memory_order_relaxed);
  unlink(path_.c_str());
  for (const Answer* answer : {&state_, &detail_})
    if (answer->is_there) remove_private_file(answer->path);
}

}  // namespace mrc::provider
