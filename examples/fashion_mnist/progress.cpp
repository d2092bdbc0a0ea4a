#include "progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace {

constexpr auto kRedraw = std::chrono::milliseconds(100);

int terminal_width() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 100;
}

}  // namespace

std::string clock_text(double seconds) {
  const auto total = static_cast<long>(std::clamp(std::ceil(seconds), 0.0, 359999.0));
  char text[32];
  if (total >= 3600) {
    std::snprintf(text, sizeof text, "%ld:%02ld:%02ld", total / 3600, total / 60 % 60, total % 60);
  } else {
    std::snprintf(text, sizeof text, "%ld:%02ld", total / 60, total % 60);
  }
  return text;
}

Progress::Progress(std::string title, int64_t batches, int64_t first_batch)
    : title_(std::move(title)),
      batches_(std::max<int64_t>(batches, 1)),
      first_batch_(first_batch),
      terminal_(::isatty(STDOUT_FILENO) == 1),
      start_(Clock::now()),
      last_draw_(start_ - kRedraw) {}

Progress::~Progress() {
  if (drawn_) std::putchar('\n');
  std::fflush(stdout);
}

// Eighths of a character, so that the bar also moves between two columns.
std::string Progress::bar(double part, int width) const {
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(part * width * 8);
  std::string out;
  for (int i = 0; i < eighths / 8; ++i) out += "█";
  out += kEighths[eighths % 8];
  const int used = eighths / 8 + (eighths % 8 != 0 ? 1 : 0);
  return out + std::string(static_cast<size_t>(std::max(width - used, 0)), ' ');
}

void Progress::update(int64_t batch, int64_t images, double loss, double accuracy) {
  const auto now = Clock::now();
  const int64_t tenth = batch * 10 / batches_;
  const bool last = batch >= batches_;
  if (terminal_ ? now - last_draw_ < kRedraw && !last : tenth == last_tenth_) return;
  last_draw_ = now;
  last_tenth_ = tenth;

  const double seconds = std::max(std::chrono::duration<double>(now - start_).count(), 1e-9);
  const auto done = static_cast<double>(batch - first_batch_);
  const double per_batch = static_cast<double>(images) / static_cast<double>(std::max<int64_t>(batch, 1));
  const double speed = done * per_batch / seconds;
  const double left = done > 0 ? seconds / done * static_cast<double>(batches_ - batch) : 0;
  char numbers[160];
  std::snprintf(numbers, sizeof numbers, "%*lld/%lld  loss %.4f  accuracy %5.2f %%  %.0f images/s  %s %s",
                static_cast<int>(std::to_string(batches_).size()), static_cast<long long>(batch),
                static_cast<long long>(batches_), loss, 100 * accuracy, speed,
                clock_text(last ? seconds : left).c_str(), last ? "taken" : "left");
  if (!terminal_) {
    std::printf("%s  batch %s\n", title_.c_str(), numbers);
    std::fflush(stdout);
    return;
  }
  const int room = terminal_width() - static_cast<int>(title_.size() + std::char_traits<char>::length(numbers)) - 7;
  std::string line = "\r\033[K" + title_ + " ";
  if (room >= 5) {
    const double part = std::clamp(static_cast<double>(batch) / static_cast<double>(batches_), 0.0, 1.0);
    line += "\033[36m│" + bar(part, std::min(room, 40)) + "│\033[0m ";
  }
  std::fputs((line + numbers).c_str(), stdout);
  std::fflush(stdout);
  drawn_ = true;
}
