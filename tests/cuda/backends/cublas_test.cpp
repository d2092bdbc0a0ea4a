// The code that calls cuBLASLt, against the emulated library: every layout reaches it, choices are kept, and what it
// refuses or cannot have memory for is computed otherwise.
#include <src/backends/cublas/matmul.h>

#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <gradus/cuda/backends.h>

#include <kernels/gemm.h>
#include <tests/cuda/kernels/device_memory.h>
#include <tests/cuda_emulation/libraries.h>

namespace gradus::inline v0::backends::cublas {
namespace {

using kernels::OnDevice;
namespace library = gradus_emulation::cublaslt;

struct Problem {
  MatmulShape shape;
  Scalar alpha = Scalar(1.0), beta = Scalar(0.0);
};

size_t at(bool transposed, int64_t leading, int64_t row, int64_t column) {
  return static_cast<size_t>(transposed ? column * leading + row : row * leading + column);
}

double activate(Activation a, double v) {
  if (a == Activation::kRelu) return v > 0 ? v : 0;
  if (a == Activation::kGeluTanh) return 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
  return v;
}

/// Runs the product of small integers and compares; returns the emulation's algorithm.
template <class T>
int check(const Problem& p) {
  const MatmulShape& s = p.shape;
  const auto numbers = [](int64_t n, int salt) {
    std::vector<T> v(static_cast<size_t>(n));
    for (size_t i = 0; i < v.size(); ++i)
      v[i] = static_cast<T>(static_cast<float>((i * 7 + static_cast<size_t>(salt)) % 5) - 2.0f);
    return v;
  };
  const int64_t a_each = (s.a_transposed ? s.k : s.m) * s.a_leading,
                b_each = (s.b_transposed ? s.n : s.k) * s.b_leading;
  const auto a = numbers(s.batch * std::max(a_each, s.a_batch), 1),
             b = numbers(s.batch * std::max(b_each, s.b_batch), 2);
  const auto c = numbers(s.batch * std::max(s.m * s.c_leading, s.c_batch), 3), bias = numbers(s.n, 4);
  const OnDevice<T> da(a), db(b), dc(c), dbias(bias);
  EXPECT_TRUE(matmul(s, da.data(), db.data(), s.bias ? dbias.data() : nullptr, dc.data(), p.alpha, p.beta));
  const std::vector<T> got = dc.read();
  std::vector<T> want = c;
  for (int64_t z = 0; z < s.batch; ++z) {
    for (int64_t i = 0; i < s.m; ++i) {
      for (int64_t j = 0; j < s.n; ++j) {
        double sum = 0;
        for (int64_t q = 0; q < s.k; ++q) {
          sum += static_cast<double>(a[static_cast<size_t>(z * s.a_batch) + at(s.a_transposed, s.a_leading, i, q)]) *
                 static_cast<double>(b[static_cast<size_t>(z * s.b_batch) + at(s.b_transposed, s.b_leading, q, j)]);
        }
        T& y = want[static_cast<size_t>(z * s.c_batch) + at(false, s.c_leading, i, j)];
        sum = p.alpha.as_double() * sum + (p.beta.as_double() != 0 ? p.beta.as_double() * static_cast<double>(y) : 0) +
              (s.bias ? static_cast<double>(bias[static_cast<size_t>(j)]) : 0);
        y = static_cast<T>(activate(s.activation, sum));
      }
    }
  }
  for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(static_cast<double>(got[i]), static_cast<double>(want[i])) << i;
  return library::state().last_algorithm;
}

MatmulShape plain(ScalarType dtype, int64_t m, int64_t n, int64_t k) {
  return {1, m, n, k, k, n, n, 0, 0, 0, dtype, false, false, false};
}

TEST(CublasMatmul, LadderOfShapes) {
  for (int64_t m : {1, 3, 31, 33, 65}) {
    for (int64_t n : {1, 3, 32, 65}) {
      for (int64_t k : {1, 3, 33}) {
        check<float>({plain(kFloat, m, n, k)});
        MatmulShape s = plain(kHalf, m, n, k);
        s.bias = true;
        check<Half>({s, Scalar(2), Scalar(1)});
      }
    }
  }
}

TEST(CublasMatmul, Transposes) {
  for (int which = 0; which < 4; ++which) {
    MatmulShape s = plain(kDouble, 5, 7, 4);
    s.a_transposed = which & 1, s.b_transposed = which & 2;
    s.a_leading = s.a_transposed ? 6 : 5, s.b_leading = s.b_transposed ? 9 : 8, s.c_leading = 10;
    check<double>({s, Scalar(1), Scalar(3)});
    s.bias = true, s.dtype = kBFloat16;
    check<BFloat16>({s});
  }
}

TEST(CublasMatmul, Batches) {
  MatmulShape s{3, 5, 7, 4, 4, 7, 7, 20, 0, 35, kFloat, false, false, true};
  check<float>({s});
  s.a_batch = 0, s.b_batch = 28, s.c_batch = 40;
  check<float>({s, Scalar(1), Scalar(1)});
  s.c_leading = 21, s.c_batch = 7;  // rows of the batches in turn
  check<float>({s});
}

TEST(CublasMatmul, Activations) {
  for (Activation activation : {Activation::kRelu, Activation::kGeluTanh}) {
    for (bool bias : {false, true}) {
      MatmulShape s = plain(kFloat, 4, 6, 3);
      s.activation = activation, s.bias = bias;
      check<float>({s});
      EXPECT_NE(library::state().last_epilogue, 1u);
    }
  }
}

TEST(CublasMatmul, ChoicesAreKept) {
  const MatmulShape s = plain(kFloat, 11, 12, 13);
  check<float>({s});
  const int asked = library::state().heuristics, multiplied = library::state().products;
  check<float>({s, Scalar(2), Scalar(3)});
  EXPECT_EQ(library::state().heuristics, asked);
  EXPECT_EQ(library::state().products, multiplied + 1);
  MatmulShape other = s;
  other.bias = true;
  check<float>({other});
  EXPECT_EQ(library::state().heuristics, asked + 1);
}

TEST(CublasMatmul, AlignmentIsTold) {
  const MatmulShape s = plain(kHalf, 8, 8, 8);
  EXPECT_EQ(check<Half>({s}), library::kWithWorkspace);
  const OnDevice<Half> a(std::vector<Half>(65, Half(1.0f))), b(std::vector<Half>(64, Half(1.0f)));
  const OnDevice<Half> c(std::vector<Half>(64));
  ASSERT_TRUE(matmul(s, a.data() + 1, b.data(), nullptr, c.data(), Scalar(1), Scalar(0)));
  EXPECT_EQ(library::state().last_algorithm, library::kPlain);
  EXPECT_EQ(static_cast<float>(c.read()[63]), 8);
}

TEST(CublasMatmul, SumsOfHalvesStayInFloatWhenAsked) {
  // 1 + 1/1024 twice, then 2^-11 repeated: in half the second half of the sum begins at a rounded value.
  const int64_t k = 4096;
  MatmulShape s = plain(kHalf, 1, 1, k);
  std::vector<Half> ones(static_cast<size_t>(k), Half(1.0f)), terms(static_cast<size_t>(k), Half(1.0f / 4096));
  terms[0] = Half(2049.0f / 2048);
  const OnDevice<Half> a(ones), b(terms), c(std::vector<Half>(1));
  ASSERT_TRUE(matmul(s, a.data(), b.data(), nullptr, c.data(), Scalar(1), Scalar(0)));
  EXPECT_EQ(library::state().last_algorithm, library::kReducedInOutput);
  gradus::cuda::set_matmul_allow_fp16_reduction(false);
  ASSERT_TRUE(matmul(s, a.data(), b.data(), nullptr, c.data(), Scalar(1), Scalar(0)));
  gradus::cuda::set_matmul_allow_fp16_reduction(true);
  EXPECT_NE(library::state().last_algorithm, library::kReducedInOutput);
}

/// Takes the device's free memory but for `rest` bytes.
class Hoard {
 public:
  explicit Hoard(size_t rest) {
    size_t free = 0, total = 0;
    EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
    while (free > rest && cudaMalloc(&held_.emplace_back(), free - rest) == cudaSuccess) {
      EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
    }
    cudaGetLastError();
  }
  ~Hoard() {
    for (void* p : held_) cudaFree(p);
  }

 private:
  std::vector<void*> held_;
};

TEST(CublasMatmul, WithoutMemoryForAWorkspace) {
  const MatmulShape s = plain(kFloat, 1600, 1600, 2);  // a workspace of 10 MB
  const OnDevice<float> a(std::vector<float>(3200, 1.0f)), b(std::vector<float>(3200, 1.0f));
  const OnDevice<float> c(std::vector<float>(1600 * 1600));
  {
    const Hoard hoard(1 << 20);
    ASSERT_TRUE(matmul(s, a.data(), b.data(), nullptr, c.data(), Scalar(1), Scalar(0)));
  }
  EXPECT_EQ(library::state().last_algorithm, library::kPlain);
  EXPECT_EQ(c.read()[77], 2);
  EXPECT_EQ(check<float>({s}), library::kWithWorkspace) << "it is there again";
}

/// c [m, n] = a b + bias through the table, of small integers.
void multiply(ScalarType dtype, int64_t m, int64_t n, int64_t k, int64_t c_row, int64_t c_column) {
  const std::vector<float> a(static_cast<size_t>(m * k), 2.0f), b(static_cast<size_t>(k * n), 3.0f);
  std::vector<float> bias(static_cast<size_t>(n));
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i);
  const OnDevice<float> da(a), db(b), dbias(bias), dc(std::vector<float>(static_cast<size_t>(m * n)));
  const int64_t sa[] = {m, k}, sb[] = {k, n}, sc[] = {m, n}, ta[] = {k, 1}, tb[] = {n, 1}, tc[] = {c_row, c_column};
  const int64_t one = 1;
  const Device device = kernels::test_device();
  using kernels::ConstView;
  kernels::gemm(device, kernels::View{dc.data(), sc, tc, 2, dtype, device},
                ConstView{da.data(), sa, ta, 2, dtype, device}, ConstView{db.data(), sb, tb, 2, dtype, device},
                ConstView{dbias.data(), &n, &one, 1, dtype, device}, Scalar(1), Scalar(0));
  const std::vector<float> got = dc.read();
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j)
      ASSERT_EQ(got[static_cast<size_t>(i * c_row + j * c_column)], static_cast<float>(6 * k + j)) << i << ", " << j;
  }
}

TEST(CublasMatmul, WhatTheLibraryRefusesIsComputedOtherwise) {
  multiply(kFloat, 40, 50, 150, 50, 1);
  EXPECT_EQ(library::state().last_epilogue, 4u);
  library::state().refuse_epilogues = true;
  multiply(kFloat, 41, 50, 150, 50, 1);
  EXPECT_EQ(library::state().last_epilogue, 1u);
  library::state().refuse_epilogues = false;
  library::state().refuse_all = true;
  const int multiplied = library::state().products;
  multiply(kFloat, 42, 50, 150, 50, 1);
  multiply(kFloat, 43, 50, 150, 1, 43);
  EXPECT_EQ(library::state().products, multiplied);
  library::state().refuse_all = false;
}

TEST(CublasMatmul, Threads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 10; ++i) {
        MatmulShape s = plain(kFloat, 20 + i % 3, 6, 5);
        s.bias = i % 2;
        check<float>({s});
      }
    });
  }
  for (std::thread& t : threads) t.join();
}

TEST(CublasMatmul, ErrorsNameCallStatusAndProblem) {
  MatmulShape s = plain(kFloat, 3, 4, 5);
  s.a_leading = 2;
  const OnDevice<float> x(std::vector<float>(64));
  try {
    matmul(s, x.data(), x.data(), nullptr, x.data(), Scalar(1), Scalar(0));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()),
              "matmul: cublasLtMatmulAlgoGetHeuristic failed with CUBLAS_STATUS_INVALID_VALUE (said by the emulated "
              "library) for 1 x [3, 5] [5, 4] of Float, leading dimensions 2, 4, 4, on cuda:0");
  }
}

}  // namespace
}  // namespace gradus::inline v0::backends::cublas
