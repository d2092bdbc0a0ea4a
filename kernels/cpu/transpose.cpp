#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/transpose.cpp"
#include <kernels/cpu/simd.h>

#include <algorithm>
#include <type_traits>

#include <kernels/cpu/transpose-inl.h>
#include <kernels/cpu/transpose.h>
#include <kernels/parallel.h>

HWY_BEFORE_NAMESPACE();
namespace gradus::inline v0::kernels::HWY_NAMESPACE {

template <class T>
void all(int64_t batch, int64_t rows, int64_t columns, const T* from, int64_t from_batch, int64_t from_row, T* to,
         int64_t to_batch, int64_t to_row) {
  constexpr int64_t kStrip = 16;  // rows read together; a cache line of f32 written at once
  const int64_t strips = (rows + kStrip - 1) / kStrip;
  const int64_t grain = std::max<int64_t>(1, 32768 / (kStrip * std::max<int64_t>(columns, 1)));
  parallel_for(0, batch * strips, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t b = i / strips, r = i % strips * kStrip;
      transpose_block(from + b * from_batch + r * from_row, from_row, std::min(kStrip, rows - r), columns,
                      to + b * to_batch + r, to_row);
    }
  });
}
void transpose2(int64_t batch, int64_t rows, int64_t columns, const void* from, int64_t fb, int64_t fr, void* to,
                int64_t tb, int64_t tr) {
  all(batch, rows, columns, static_cast<const uint16_t*>(from), fb, fr, static_cast<uint16_t*>(to), tb, tr);
}
void transpose4(int64_t batch, int64_t rows, int64_t columns, const void* from, int64_t fb, int64_t fr, void* to,
                int64_t tb, int64_t tr) {
  all(batch, rows, columns, static_cast<const float*>(from), fb, fr, static_cast<float*>(to), tb, tr);
}
void transpose8(int64_t batch, int64_t rows, int64_t columns, const void* from, int64_t fb, int64_t fr, void* to,
                int64_t tb, int64_t tr) {
  all(batch, rows, columns, static_cast<const uint64_t*>(from), fb, fr, static_cast<uint64_t*>(to), tb, tr);
}

}  // namespace gradus::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradus::inline v0::kernels {
HWY_EXPORT(transpose2);
HWY_EXPORT(transpose4);
HWY_EXPORT(transpose8);
void transpose_batch(size_t element, int64_t batch, int64_t rows, int64_t columns, const void* from, int64_t from_batch,
                     int64_t from_row, void* to, int64_t to_batch, int64_t to_row) {
  const auto f = element == 2   ? HWY_DYNAMIC_DISPATCH(transpose2)
                 : element == 4 ? HWY_DYNAMIC_DISPATCH(transpose4)
                                : HWY_DYNAMIC_DISPATCH(transpose8);
  f(batch, rows, columns, from, from_batch, from_row, to, to_batch, to_row);
}
}  // namespace gradus::inline v0::kernels
#endif
