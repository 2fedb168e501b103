// SPDX-License-Identifier: Apache-2.0
// Just enough of an SVG plot: a frame with linear or logarithmic axes, points, lines and labels.
#pragma once

#include <string>
#include <string_view>

namespace wgk::bench {

// Text with the characters that HTML reserves replaced.
std::string escape_html(std::string_view text);

struct Axis {
  double low = 1, high = 10;  // data range, low < high; positive when logarithmic
  bool logarithmic = true;
  std::string label;  // with its unit
};

class Plot {
 public:
  // Size of the whole picture in pixels; the frame leaves room for labels at the left and right
  // (`left`, `right` pixels) and below.
  Plot(Axis x, Axis y, int width, int height, int left = 80, int right = 24);

  void point(double x, double y, std::string_view css_class, std::string_view tooltip);
  void line(double x0, double y0, double x1, double y1, std::string_view css_class);
  // Text at a place of the data, `down` pixels below it; `anchor` is start, middle or end.
  void text(double x, double y, std::string_view words, std::string_view anchor = "start",
            int down = 0);
  // Ticks at powers of ten (and 2 and 5 of short ranges) with `format(value)` as text; `y_ticks`
  // off for categories.
  void frame(std::string (*x_text)(double), std::string (*y_text)(double));

  // The complete <svg> element; `title` is read out by screen readers.
  std::string svg(std::string_view title) const;

 private:
  double to_x(double value) const;
  double to_y(double value) const;

  Axis x_, y_;
  int width_, height_, left_, right_;
  std::string body_;
};

}  // namespace wgk::bench
