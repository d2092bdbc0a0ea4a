// Indexing by tensors: offsets of all positions first, then whole blocks are moved.
#include <kernels/indexing.h>

#include <algorithm>

#include <kernels/scratch.h>
#include <kernels/parallel.h>
#include <kernels/visit.h>

namespace gradus::inline v0::kernels {

namespace {

constexpr int64_t kGrain = 16384;

// Byte offsets in the indexed tensor, one per position.
BadPosition find_offsets(const IndexPlan& p, int64_t* offsets) {
  for (int64_t i = 0; i < p.positions; ++i) offsets[i] = 0;
  for (int k = 0; k < p.index_count; ++k) {
    const int64_t* index = p.index[k];
    const int64_t size = p.index_size[k], stride = p.index_stride[k], least = p.negative_allowed ? -size : 0;
    for (int64_t i = 0; i < p.positions; ++i) {
      int64_t v = index[i];
      if (v < least || v >= size) return {{i, v}, k};
      if (v < 0) v += size;
      offsets[i] += v * stride;
    }
  }
  return {};
}

// Neighbouring kept dimensions that both sides walk as one.
int merge(int n, int64_t* size, int64_t* stride, int64_t* values_stride) {
  int kept = 0;
  for (int d = 0; d < n; ++d) {
    if (size[d] == 1) continue;
    if (kept && stride[kept - 1] == size[d] * stride[d] && values_stride[kept - 1] == size[d] * values_stride[d]) {
      size[kept - 1] *= size[d];
      stride[kept - 1] = stride[d];
      values_stride[kept - 1] = values_stride[d];
      continue;
    }
    size[kept] = size[d];
    stride[kept] = stride[d];
    values_stride[kept] = values_stride[d];
    ++kept;
  }
  return kept;
}

int64_t product(int n, const int64_t* size) {
  int64_t r = 1;
  for (int d = 0; d < n; ++d) r *= size[d];
  return r;
}

// row(indexed, values, n, stride, values_stride) for every innermost run of the kept dimensions after the indexed ones.
template <class Row>
void for_block(const IndexPlan& p, char* a, char* b, const Row& row) {
  const int last = p.after - 1;
  if (last == 0) return row(a, b, p.after_size[0], p.after_stride[0], p.after_values_stride[0]);
  int64_t at[IndexPlan::kMaxDims] = {};
  for (;;) {
    row(a, b, p.after_size[last], p.after_stride[last], p.after_values_stride[last]);
    int d = last - 1;
    for (; d >= 0; --d) {
      a += p.after_stride[d];
      b += p.after_values_stride[d];
      if (++at[d] < p.after_size[d]) break;
      a -= p.after_stride[d] * p.after_size[d];
      b -= p.after_values_stride[d] * p.after_size[d];
      at[d] = 0;
    }
    if (d < 0) return;
  }
}

void move_to(int64_t index, int n, const int64_t* size, const int64_t* stride, const int64_t* values_stride, int64_t& a,
             int64_t& b) {
  a = b = 0;
  for (int d = n; d-- > 0;) {
    a += index % size[d] * stride[d];
    b += index % size[d] * values_stride[d];
    index /= size[d];
  }
}

// Every position below every index of the dimensions before. Positions of one `before` run in order on one thread where
// `ordered`: two of them may be the same place.
template <class Row>
void walk(IndexPlan p, const int64_t* offsets, bool ordered, const Row& row) {
  p.before = merge(p.before, p.before_size, p.before_stride, p.before_values_stride);
  p.after = merge(p.after, p.after_size, p.after_stride, p.after_values_stride);
  const int64_t outer = product(p.before, p.before_size), block = product(p.after, p.after_size);
  if (outer == 0 || block == 0 || p.positions == 0) return;
  auto run = [&](int64_t before, int64_t begin, int64_t end) {
    int64_t a, b;
    move_to(before, p.before, p.before_size, p.before_stride, p.before_values_stride, a, b);
    if (p.after == 0) {  // one element per position: no blocks to walk
      row.elements(p.indexed + a, p.values + b, offsets, begin, end, p.values_position_stride);
      return;
    }
    for (int64_t i = begin; i < end; ++i)
      for_block(p, p.indexed + a + offsets[i], p.values + b + i * p.values_position_stride, row);
  };
  if (ordered) {
    parallel_for(0, outer, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, block * p.positions)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t o = begin; o < end; ++o) run(o, 0, p.positions);
                 });
    return;
  }
  parallel_for(0, outer * p.positions, std::max<int64_t>(1, kGrain / block), [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t o = begin / p.positions, first = begin - o * p.positions;
      const int64_t count = std::min(p.positions - first, end - begin);
      run(o, first, first + count);
      begin += count;
    }
  });
}

// f(indexed element, value) for runs of elements and for single ones.
template <class T, class F>
struct Rows {
  F f;
  void operator()(char* a, char* b, int64_t n, int64_t s, int64_t t) const {
    if (s == sizeof(T) && t == sizeof(T)) {
      auto *to = reinterpret_cast<T*>(a), *values = reinterpret_cast<T*>(b);
      for (int64_t i = 0; i < n; ++i) f(to[i], values[i]);
      return;
    }
    for (int64_t i = 0; i < n; ++i) f(*reinterpret_cast<T*>(a + i * s), *reinterpret_cast<T*>(b + i * t));
  }
  void elements(char* a, char* b, const int64_t* offsets, int64_t begin, int64_t end, int64_t step) const {
    for (int64_t i = begin; i < end; ++i) f(*reinterpret_cast<T*>(a + offsets[i]), *reinterpret_cast<T*>(b + i * step));
  }
};
template <class T, class F>
Rows<T, F> rows_of(F f) {
  return {f};
}

BadPosition get_kernel(const IndexPlan& p) {
  ScratchArray<int64_t> offsets(static_cast<size_t>(p.positions));
  if (BadPosition bad = find_offsets(p, offsets.data()); bad.bad.found()) return bad;
  visit_width(element_size(p.dtype),
              [&]<class T>() { walk(p, offsets.data(), false, rows_of<T>([](const T& from, T& to) { to = from; })); });
  return {};
}

template <class T>
void add_to(T& to, T v) {
  if constexpr (std::is_same_v<T, bool>) {
    to = to || v;
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    to = T(static_cast<float>(to) + static_cast<float>(v));
  } else if constexpr (std::is_integral_v<T>) {
    to = static_cast<T>(static_cast<uint64_t>(to) + static_cast<uint64_t>(v));
  } else {
    to = to + v;
  }
}
template <class T>
void multiply_by(T& to, T v) {
  if constexpr (std::is_same_v<T, bool>) {
    to = to && v;
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    to = T(static_cast<float>(to) * static_cast<float>(v));
  } else if constexpr (std::is_integral_v<T>) {
    to = static_cast<T>(static_cast<uint64_t>(to) * static_cast<uint64_t>(v));
  } else {
    to = to * v;
  }
}

template <class F>
void visit_summed(ScalarType t, F&& f) {
  if (t == ScalarType::ComplexFloat) return f.template operator()<complex<float>>();
  if (t == ScalarType::ComplexDouble) return f.template operator()<complex<double>>();
  visit_all(t, f);
}

BadPosition put_kernel(const IndexPlan& p, bool accumulate) {
  ScratchArray<int64_t> offsets(static_cast<size_t>(p.positions));
  if (BadPosition bad = find_offsets(p, offsets.data()); bad.bad.found()) return bad;
  if (!accumulate) {
    visit_width(element_size(p.dtype),
                [&]<class T>() { walk(p, offsets.data(), true, rows_of<T>([](T& to, const T& from) { to = from; })); });
    return {};
  }
  visit_summed(p.dtype, [&]<class T>() {
    walk(p, offsets.data(), true, rows_of<T>([](T& to, const T& from) { add_to(to, from); }));
  });
  return {};
}

// --- along one dimension ---

// line(row number, offsets of `count` views in elements) for every line along `dim` of `sizes`.
template <int count, class Line>
void for_lines(const int64_t* sizes, int ndim, int dim, const int64_t* const (&strides)[count], int64_t length,
               const Line& line) {
  int64_t lines = 1;
  for (int d = 0; d < ndim; ++d) {
    if (d != dim) lines *= sizes[d];
  }
  parallel_for(0, lines, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, length)), [&](int64_t begin, int64_t end) {
    for (int64_t l = begin; l < end; ++l) {
      int64_t rest = l, at[count] = {};
      for (int d = ndim; d-- > 0;) {
        if (d == dim) continue;
        const int64_t i = rest % sizes[d];
        rest /= sizes[d];
        for (int k = 0; k < count; ++k) at[k] += i * strides[k][d];
      }
      if (!line(l, at)) return;
    }
  });
}

// Position of an element of `index` in order, from its line's number and its place on the line.
BadIndex bad_at(const ConstView& index, int dim, int64_t line, int64_t i, int64_t value) {
  int64_t position = 0, step = 1;
  for (int d = index.ndim; d-- > 0;) {
    if (d == dim) {
      position += i * step;
    } else {
      position += line % index.sizes[d] * step;
      line /= index.sizes[d];
    }
    step *= index.sizes[d];
  }
  return {position, value};
}

// The first index out of range, if any.
BadIndex check_lines(const ConstView& index, int dim, int64_t size) {
  const int64_t length = index.ndim ? index.sizes[dim] : 1, step = index.ndim ? index.strides[dim] : 1;
  std::atomic<bool> failed{false};
  const int64_t* const strides[] = {index.strides};
  for_lines<1>(index.sizes, index.ndim, dim, strides, length, [&](int64_t, const int64_t(&at)[1]) {
    const int64_t* p = index.as<int64_t>() + at[0];
    bool bad = false;
    for (int64_t i = 0; i < length; ++i) bad |= p[i * step] < 0 || p[i * step] >= size;
    if (bad) failed.store(true, std::memory_order_relaxed);
    return !bad;
  });
  if (!failed.load(std::memory_order_relaxed)) return {};
  BadIndex first;
  int64_t lines = 1;
  for (int d = 0; d < index.ndim; ++d) lines *= d == dim ? 1 : index.sizes[d];
  for (int64_t l = 0; l < lines; ++l) {
    int64_t rest = l, at = 0;
    for (int d = index.ndim; d-- > 0;) {
      if (d == dim) continue;
      at += rest % index.sizes[d] * index.strides[d];
      rest /= index.sizes[d];
    }
    for (int64_t i = 0; i < length; ++i) {
      const int64_t v = index.as<int64_t>()[at + i * step];
      if (v >= 0 && v < size) continue;
      const BadIndex here = bad_at(index, dim, l, i, v);
      if (!first.found() || here.position < first.position) first = here;
      break;
    }
  }
  return first;
}

BadIndex gather_kernel(View out, ConstView self, ConstView index, int dim) {
  if (BadIndex bad = check_lines(index, dim, self.ndim ? self.sizes[dim] : 1); bad.found()) return bad;
  const int64_t n = index.ndim ? index.sizes[dim] : 1;
  const int64_t so = out.ndim ? out.strides[dim] : 1, ss = self.ndim ? self.strides[dim] : 1,
                si = index.ndim ? index.strides[dim] : 1;
  const int64_t* const strides[] = {out.strides, self.strides, index.strides};
  visit_width(element_size(self.dtype), [&]<class T>() {
    for_lines<3>(index.sizes, index.ndim, dim, strides, n, [&](int64_t, const int64_t(&at)[3]) {
      T* to = out.as<T>() + at[0];
      const T* from = self.as<T>() + at[1];
      const int64_t* where = index.as<int64_t>() + at[2];
      for (int64_t i = 0; i < n; ++i) to[i * so] = from[where[i * si] * ss];
      return true;
    });
  });
  return {};
}

template <class T, class F>
void scatter_lines(const View& self, const ConstView& index, const ConstView& src, int dim, F f) {
  const int64_t n = index.ndim ? index.sizes[dim] : 1;
  const int64_t ss = self.ndim ? self.strides[dim] : 1, sv = src.ndim ? src.strides[dim] : 0,
                si = index.ndim ? index.strides[dim] : 1;
  const int64_t* const strides[] = {self.strides, src.strides, index.strides};
  for_lines<3>(index.sizes, index.ndim, dim, strides, n, [&](int64_t, const int64_t(&at)[3]) {
    T* to = self.as<T>() + at[0];
    const T* from = src.as<T>() + at[1];
    const int64_t* where = index.as<int64_t>() + at[2];
    for (int64_t i = 0; i < n; ++i) f(to[where[i * si] * ss], from[i * sv]);
    return true;
  });
}

BadIndex scatter_kernel(View self, ConstView index, ConstView src, int dim, Scatter how) {
  if (BadIndex bad = check_lines(index, dim, self.ndim ? self.sizes[dim] : 1); bad.found()) return bad;
  switch (how) {
    case Scatter::kAssign:
      visit_width(element_size(self.dtype),
                  [&]<class T>() { scatter_lines<T>(self, index, src, dim, [](T& to, T v) { to = v; }); });
      break;
    case Scatter::kAdd:
      visit_summed(self.dtype,
                   [&]<class T>() { scatter_lines<T>(self, index, src, dim, [](T& to, T v) { add_to(to, v); }); });
      break;
    case Scatter::kMultiply:
      visit_summed(self.dtype,
                   [&]<class T>() { scatter_lines<T>(self, index, src, dim, [](T& to, T v) { multiply_by(to, v); }); });
      break;
  }
  return {};
}

// --- what is not zero ---

template <class T>
bool not_zero(T v) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return static_cast<float>(v) != 0;
  } else if constexpr (std::is_same_v<T, complex<float>> || std::is_same_v<T, complex<double>>) {
    return v.re != 0 || v.im != 0;
  } else {
    return v != T(0);
  }
}

// f(element, index of every dimension) in order.
template <class T, class F>
void for_elements(const ConstView& v, F f) {
  int64_t at[IndexPlan::kMaxDims] = {}, numel = 1;
  for (int d = 0; d < v.ndim; ++d) numel *= v.sizes[d];
  if (numel == 0) return;
  const int last = v.ndim - 1;
  const int64_t n = v.ndim ? v.sizes[last] : 1, step = v.ndim ? v.strides[last] : 0;
  const T* p = v.as<T>();
  for (int64_t i = 0; i < numel; i += n) {
    for (int64_t k = 0; k < n; ++k) {
      if (last >= 0) at[last] = k;
      f(p[k * step], at);
    }
    for (int d = last; d-- > 0;) {
      p += v.strides[d];
      if (++at[d] < v.sizes[d]) break;
      p -= v.strides[d] * v.sizes[d];
      at[d] = 0;
    }
  }
}

int64_t count_nonzero_kernel(ConstView self) {
  int64_t n = 0;
  visit_summed(self.dtype, [&]<class T>() { for_elements<T>(self, [&](T v, const int64_t*) { n += not_zero(v); }); });
  return n;
}

void nonzero_kernel(ConstView self, int64_t* to, int64_t count) {
  visit_summed(self.dtype, [&]<class T>() {
    for_elements<T>(self, [&](T v, const int64_t* at) {
      if (!not_zero(v)) return;
      for (int d = 0; d < self.ndim; ++d) to[d * count] = at[d];
      ++to;
    });
  });
}

}  // namespace

constinit KernelTable<BadPosition(const IndexPlan&)> index_get{"index", &get_kernel};
constinit KernelTable<BadPosition(const IndexPlan&, bool)> index_put{"index_put_", &put_kernel};
constinit KernelTable<BadIndex(View, ConstView, ConstView, int)> gather{"gather", &gather_kernel};
constinit KernelTable<BadIndex(View, ConstView, ConstView, int, Scatter)> scatter{"scatter_", &scatter_kernel};
constinit KernelTable<int64_t(ConstView)> count_nonzero{"nonzero", &count_nonzero_kernel};
constinit KernelTable<void(ConstView, int64_t*, int64_t)> nonzero{"nonzero", &nonzero_kernel};

}  // namespace gradus::inline v0::kernels
