// SPDX-License-Identifier: BSD-2-Clause
// mrc_bench: what programs reach on mrc0, beside what they are compared with: the bare link under it, kernel
// TCP, UCX over TCP, itself with less to do. All in the same run, in turn, because machines have slow
// minutes; medians and ratios count.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "examples/mrc_bench/bare.h"
#include "examples/mrc_bench/report.h"
#include "examples/mrc_bench/rows.h"
#include "examples/mrc_bench/tcp.h"
#include "examples/mrc_bench/verbs_role.h"
#include "examples/shared/child_process.h"
#include "examples/terminal/program_words.h"

namespace mrc::bench {
namespace {

struct Options {
  bool json = false;
  bool markdown = false;
  Scale scale;
  int rounds = 5;
  double budget_seconds = 1e9;  // no round is begun that would probably end later
  std::string only;             // rows whose name has this in it
};

constexpr char kUsage[] =
    "usage: mrc_bench [--quick] [--bare] [--json | --markdown] [--only TEXT] [--seconds N] [--rounds N]\n"
    "       mrc_bench --help | --version\n"
    "  --quick      shorter: less than 90 s in all, and fewer rounds\n"
    "  --bare       only the bare ports, without verbs and perftest\n"
    "  --json       the result as JSON\n"
    "  --markdown   as docs/performance.md has it\n"
    "  --only TEXT  only rows with this in their name\n"
    "  --seconds N  of measuring, for each number\n"
    "  --rounds N   of which medians are taken\n";

// A folder of its own, gone at the end.
class Scratch {
 public:
  Scratch() {
    std::string name = std::filesystem::temp_directory_path() / "mrc_bench.XXXXXX";
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Returns how many seconds it took.
double measure(const Options& options, const std::vector<Row>& rows) {
  std::vector<NumberPointer> numbers;
  for (const Row& row : rows)
    for (const NumberPointer& number : {row.reference, row.ours})
      if (number != nullptr && std::find(numbers.begin(), numbers.end(), number) == numbers.end())
        numbers.push_back(number);
  const double start = seconds_now();
  for (int round = 0; round < options.rounds; ++round) {
    const double begun = seconds_now();
    const double longest = round > 0 ? (begun - start) / round : 0;
    if (begun - start + longest > options.budget_seconds) break;
    for (const NumberPointer& number : numbers) {
      number->seen.push_back(number->take());
      std::fputc('.', stderr);
    }
  }
  std::fputc('\n', stderr);
  return seconds_now() - start;
}

int run_role(int count, char** words) {
  if (const int status = run_verbs_role(count, words); status >= 0) return status;
  if (const int status = run_tcp_role(count, words); status >= 0) return status;
  if (const int status = run_veth_role(count, words); status >= 0) return status;
  return run_bare_role(count, words);
}

// False: the word at `i` is not known, or lacks its value.
bool take_option(Options* options, int count, char** words, int* i) {
  const std::string word = words[*i];
  const char* value = *i + 1 < count ? words[*i + 1] : nullptr;
  if (word == "--quick") {
    options->scale.seconds = 0.1;
    options->rounds = 3;
    options->budget_seconds = 85;
  } else if (word == "--bare") {
    options->scale.bare_only = true;
  } else if (word == "--json") {
    options->json = true;
  } else if (word == "--markdown") {
    options->markdown = true;
  } else if (word == "--only" && value != nullptr) {
    options->only = words[++*i];
  } else if (word == "--seconds" && value != nullptr && std::atof(value) > 0) {
    options->scale.seconds = std::atof(words[++*i]);
  } else if (word == "--rounds" && value != nullptr && std::atoi(value) > 0) {
    options->rounds = std::atoi(words[++*i]);
  } else {
    return false;
  }
  return true;
}

}  // namespace
}  // namespace mrc::bench

int main(int count, char** words) {
  using namespace mrc::bench;
  if (count > 2 && std::strcmp(words[1], "--role") == 0) return run_role(count, words);
  if (mrc::answer_words("mrc_bench", kUsage, count, words)) return 0;
  Options options;
  for (int i = 1; i < count; ++i)
    if (!take_option(&options, count, words, &i)) return mrc::refuse_word("mrc_bench", words[i]);
  const Scratch scratch;
  if (scratch.path().empty()) {
    std::perror("mrc_bench: a folder for settings cannot be made");
    return 1;
  }
  options.scale.scratch = scratch.path();
  std::vector<Row> rows = make_rows(options.scale);
  std::erase_if(rows, [&](const Row& row) { return row.name.find(options.only) == std::string::npos; });
  const double seconds = measure(options, rows);
  if (options.json)
    print_json(rows, seconds);
  else if (options.markdown)
    print_markdown(rows, seconds);
  else
    print_table(rows, seconds);
  const bool all = std::all_of(rows.begin(), rows.end(), [](const Row& row) { return judged(row) > 0; });
  return all && !rows.empty() ? 0 : 1;
}
