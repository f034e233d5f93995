// SPDX-License-Identifier: BSD-2-Clause
// mrc_lab experiment NAME|all [--json] [--output DIRECTORY] [--docs DIRECTORY]
#include <limits.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "examples/lab/experiment.h"
#include "examples/lab/experiment_plot.h"
#include "examples/lab/experiment_report.h"
#include "examples/terminal/progress_line.h"

namespace mrc::lab {
namespace {

namespace fs = std::filesystem;

struct Wanted {
  std::vector<const Experiment*> experiments;
  bool json = false;
  fs::path pictures;
  fs::path page;  // empty: none
};

// In a build folder beside its bin/; of an installed program where the user is.
fs::path usual_output() {
  std::error_code ignored;
  const fs::path around = fs::read_symlink("/proc/self/exe", ignored).parent_path().parent_path();
  return fs::exists(around / "CMakeCache.txt", ignored) ? around / "experiments" : "mrc_experiments";
}

int wrong_usage(const std::string& why) {
  std::string names;
  for (const Experiment& experiment : experiments()) names += " " + experiment.name;
  std::fprintf(stderr,
               "mrc_lab: %s\nusage: mrc_lab experiment NAME|all [--json] [--output DIR | --docs DIR]\n  NAME "
               "is one of:%s\n",
               why.c_str(), names.c_str());
  return 2;
}

bool parse(char** words, Wanted* wanted, std::string* error) {
  wanted->pictures = usual_output();
  for (; *words != nullptr; ++words) {
    const std::string word = *words;
    if (word == "--json") {
      wanted->json = true;
    } else if (word == "--output" || word == "--docs") {
      if (words[1] == nullptr) {
        *error = word + " wants a directory";
        return false;
      }
      wanted->pictures = *++words;
      if (word == "--docs") {
        wanted->page = wanted->pictures / "experiments.md";
        wanted->pictures /= "experiments";
      }
    } else {
      const size_t before = wanted->experiments.size();
      for (const Experiment& experiment : experiments())
        if (word == "all" || word == experiment.name) wanted->experiments.push_back(&experiment);
      if (wanted->experiments.size() > before) continue;
      *error = "there is no experiment \"" + word + "\"";
      return false;
    }
  }
  if (wanted->experiments.empty()) *error = "which experiment?";
  return !wanted->experiments.empty();
}

}  // namespace

const std::vector<Experiment>& experiments() {
  static const std::vector<Experiment> all = [] {
    std::vector<Experiment> list;
    for (const auto& part :
         {link_experiments(), switch_experiments(), loss_experiments(), sharing_experiments()})
      list.insert(list.end(), part.begin(), part.end());
    return list;
  }();
  return all;
}

int run_experiments(char** words) {
  Wanted wanted;
  std::string error;
  if (!parse(words, &wanted, &error)) return wrong_usage(error);
  std::error_code ignored;
  fs::create_directories(wanted.pictures, ignored);
  std::string page = markdown_head();
  bool good = true;
  ProgressLine progress("experiment", wanted.experiments.size());
  uint64_t part = 0;
  for (const Experiment* experiment : wanted.experiments) {
    progress.begin(++part, experiment->name);
    const Result result = experiment->run();
    progress.hide();
    good = all_ok(result) && good;
    const fs::path picture = wanted.pictures / (experiment->name + ".svg");
    if (result.trouble.empty()) std::ofstream(picture) << plot(experiment->title, result);
    page += markdown(*experiment, result, "experiments/" + experiment->name + ".svg");
    if (wanted.json)
      std::printf("%s\n", json_line(*experiment, result).c_str());
    else
      std::printf("%s  plot: %s\n\n", table(*experiment, result).c_str(), picture.c_str());
    std::fflush(stdout);
  }
  if (!wanted.page.empty()) std::ofstream(wanted.page) << page;
  return good ? 0 : 1;
}

}  // namespace mrc::lab
