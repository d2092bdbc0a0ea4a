// Everything that a run needs to go on as if it had never stopped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "charts.h"
#include "net.h"

struct TrainingState {
  // Must be the same when a run goes on.
  uint64_t seed = 0;
  int64_t batch_size = 0, images = 0;
  double lr = 0;

  int64_t epoch = 0, batch = 0;       // finished ones, of the run and of the epoch
  std::vector<uint8_t> order_random;  // the generator of the epochs' order, as it was when this epoch began
  double loss_sum = 0;                // over the epoch's images so far
  int64_t seen = 0, correct = 0;
  double span_loss = 0;  // over the images since the last point of the training curve
  int64_t span_seen = 0, span_correct = 0;
  TrainingHistory history;
};

// Written in one step: after a crash the last complete checkpoint is there.
void save_checkpoint(const std::string& path, const TrainingState& state, Net& net, gradus::optim::Adam& optimizer);
// Also puts the default generator, which dropout draws from, back where it was.
void load_checkpoint(const std::string& path, TrainingState& state, Net& net, gradus::optim::Adam& optimizer);
