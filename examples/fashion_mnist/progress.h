// One line that shows how an epoch is going: redrawn in place on a terminal, printed now and then elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

class Progress {
 public:
  // `first_batch` is where a resumed epoch goes on.
  Progress(std::string title, int64_t batches, int64_t first_batch = 0);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // After each batch: batches and images done in all, and the epoch's mean loss and accuracy so far.
  void update(int64_t batch, int64_t images, double loss, double accuracy);

  bool on_terminal() const { return terminal_; }

 private:
  using Clock = std::chrono::steady_clock;
  std::string bar(double part, int width) const;

  std::string title_;
  int64_t batches_, first_batch_, last_tenth_ = -1;
  bool terminal_, drawn_ = false;
  Clock::time_point start_, last_draw_;
};

// "0:07", "12:34", "1:02:03"
std::string clock_text(double seconds);
