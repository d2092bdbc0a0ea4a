#include <kernels/sorting.h>

#include <algorithm>

#include <kernels/scratch.h>
#include <kernels/parallel.h>
#include <kernels/visit.h>

namespace gradus::inline v0::kernels {

namespace {

template <class T>
struct Entry {
  T value;
  int64_t index;
};

template <class T>
bool less(const T& a, const T& b) {
  if constexpr (std::is_integral_v<T>) {
    return a < b;
  } else {
    return a < b || (b != b && a == a);
  }
}

// By value, then by place: what makes the order stable, and a partial one deterministic.
template <class T, bool descending>
struct Before {
  bool operator()(const Entry<T>& a, const Entry<T>& b) const {
    const bool ab = descending ? less(b.value, a.value) : less(a.value, b.value);
    if (ab) return true;
    const bool ba = descending ? less(a.value, b.value) : less(b.value, a.value);
    return !ba && a.index < b.index;
  }
};

template <class T, class Compare>
void order(Entry<T>* e, int64_t n, int64_t k, Compare before) {
  if (k == n) {
    std::sort(e, e + n, before);
  } else {
    if (k * 16 > n) {
      std::nth_element(e, e + k, e + n, before);
      std::sort(e, e + k, before);
    } else {
      std::partial_sort(e, e + k, e + n, before);
    }
  }
}

void sort_kernel(View values, View indices, ConstView self, int dim, bool descending) {
  const int64_t n = self.sizes[dim], k = values.sizes[dim];
  int64_t lines = 1;
  for (int d = 0; d < self.ndim; ++d) lines *= d == dim ? 1 : self.sizes[d];
  if (lines == 0 || k == 0) return;
  visit_all(self.dtype, [&]<class T>() {
    // 16-bit floats are compared as floats.
    using Key = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;
    parallel_for(0, lines, std::max<int64_t>(1, 2048 / n), [&](int64_t begin, int64_t end) {
      ScratchArray<Entry<Key>> entries(static_cast<size_t>(n));
      for (int64_t line = begin; line < end; ++line) {
        int64_t rest = line, from = 0, to = 0, place = 0;
        for (int d = self.ndim; d-- > 0;) {
          if (d == dim) continue;
          const int64_t i = rest % self.sizes[d];
          rest /= self.sizes[d];
          from += i * self.strides[d];
          to += i * values.strides[d];
          place += i * indices.strides[d];
        }
        Entry<Key>* e = entries.data();
        const T* source = self.as<T>() + from;
        for (int64_t i = 0; i < n; ++i) e[i] = {static_cast<Key>(source[i * self.strides[dim]]), i};
        if (descending) {
          order(e, n, k, Before<Key, true>());
        } else {
          order(e, n, k, Before<Key, false>());
        }
        for (int64_t i = 0; i < k; ++i) {
          // The element itself, not its key: a NaN keeps its bits.
          values.as<T>()[to + i * values.strides[dim]] = source[e[i].index * self.strides[dim]];
          indices.as<int64_t>()[place + i * indices.strides[dim]] = e[i].index;
        }
      }
    });
  });
}

}  // namespace

constinit KernelTable<void(View, View, ConstView, int, bool)> sort{"sort", &sort_kernel};

}  // namespace gradus::inline v0::kernels
