#include "charts.h"

#include <cairo.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <tuple>

namespace {

constexpr int kSide = 28;

struct Color {
  double red, green, blue;
};
constexpr Color kPaper{1, 1, 1}, kCard{0.961, 0.965, 0.973}, kInk{0.13, 0.16, 0.22}, kFaint{0.47, 0.51, 0.58};
constexpr Color kGrid{0.89, 0.90, 0.92}, kBlue{0.145, 0.388, 0.922}, kOrange{0.918, 0.345, 0.047};
constexpr Color kGreen{0.086, 0.502, 0.239}, kRed{0.80, 0.13, 0.13}, kRedCard{0.996, 0.925, 0.922};

// A drawing surface with the few verbs that the charts need.
class Canvas {
 public:
  Canvas(int width, int height)
      : surface_(cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height), cairo_surface_destroy),
        context_(cairo_create(surface_.get()), cairo_destroy) {
    fill_rectangle(0, 0, width, height, kPaper);
  }

  cairo_t* get() const { return context_.get(); }

  void color(Color c, double alpha = 1) { cairo_set_source_rgba(get(), c.red, c.green, c.blue, alpha); }

  void fill_rectangle(double x, double y, double width, double height, Color c) {
    color(c);
    cairo_rectangle(get(), x, y, width, height);
    cairo_fill(get());
  }

  void rounded(double x, double y, double width, double height, double radius) {
    cairo_new_sub_path(get());
    cairo_arc(get(), x + width - radius, y + radius, radius, -M_PI / 2, 0);
    cairo_arc(get(), x + width - radius, y + height - radius, radius, 0, M_PI / 2);
    cairo_arc(get(), x + radius, y + height - radius, radius, M_PI / 2, M_PI);
    cairo_arc(get(), x + radius, y + radius, radius, M_PI, 3 * M_PI / 2);
    cairo_close_path(get());
  }

  void font(double size, bool bold = false) {
    cairo_select_font_face(get(), "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(get(), size);
  }

  double text_width(const std::string& text) const {
    cairo_text_extents_t extents;
    cairo_text_extents(get(), text.c_str(), &extents);
    return extents.x_advance;
  }

  // `align`: 0 begins at x, 0.5 is centred on it, 1 ends there.
  void text(double x, double y, const std::string& text, Color c, double align = 0) {
    color(c);
    cairo_move_to(get(), x - align * text_width(text), y);
    cairo_show_text(get(), text.c_str());
  }

  // Written beside the path and moved over it.
  void save(const std::string& path) {
    const std::string temporary = path + ".tmp";
    const cairo_status_t status = cairo_surface_write_to_png(surface_.get(), temporary.c_str());
    if (status != CAIRO_STATUS_SUCCESS || std::rename(temporary.c_str(), path.c_str()) != 0) {
      std::remove(temporary.c_str());
      throw std::runtime_error(path + ": cannot be written (" + cairo_status_to_string(status) +
                               "); expected a writable folder with enough space");
    }
  }

 private:
  std::unique_ptr<cairo_surface_t, void (*)(cairo_surface_t*)> surface_;
  std::unique_ptr<cairo_t, void (*)(cairo_t*)> context_;
};

std::string number(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// ---- predictions ----

void draw_image(Canvas& canvas, double x, double y, double side, const std::vector<uint8_t>& pixels) {
  std::unique_ptr<cairo_surface_t, void (*)(cairo_surface_t*)> image(
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, kSide, kSide), cairo_surface_destroy);
  cairo_surface_flush(image.get());
  const int stride = cairo_image_surface_get_stride(image.get());
  unsigned char* data = cairo_image_surface_get_data(image.get());
  for (int row = 0; row < kSide; ++row) {
    auto* line = reinterpret_cast<uint32_t*>(data + row * stride);
    for (int column = 0; column < kSide; ++column) {
      const uint32_t grey = pixels[static_cast<size_t>(row * kSide + column)];
      line[column] = grey << 16 | grey << 8 | grey;
    }
  }
  cairo_surface_mark_dirty(image.get());
  cairo_t* context = canvas.get();
  cairo_save(context);
  canvas.rounded(x, y, side, side, 6);
  cairo_clip(context);
  cairo_translate(context, x, y);
  cairo_scale(context, side / kSide, side / kSide);
  cairo_set_source_surface(context, image.get(), 0, 0);
  cairo_pattern_set_filter(cairo_get_source(context), CAIRO_FILTER_NEAREST);
  cairo_paint(context);
  cairo_restore(context);
}

void draw_cross(Canvas& canvas, double x, double y) {
  cairo_t* context = canvas.get();
  canvas.color(kRed);
  cairo_arc(context, x, y, 11, 0, 2 * M_PI);
  cairo_fill(context);
  canvas.color(kPaper);
  cairo_set_line_width(context, 2.4);
  cairo_set_line_cap(context, CAIRO_LINE_CAP_ROUND);
  for (const double direction : {1.0, -1.0}) {
    cairo_move_to(context, x - 4, y - 4 * direction);
    cairo_line_to(context, x + 4, y + 4 * direction);
  }
  cairo_stroke(context);
}

void draw_card(Canvas& canvas, double x, double y, double width, double height, const Prediction& prediction) {
  const bool right = prediction.predicted == prediction.truth;
  canvas.rounded(x, y, width, height, 10);
  canvas.color(right ? kCard : kRedCard);
  cairo_fill_preserve(canvas.get());
  canvas.color(right ? kGrid : kRed);
  cairo_set_line_width(canvas.get(), right ? 1 : 1.6);
  cairo_stroke(canvas.get());
  const double side = width - 16;
  draw_image(canvas, x + 8, y + 8, side, prediction.pixels);
  if (!right) draw_cross(canvas, x + width - 8, y + 8);
  canvas.font(12.5, true);
  canvas.text(x + 10, y + side + 27, prediction.predicted, right ? kGreen : kRed);
  canvas.font(11.5);
  canvas.text(x + width - 10, y + side + 27, number("%.0f %%", 100 * prediction.confidence), kFaint, 1);
  canvas.text(x + 10, y + side + 45, "true: " + prediction.truth, right ? kFaint : kInk);
}

// ---- curves ----

struct Axes {
  double x, y, width, height;     // in pixels
  double right_end, bottom, top;  // in data: epochs from 0, values
  double px(double epoch) const { return x + epoch / right_end * width; }
  double py(double value) const { return y + height - (value - bottom) / (top - bottom) * height; }
};

// A step of 1, 2 or 5 times a power of ten that divides a span into about `count` parts.
double tick_step(double span, int count) {
  const double raw = span / count, power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw * 0.999) return factor * power;
  }
  return 10 * power;
}

void draw_axes(Canvas& canvas, const Axes& axes, const std::string& title, const char* format) {
  cairo_t* context = canvas.get();
  canvas.font(17, true);
  canvas.text(axes.x, axes.y - 20, title, kInk);
  cairo_set_line_width(context, 1);
  canvas.font(12.5);
  const double step = tick_step(axes.top - axes.bottom, 6);
  for (double value = std::ceil(axes.bottom / step - 1e-9) * step; value <= axes.top + step * 1e-6; value += step) {
    const double y = std::round(axes.py(value)) + 0.5;
    canvas.color(kGrid);
    cairo_move_to(context, axes.x, y);
    cairo_line_to(context, axes.x + axes.width, y);
    cairo_stroke(context);
    canvas.text(axes.x - 8, y + 4.5, number(format, value), kFaint, 1);
  }
  const double epoch_step = axes.right_end <= 2 ? 0.25 : std::max(1.0, tick_step(axes.right_end, 8));
  for (double epoch = 0; epoch <= axes.right_end + 1e-9; epoch += epoch_step) {
    canvas.text(axes.px(epoch), axes.y + axes.height + 20, number("%g", epoch), kFaint, 0.5);
  }
  canvas.text(axes.x + axes.width / 2, axes.y + axes.height + 42, "epoch", kFaint, 0.5);
}

using Points = std::vector<TrainingHistory::Point>;
using Field = double TrainingHistory::Point::*;

void draw_line(Canvas& canvas, const Axes& axes, const Points& points, Field field, Color color, bool dots) {
  if (points.empty()) return;
  cairo_t* context = canvas.get();
  cairo_save(context);
  cairo_rectangle(context, axes.x - 6, axes.y - 6, axes.width + 12, axes.height + 12);
  cairo_clip(context);
  canvas.color(color);
  cairo_set_line_width(context, dots ? 2.4 : 1.8);
  cairo_set_line_join(context, CAIRO_LINE_JOIN_ROUND);
  for (const auto& point : points) cairo_line_to(context, axes.px(point.epoch), axes.py(point.*field));
  cairo_stroke(context);
  for (size_t i = 0; dots && i < points.size(); ++i) {
    cairo_arc(context, axes.px(points[i].epoch), axes.py(points[i].*field), 4.5, 0, 2 * M_PI);
    canvas.color(kPaper);
    cairo_fill_preserve(context);
    canvas.color(color);
    cairo_stroke(context);
  }
  cairo_restore(context);
}

void draw_legend(Canvas& canvas, const Axes& axes, const std::string& train, const std::string& test) {
  canvas.font(13);
  double x = axes.x + axes.width;
  const std::pair<const std::string*, Color> entries[] = {{&test, kOrange}, {&train, kBlue}};
  for (const auto& [label, color] : entries) {
    if (label->empty()) continue;
    x -= canvas.text_width(*label);
    canvas.text(x, axes.y - 20, *label, kInk);
    x -= 26;
    canvas.color(color);
    cairo_set_line_width(canvas.get(), 3);
    cairo_move_to(canvas.get(), x, axes.y - 24.5);
    cairo_line_to(canvas.get(), x + 18, axes.y - 24.5);
    cairo_stroke(canvas.get());
    x -= 20;
  }
}

// The range of the values that are finite, rounded outwards to ticks.
std::pair<double, double> value_range(const TrainingHistory& history, Field field, double least, double most) {
  double low = most, high = least;
  for (const Points* points : {&history.train, &history.test}) {
    for (const auto& point : *points) {
      if (!std::isfinite(point.*field)) continue;
      low = std::min(low, point.*field);
      high = std::max(high, point.*field);
    }
  }
  if (!(low < high)) return {std::max(least, high - 0.5), high + 0.5};
  const double step = tick_step(high - low, 6);
  return {std::max(least, std::floor(low / step) * step), std::min(most, std::ceil(high / step) * step)};
}

void draw_panel(Canvas& canvas, Axes axes, const TrainingHistory& history, Field field, const std::string& title,
                const char* format, double scale) {
  TrainingHistory scaled = history;  // accuracy is shown in per cent
  for (Points* points : {&scaled.train, &scaled.test}) {
    for (auto& point : *points) point.*field *= scale;
  }
  const double most = scale > 1 ? scale : 1e9;
  std::tie(axes.bottom, axes.top) = value_range(scaled, field, 0, most);
  draw_axes(canvas, axes, title, format);
  draw_line(canvas, axes, scaled.train, field, kBlue, false);
  draw_line(canvas, axes, scaled.test, field, kOrange, true);
  const std::string last =
      scaled.test.empty() ? "" : "  " + number(scale > 1 ? "%.2f %%" : "%.3f", scaled.test.back().*field);
  draw_legend(canvas, axes, scaled.train.empty() ? "" : "training", scaled.test.empty() ? "" : "test" + last);
}

}  // namespace

void draw_predictions(const std::string& path, const std::vector<Prediction>& predictions, double test_accuracy) {
  constexpr int kColumns = 8;
  constexpr double kWidth = 140, kHeight = 188, kGap = 14, kMargin = 32, kTop = 92;
  const int rows = std::max(1, (static_cast<int>(predictions.size()) + kColumns - 1) / kColumns);
  Canvas canvas(static_cast<int>(2 * kMargin + kColumns * (kWidth + kGap) - kGap),
                static_cast<int>(kTop + rows * (kHeight + kGap) - kGap + kMargin));
  const auto wrong =
      std::count_if(predictions.begin(), predictions.end(), [](const Prediction& p) { return p.predicted != p.truth; });
  canvas.font(24, true);
  canvas.text(kMargin, 48, "Fashion-MNIST: what the network sees", kInk);
  canvas.font(14);
  canvas.text(kMargin, 72,
              std::to_string(predictions.size()) + " test images, " + std::to_string(wrong) +
                  " of them mistaken (red). Accuracy on all test images: " + number("%.2f %%", 100 * test_accuracy),
              kFaint);
  for (size_t i = 0; i < predictions.size(); ++i) {
    draw_card(canvas, kMargin + static_cast<double>(i % kColumns) * (kWidth + kGap),
              kTop + static_cast<double>(i / kColumns) * (kHeight + kGap), kWidth, kHeight, predictions[i]);
  }
  canvas.save(path);
}

void draw_training(const std::string& path, const TrainingHistory& history) {
  Canvas canvas(1240, 520);
  canvas.font(24, true);
  canvas.text(40, 50, "Fashion-MNIST: training", kInk);
  double end = 1;
  for (const Points* points : {&history.train, &history.test}) {
    if (!points->empty()) end = std::max(end, std::ceil(points->back().epoch - 1e-9));
  }
  const Axes loss{76, 120, 500, 320, end, 0, 1}, accuracy{700, 120, 500, 320, end, 0, 1};
  draw_panel(canvas, loss, history, &TrainingHistory::Point::loss, "Loss", "%g", 1);
  draw_panel(canvas, accuracy, history, &TrainingHistory::Point::accuracy, "Accuracy", "%g %%", 100);
  canvas.save(path);
}
