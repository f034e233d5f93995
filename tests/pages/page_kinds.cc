// SPDX-License-Identifier: BSD-2-Clause
// page_kinds FILE: a report with every kind of plot and row, and with what is hard to draw, for a browser to
// look at.
#include <cmath>
#include <cstdio>
#include <string>

#include "examples/report/page.h"

namespace {

using mrc::report::Plot;
using mrc::report::Section;

Plot many_marks() {
  Plot plot{.title = "Marks close together, and at the end", .x_label = "seconds", .y_label = "Gb/s"};
  plot.series = {{"h1 to h2", {}}};
  for (int i = 1; i < 100; ++i)
    plot.series[0].points.emplace_back(i * 0.2, std::fabs(std::sin(i * 0.1)) * 0.24);
  for (const double x : {2.0, 2.4, 2.8, 3.3, 10.0, 19.9}) plot.marks.push_back({x, "h1-p1l1 down, and more"});
  for (int i = 0; i < 20; ++i) plot.marks.push_back({11 + i * 0.3, ""});
  return plot;
}

Plot categories() {
  return {.title = "Categories",
          .x_label = "loss on every path",
          .y_label = "Gb/s",
          .series = {{"mrc", {{0, 24}, {1, 23}, {2, 22}}}, {"rc", {{0, 24}, {1, 9}, {2, 0.5}}}},
          .categories = {"0 %", "0.1 %", "1 %"}};
}

Plot many_series() {
  Plot plot{
      .title = "Many series with long names & <signs>", .x_label = "us", .y_label = "share", .steps = true};
  for (int i = 0; i < 11; ++i)
    plot.series.push_back({"31_to_1_500KB_receiver_aware_" + std::to_string(i),
                           {{1000 + i, 0}, {1200 + 10 * i, 0.5}, {1400 + 20 * i, 1}}});
  return plot;
}

Plot one_point() {
  return {.title = "One point, and nothing",
          .x_label = "x",
          .y_label = "y",
          .series = {{"one", {{5, 0}}}, {"none", {}}}};
}

Plot large_numbers() {
  return {.title = "Large numbers",
          .x_label = "ns",
          .y_label = "packets",
          .series = {{"sent", {{0, 1}, {2e9, 3.7e9}}}}};
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) return 2;
  mrc::report::Page page{
      "Every kind", "A <page> of hard cases & signs.", {{"system", "none"}, {"load", "0"}}, {}};
  Section kinds{.name = "kinds",
                .title = "Kinds of plots",
                .summary = "All & <any>.",
                .command = "page_kinds",
                .seconds = 0.04};
  kinds.rows = {{"met", 0.96, "Gb/s", 0.95, true}, {"missed", 2, "", 0, false}, {"told", 12345.678}};
  kinds.plots = {many_marks(), categories(), many_series(), one_point(), large_numbers()};
  Section failed{
      .name = "failed", .title = "Not done", .summary = "It fails.", .command = "page_kinds", .seconds = 1};
  failed.trouble = "there are no <namespaces>";
  Section long_one{
      .name = "long", .title = "Many rows", .summary = "Folded.", .command = "page_kinds", .seconds = 1e4};
  for (int i = 0; i < 40; ++i) long_one.rows.push_back({"row_" + std::to_string(i), i / 3.0});
  page.sections = {kinds, failed, long_one};
  return mrc::report::write_text("page_kinds", words[1], to_html(page)) ? 0 : 1;
}
