#include <kernels/embedding.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include <kernels/scratch.h>
#include <kernels/parallel.h>
#include <kernels/visit.h>

namespace gradus::inline v0::kernels {

namespace {

int64_t count(const ConstView& v) {
  int64_t n = 1;
  for (int i = 0; i < v.ndim; ++i) n *= v.sizes[i];
  return n;
}

template <class F>
decltype(auto) visit_index(ScalarType t, F&& f) {
  if (t == ScalarType::Int) return f.template operator()<int32_t>();
  if (t == ScalarType::Long) return f.template operator()<int64_t>();
  unsupported_dtype(t);
}

BadIndex forward_cpu(View output, ConstView weight, ConstView indices) {
  const int64_t n = count(indices), rows = weight.sizes[0];
  const size_t element = element_size(weight.dtype), width = static_cast<size_t>(weight.sizes[1]) * element;
  const size_t row = static_cast<size_t>(weight.strides[0]) * element;
  return visit_index(indices.dtype, [&]<class I>() {
    const I* index = indices.as<I>();
    for (int64_t i = 0; i < n; ++i) {
      if (index[i] < 0 || index[i] >= rows) return BadIndex{i, static_cast<int64_t>(index[i])};
    }
    const int64_t grain = std::max<int64_t>(1, 65536 / std::max<int64_t>(1, static_cast<int64_t>(width)));
    parallel_for(0, n, grain, [&](int64_t begin, int64_t end) {
      if (width == 0) return;
      for (int64_t i = begin; i < end; ++i) {
        std::memcpy(output.as<char>() + static_cast<size_t>(i) * width,
                    weight.as<char>() + static_cast<size_t>(index[i]) * row, width);
      }
    });
    return BadIndex{};
  });
}

/// Each thread owns a range of rows and passes over all indices: no two write one row, and the order of sums is fixed.
template <class T, class I>
void backward(T* grad_weight, int64_t rows, int64_t width, const T* grad_output, const I* index, int64_t n,
              int64_t padding, bool by_frequency) {
  using W = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const int64_t grain = std::max<int64_t>(1, rows / std::max<int64_t>(1, n * width / 16384));
  parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
    const ScratchArray<int64_t> used(by_frequency ? static_cast<size_t>(end - begin) : 0);
    // 16-bit gradients are summed in float.
    const ScratchArray<W> sums(std::is_same_v<T, W> ? 0 : static_cast<size_t>((end - begin) * width));
    W* sum = nullptr;
    if constexpr (std::is_same_v<T, W>) {
      sum = grad_weight + begin * width;
    } else {
      sum = sums.data();
    }
    std::fill_n(sum, (end - begin) * width, W(0));
    if (by_frequency) std::fill_n(used.data(), end - begin, int64_t{0});
    for (int64_t i = 0; i < n; ++i) {
      const auto r = static_cast<int64_t>(index[i]);
      if (r < begin || r >= end || r == padding) continue;
      W* to = sum + (r - begin) * width;
      const T* from = grad_output + i * width;
      for (int64_t k = 0; k < width; ++k) to[k] += static_cast<W>(from[k]);
      if (by_frequency) ++used[static_cast<size_t>(r - begin)];
    }
    for (int64_t r = begin; by_frequency && r < end; ++r) {
      const auto times = static_cast<W>(used[static_cast<size_t>(r - begin)]);
      for (int64_t k = 0; times > 1 && k < width; ++k) sum[(r - begin) * width + k] /= times;
    }
    if constexpr (!std::is_same_v<T, W>) {
      for (int64_t k = 0; k < (end - begin) * width; ++k) grad_weight[begin * width + k] = static_cast<T>(sum[k]);
    }
  });
}

void backward_cpu(View grad_weight, ConstView grad_output, ConstView indices, int64_t padding_index,
                  bool scale_by_frequency) {
  visit_floating(grad_weight.dtype, [&]<class T>() {
    visit_index(indices.dtype, [&]<class I>() {
      backward(grad_weight.as<T>(), grad_weight.sizes[0], grad_weight.sizes[1], grad_output.as<T>(), indices.as<I>(),
               count(indices), padding_index, scale_by_frequency);
    });
  });
}

}  // namespace

constinit KernelTable<BadIndex(View, ConstView, ConstView)> embedding_forward("embedding", &forward_cpu);
constinit KernelTable<void(View, ConstView, ConstView, int64_t, bool)> embedding_backward("embedding_backward",
                                                                                          &backward_cpu);

}  // namespace gradus::inline v0::kernels
