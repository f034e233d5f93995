// SPDX-License-Identifier: BSD-2-Clause
// What an experiment found, as a table, as JSON, as a part of docs/experiments.md and of a page in HTML.
#pragma once

#include <string>

#include "examples/lab/experiment.h"
#include "examples/lab/machine.h"
#include "examples/report/page.h"

namespace mrc::lab {

std::string table(const Experiment& experiment, const Result& result);
std::string json_line(const Experiment& experiment, const Result& result);
// `picture` is the path of the plot as seen from the page.
std::string markdown(const Experiment& experiment, const Result& result, const std::string& picture);
std::string markdown_head(const Machine& machine);
// A page in HTML without its sections, and one of these.
report::Page page(const Machine& machine);
report::Section section(const Experiment& experiment, const Result& result, double seconds);
// Whether it was done and every row is as it should be.
bool all_ok(const Result& result);

}  // namespace mrc::lab
