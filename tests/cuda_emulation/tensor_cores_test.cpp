// Asynchronous copies, products of tiles, and the 16-bit floats that they take.
#include <cuda_pipeline.h>
#include <mma.h>

#include <cmath>

#include "test_support.h"

namespace {

using TensorCores = EmulationTest;
namespace wmma = nvcuda::wmma;

// Doubles 16-byte pieces by way of shared memory, the next piece always on its way. `wait` lets one group be open, or,
// wrongly, two.
__global__ void double_pieces(const float4* in, float4* out, int pieces, int may_be_open) {
  GRADUS_SHARED(float4, stage, [2][32]);
  const size_t t = threadIdx.x;
  __pipeline_memcpy_async(&stage[0][t], &in[t], 16);
  __pipeline_commit();
  for (int p = 0; p < pieces; ++p) {
    if (p + 1 < pieces) __pipeline_memcpy_async(&stage[(p + 1) % 2][t], &in[static_cast<size_t>(p + 1) * 32 + t], 16);
    __pipeline_commit();
    __pipeline_wait_prior(static_cast<size_t>(may_be_open));
    const float4 v = stage[p % 2][t];
    out[static_cast<size_t>(p) * 32 + t] = {2 * v.x, 2 * v.y, 2 * v.z, 2 * v.w};
  }
}
std::vector<float> doubled(int may_be_open) {
  std::vector<float> in(4 * 32 * 3);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
  OnDevice<float> from(in), to(in.size());
  EXPECT_EQ(launch(double_pieces, {.block = 32}, reinterpret_cast<float4*>(from.data()),
                   reinterpret_cast<float4*>(to.data()), 3, may_be_open),
            cudaSuccess);
  return to.values();
}

TEST_F(TensorCores, AsynchronousCopies) {
  const std::vector<float> got = doubled(1);
  for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], 2 * static_cast<float>(i));
}
TEST_F(TensorCores, MissingWaitGivesNaN) {
  const std::vector<float> got = doubled(2);
  for (size_t i = 0; i < 256; ++i) ASSERT_TRUE(std::isnan(got[i]));
  EXPECT_EQ(got[256], 0.0f) << "where an earlier copy went, too";
}

__global__ void copy_part(const float* in, float* out, int offset) {
  GRADUS_SHARED(float4, piece, );
  __pipeline_memcpy_async(&piece, in + offset, 16, 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[0] = piece.x, out[1] = piece.z, out[2] = piece.w;
}

TEST_F(TensorCores, CopiesFillWithZerosAndMustBeAligned) {
  OnDevice<float> in(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}), out(3);
  ASSERT_EQ(launch(copy_part, {}, in.data(), out.data(), 4), cudaSuccess);
  EXPECT_EQ(out.values(), (std::vector<float>{5, 7, 0}));
  EXPECT_EQ(launch(copy_part, {}, in.data(), out.data(), 2), cudaErrorLaunchFailure);
  EXPECT_REPORT("thread 0 copies 16 bytes");
}

template <class T, class LayoutA, class LayoutB>
__global__ void multiply(const T* a, const T* b, float* c) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, T, LayoutA> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, T, LayoutB> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 1.0f);
  wmma::load_matrix_sync(fa, a, 16);
  wmma::load_matrix_sync(fb, b, 16);
  for (int i = 0; i < 2; ++i) {
    wmma::mma_sync(fc, fa, fb, fc);
  }
  wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}
template <class T, class LayoutA, class LayoutB, class Convert>
void check_product(Convert convert) {
  std::vector<T> a(256), b(256);
  const auto number = [](size_t i) { return static_cast<float>(static_cast<int>(i * 7 % 11) - 5); };
  for (size_t i = 0; i < 256; ++i) a[i] = convert(number(i)), b[i] = convert(number(i + 3));
  OnDevice<T> da(a), db(b);
  OnDevice<float> c(256);
  ASSERT_EQ((launch(multiply<T, LayoutA, LayoutB>, {.block = 32}, da.data(), db.data(), c.data())), cudaSuccess);
  const std::vector<float> got = c.values();
  constexpr bool a_by_rows = std::is_same_v<LayoutA, wmma::row_major>;
  constexpr bool b_by_rows = std::is_same_v<LayoutB, wmma::row_major>;
  for (size_t row = 0; row < 16; ++row) {
    for (size_t column = 0; column < 16; ++column) {
      float sum = 0;
      for (size_t k = 0; k < 16; ++k) {
        sum += number(a_by_rows ? row * 16 + k : k * 16 + row) *
               number((b_by_rows ? k * 16 + column : column * 16 + k) + 3);
      }
      ASSERT_EQ(got[row * 16 + column], 1 + 2 * sum);
    }
  }
}

TEST_F(TensorCores, ProductsOfTiles) {
  check_product<__half, wmma::row_major, wmma::col_major>(__float2half_rn);
  check_product<__half, wmma::col_major, wmma::row_major>(__float2half_rn);
  check_product<__nv_bfloat16, wmma::row_major, wmma::row_major>(__float2bfloat16_rn);
  check_product<__nv_bfloat16, wmma::col_major, wmma::col_major>(__float2bfloat16_rn);
}

__global__ void multiply_with_few_lanes(float* out) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  wmma::fill_fragment(a, __float2half(1));
  wmma::fill_fragment(b, __float2half(1));
  wmma::fill_fragment(c, 0);
  if (threadIdx.x < 16) {
    wmma::mma_sync(c, a, b, c);
  }
  out[threadIdx.x] = c.x[0];
}

TEST_F(TensorCores, AllLanesMustTakePart) {
  OnDevice<float> out(32);
  EXPECT_EQ(launch(multiply_with_few_lanes, {.block = 32}, out.data()), cudaErrorLaunchFailure);
  EXPECT_REPORT("reads lane 16, which has left the kernel");
  gradus_emulation::clear_errors();
}

// By way of double: what lies between two neighbours goes to the nearer one, the middle to the even one.
TEST_F(TensorCores, ConversionsOfHalf) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const __half h = __ushort_as_half(static_cast<unsigned short>(bits));
    const float f = __half2float(h);
    if ((bits & 0x7fffu) > 0x7c00u) {
      ASSERT_TRUE(std::isnan(f));
      ASSERT_EQ(__half_as_ushort(__float2half_rn(f)), 0x7fff);
      continue;
    }
    const unsigned exponent = bits >> 10 & 31u, fraction = bits & 1023u;
    const double size = exponent == 31  ? INFINITY
                        : exponent == 0 ? std::ldexp(fraction, -24)
                                        : std::ldexp(1024 + fraction, static_cast<int>(exponent) - 25);
    ASSERT_EQ(static_cast<double>(f), (bits & 0x8000u) != 0 ? -size : size) << bits;
    ASSERT_EQ(__half_as_ushort(__float2half_rn(f)), bits);
    if ((bits & 0x7fffu) >= 0x7bffu) continue;
    const float next = __half2float(__ushort_as_half(static_cast<unsigned short>(bits + 1)));
    const float middle = (f + next) / 2;
    const unsigned even = bits % 2 == 0 ? bits : bits + 1;
    ASSERT_EQ(__half_as_ushort(__float2half_rn(middle)), even);
    ASSERT_EQ(__half_as_ushort(__float2half_rn(std::nextafter(middle, f))), bits);
    ASSERT_EQ(__half_as_ushort(__float2half_rn(std::nextafter(middle, next))), bits + 1);
  }
  EXPECT_EQ(__half_as_ushort(__float2half_rn(65519.996f)), 0x7bff);
  EXPECT_EQ(__half_as_ushort(__float2half_rn(65520.0f)), 0x7c00);
}
TEST_F(TensorCores, ConversionsOfBfloat16) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const float f = __bfloat162float(__ushort_as_bfloat16(static_cast<unsigned short>(bits)));
    ASSERT_EQ(__float_as_uint(f), bits << 16);
    const unsigned back = __bfloat16_as_ushort(__float2bfloat16_rn(f));
    ASSERT_EQ(back, std::isnan(f) ? 0x7fffu : bits);
    if ((bits & 0x7fffu) >= 0x7f7fu) continue;
    const auto rounded = [&](unsigned low) {
      return __bfloat16_as_ushort(__float2bfloat16_rn(__uint_as_float(bits << 16 | low)));
    };
    ASSERT_EQ(rounded(0x7fff), bits);
    ASSERT_EQ(rounded(0x8000), bits % 2 == 0 ? bits : bits + 1);
    ASSERT_EQ(rounded(0x8001), bits + 1);
  }
}

}  // namespace
