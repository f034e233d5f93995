// SPDX-License-Identifier: BSD-2-Clause
// Results on one HTML page, with nothing loaded from elsewhere.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "examples/report/measure.h"

namespace mrc::report {

// One experiment.
struct Section {
  std::string name;  // its address in the page
  std::string title;
  std::string summary;
  std::string command;  // that repeats it
  double seconds = 0;   // that it took
  std::vector<Row> rows = {};
  std::vector<Plot> plots = {};
  std::string trouble = {};  // why it could not be done; then the rows mean nothing
};

struct Page {
  std::string title;
  std::string introduction;
  std::vector<std::pair<std::string, std::string>> facts;  // of the machine, if that matters
  std::vector<Section> sections;
};

std::string to_html(const Page& page);
// False: it cannot be written, and `program` has said so on standard error.
bool write_text(const char* program, const std::string& path, const std::string& text);

}  // namespace mrc::report
