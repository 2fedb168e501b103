// SPDX-License-Identifier: Apache-2.0
#include "bench/svg.h"

#include <cmath>
#include <format>
#include <vector>

namespace wgk::bench {
namespace {

constexpr int kTop = 16, kBottom = 48;

double place(const Axis& axis, double value) {
  if (!axis.logarithmic) return (value - axis.low) / (axis.high - axis.low);
  return std::log(value / axis.low) / std::log(axis.high / axis.low);
}

std::vector<double> ticks(const Axis& axis) {
  std::vector<double> result;
  const bool short_range = axis.high / axis.low < 200;
  for (double decade = std::pow(10, std::floor(std::log10(axis.low))); decade <= axis.high;
       decade *= 10) {
    for (double step : {1.0, 2.0, 5.0}) {
      const double value = decade * step;
      if ((step == 1.0 || short_range) && value >= axis.low && value <= axis.high)
        result.push_back(value);
    }
  }
  return result;
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string result;
  for (char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      default: result += c;
    }
  }
  return result;
}

Plot::Plot(Axis x, Axis y, int width, int height, int left, int right)
    : x_(std::move(x)),
      y_(std::move(y)),
      width_(width),
      height_(height),
      left_(left),
      right_(right) {}

double Plot::to_x(double value) const {
  return left_ + place(x_, value) * (width_ - left_ - right_);
}

double Plot::to_y(double value) const {
  return height_ - kBottom - place(y_, value) * (height_ - kTop - kBottom);
}

void Plot::point(double x, double y, std::string_view css_class, std::string_view tooltip) {
  body_ += std::format(
      "<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"><title>{}</title></circle>\n",
      css_class, to_x(x), to_y(y), escape_html(tooltip));
}

void Plot::line(double x0, double y0, double x1, double y1, std::string_view css_class) {
  body_ +=
      std::format("<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n",
                  css_class, to_x(x0), to_y(y0), to_x(x1), to_y(y1));
}

void Plot::text(double x, double y, std::string_view words, std::string_view anchor, int down) {
  body_ += std::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", to_x(x),
                       to_y(y) + 4 + down, anchor, escape_html(words));
}

void Plot::frame(std::string (*x_text)(double), std::string (*y_text)(double)) {
  if (x_text) {
    for (double value : ticks(x_)) {
      line(value, y_.low, value, y_.high, "grid");
      body_ += std::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                           to_x(value), height_ - kBottom + 16, x_text(value));
    }
  }
  if (y_text) {
    for (double value : ticks(y_)) {
      line(x_.low, value, x_.high, value, "grid");
      body_ += std::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", left_ - 6,
                           to_y(value) + 4, y_text(value));
    }
  }
  body_ += std::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                       (left_ + width_ - right_) / 2, height_ - 8, escape_html(x_.label));
  if (!y_.label.empty()) {
    body_ += std::format(
        "<text transform=\"translate(14 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
        (height_ - kBottom) / 2, escape_html(y_.label));
  }
}

std::string Plot::svg(std::string_view title) const {
  return std::format(
      "<svg role=\"img\" viewBox=\"0 0 {} {}\" width=\"{}\" "
      "height=\"{}\"><title>{}</title>\n{}</svg>\n",
      width_, height_, width_, height_, escape_html(title), body_);
}

}  // namespace wgk::bench
