// How pooling kernels see images: with channels innermost. Contiguous images are batch * channels ones of one channel.
#pragma once

#include "kernels/cuda/launch.h"
#include "kernels/cuda/numeric.h"
#include "kernels/cuda/strided_walk.h"
#include "kernels/pooling.h"

namespace gradus::inline v0::kernels::cuda {

struct PoolingPixel {
  int64_t image, y, x, channel;
};

/// Sizes of one side's images, and how its elements are numbered.
struct PoolingSide {
  int64_t height, width, channels;
  IndexDivider<uint64_t> by_height, by_width, by_channels;
  PoolingSide() = default;
  PoolingSide(int64_t h, int64_t w, int64_t c)
      : height(h),
        width(w),
        channels(c),
        by_height(static_cast<uint64_t>(h)),
        by_width(static_cast<uint64_t>(w)),
        by_channels(static_cast<uint64_t>(c)) {}
  __device__ PoolingPixel pixel(int64_t at) const {
    PoolingPixel p;
    p.channel = split(&at, by_channels);
    p.x = split(&at, by_width);
    p.y = split(&at, by_height);
    p.image = at;
    return p;
  }
  __device__ int64_t element(int64_t image, int64_t y, int64_t x, int64_t channel) const {
    return ((image * height + y) * width + x) * channels + channel;
  }

 private:
  static __device__ int64_t split(int64_t* at, const IndexDivider<uint64_t>& by) {
    const auto rest = static_cast<int64_t>(by.quotient(static_cast<uint64_t>(*at)));
    const int64_t within = *at - rest * static_cast<int64_t>(by.divisor);
    *at = rest;
    return within;
  }
};

/// Both sides of a pooling. Channels are counted in packs of `pack`, which kernels move at once.
struct PoolingShape {
  int64_t images;
  int pack;
  PoolingSide in, out;

  /// `pack_size`: what a kernel can do; taken where channels are innermost and a multiple of it, and data aligned.
  PoolingShape(const ConstView& input, const ConstView& output, int pack_size,
               std::initializer_list<const void*> data) {
    const bool last = channels_innermost(input) || channels_innermost(output);
    const int64_t channels = last ? input.sizes[1] : 1;
    images = last ? input.sizes[0] : input.sizes[0] * input.sizes[1];
    bool packed = last && channels % pack_size == 0;
    for (const void* p : data) packed = packed && reinterpret_cast<uintptr_t>(p) % 16 == 0;
    pack = packed ? pack_size : 1;
    in = PoolingSide(input.sizes[2], input.sizes[3], channels / pack);
    out = PoolingSide(output.sizes[2], output.sizes[3], channels / pack);
  }
  __host__ __device__ int64_t in_packs() const { return images * in.height * in.width * in.channels; }
  __host__ __device__ int64_t out_packs() const { return images * out.height * out.width * out.channels; }

 private:
  static bool channels_innermost(const ConstView& v) {
    return v.sizes[1] > 1 && v.strides[1] == 1 && v.sizes[2] * v.sizes[3] > 1;
  }
};

/// A range of windows: those that cover a place.
struct WindowRange {
  int64_t first, last;
};
/// Of windows of `reach` places, `stride` apart, the first of which begins at -padding.
struct WindowsAlong {
  int64_t reach, padding, count;
  IndexDivider<uint64_t> by_stride;
  __device__ WindowRange covering(int64_t at) const {
    const int64_t behind =
        at + padding - reach + 1;  // where the last of them may begin, counted from the first's begin
    WindowRange r;
    r.first = behind <= 0 ? 0 : quotient(behind + static_cast<int64_t>(by_stride.divisor) - 1);
    r.last = min(quotient(at + padding), count - 1);
    return r;
  }

 private:
  __device__ int64_t quotient(int64_t n) const {
    return static_cast<int64_t>(by_stride.quotient(static_cast<uint64_t>(n)));
  }
};
inline WindowsAlong windows_along(const PoolingGeometry& g, int dim, int64_t count) {
  return {(g.kernel[dim] - 1) * g.dilation[dim] + 1, g.padding[dim], count,
          IndexDivider<uint64_t>(static_cast<uint64_t>(g.stride[dim]))};
}

}  // namespace gradus::inline v0::kernels::cuda
