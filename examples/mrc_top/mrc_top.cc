// SPDX-License-Identifier: BSD-2-Clause
// mrc_top: what this user's processes do on their devices: rates, paths, retransmissions, refreshed all the
// time.
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "dpdk_io/host/monotonic_clock.h"
#include "dpdk_io/host/run_directory.h"
#include "examples/mrc_top/fault_watch.h"
#include "examples/mrc_top/options.h"
#include "examples/mrc_top/readings.h"
#include "examples/mrc_top/screen.h"
#include "examples/terminal/program_words.h"

namespace {

using mrc::monotonic_now;
using mrc::Row;
using mrc::TopMode;

constexpr uint64_t kFirstLookNs = 200'000'000;  // whoever looks at a terminal does not want to wait

void sleep_until(uint64_t time_ns) {
  const timespec until{static_cast<time_t>(time_ns / 1'000'000'000u),
                       static_cast<long>(time_ns % 1'000'000'000u)};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

// All processes in one line. A passive target adds nothing to it; paths are those of who sends.
void print_sum(double time_s, const std::vector<Row>& rows, const std::string& note) {
  double out = 0;
  double retransmits = 0;
  uint64_t active = 0;
  uint64_t all = 0;
  for (const Row& row : rows) {
    retransmits += row["retransmits"].get<double>() * row["seconds"].get<double>();
    if (!row["sends"].get<bool>() && rows.size() > 1) continue;
    out += row["out_gbps"].get<double>();
    active += row["paths_active"].get<uint64_t>();
    all += row["paths_all"].get<uint64_t>();
  }
  std::printf("%7.1f s %9.2f Gb/s   paths %4" PRIu64 "/%-4" PRIu64 " retransmits %6lld%s%s\n", time_s, out,
              active, all, std::llround(retransmits), note.empty() ? "" : "   <- ", note.c_str());
}

class Top {
 public:
  Top(mrc::TopOptions options, const std::string& run_directory)
      : options_(std::move(options)), readings_(run_directory), faults_(run_directory) {}

  int run() {
    const uint64_t interval = static_cast<uint64_t>(options_.interval_ms) * 1'000'000u;
    const uint64_t begin = monotonic_now();
    if (options_.mode == TopMode::kTable) screen_.emplace();
    read();
    uint64_t next = begin + (on_screen() ? std::min(interval, kFirstLookNs) : interval);
    uint64_t first_seen = 0;  // times count from when there was something to show
    for (;; next += interval) {
      if (!wait(next)) return 0;
      if (!controls().paused()) read();
      const bool over =
          options_.seconds > 0 && static_cast<double>(monotonic_now() - begin) / 1e9 >= options_.seconds;
      if (options_.pid != 0 && (!alive() || (first_seen != 0 && readings_.empty()))) return 0;
      const std::vector<Row> rows = chosen_rows();
      if (options_.mode != TopMode::kLines || !rows.empty()) {
        if (first_seen == 0) first_seen = monotonic_now() - interval;
        show(static_cast<double>(monotonic_now() - first_seen) / 1e9, rows);
        if (options_.mode == TopMode::kOnce) return 0;
      }
      if (over) return options_.pid != 0 ? 1 : 0;
      if (on_screen()) next = std::max(next, monotonic_now());
    }
  }

 private:
  mrc::Controls& controls() { return options_.controls; }
  bool on_screen() const { return screen_ && screen_->is_there(); }
  bool alive() const { return ::kill(static_cast<pid_t>(options_.pid), 0) == 0 || errno == EPERM; }

  void read() { readings_.read(options_.pid, controls().view().needs_state); }
  std::vector<Row> chosen_rows() {
    std::vector<Row> rows = controls().view().rows(readings_);
    controls().apply(&rows);
    return rows;
  }

  // False: whoever looks has seen enough.
  bool wait(uint64_t until) {
    if (!on_screen()) {
      sleep_until(until);
      return true;
    }
    while (!screen_->is_over() && monotonic_now() < until) {
      const int key = screen_->wait_for_key(until);
      if (key == mrc::kNoKey && monotonic_now() >= until) break;
      const auto effect = controls().on_key(key, screen_->page());
      if (effect == mrc::Controls::Effect::kQuit) return false;
      if (effect == mrc::Controls::Effect::kRead) read();
      screen_->draw(&controls(), chosen_rows(), faults_.standing());
    }
    return !screen_->is_over();
  }

  void show(double time_s, const std::vector<Row>& rows) {
    const std::string note = faults_.changes();
    const mrc::View& view = controls().view();
    if (options_.mode == TopMode::kJson) {
      const Row document = {
          {"time_s", time_s}, {"by", view.word}, {"planes_with_fault", faults_.standing()}, {"rows", rows}};
      std::printf("%s\n", document.dump(-1, ' ', false, Row::error_handler_t::replace).c_str());
    } else if (options_.mode == TopMode::kLines && &view == mrc::all_views().data()) {
      print_sum(time_s, rows, note);
    } else if (options_.mode == TopMode::kLines) {
      for (const Row& row : rows)
        std::printf("%7.1f s %s\n", time_s, mrc::line_of(controls().columns(), &row).c_str());
    } else if (on_screen()) {
      screen_->draw(&controls(), rows, faults_.standing());
    } else {
      print_table(rows);
    }
    std::fflush(stdout);
  }

  void print_table(const std::vector<Row>& rows) {
    // A terminal without anybody who could press keys.
    if (options_.mode == TopMode::kTable && ::isatty(STDOUT_FILENO) != 0) std::fputs("\033[H\033[2J", stdout);
    std::printf("%s\n", mrc::line_of(controls().columns(), nullptr).c_str());
    for (const Row& row : rows) std::printf("%s\n", mrc::line_of(controls().columns(), &row).c_str());
    if (readings_.empty()) std::printf("no program of this user uses a device (in this run directory) now\n");
    for (const std::string& fault : faults_.standing()) std::printf("%s\n", fault.c_str());
  }

  mrc::TopOptions options_;
  mrc::Readings readings_;
  mrc::FaultWatch faults_;
  std::optional<mrc::Screen> screen_;
};

}  // namespace

int main(int argc, char** argv) {
  if (mrc::answer_words("mrc_top", mrc::kTopUsage, argc, argv)) return 0;
  mrc::TopOptions options;
  if (const char* unknown = mrc::parse_options(argc, argv, &options))
    return mrc::refuse_word("mrc_top", unknown);
  std::string run_directory;
  std::string error;
  if (!mrc::open_run_directory(&run_directory, &error)) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  return Top(std::move(options), run_directory).run();
}
