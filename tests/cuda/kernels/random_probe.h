#pragma once

#include <cstdint>
#include <vector>

#include <kernels/view.h>

namespace gradus::inline v0::kernels {

/// On the device: the four words of a counter, then the two of the key; the counter is replaced by what becomes of it.
void run_philox(uint32_t* words);

/// The parts that a random fill of `v` is cut into.
struct RandomPart {
  int64_t first_byte, numel;
  bool operator==(const RandomPart&) const = default;
};
std::vector<RandomPart> random_parts(const View& v);

}  // namespace gradus::inline v0::kernels
