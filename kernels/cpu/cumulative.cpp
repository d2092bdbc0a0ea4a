// Running sums. Plain loops: each sum waits for the one before.
#include <kernels/reduction.h>

#include <algorithm>
#include <type_traits>

#include <kernels/elementwise.h>
#include <kernels/visit.h>

namespace gradus::inline v0::kernels {

namespace {

struct Walk {
  int64_t n, out_stride, in_stride;
};

// Floats are added in double, 16-bit floats in float, integers wrap in int64.
template <class T>
using Running = std::conditional_t<std::is_same_v<T, float> || std::is_same_v<T, double>, double,
                                   std::conditional_t<std::is_integral_v<T>, uint64_t, float>>;

template <class T, class Out>
void sum_row(void* context, char* const* p, const int64_t* s, int64_t count) {
  const Walk& w = *static_cast<const Walk*>(context);
  constexpr int64_t kSide = 64;  // sums that run side by side
  for (int64_t begin = 0; begin < count; begin += kSide) {
    const int64_t m = std::min(kSide, count - begin);
    Running<T> sums[kSide] = {};
    for (int64_t i = 0; i < w.n; ++i) {
      const char* in = p[1] + begin * s[1] + i * w.in_stride;
      char* out = p[0] + begin * s[0] + i * w.out_stride;
      for (int64_t c = 0; c < m; ++c) {
        sums[c] += static_cast<Running<T>>(*reinterpret_cast<const T*>(in + c * s[1]));
        *reinterpret_cast<Out*>(out + c * s[0]) = static_cast<Out>(sums[c]);
      }
    }
  }
}

void cumsum_kernel(const Loop& l, int64_t n, int64_t out_stride, int64_t in_stride) {
  Walk walk{n, out_stride, in_stride};
  const int cost = static_cast<int>(std::clamp<int64_t>(n * 2, 1, 1 << 20));
  visit_all(l.dtype, [&]<class T>() {
    using Out = std::conditional_t<std::is_integral_v<T>, int64_t, T>;
    for_rows(l, &sum_row<T, Out>, &walk, cost);
  });
}

}  // namespace

constinit KernelTable<void(const Loop&, int64_t, int64_t, int64_t)> cumsum{"cumsum", &cumsum_kernel};

}  // namespace gradus::inline v0::kernels
