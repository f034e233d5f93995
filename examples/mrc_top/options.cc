// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrc_top/options.h"

#include <cstdlib>
#include <string>
#include <vector>

namespace mrc {

const char* const kTopUsage =
    "usage: mrc_top [--by VIEW] [--causes] [--sort KEY] [--filter KEY=VALUE]... [--interval MS]\n"
    "               [--once | --lines | --json] [--pid P] [--seconds S]\n"
    "       mrc_top --help | --version\n"
    "  (nothing)      a table, refreshed every interval; on a terminal h shows what keys do\n"
    "  --by VIEW      a row for each process (so without it), device, qp, plane or ev\n"
    "  --causes       why packets are sent again, in place of other columns\n"
    "  --sort KEY     by this column, the largest first; the keys are those of --json\n"
    "  --filter F     only rows with KEY=VALUE, KEY!=VALUE, KEY<NUMBER, KEY>NUMBER; all of them\n"
    "  --once         the table once, measured over one interval\n"
    "  --lines        one line per row and interval. Of processes one for all of them, and a word when a\n"
    "                 plane breaks or heals\n"
    "  --json         one JSON object per interval and line\n"
    "  --pid P        only process P; ends when it does\n"
    "  --interval MS  default 1000, with --lines 100\n"
    "  --seconds S    ends then; with --pid it is an error (status 1) if P still runs\n";

namespace {

// The whole word is a number from `least` to `most`.
bool parse_number(const char* text, double least, double most, double* value) {
  char* end = nullptr;
  *value = std::strtod(text, &end);
  return end != text && *end == '\0' && *value >= least && *value <= most;
}

// Sorting and filters depend on the view, wherever that stands.
const char* choose(const std::vector<const char*>& sorts, const std::vector<const char*>& filters,
                   Controls* controls) {
  for (const char* sort : sorts)
    if (!controls->choose_sort(sort)) return sort;
  for (const char* filter : filters)
    if (!controls->add_filter(filter)) return filter;
  return nullptr;
}

}  // namespace

const char* parse_options(int count, char** words, TopOptions* options) {
  std::vector<const char*> sorts;
  std::vector<const char*> filters;
  double value = 0;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const bool followed = i + 1 < count;
    if (word == "--once") {
      options->mode = TopMode::kOnce;
    } else if (word == "--lines") {
      options->mode = TopMode::kLines;
    } else if (word == "--json") {
      options->mode = TopMode::kJson;
    } else if (word == "--causes") {
      options->controls.show_causes();
    } else if (word == "--by" && followed) {
      if (!options->controls.choose_view(words[++i])) return words[i];
    } else if (word == "--sort" && followed) {
      sorts.push_back(words[++i]);
    } else if (word == "--filter" && followed) {
      filters.push_back(words[++i]);
    } else if ((word == "--pid" || word == "--interval" || word == "--seconds") && followed) {
      const double most = word == "--pid" ? 4'194'304 : word == "--interval" ? 3'600'000 : 1e9;
      if (!parse_number(words[++i], word == "--seconds" ? 0 : 1, most, &value)) return words[i];
      if (word == "--pid")
        options->pid = static_cast<uint32_t>(value);
      else if (word == "--interval")
        options->interval_ms = static_cast<int>(value);
      else
        options->seconds = value;
    } else {
      return words[i];
    }
  }
  if (options->interval_ms == 0) options->interval_ms = options->mode == TopMode::kLines ? 100 : 1000;
  return choose(sorts, filters, &options->controls);
}

}  // namespace mrc
