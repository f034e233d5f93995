// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/report/svg.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tests/sim/report/html.h"

namespace mrc::sim {

namespace {

constexpr double kWidth = 680;
constexpr double kHeight = 300;
constexpr double kLeft = 64;
constexpr double kRight = 16;
constexpr double kTop = 16;
constexpr double kBottom = 44;
constexpr int kTicks = 5;
constexpr const char* kColors[] = {"#1f6fb2", "#d1651e", "#2e8b57", "#8e44ad",
                                   "#b03a2e", "#7f8c8d", "#b7950b", "#117a8b"};

std::string format(const char* pattern, double a, double b = 0, double c = 0, double d = 0) {
  char text[200];
  std::snprintf(text, sizeof text, pattern, a, b, c, d);
  return text;
}

// 1, 2 or 5 times a power of ten, such that there are about kTicks of them.
double tick_step(double span) {
  if (span <= 0) return 1;
  const double raw = span / kTicks;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= raw) return factor * power;
  return 10 * power;
}

struct Axes {
  double x_min = 0;
  double x_max = 1;
  double y_max = 1;
  double x(double value) const {
    return kLeft + (value - x_min) / (x_max - x_min) * (kWidth - kLeft - kRight);
  }
  double y(double value) const { return kHeight - kBottom - value / y_max * (kHeight - kTop - kBottom); }
};

Axes fit(const Plot& plot) {
  Axes axes;
  bool any = false;
  for (const Series& series : plot.series) {
    for (const auto& [x, y] : series.points) {
      axes.x_min = any ? std::min(axes.x_min, x) : x;
      axes.x_max = any ? std::max(axes.x_max, x) : x;
      axes.y_max = any ? std::max(axes.y_max, y) : y;
      any = true;
    }
  }
  if (!any) return Axes{};
  if (axes.x_max <= axes.x_min) axes.x_max = axes.x_min + 1;
  const double step = tick_step(axes.y_max);
  axes.y_max = std::max(step, std::ceil(axes.y_max / step) * step);
  return axes;
}

std::string grid(const Plot& plot, const Axes& axes) {
  std::string out;
  const double y_step = tick_step(axes.y_max);
  for (double value = 0; value <= axes.y_max * 1.0001; value += y_step) {
    out += format("<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' class='grid'/>", kLeft, axes.y(value),
                  kWidth - kRight, axes.y(value));
    out += format("<text x='%.1f' y='%.1f' class='right'>", kLeft - 6, axes.y(value) + 4) +
           format("%g", value) + "</text>";
  }
  const double x_step = tick_step(axes.x_max - axes.x_min);
  for (double value = std::ceil(axes.x_min / x_step) * x_step; value <= axes.x_max * 1.0001;
       value += x_step) {
    out += format("<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' class='grid'/>", axes.x(value), kTop,
                  axes.x(value), kHeight - kBottom);
    out += format("<text x='%.1f' y='%.1f' class='middle'>", axes.x(value), kHeight - kBottom + 16) +
           format("%g", value) + "</text>";
  }
  out += format("<text x='%.1f' y='%.1f' class='middle'>", (kLeft + kWidth - kRight) / 2, kHeight - 8) +
         escape(plot.x_label) + "</text>";
  out += format("<text x='14' y='%.1f' class='middle' transform='rotate(-90 14 %.1f)'>", kHeight / 2,
                kHeight / 2) +
         escape(plot.y_label) + "</text>";
  return out;
}

std::string line(const Series& series, const Axes& axes, const char* color, bool steps) {
  std::string out = "<polyline fill='none' stroke-width='1.5' stroke='" + std::string(color) + "' points='";
  double previous = 0;
  bool first = true;
  for (const auto& [x, y] : series.points) {
    if (steps && !first) out += format("%.1f,%.1f ", axes.x(x), axes.y(previous));
    out += format("%.1f,%.1f ", axes.x(x), axes.y(y));
    previous = y;
    first = false;
  }
  return out + "'/>";
}

}  // namespace

std::string to_svg(const Plot& plot) {
  const Axes axes = fit(plot);
  std::string out = "<figure><figcaption>" + escape(plot.title) + "</figcaption>";
  out +=
      format("<svg viewBox='0 0 %g %g' width='%g' height='%g' role='img'>", kWidth, kHeight, kWidth, kHeight);
  out += grid(plot, axes);
  std::string legend;
  for (size_t i = 0; i < plot.series.size(); ++i) {
    const char* color = kColors[i % std::size(kColors)];
    out += line(plot.series[i], axes, color, plot.steps);
    legend +=
        "<span style='color:" + std::string(color) + "'>&#9632; " + escape(plot.series[i].name) + "</span> ";
  }
  return out + "</svg><div class='legend'>" + legend + "</div></figure>\n";
}

}  // namespace mrc::sim
