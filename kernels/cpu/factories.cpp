#include <kernels/factories.h>

#include <kernels/parallel.h>
#include <kernels/visit.h>

namespace gradus::inline v0::kernels {

namespace {

constexpr int64_t kGrain = 32768;

template <class T>
constexpr bool is_integer = std::is_integral_v<T>;
// 16-bit floats are computed in float.
template <class T>
using Compute = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;

void arange_kernel(void* to, int64_t n, ScalarType dtype, const Scalar& start, const Scalar& step) {
  visit_all(dtype, [&]<class T>() {
    T* out = static_cast<T*>(to);
    parallel_for(0, n, kGrain, [&](int64_t b, int64_t e) {
      if constexpr (is_integer<T>) {
        const auto from = static_cast<uint64_t>(start.as_int()), by = static_cast<uint64_t>(step.as_int());
        for (int64_t i = b; i < e; ++i)
          out[i] = static_cast<T>(static_cast<int64_t>(from + by * static_cast<uint64_t>(i)));
      } else {
        const double from = start.as_double(), by = step.as_double();
        for (int64_t i = b; i < e; ++i)
          out[i] = static_cast<T>(static_cast<Compute<T>>(from + by * static_cast<double>(i)));
      }
    });
  });
}

void linspace_kernel(void* to, int64_t n, ScalarType dtype, const Scalar& start, const Scalar& end) {
  visit_numbers(dtype, [&]<class T>() {
    using Step = std::conditional_t<is_integer<T>, double, Compute<T>>;
    T* out = static_cast<T*>(to);
    Step from, last;
    if constexpr (is_integer<T>) {
      from = static_cast<Step>(static_cast<T>(start.as_int()));
      last = static_cast<Step>(static_cast<T>(end.as_int()));
    } else {
      from = static_cast<Step>(start.as_double());
      last = static_cast<Step>(end.as_double());
    }
    const Step by = n > 1 ? (last - from) / static_cast<Step>(n - 1) : Step(0);
    const int64_t half = n / 2;
    parallel_for(0, n, kGrain, [&](int64_t b, int64_t e) {
      for (int64_t i = b; i < e; ++i) {
        const Step v = n == 1     ? from
                       : i < half ? from + by * static_cast<Step>(i)
                                  : last - by * static_cast<Step>(n - i - 1);
        out[i] = static_cast<T>(v);
      }
    });
  });
}

}  // namespace

constinit KernelTable<void(void*, int64_t, ScalarType, const Scalar&, const Scalar&)> arange{"arange", &arange_kernel};
constinit KernelTable<void(void*, int64_t, ScalarType, const Scalar&, const Scalar&)> linspace{"linspace",
                                                                                               &linspace_kernel};

}  // namespace gradus::inline v0::kernels
