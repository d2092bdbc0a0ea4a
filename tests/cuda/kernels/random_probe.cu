// Philox on counters of the test's choice, and how large fills are cut.
#include "random_probe.h"

#include "kernels/cuda/launch.h"
#include "kernels/cuda/philox.h"
#include "kernels/cuda/random_fill.h"

namespace gradus::inline v0::kernels {

namespace {
__global__ void philox_probe(uint32_t* words) {
  const cuda::PhiloxBlock r = cuda::philox_block({{words[0], words[1], words[2], words[3]}}, words[4], words[5]);
  for (int i = 0; i < 4; ++i) words[i] = r.x[i];
}
}  // namespace

void run_philox(uint32_t* words) {
  cuda::launch("philox_probe", philox_probe, 1, 1, 0, words);
}

std::vector<RandomPart> random_parts(const View& v) {
  std::vector<RandomPart> parts;
  cuda::for_random_parts(nullptr, cuda::memory_dims(v), [&](char* p, const cuda::WalkDims<1>& dims) {
    parts.push_back({reinterpret_cast<intptr_t>(p), dims.numel()});
  });
  return parts;
}

}  // namespace gradus::inline v0::kernels
