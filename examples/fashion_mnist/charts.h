// The two pictures that the example leaves behind, drawn with Cairo.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

struct Prediction {
  std::vector<uint8_t> pixels;  // 28 x 28
  std::string predicted, truth;
  double confidence = 0;  // of the prediction, 0 to 1
};

struct TrainingHistory {
  struct Point {
    double epoch = 0, loss = 0, accuracy = 0;
  };
  std::vector<Point> train;  // means over short spans of batches
  std::vector<Point> test;   // after each epoch
};

// Both write a PNG in one step (a reader never sees half a file) and throw std::runtime_error if they cannot.
void draw_predictions(const std::string& path, const std::vector<Prediction>& predictions, double test_accuracy);
void draw_training(const std::string& path, const TrainingHistory& history);
