// SPDX-License-Identifier: BSD-2-Clause
// What an experiment found, as a table, as JSON and as a part of docs/experiments.md.
#pragma once

#include <string>

#include "examples/lab/experiment.h"

namespace mrc::lab {

std::string table(const Experiment& experiment, const Result& result);
std::string json_line(const Experiment& experiment, const Result& result);
// `picture` is the path of the plot as seen from the page.
std::string markdown(const Experiment& experiment, const Result& result, const std::string& picture);
std::string markdown_head();
// Whether it was done and every row is as it should be.
bool all_ok(const Result& result);

}  // namespace mrc::lab
