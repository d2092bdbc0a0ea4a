// Reductions of every geometry, for the tests of the kernels that reduce.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <kernels/reduction.h>

#include "device_array.h"

namespace gradus::inline v0::kernels {

/// An input of some sizes and strides (in elements), of which some dimensions are reduced; results in dense order,
/// every `out_step`-th element.
struct ReductionCase {
  std::string name;
  std::vector<int64_t> sizes, strides;
  unsigned reduced;  // one bit a dimension
  int64_t out_step = 1;
  size_t shift = 0;  // of the input from an aligned address, in elements
  bool merged = true;

  int64_t extent() const {  // elements of memory
    int64_t last = 0;
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d] == 0) return 0;
      last += (sizes[d] - 1) * strides[d];
    }
    return last + 1;
  }
  int64_t count(bool of_reduced) const {
    int64_t n = 1;
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (((reduced >> d) & 1) == of_reduced) n *= sizes[d];
    }
    return n;
  }
  /// For each result, where its elements lie, in the order of their places.
  std::vector<std::vector<size_t>> elements() const {
    std::vector<std::vector<size_t>> of(static_cast<size_t>(count(false)));
    const int64_t total = count(false) * count(true);
    for (int64_t i = 0; i < total; ++i) {
      int64_t rest = i, at = 0, number = 0, step = 1;
      for (size_t d = sizes.size(); d-- > 0;) {
        const int64_t index = rest % sizes[d];
        rest /= sizes[d];
        at += index * strides[d];
        if (!((reduced >> d) & 1)) number += index * step, step *= sizes[d];
      }
      of[static_cast<size_t>(number)].push_back(static_cast<size_t>(at));
    }
    return of;
  }
  Reduction reduction(const void* in, void* out, ScalarType dtype, ScalarType out_dtype) const {
    Reduction r;
    r.in = static_cast<const char*>(in);
    r.out = static_cast<char*>(out);
    r.dtype = dtype, r.out_dtype = out_dtype;
    r.outputs = count(false), r.length = count(true);
    const auto item = static_cast<int64_t>(element_size(dtype));
    std::vector<Dim> kept, gone;
    int64_t out_stride = out_step;
    for (size_t d = sizes.size(); d-- > 0;) {
      if ((reduced >> d) & 1) {
        gone.push_back({sizes[d], strides[d] * item, 0});
      } else {
        kept.push_back({sizes[d], strides[d] * item, out_stride});
        out_stride *= sizes[d];
      }
    }
    arrange(kept), arrange(gone);
    for (const Dim& d : kept) {
      r.kept_sizes[r.kept] = d.size, r.kept_strides[r.kept] = d.stride, r.out_strides[r.kept++] = d.out;
    }
    for (const Dim& d : gone) r.reduced_sizes[r.reduced] = d.size, r.reduced_strides[r.reduced++] = d.stride;
    return r;
  }

 private:
  struct Dim {
    int64_t size, stride, out;
  };
  // As the operators do.
  void arrange(std::vector<Dim>& dims) const {
    if (!merged) return;
    dims.erase(std::remove_if(dims.begin(), dims.end(), [](const Dim& d) { return d.size == 1; }), dims.end());
    std::stable_sort(dims.begin(), dims.end(), [](const Dim& a, const Dim& b) { return a.stride < b.stride; });
    std::vector<Dim> joined;
    for (const Dim& d : dims) {
      if (!joined.empty() && d.stride == joined.back().stride * joined.back().size &&
          d.out == joined.back().out * joined.back().size) {
        joined.back().size *= d.size;
      } else {
        joined.push_back(d);
      }
    }
    dims = joined;
  }
};

inline std::vector<int64_t> dense(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t step = 1;
  for (size_t d = sizes.size(); d-- > 0;) strides[d] = step, step *= std::max<int64_t>(1, sizes[d]);
  return strides;
}

inline std::vector<ReductionCase> reduction_cases() {
  std::vector<ReductionCase> cases;
  const auto add = [&](std::string name, std::vector<int64_t> sizes, unsigned reduced) {
    cases.push_back({name, sizes, dense(sizes), reduced});
  };
  for (int64_t n : {0, 1, 31, 32, 33, 1023, 1024, 1025, 4097}) add("all of " + std::to_string(n), {n}, 1);
  add("one long row", {1, 100003}, 2);
  add("many short rows", {3001, 3}, 2);
  add("rows of a few packs", {130, 40}, 2);
  add("rows of a warp", {37, 1025}, 2);
  add("rows of a block", {3, 9001}, 2);
  add("columns", {33, 64}, 1);
  add("odd columns", {33, 65}, 1);
  add("few columns", {4097, 8}, 1);
  add("three columns", {1025, 3}, 1);
  add("many columns", {3, 4096}, 1);
  add("one column", {1025, 1}, 1);
  add("the middle", {6, 33, 16}, 2);
  add("the outer two ends", {5, 6, 700}, 5);
  add("short planes", {9, 4, 49}, 5);
  add("nothing is reduced", {7, 33}, 0);
  add("of nothing", {5, 0}, 2);
  add("no results", {0, 5}, 2);
  for (unsigned mask = 0; mask < 16; ++mask) add("four dimensions, mask " + std::to_string(mask), {3, 4, 5, 6}, mask);
  const auto last = [&]() -> ReductionCase& { return cases.back(); };
  for (unsigned mask : {1u, 2u, 3u}) {
    add("transposed", {40, 33}, mask), last().strides = {1, 40};
    add("every second", {40, 33}, mask), last().strides = {66, 2};
    add("slices", {40, 32}, mask), last().strides = {48, 1}, last().out_step = 3;
    add("expanded", {40, 32}, mask), last().strides = {0, 1};
    add("expanded inside", {40, 32}, mask), last().strides = {1, 0};
    add("unaligned", {40, 67}, mask), last().shift = 3;
    add("as it is", {7, 40, 32}, mask), last().merged = false;
  }
  add("unaligned row", {20011}, 1), last().shift = 5;
  add("unaligned columns", {33, 64}, 1), last().shift = 1;
  add("overlapping", {20, 30}, 2), last().strides = {3, 1};
  return cases;
}

}  // namespace gradus::inline v0::kernels
