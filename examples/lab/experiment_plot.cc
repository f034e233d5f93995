// SPDX-License-Identifier: BSD-2-Clause
#include "examples/lab/experiment_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace mrc::lab {
namespace {

constexpr double kWidth = 760, kHeight = 360, kLeft = 60, kRight = 20, kTop = 40, kBottom = 70;
constexpr std::array<const char*, 6> kColours = {"#1f5fa8", "#c4501b", "#2e7d32",
                                                 "#7b3fa0", "#8a6d00", "#555555"};

std::string text(const char* format, auto... values) {
  char buffer[512];
  std::snprintf(buffer, sizeof buffer, format, values...);
  return buffer;
}

std::string escaped(const std::string& plain) {
  std::string out;
  for (const char c : plain) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else
      out += c;
  }
  return out;
}

// 1, 2 or 5 times a power of ten, such that there are 4 to 10 of them in `range`.
double round_step(double range) {
  const double power = std::pow(10, std::floor(std::log10(range / 4)));
  for (const double step : {5.0, 2.0})
    if (range / (power * step) >= 4) return power * step;
  return power;
}

class Canvas {
 public:
  Canvas(const Result& result) {
    x_from_ = 1e9;
    for (const Curve& curve : result.curves)
      for (const Point& point : curve.points) {
        x_from_ = std::min(x_from_, point.seconds);
        x_to_ = std::max(x_to_, point.seconds);
        y_to_ = std::max(y_to_, point.value);
      }
    if (result.x_is_category) {
      x_from_ = -0.3;
      x_to_ = static_cast<double>(result.categories.size()) - 0.7;
    } else {
      x_from_ = std::min(x_from_, 0.0);
    }
    if (x_to_ <= x_from_) x_to_ = x_from_ + 1;
    y_to_ = y_to_ <= 0 ? 1 : y_to_ * 1.15;
  }
  double x(double value) const {
    return kLeft + (value - x_from_) / (x_to_ - x_from_) * (kWidth - kLeft - kRight);
  }
  double y(double value) const { return kHeight - kBottom - value / y_to_ * (kHeight - kTop - kBottom); }
  double x_from() const { return x_from_; }
  double x_to() const { return x_to_; }
  double y_to() const { return y_to_; }

 private:
  double x_from_ = 0, x_to_ = 0, y_to_ = 0;
};

std::string axes(const Canvas& at, const Result& result) {
  std::string out;
  const double bottom = at.y(0);
  const double step = round_step(at.y_to());
  for (double value = 0; value < at.y_to(); value += step)
    out += text("<line x1='%g' x2='%g' y1='%.1f' y2='%.1f' stroke='#ddd'/>", kLeft, kWidth - kRight,
                at.y(value), at.y(value)) +
           text("<text x='%g' y='%.1f' text-anchor='end'>%g</text>\n", kLeft - 6, at.y(value) + 4, value);
  if (result.x_is_category) {
    for (size_t i = 0; i < result.categories.size(); ++i)
      out += text("<text x='%.1f' y='%.1f' text-anchor='middle'>%s</text>\n", at.x(static_cast<double>(i)),
                  bottom + 16, result.categories[i].c_str());
  } else {
    const double x_step = round_step(at.x_to() - at.x_from());
    for (double value = 0; value <= at.x_to(); value += x_step)
      out +=
          text("<text x='%.1f' y='%.1f' text-anchor='middle'>%g</text>\n", at.x(value), bottom + 16, value);
  }
  out += text("<line x1='%g' x2='%g' y1='%.1f' y2='%.1f' stroke='#000'/>", kLeft, kWidth - kRight, bottom,
              bottom);
  out += text("<text x='%g' y='%.1f' text-anchor='middle'>%s</text>\n", (kLeft + kWidth - kRight) / 2,
              bottom + 34, result.x_label.c_str());
  out += text("<text transform='translate(14 %g) rotate(-90)' text-anchor='middle'>%s</text>\n",
              (kTop + kHeight - kBottom) / 2, result.y_label.c_str());
  return out;
}

std::string marks(const Canvas& at, const Result& result) {
  std::string out;
  size_t shown = 0;
  for (const Mark& mark : result.marks) {
    const double x = at.x(mark.seconds);
    out += text("<line x1='%.1f' x2='%.1f' y1='%g' y2='%.1f' stroke='#999' stroke-dasharray='3 3'/>", x, x,
                kTop, at.y(0));
    if (mark.text.empty()) continue;
    out += text("<text x='%.1f' y='%g' fill='#555' font-size='10'>%s</text>\n", x + 3,
                kTop + 10 + 12 * static_cast<double>(shown++ % 3), escaped(mark.text).c_str());
  }
  return out;
}

std::string curves(const Canvas& at, const Result& result) {
  std::string out;
  for (size_t i = 0; i < result.curves.size(); ++i) {
    const char* colour = kColours[i % kColours.size()];
    out += text("<polyline fill='none' stroke='%s' stroke-width='2' points='", colour);
    for (const Point& point : result.curves[i].points)
      out += text("%.1f,%.1f ", at.x(point.seconds), at.y(point.value));
    out += "'/>\n";
    if (result.x_is_category)
      for (const Point& point : result.curves[i].points)
        out += text("<circle cx='%.1f' cy='%.1f' r='4' fill='%s'/>", at.x(point.seconds), at.y(point.value),
                    colour);
    out += text("<text x='%g' y='%g' fill='%s'>%s</text>\n", kLeft + 220 * static_cast<double>(i),
                kHeight - 12, colour, escaped(result.curves[i].name).c_str());
  }
  return out;
}

}  // namespace

std::string plot(const std::string& title, const Result& result) {
  const Canvas at(result);
  return text(
             "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %g %g' width='%g' height='%g' "
             "font-family='sans-serif' font-size='12'>\n<rect width='100%%' height='100%%' fill='#fff'/>\n",
             kWidth, kHeight, kWidth, kHeight) +
         text("<text x='%g' y='22' font-size='15'>%s</text>\n", kLeft, escaped(title).c_str()) +
         axes(at, result) + marks(at, result) + curves(at, result) + "</svg>\n";
}

}  // namespace mrc::lab
