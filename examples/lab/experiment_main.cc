// SPDX-License-Identifier: BSD-2-Clause
// mrc_lab experiment NAME|all [--json] [--output DIRECTORY | --docs DIRECTORY] [--html FILE]
#include <cstdio>
#include <filesystem>

#include "examples/lab/experiment.h"
#include "examples/lab/experiment_report.h"
#include "examples/report/svg.h"
#include "examples/shared/child_process.h"
#include "examples/terminal/progress_line.h"

namespace mrc::lab {
namespace {

namespace fs = std::filesystem;

struct Wanted {
  std::vector<const Experiment*> experiments;
  bool json = false;
  fs::path pictures;
  fs::path markdown;  // empty: none
  fs::path html;      // likewise
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
               "mrc_lab: %s\nusage: mrc_lab experiment NAME|all [--json] [--output DIR | --docs DIR] "
               "[--html FILE]\n  NAME is one of:%s\n",
               why.c_str(), names.c_str());
  return 2;
}

bool parse(char** words, Wanted* wanted, std::string* error) {
  wanted->pictures = usual_output();
  for (; *words != nullptr; ++words) {
    const std::string word = *words;
    if (word == "--json") {
      wanted->json = true;
    } else if (word == "--output" || word == "--docs" || word == "--html") {
      if (words[1] == nullptr) {
        *error = word + (word == "--html" ? " wants a file" : " wants a directory");
        return false;
      }
      if (word == "--html") {
        wanted->html = *++words;
        continue;
      }
      wanted->pictures = *++words;
      if (word == "--docs") {
        wanted->markdown = wanted->pictures / "experiments.md";
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
  const Machine machine = this_machine();
  std::string text = markdown_head(machine);
  report::Page html = page(machine);
  // Better known now than after some minutes.
  if (!wanted.html.empty() && !report::write_text("mrc_lab", wanted.html, to_html(html))) return 1;
  bool good = true;
  ProgressLine progress("experiment", wanted.experiments.size());
  for (const Experiment* experiment : wanted.experiments) {
    progress.begin(html.sections.size() + 1, experiment->name);
    const double begin = bench::seconds_now();
    Result result = experiment->run();
    result.plot.title = experiment->title;
    progress.hide();
    good = all_ok(result) && good;
    const fs::path picture = wanted.pictures / (experiment->name + ".svg");
    if (result.trouble.empty()) good = report::write_text("mrc_lab", picture, to_svg(result.plot)) && good;
    text += markdown(*experiment, result, "experiments/" + experiment->name + ".svg");
    html.sections.push_back(section(*experiment, result, bench::seconds_now() - begin));
    if (wanted.json)
      std::printf("%s\n", json_line(*experiment, result).c_str());
    else
      std::printf("%s  plot: %s\n\n", table(*experiment, result).c_str(), picture.c_str());
    std::fflush(stdout);
    // After each: what was measured is not lost with what comes later.
    if (!wanted.html.empty()) good = report::write_text("mrc_lab", wanted.html, to_html(html)) && good;
  }
  if (!wanted.markdown.empty()) good = report::write_text("mrc_lab", wanted.markdown, text) && good;
  return good ? 0 : 1;
}

}  // namespace mrc::lab
