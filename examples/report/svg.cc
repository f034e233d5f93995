// SPDX-License-Identifier: BSD-2-Clause
#include "examples/report/svg.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace mrc::report {

namespace {

constexpr double kWidth = 760;
constexpr double kPlotHeight = 240;
constexpr double kLeft = 64;
constexpr double kRight = 20;
constexpr double kTitleHeight = 34;
constexpr double kAxisHeight = 46;  // numbers and the name below
constexpr double kLine = 15;        // of marks and of the legend
constexpr double kLetter = 7.4;     // at least the width of most
constexpr int kTicks = 5;
constexpr const char* kColors[] = {"#1f6fb2", "#d1651e", "#2e8b57", "#8e44ad",
                                   "#b03a2e", "#7f8c8d", "#b7950b", "#117a8b"};

template <typename... Values>
std::string format(const char* pattern, Values... values) {
  char text[256];
  std::snprintf(text, sizeof text, pattern, values...);
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

// Where values are in the picture.
struct Axes {
  double x_min = 0;
  double x_max = 1;
  double y_max = 1;
  double top = 0;

  double x(double value) const {
    return kLeft + (value - x_min) / (x_max - x_min) * (kWidth - kLeft - kRight);
  }
  double y(double value) const { return bottom() - value / y_max * kPlotHeight; }
  double bottom() const { return top + kPlotHeight; }
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
  // Nearly at 0 is better seen with it.
  if (axes.x_min > 0 && axes.x_min < axes.x_max / kTicks) axes.x_min = 0;
  if (!plot.categories.empty()) {
    axes.x_min = -0.3;
    axes.x_max = static_cast<double>(plot.categories.size()) - 0.7;
  }
  if (axes.x_max <= axes.x_min) axes.x_max = axes.x_min + 1;
  const double step = tick_step(axes.y_max);
  axes.y_max = std::max(step, std::ceil(axes.y_max / step) * step);
  return axes;
}

std::string words(double x, double y, const char* anchor, const std::string& text) {
  return format("<text x='%.1f' y='%.1f' text-anchor='%s'>", x, y, anchor) + escape(text) + "</text>\n";
}

std::string grid_line(double x1, double y1, double x2, double y2) {
  return format("<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='#e4e4e4'/>", x1, y1, x2, y2);
}

std::string grid(const Plot& plot, const Axes& axes) {
  std::string out;
  const double y_step = tick_step(axes.y_max);
  for (double value = 0; value <= axes.y_max * 1.0001; value += y_step) {
    out += grid_line(kLeft, axes.y(value), kWidth - kRight, axes.y(value));
    out += words(kLeft - 6, axes.y(value) + 4, "end", format("%g", value));
  }
  for (size_t i = 0; i < plot.categories.size(); ++i)
    out += words(axes.x(static_cast<double>(i)), axes.bottom() + 19, "middle", plot.categories[i]);
  const double x_step = tick_step(axes.x_max - axes.x_min);
  for (double value = std::ceil(axes.x_min / x_step) * x_step;
       plot.categories.empty() && value <= axes.x_max * 1.0001; value += x_step) {
    out += grid_line(axes.x(value), axes.top, axes.x(value), axes.bottom());
    out += words(axes.x(value), axes.bottom() + 19, "middle", format("%g", value));
  }
  out += words((kLeft + kWidth - kRight) / 2, axes.bottom() + 36, "middle", plot.x_label);
  return out +
         format("<text transform='translate(14 %.1f) rotate(-90)' text-anchor='middle'>",
                axes.top + kPlotHeight / 2) +
         escape(plot.y_label) + "</text>\n";
}

// Texts one after the other, in as few lines as they fit into without touching each other.
class Lines {
 public:
  // The line of a text from x1 to x2.
  size_t place(double x1, double x2) {
    for (size_t i = 0; i < ends_.size(); ++i) {
      if (x1 < ends_[i]) continue;
      ends_[i] = x2;
      return i;
    }
    ends_.push_back(x2);
    return ends_.size() - 1;
  }
  double height() const { return kLine * static_cast<double>(ends_.size()); }

 private:
  std::vector<double> ends_;
};

double width_of(const std::string& text) {
  return kLetter * static_cast<double>(text.size());
}

// Their texts stand above the plot, where no curve hides them. `axes->top` grows by what they need.
std::string marks(const Plot& plot, Axes* axes) {
  std::string texts;
  Lines lines;
  for (const Mark& mark : plot.marks) {
    if (mark.text.empty()) continue;
    const double width = width_of(mark.text);
    const double x = std::min(axes->x(mark.x), kWidth - width);
    const double line = static_cast<double>(lines.place(x, x + width));
    texts += words(x, axes->top + 11 + line * kLine, "start", mark.text);
  }
  axes->top += lines.height();
  std::string out = "<g fill='#777'>" + texts + "</g>";
  for (const Mark& mark : plot.marks)
    out += format("<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='#999' stroke-dasharray='3 3'/>",
                  axes->x(mark.x), axes->top, axes->x(mark.x), axes->bottom());
  return out + "\n";
}

std::string curve(const Series& series, const Axes& axes, const char* color, const Plot& plot) {
  std::string out = format("<polyline fill='none' stroke-width='1.5' stroke='%s' points='", color);
  std::string dots;
  double previous = 0;
  bool first = true;
  for (const auto& [x, y] : series.points) {
    if (plot.steps && !first) out += format("%.1f,%.1f ", axes.x(x), axes.y(previous));
    out += format("%.1f,%.1f ", axes.x(x), axes.y(y));
    if (!plot.categories.empty() || series.points.size() == 1)
      dots += format("<circle cx='%.1f' cy='%.1f' r='4' fill='%s'/>", axes.x(x), axes.y(y), color);
    previous = y;
    first = false;
  }
  return out + "'/>" + dots + "\n";
}

// Adds to `height` what it needs.
std::string legend(const Plot& plot, double* height) {
  std::string out;
  double x = kLeft;
  double y = *height + kLine;
  for (size_t i = 0; i < plot.series.size(); ++i) {
    const double width = width_of(plot.series[i].name) + 34;
    if (x > kLeft && x + width > kWidth) {
      x = kLeft;
      y += kLine + 3;
    }
    out += format("<rect x='%.1f' y='%.1f' width='10' height='10' fill='%s'/>", x, y - 9,
                  kColors[i % std::size(kColors)]);
    out += words(x + 15, y, "start", plot.series[i].name);
    x += width;
  }
  *height = y + 10;
  return out;
}

}  // namespace

std::string escape(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

std::string to_svg(const Plot& plot) {
  Axes axes = fit(plot);
  axes.top = kTitleHeight;
  const std::string happened = marks(plot, &axes);
  double height = axes.bottom() + kAxisHeight;
  const std::string names = legend(plot, &height);
  std::string out = format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %g %g' width='%g' height='%g' role='img' "
      "font-family='system-ui,sans-serif' font-size='12' fill='#444'>\n",
      kWidth, height, kWidth, height);
  out += "<rect width='100%' height='100%' fill='#fff'/>\n<g font-size='14' font-weight='600' fill='#222'>" +
         words(kLeft, 20, "start", plot.title) + "</g>";
  out += grid(plot, axes) + happened;
  for (size_t i = 0; i < plot.series.size(); ++i)
    out += curve(plot.series[i], axes, kColors[i % std::size(kColors)], plot);
  return out + names + "</svg>\n";
}

}  // namespace mrc::report
