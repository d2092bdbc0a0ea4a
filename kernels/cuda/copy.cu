// Copies and fills; what changes the dtype is in cast.cu.
#include <kernels/pointwise.h>

#include <cstring>

#include "kernels/cuda/cast.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/transpose.h"

#include "kernels/bodies/convert.h"
#include "kernels/bodies/power.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

/// One element of any dtype.
struct Item {
  unsigned char bytes[16];
};

bool is_dense_words(const Loop& l, int k, int64_t item) {
  return l.strides[0][k] == item && reinterpret_cast<uintptr_t>(l.data[k]) % 4 == 0;
}
// `l`, one dimension of dense bytes, as 32-bit words.
void move_words(const char* name, const Loop& l, int64_t words) {
  Loop w = l;
  w.numel = w.sizes[0] = words;
  for (int k = 0; k < 2; ++k) {
    if (w.strides[0][k] != 0) w.strides[0][k] = 4;
  }
  elementwise<uint32_t, uint32_t>(name, w, bodies::Identity());
}
void move_items(const char* name, const Loop& l, int64_t item) {
  visit_width(static_cast<size_t>(item), [&]<class T>() { elementwise_heavy<T, T>(name, l, bodies::Identity()); });
}

void copy_cuda(const Loop& l) {
  if (l.dtype != l.out_dtype) return cast(l);
  const auto item = static_cast<int64_t>(element_size(l.dtype));
  if (l.ndim == 1 && l.on_host == 0 && l.numel * item % 4 == 0 && is_dense_words(l, 0, item) &&
      is_dense_words(l, 1, item)) {
    return move_words("copy_", l, l.numel * item / 4);
  }
  if (!move_transposed("copy_", l)) move_items("copy_", l, item);
}

template <class T>
Item item_of(const Scalar& value) {
  T number;
  const auto convert = [&]<class To>(To) {
    return value.isIntegral(true) ? bodies::convert<To>(value.as_int()) : bodies::convert<To>(value.as_double());
  };
  if constexpr (std::is_same_v<T, complex<float>> || std::is_same_v<T, complex<double>>) {
    number = T(value.as_complex());
  } else if constexpr (std::is_arithmetic_v<T>) {
    number = convert(T());
  } else {
    number = T(convert(float()));
  }
  Item r = {};
  std::memcpy(r.bytes, &number, sizeof number);
  return r;
}

void fill_cuda(const Loop& l, const Scalar& value) {
  const auto item = static_cast<int64_t>(element_size(l.out_dtype));
  Item number = visit_stored(l.out_dtype, [&]<class T>() { return item_of<T>(value); });
  // What repeats every four bytes is written by words.
  Item repeated;
  for (int64_t i = 0; i < 16; ++i) repeated.bytes[i] = number.bytes[i % (item < 4 ? item : 4)];
  const bool repeats = std::memcmp(repeated.bytes, number.bytes, static_cast<size_t>(item)) == 0;
  if (repeats && l.ndim == 1 && l.numel * item % 4 == 0 && is_dense_words(l, 0, item))
    return move_words("fill_", with_number(l, 1, &repeated), l.numel * item / 4);
  move_items("fill_", with_number(l, 1, &number), item);
}

}  // namespace

GRADUS_CUDA_KERNEL(copy, copy_cuda)
GRADUS_CUDA_KERNEL(fill, fill_cuda)

}  // namespace gradus::inline v0::kernels::cuda
