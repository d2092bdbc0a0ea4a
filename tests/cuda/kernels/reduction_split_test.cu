// Reductions of more places than a kernel counts are cut on the host: here with a small limit, since no test has 2^31
// elements. A kernel file, for the sake of its own operation.
#include <gtest/gtest.h>

#include "kernels/cuda/reduction.h"

#include "reduction_cases.h"

namespace gradus::inline v0::kernels {
namespace {

// The sum of x[i] (1 + the place of i).
struct WeightedSum {
  using Acc = uint64_t;
  static constexpr bool kRare = false;
  int64_t* out;
  __device__ Acc identity() const { return 0; }
  __device__ Acc combine(Acc a, Acc b) const { return a + b; }
  template <int N, class At>
  __device__ void take(Acc& acc, const int32_t (&x)[N], const At& at) const {
    for (int i = 0; i < N; ++i) acc += static_cast<Acc>(x[i]) * static_cast<Acc>(1 + at.position(i));
  }
  __device__ void write(Acc a, int64_t offset) const { out[offset] = static_cast<int64_t>(a); }
};

TEST(ReductionSplit, PartsAddUp) {
  for (const ReductionCase& c : reduction_cases()) {
    for (int64_t limit : {1, 7, 50, 1000, 1 << 30}) {
      if (limit < 50 && c.count(false) * c.count(true) > 2000) continue;
      std::vector<int32_t> in(static_cast<size_t>(c.extent()));
      for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int32_t>(i % 13) - 6;
      std::vector<int64_t> got(static_cast<size_t>(c.count(false) * c.out_step + 1));
      {
        const DeviceCopy<int32_t> from(in, c.shift);
        const DeviceCopy<int64_t> to(got);
        const Reduction r = c.reduction(from.data(), to.data(), ScalarType::Int, ScalarType::Long);
        cuda::reduce<int32_t>("split", r, WeightedSum{to.data()}, limit);
        to.read(got);
      }
      // Places are those of the reduced dimensions in the order of their strides: where there is but one.
      int reduced = 0;
      for (size_t d = 0; d < c.sizes.size(); ++d) reduced += (c.reduced >> d & 1) && c.sizes[d] > 1;
      if (reduced > 1) continue;
      const auto elements = c.elements();
      for (size_t i = 0; i < elements.size(); ++i) {
        int64_t want = 0;
        for (size_t k = 0; k < elements[i].size(); ++k) want += in[elements[i][k]] * static_cast<int64_t>(1 + k);
        ASSERT_EQ(got[i * static_cast<size_t>(c.out_step)], want) << c.name << ", limit " << limit << ", result " << i;
      }
    }
  }
}

}  // namespace
}  // namespace gradus::inline v0::kernels
