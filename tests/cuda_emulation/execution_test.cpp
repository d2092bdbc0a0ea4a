// Kernels that are right give right results: barriers, warp operations, shared memory, atomics.
#include <cmath>
#include <numeric>

#include "test_support.h"

namespace {

using Execution = EmulationTest;

std::vector<float> ramp(size_t count) {
  std::vector<float> v(count);
  for (size_t i = 0; i < count; ++i) v[i] = static_cast<float>(i % 101);
  return v;
}

__global__ void add(const float* a, const float* b, float* sum, int64_t count) {
  const int64_t step = int64_t{blockDim.x} * gridDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) sum[i] = a[i] + b[i];
}

TEST_F(Execution, ElementwiseWithGridStride) {
  const std::vector<float> a = ramp(1000), b = ramp(1000);
  OnDevice<float> da(a), db(b), sum(1000);
  ASSERT_EQ(launch(add, {.grid = 2, .block = 96}, da.data(), db.data(), sum.data(), 1000), cudaSuccess);
  const std::vector<float> got = sum.values();
  for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], a[i] + b[i]) << i;
}

__global__ void where(uint3* at, dim3* shape) {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const unsigned i = block * blockDim.x * blockDim.y * blockDim.z + thread;
  at[2 * i] = blockIdx;
  at[2 * i + 1] = threadIdx;
  if (i == 0) shape[0] = gridDim, shape[1] = blockDim;
}

TEST_F(Execution, IndicesOfThreeDimensions) {
  OnDevice<uint3> at(2 * 24 * 30);
  OnDevice<dim3> shape(2);
  ASSERT_EQ(launch(where, {.grid = {2, 3, 4}, .block = {5, 2, 3}}, at.data(), shape.data()), cudaSuccess);
  const std::vector<uint3> got = at.values();
  for (unsigned b = 0; b < 24; ++b) {
    for (unsigned t = 0; t < 30; ++t) {
      const uint3 block = got[2 * (b * 30 + t)], thread = got[2 * (b * 30 + t) + 1];
      ASSERT_EQ(b, (block.z * 3 + block.y) * 2 + block.x);
      ASSERT_EQ(t, (thread.z * 2 + thread.y) * 5 + thread.x);
    }
  }
  EXPECT_EQ(shape.values()[0].z, 4u);
  EXPECT_EQ(shape.values()[1].x, 5u);
}

__device__ float block_sum(float v) {
  GRADUS_SHARED(float, of_warp, [32]);
  for (int step = 16; step > 0; step /= 2) {
    v += __shfl_down_sync(0xffffffffu, v, step);
  }
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = v;
  __syncthreads();
  v = 0;
  for (unsigned w = 0; w < blockDim.x / 32; ++w) v += of_warp[w];
  __syncthreads();
  return v;
}
// The function is called twice: its shared memory is the same both times.
__global__ void mean_and_variance(const float* rows, float* out, int columns) {
  const float* row = rows + int64_t{blockIdx.x} * columns;
  float sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < columns; i += static_cast<int>(blockDim.x)) sum += row[i];
  const float mean = block_sum(sum) / static_cast<float>(columns);
  float squares = 0;
  for (int i = static_cast<int>(threadIdx.x); i < columns; i += static_cast<int>(blockDim.x)) {
    squares += (row[i] - mean) * (row[i] - mean);
  }
  const float variance = block_sum(squares) / static_cast<float>(columns);
  if (threadIdx.x == 0) out[2 * blockIdx.x] = mean, out[2 * blockIdx.x + 1] = variance;
}

TEST_F(Execution, ReductionWithShuffles) {
  const std::vector<float> rows = ramp(5 * 202);
  OnDevice<float> in(rows), out(10);
  ASSERT_EQ(launch(mean_and_variance, {.grid = 5, .block = 128}, in.data(), out.data(), 202), cudaSuccess);
  const std::vector<float> got = out.values();
  for (int r = 0; r < 5; ++r) {
    EXPECT_FLOAT_EQ(got[static_cast<size_t>(2 * r)], 50.0f);
    EXPECT_FLOAT_EQ(got[static_cast<size_t>(2 * r + 1)], 850.0f);
  }
}

template <class T>
__global__ void transpose(const T* in, T* out, int rows, int columns) {
  GRADUS_SHARED(T, tile, [32][33]);
  const int x = static_cast<int>(blockIdx.x * 32 + threadIdx.x), y = static_cast<int>(blockIdx.y * 32);
  for (int j = static_cast<int>(threadIdx.y); j < 32; j += static_cast<int>(blockDim.y)) {
    if (x < columns && y + j < rows) tile[j][threadIdx.x] = in[int64_t{y + j} * columns + x];
  }
  __syncthreads();
  const int to_x = static_cast<int>(blockIdx.y * 32 + threadIdx.x), to_y = static_cast<int>(blockIdx.x * 32);
  for (int j = static_cast<int>(threadIdx.y); j < 32; j += static_cast<int>(blockDim.y)) {
    if (to_x < rows && to_y + j < columns) out[int64_t{to_y + j} * rows + to_x] = tile[threadIdx.x][j];
  }
}
template <class T>
void check_transpose(unsigned rows, unsigned columns) {
  std::vector<T> in(rows * columns);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<T>(i);
  OnDevice<T> from(in), to(in.size());
  const Shape shape = {.grid = {(columns + 31) / 32, (rows + 31) / 32}, .block = {32, 4}};
  ASSERT_EQ(launch(transpose<T>, shape, from.data(), to.data(), rows, columns), cudaSuccess);
  const std::vector<T> got = to.values();
  for (unsigned r = 0; r < rows; ++r) {
    for (unsigned c = 0; c < columns; ++c) ASSERT_EQ(got[c * rows + r], in[r * columns + c]);
  }
}

TEST_F(Execution, TiledTransposeOfSeveralTypes) {
  check_transpose<float>(70, 45);
  check_transpose<double>(33, 64);
  check_transpose<unsigned char>(15, 14);
}

// Dynamic shared memory of the launch's size, as two types.
template <class T>
__global__ void reverse(T* values) {
  GRADUS_DYNAMIC_SHARED(T, all);
  all[threadIdx.x] = values[threadIdx.x];
  __syncthreads();
  values[threadIdx.x] = all[blockDim.x - 1 - threadIdx.x];
}

TEST_F(Execution, DynamicSharedMemory) {
  std::vector<int> ints(100);
  std::iota(ints.begin(), ints.end(), 0);
  std::vector<double> doubles(ints.begin(), ints.end());
  OnDevice<int> i(ints);
  OnDevice<double> d(doubles);
  ASSERT_EQ(launch(reverse<int>, {.block = 100, .shared = 400}, i.data()), cudaSuccess);
  ASSERT_EQ(launch(reverse<double>, {.block = 100, .shared = 800}, d.data()), cudaSuccess);
  EXPECT_EQ(i.values().front(), 99);
  EXPECT_EQ(d.values().back(), 0.0);
}

__global__ void warp_functions(unsigned* out) {
  const unsigned lane = threadIdx.x % 32;
  unsigned* mine = out + threadIdx.x * 16;
  mine[0] = __shfl_sync(0xffffffffu, lane, 5);
  mine[1] = __shfl_sync(0xffffffffu, lane, 9, 8);
  mine[2] = __shfl_up_sync(0xffffffffu, lane, 3);
  mine[3] = __shfl_up_sync(0xffffffffu, lane, 3, 8);
  mine[4] = __shfl_down_sync(0xffffffffu, lane, 3);
  mine[5] = __shfl_down_sync(0xffffffffu, lane, 3, 8);
  mine[6] = __shfl_xor_sync(0xffffffffu, lane, 17);
  mine[7] = __ballot_sync(0xffffffffu, lane % 3 == 0);
  mine[8] = static_cast<unsigned>(__any_sync(0xffffffffu, lane == 7));
  mine[9] = static_cast<unsigned>(__all_sync(0xffffffffu, lane != 7));
  mine[10] = __match_any_sync(0xffffffffu, lane / 8);
  mine[11] = __reduce_add_sync(0xffffffffu, lane);
  mine[12] = static_cast<unsigned>(__reduce_min_sync(0xffffffffu, static_cast<int>(lane) - 9));
  int all = 0;
  mine[13] = __match_all_sync(0xffffffffu, lane / 32, &all);
  mine[14] = static_cast<unsigned>(all);
  const unsigned half = lane < 16 ? 0xffffu : 0xffff0000u;
  mine[15] = __ballot_sync(half, lane % 2);
}

TEST_F(Execution, WarpFunctions) {
  OnDevice<unsigned> out(64 * 16);
  ASSERT_EQ(launch(warp_functions, {.block = 64}, out.data()), cudaSuccess);
  const std::vector<unsigned> got = out.values();
  for (unsigned t = 0; t < 64; ++t) {
    const unsigned lane = t % 32;
    const unsigned* mine = &got[t * 16];
    EXPECT_EQ(mine[0], 5u);
    EXPECT_EQ(mine[1], lane / 8 * 8 + 1);
    EXPECT_EQ(mine[2], lane < 3 ? lane : lane - 3);
    EXPECT_EQ(mine[3], lane % 8 < 3 ? lane : lane - 3);
    EXPECT_EQ(mine[4], lane + 3 > 31 ? lane : lane + 3);
    EXPECT_EQ(mine[5], lane % 8 + 3 > 7 ? lane : lane + 3);
    EXPECT_EQ(mine[6], lane ^ 17);
    EXPECT_EQ(mine[7], 0x49249249u);
    EXPECT_EQ(mine[8], 1u);
    EXPECT_EQ(mine[9], 0u);
    EXPECT_EQ(mine[10], 0xffu << (lane / 8 * 8));
    EXPECT_EQ(mine[11], 496u);
    EXPECT_EQ(static_cast<int>(mine[12]), -9);
    EXPECT_EQ(mine[13], 0xffffffffu);
    EXPECT_EQ(mine[14], 1u);
    EXPECT_EQ(mine[15], lane < 16 ? 0xaaaau : 0xaaaa0000u);
  }
}

// Lanes that have left need not take part; the block's last warp is not full.
__global__ void leaving_lanes(int* out, int count) {
  const int i = static_cast<int>(threadIdx.x);
  if (i >= count) return;
  const unsigned mask = count - i / 32 * 32 >= 32 ? 0xffffffffu : (1u << count % 32) - 1;
  const double d = __shfl_sync(mask, static_cast<double>(i), 1);
  __syncwarp();
  out[i] = static_cast<int>(d);
}

TEST_F(Execution, LanesThatHaveLeft) {
  OnDevice<int> out(45);
  ASSERT_EQ(launch(leaving_lanes, {.block = 50}, out.data(), 45), cudaSuccess);
  EXPECT_EQ(out.values()[31], 1);
  EXPECT_EQ(out.values()[44], 33);
}

__global__ void counting_barriers(int* out) {
  const int odd = __syncthreads_count(threadIdx.x % 2);
  const int all = __syncthreads_and(threadIdx.x < 1000);
  const int any = __syncthreads_or(threadIdx.x > 1000);
  if (threadIdx.x == 3) out[0] = odd, out[1] = all, out[2] = any;
}

TEST_F(Execution, BarriersThatCount) {
  OnDevice<int> out(3);
  ASSERT_EQ(launch(counting_barriers, {.block = 101}, out.data()), cudaSuccess);
  EXPECT_EQ(out.values(), (std::vector<int>{50, 1, 0}));
}

struct Totals {
  int i;
  unsigned u, bits, inc;
  unsigned long long ull;
  float f;
  double d;
  int least, most;
  long long least_ll;
  unsigned short swapped[2];
};
__global__ void atomics(Totals* t) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  atomicAdd(&t->i, i);
  atomicAdd(&t->u, 2u);
  atomicOr(&t->bits, 1u << i % 32);
  atomicInc(&t->inc, 6u);
  atomicAdd(&t->ull, 1ull << 33);
  atomicAdd(&t->f, 0.5f);
  atomicAdd(&t->d, 0.25);
  atomicMin(&t->least, -i);
  atomicMax(&t->most, i);
  atomicMin(&t->least_ll, static_cast<long long>(-i) << 40);
  atomicCAS(&t->swapped[0], static_cast<unsigned short>(0), static_cast<unsigned short>(7));
  atomicCAS(&t->swapped[1], static_cast<unsigned short>(1), static_cast<unsigned short>(7));
}

TEST_F(Execution, Atomics) {
  OnDevice<Totals> totals(std::vector<Totals>(1));
  ASSERT_EQ(launch(atomics, {.grid = 4, .block = 50}, totals.data()), cudaSuccess);
  const Totals t = totals.values()[0];
  EXPECT_EQ(t.i, 199 * 100);
  EXPECT_EQ(t.u, 400u);
  EXPECT_EQ(t.bits, 0xffffffffu);
  EXPECT_EQ(t.inc, 200u % 7);
  EXPECT_EQ(t.ull, 200ull << 33);
  EXPECT_EQ(t.f, 100.0f);
  EXPECT_EQ(t.d, 50.0);
  EXPECT_EQ(t.least, -199);
  EXPECT_EQ(t.most, 199);
  EXPECT_EQ(t.least_ll, -(199ll << 40));
  EXPECT_EQ(t.swapped[0], 7);
  EXPECT_EQ(t.swapped[1], 0);
}

// The last block to finish adds what all have left: a fence on both sides of the counter.
__global__ void sum_in_last_block(const float* in, float* partial, unsigned* finished, float* out) {
  GRADUS_SHARED(bool, last, );
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = in[blockIdx.x];
    __threadfence();
    last = atomicAdd(finished, 1u) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (!last || threadIdx.x != 1) return;
  float sum = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) sum += partial[b];
  *out = sum;
}

TEST_F(Execution, LastBlockSeesAllOthers) {
  OnDevice<float> in(ramp(9)), partial(9), out(1);
  OnDevice<unsigned> finished(std::vector<unsigned>(1));
  ASSERT_EQ(launch(sum_in_last_block, {.grid = 9, .block = 32}, in.data(), partial.data(), finished.data(), out.data()),
            cudaSuccess);
  EXPECT_EQ(out.values()[0], 36.0f);
}

// A thread that waits for another one by an atomic lets it run.
__global__ void spin(int* flag, int* out) {
  if (threadIdx.x == 0) {
    while (atomicAdd(flag, 0) == 0) {
    }
    *out = 1;
  } else if (threadIdx.x == 40) {
    atomicExch(flag, 1);
  }
}

TEST_F(Execution, SpinningLetsOthersRun) {
  OnDevice<int> flag(std::vector<int>(1)), out(1);
  ASSERT_EQ(launch(spin, {.block = 64}, flag.data(), out.data()), cudaSuccess);
  EXPECT_EQ(out.values()[0], 1);
}

__global__ void block_numbers(int* next, int* order) {
  order[atomicAdd(next, 1)] = static_cast<int>(blockIdx.x);
}

TEST_F(Execution, OrdersOfBlocks) {
  if (std::getenv("GRADUS_EMULATION_BLOCKS") != nullptr) GTEST_SKIP() << "the environment chooses the order";
  std::vector<std::vector<int>> orders;
  for (const auto order : {gradus_emulation::BlockOrder::Forward, gradus_emulation::BlockOrder::Backward,
                           gradus_emulation::BlockOrder::Random}) {
    gradus_emulation::set_block_order(order, 3);
    OnDevice<int> next(std::vector<int>(1)), numbers(20);
    ASSERT_EQ(launch(block_numbers, {.grid = 20}, next.data(), numbers.data()), cudaSuccess);
    orders.push_back(numbers.values());
  }
  gradus_emulation::set_block_order(gradus_emulation::BlockOrder::Forward);
  std::vector<int> forward(20);
  std::iota(forward.begin(), forward.end(), 0);
  EXPECT_EQ(orders[0], forward);
  EXPECT_EQ(orders[1], std::vector<int>(forward.rbegin(), forward.rend()));
  EXPECT_NE(orders[2], forward);
  std::sort(orders[2].begin(), orders[2].end());
  EXPECT_EQ(orders[2], forward);
}

__global__ void whole_block(int* out) {
  GRADUS_SHARED(int, values, [1024]);
  values[threadIdx.x] = static_cast<int>(threadIdx.x);
  for (unsigned half = 512; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) values[threadIdx.x] += values[threadIdx.x + half];
  }
  if (threadIdx.x == 0) out[blockIdx.x] = values[0];
}

TEST_F(Execution, LargestBlock) {
  const unsigned blocks = kTsan ? 1 : 20;
  OnDevice<int> out(blocks);
  ASSERT_EQ(launch(whole_block, {.grid = blocks, .block = 1024}, out.data()), cudaSuccess);
  for (const int sum : out.values()) EXPECT_EQ(sum, 1023 * 512);
}

TEST_F(Execution, Intrinsics) {
  EXPECT_EQ(__clz(0), 32);
  EXPECT_EQ(__clz(1), 31);
  EXPECT_EQ(__clzll(1), 63);
  EXPECT_EQ(__ffs(8), 4);
  EXPECT_EQ(__popc(0xf0f0u), 8);
  EXPECT_EQ(__umulhi(0xffffffffu, 0xffffffffu), 0xfffffffeu);
  EXPECT_EQ(__umul64hi(~0ull, ~0ull), ~0ull - 1);
  EXPECT_EQ(__brev(1u), 0x80000000u);
  EXPECT_EQ(__byte_perm(0x33221100u, 0x77665544u, 0x7150u), 0x77115500u);
  EXPECT_EQ(__funnelshift_l(0x80000000u, 1u, 1u), 3u);
  EXPECT_EQ(__funnelshift_r(2u, 1u, 1u), 0x80000001u);
  EXPECT_EQ(rsqrtf(16.0f), 0.25f);
  EXPECT_EQ(min(-1, 2), -1);
  EXPECT_EQ(max(1.0f, NAN), 1.0f);
  EXPECT_EQ(__float2int_rn(2.5f), 2);
  EXPECT_EQ(__float2int_rz(-2.5f), -2);
  EXPECT_EQ(alignof(float4), 16u);
  EXPECT_EQ(make_int2(1, 2).y, 2);
}

}  // namespace
