// SPDX-License-Identifier: BSD-2-Clause
// mrc_top: what this user's processes do on their devices: rates, paths, retransmissions, refreshed all the
// time.
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "dpdk_io/host/fault_page.h"
#include "dpdk_io/host/run_directory.h"
#include "examples/mrc_top/views.h"
#include "examples/shared/stats_pages.h"
#include "examples/terminal/program_words.h"

namespace {

using mrc::ProcessStats;

constexpr char kUsage[] =
    "usage: mrc_top [--by VIEW] [--sort KEY] [--filter KEY=VALUE]... [--interval MS]\n"
    "               [--once | --lines | --json] [--pid P] [--seconds S]\n"
    "       mrc_top --help | --version\n"
    "  (nothing)      a table of processes, refreshed every interval\n"
    "  --by VIEW      a table of each device, qp, plane or ev instead\n"
    "  --sort KEY     such a table by this column, the largest first; the keys are those of --json\n"
    "  --filter F     only rows of it with KEY=VALUE, KEY!=VALUE, KEY<NUMBER, KEY>NUMBER; all of them\n"
    "  --once         the table once, measured over one interval\n"
    "  --lines        one line per interval, and a word when a plane breaks or heals\n"
    "  --json         one JSON object per interval and line\n"
    "  --pid P        only process P; ends when it does\n"
    "  --interval MS  default 1000, with --lines 100\n"
    "  --seconds S    ends then; with --pid it is an error (status 1) if P still runs\n";

constexpr uint64_t kStaleNs = 1'000'000'000;

enum class Mode { kTable, kOnce, kLines, kJson };

struct Options {
  Mode mode = Mode::kTable;
  std::string by;    // empty: processes
  std::string sort;  // empty: as they come
  std::vector<std::string> filters;
  uint32_t pid = 0;
  int interval_ms = 0;
  double seconds = 0;
};

uint64_t now_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(time.tv_nsec);
}

void sleep_until(uint64_t time_ns) {
  const timespec until{static_cast<time_t>(time_ns / 1'000'000'000u),
                       static_cast<long>(time_ns % 1'000'000'000u)};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

// What changed between two readings of one process.
struct Change {
  ProcessStats now;
  double seconds = 0;
  uint64_t sent = 0;
  uint64_t placed = 0;
  uint64_t retransmits = 0;
  uint64_t drops = 0;

  double gbps(uint64_t bytes) const {
    return seconds > 0 ? static_cast<double>(bytes) * 8 / seconds / 1e9 : 0;
  }
};

Change operator-(const ProcessStats& now, const ProcessStats& before) {
  Change change;
  change.now = now;
  // By the writer's own clock: it may be late, and then rates over our interval would jump.
  change.seconds = static_cast<double>(now.updated_ns - before.updated_ns) / 1e9;
  change.sent = now.payload_bytes_sent - before.payload_bytes_sent;
  change.placed = now.payload_bytes_placed - before.payload_bytes_placed;
  change.retransmits = now.retransmits - before.retransmits;
  change.drops = now.drops - before.drops;
  return change;
}

// In 80 columns.
void print_table(const std::vector<Change>& changes) {
  std::printf("%7s %-13s %-5s %4s %9s %7s %7s %7s %6s %6s\n", "PID", "COMMAND", "DEV", "QPS", "PATHS",
              "OUTGb/s", "IN Gb/s", "RETRANS", "DEMOTE", "DROPS");
  for (const Change& change : changes) {
    const ProcessStats& now = change.now;
    const std::string paths = std::to_string(now.paths_active) + "/" + std::to_string(now.paths_all);
    std::printf("%7u %-13.13s %-5.5s %4" PRIu64 " %9s %7.3f %7.3f %7" PRIu64 " %6" PRIu64 " %6" PRIu64 "\n",
                now.pid, now.command.c_str(), now.device.c_str(), now.connected_qps, paths.c_str(),
                change.gbps(change.sent), change.gbps(change.placed), change.retransmits, now.paths_demoted,
                change.drops);
  }
  if (changes.empty()) std::printf("no program of this user uses a device (in this run directory) now\n");
}

// The processes in one line. A passive target adds its bytes to "in" only; paths are those of who sends.
void print_line(double time_s, const std::vector<Change>& changes, const std::string& note) {
  double out = 0;
  uint64_t active = 0;
  uint64_t all = 0;
  uint64_t retransmits = 0;
  for (const Change& change : changes) {
    retransmits += change.retransmits;
    if (change.now.payload_bytes_sent == 0 && changes.size() > 1) continue;
    out += change.gbps(change.sent);
    active += change.now.paths_active;
    all += change.now.paths_all;
  }
  std::printf("%7.1f s %9.2f Gb/s   paths %4" PRIu64 "/%-4" PRIu64 " retransmits %6" PRIu64 "%s%s\n", time_s,
              out, active, all, retransmits, note.empty() ? "" : "   <- ", note.c_str());
}

void print_json(double time_s, const std::vector<Change>& changes, const std::vector<std::string>& faults) {
  nlohmann::json document = {{"time_s", time_s}, {"planes_with_fault", faults}};
  document["processes"] = nlohmann::json::array();
  for (const Change& change : changes) {
    const ProcessStats& now = change.now;
    document["processes"].push_back({{"pid", now.pid},
                                     {"command", now.command},
                                     {"device", now.device},
                                     {"planes", now.planes},
                                     {"connected_qps", now.connected_qps},
                                     {"paths_active", now.paths_active},
                                     {"paths_all", now.paths_all},
                                     {"paths_demoted", now.paths_demoted},
                                     {"paths_restored", now.paths_restored},
                                     {"out_gbps", change.gbps(change.sent)},
                                     {"in_gbps", change.gbps(change.placed)},
                                     {"retransmits", change.retransmits},
                                     {"drops", change.drops}});
  }
  std::printf("%s\n", document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

// Watches the page of faults for what an operator does to the planes.
class FaultWatch {
 public:
  explicit FaultWatch(const mrc::FaultPage* page) : page_(page) { read(&last_); }

  // In words, what changed since the last call; empty when nothing did.
  std::string changes() {
    Faults now{};
    read(&now);
    std::string text;
    for (size_t plane = 0; plane < now.size(); ++plane) {
      if (now[plane] == last_[plane]) continue;
      if (!text.empty()) text += ", ";
      text += "plane " + std::to_string(plane) + word(now[plane]);
    }
    last_ = now;
    return text;
  }
  std::vector<std::string> standing() const {
    std::vector<std::string> all;
    for (size_t plane = 0; plane < last_.size(); ++plane)
      if (last_[plane] != mrc::PlaneFault::kNone)
        all.push_back("plane " + std::to_string(plane) + word(last_[plane]));
    return all;
  }

 private:
  using Faults = std::array<mrc::PlaneFault, mrc::kPlanesMax>;
  static const char* word(mrc::PlaneFault fault) {
    switch (fault) {
      case mrc::PlaneFault::kBlackHole:
        return " cut (black hole)";
      case mrc::PlaneFault::kLinkDown:
        return " cut (link down)";
      default:
        return " restored";
    }
  }
  void read(Faults* faults) const {
    for (size_t plane = 0; plane < faults->size(); ++plane)
      (*faults)[plane] = page_->planes[plane].load(std::memory_order_relaxed);
  }

  const mrc::FaultPage* page_;
  Faults last_{};
};

// The tables by device, queue pair, plane and EV.
class ViewTop {
 public:
  ViewTop(const Options& options, const std::string& run_directory)
      : options_(options), pages_(run_directory), view_(options.by, run_directory) {}

  // The word that cannot be used; null: all is well.
  const char* unknown() {
    for (const std::string& filter : options_.filters)
      if (!filters_.emplace_back().parse(filter, view_.columns())) return filter.c_str();
    std::vector<mrc::Row> none;
    if (!options_.sort.empty() && !mrc::sort_rows(options_.sort, view_.columns(), &none))
      return options_.sort.c_str();
    return nullptr;
  }

  int run() {
    const uint64_t interval_ns = static_cast<uint64_t>(options_.interval_ms) * 1'000'000u;
    const uint64_t begin = now_ns();
    read();
    for (uint64_t tick = 1;; ++tick) {
      sleep_until(begin + tick * interval_ns);
      const double time_s = static_cast<double>(now_ns() - begin) / 1e9;
      show(time_s, read());
      if (options_.mode == Mode::kOnce || (options_.seconds > 0 && time_s >= options_.seconds)) return 0;
      if (options_.pid != 0 && ::kill(static_cast<pid_t>(options_.pid), 0) != 0 && errno == ESRCH) return 0;
    }
  }

 private:
  std::vector<mrc::Row> read() {
    std::vector<ProcessStats> processes = pages_.read();
    if (options_.pid != 0)
      std::erase_if(processes, [&](const ProcessStats& process) { return process.pid != options_.pid; });
    std::vector<mrc::Row> rows = view_.read(processes);
    for (const mrc::RowFilter& filter : filters_)
      std::erase_if(rows, [&](const mrc::Row& row) { return !filter.lets_pass(row); });
    if (!options_.sort.empty()) mrc::sort_rows(options_.sort, view_.columns(), &rows);
    return rows;
  }

  void show(double time_s, const std::vector<mrc::Row>& rows) const {
    if (options_.mode == Mode::kJson) {
      const nlohmann::ordered_json document = {{"time_s", time_s}, {"by", options_.by}, {"rows", rows}};
      std::printf("%s\n", document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
    } else if (options_.mode == Mode::kLines) {
      for (const mrc::Row& row : rows)
        std::printf("%7.1f s %s\n", time_s, mrc::line_of(view_.columns(), &row).c_str());
    } else {
      show_table(rows);
    }
    std::fflush(stdout);
  }

  // On a terminal as many rows as it has lines for.
  void show_table(const std::vector<mrc::Row>& rows) const {
    size_t most = rows.size();
    winsize window{};
    if (options_.mode == Mode::kTable && ::isatty(STDOUT_FILENO) != 0) {
      std::fputs("\033[H\033[2J", stdout);
      if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_row > 2)
        most = std::min<size_t>(most, window.ws_row - 2);
    }
    std::printf("%s\n", mrc::line_of(view_.columns(), nullptr).c_str());
    for (size_t i = 0; i < most; ++i) std::printf("%s\n", mrc::line_of(view_.columns(), &rows[i]).c_str());
    if (most < rows.size()) std::printf("... and %zu more\n", rows.size() - most);
  }

  const Options& options_;
  mrc::StatsPages pages_;
  mrc::View view_;
  std::vector<mrc::RowFilter> filters_;
};

class Top {
 public:
  Top(const Options& options, const std::string& run_directory, const mrc::FaultPage* faults)
      : options_(options), pages_(run_directory), faults_(faults) {}

  int run() {
    const uint64_t interval_ns = static_cast<uint64_t>(options_.interval_ms) * 1'000'000u;
    const uint64_t begin = now_ns();
    uint64_t first_seen = 0;  // lines count from when there was something to show
    read();
    for (uint64_t tick = 1;; ++tick) {
      sleep_until(begin + tick * interval_ns);
      const std::vector<Change> changes = read();
      const bool over =
          options_.seconds > 0 && static_cast<double>(now_ns() - begin) / 1e9 >= options_.seconds;
      if (options_.pid != 0 && (!alive() || (first_seen != 0 && last_.empty()))) return 0;
      if (options_.mode == Mode::kLines && changes.empty()) {
        if (over) return options_.pid != 0 ? 1 : 0;
        continue;
      }
      if (first_seen == 0) first_seen = now_ns() - interval_ns;
      show(static_cast<double>(now_ns() - first_seen) / 1e9, changes);
      if (options_.mode == Mode::kOnce) return 0;
      if (over) return options_.pid != 0 ? 1 : 0;
    }
  }

 private:
  bool alive() const { return ::kill(static_cast<pid_t>(options_.pid), 0) == 0 || errno == EPERM; }

  // The processes that were there before too.
  std::vector<Change> read() {
    std::vector<Change> changes;
    std::map<uint32_t, Change> now;
    for (const ProcessStats& process : pages_.read()) {
      if (options_.pid != 0 && process.pid != options_.pid) continue;
      Change& change = now[process.slot];
      change.now = process;
      const auto before = last_.find(process.slot);
      if (before == last_.end() || before->second.now.pid != process.pid) continue;
      // The writer may be late on a busy machine: what it said last holds for a while.
      if (process.updated_ns == before->second.now.updated_ns && now_ns() - process.updated_ns < kStaleNs) {
        change = before->second;
        change.retransmits = change.drops = 0;
      } else {
        change = process - before->second.now;
      }
      changes.push_back(change);
    }
    last_ = std::move(now);
    return changes;
  }

  void show(double time_s, const std::vector<Change>& changes) {
    const std::string note = faults_.changes();
    switch (options_.mode) {
      case Mode::kLines:
        print_line(time_s, changes, note);
        break;
      case Mode::kJson:
        print_json(time_s, changes, faults_.standing());
        break;
      case Mode::kTable:
        if (::isatty(STDOUT_FILENO) != 0) std::fputs("\033[H\033[2J", stdout);
        [[fallthrough]];
      case Mode::kOnce:
        print_table(changes);
        for (const std::string& fault : faults_.standing()) std::printf("%s\n", fault.c_str());
        break;
    }
    std::fflush(stdout);
  }

  Options options_;
  mrc::StatsPages pages_;
  FaultWatch faults_;
  std::map<uint32_t, Change> last_;
};

// The whole word is a number from `least` to `most`.
bool parse_number(const char* text, double least, double most, double* value) {
  char* end = nullptr;
  *value = std::strtod(text, &end);
  return end != text && *end == '\0' && *value >= least && *value <= most;
}

// The word that cannot be used; null: all is well.
const char* parse(int argc, char** argv, Options* options) {
  double value = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--once") {
      options->mode = Mode::kOnce;
    } else if (word == "--lines") {
      options->mode = Mode::kLines;
    } else if (word == "--json") {
      options->mode = Mode::kJson;
    } else if (word == "--by" && i + 1 < argc) {
      options->by = argv[++i];
      if (!mrc::View::is_known(options->by)) return argv[i];
    } else if (word == "--sort" && i + 1 < argc) {
      options->sort = argv[++i];
    } else if (word == "--filter" && i + 1 < argc) {
      options->filters.emplace_back(argv[++i]);
    } else if ((word == "--pid" || word == "--interval" || word == "--seconds") && i + 1 < argc) {
      const double most = word == "--pid" ? 4'194'304 : word == "--interval" ? 3'600'000 : 1e9;
      if (!parse_number(argv[++i], word == "--seconds" ? 0 : 1, most, &value)) return argv[i];
      if (word == "--pid")
        options->pid = static_cast<uint32_t>(value);
      else if (word == "--interval")
        options->interval_ms = static_cast<int>(value);
      else
        options->seconds = value;
    } else {
      return argv[i];
    }
  }
  // Those of processes are few, and have their order.
  if (options->by.empty() && !options->sort.empty()) return "--sort";
  if (options->by.empty() && !options->filters.empty()) return "--filter";
  if (options->interval_ms == 0) options->interval_ms = options->mode == Mode::kLines ? 100 : 1000;
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (mrc::answer_words("mrc_top", kUsage, argc, argv)) return 0;
  Options options;
  if (const char* unknown = parse(argc, argv, &options)) return mrc::refuse_word("mrc_top", unknown);
  std::string run_directory;
  std::string error;
  mrc::FaultPage* faults = nullptr;
  if (mrc::open_run_directory(&run_directory, &error)) faults = mrc::map_fault_page(run_directory, &error);
  if (faults == nullptr) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  int status = 0;
  if (options.by.empty()) {
    status = Top(options, run_directory, faults).run();
  } else {
    ViewTop top(options, run_directory);
    const char* unknown = top.unknown();
    status = unknown != nullptr ? mrc::refuse_word("mrc_top", unknown) : top.run();
  }
  mrc::unmap_fault_page(faults);
  return status;
}
