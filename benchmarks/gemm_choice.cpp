// The measurements behind kernels/cpu/gemm.cpp's choice between the library's tiles and BLAS: each product by both on
// one thread, in the three orientations a linear layer needs, then through the kernel itself. Microseconds, best of
// nine. Run alone, with OMP_NUM_THREADS=1.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include <kernels/cpu/gemm_tile.h>
#include <kernels/gemm.h>
#include <src/backends/blas/blas.h>

namespace {

using namespace gradus::kernels;
using gradus::backends::blas::Transpose;

template <class F>
double best_us(double multiplications, F f) {
  const int repeats = std::max(1, static_cast<int>(2e6 / multiplications));
  double best = 1e30;
  for (int round = 0; round < 9; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < repeats; ++i) f();
    best = std::min(
        best, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / repeats);
  }
  return best;
}

template <class T>
void compare(const char* type, int64_t m, int64_t n, int64_t k) {
  const size_t um = static_cast<size_t>(m), un = static_cast<size_t>(n), uk = static_cast<size_t>(k);
  std::vector<T> a(um * uk), b(uk * un), c(um * un);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<T>(i * 7 % 11) - 5;
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<T>(i * 5 % 13) - 6;
  const double work = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  std::printf("%s %5lld %5lld %5lld", type, static_cast<long long>(m), static_cast<long long>(n),
              static_cast<long long>(k));
  for (const char* form : {"NN", "NT", "TN"}) {
    const bool ta = form[0] == 'T', tb = form[1] == 'T';
    const int64_t a_row = ta ? 1 : k, a_column = ta ? m : 1, b_row = tb ? 1 : n, b_column = tb ? k : 1;
    const TileProduct<T> p{m,     n,        k,        a.data(), a_row, a_column, b.data(),
                           b_row, b_column, c.data(), n,        T(1),  T(0),     nullptr};
    const double tiles = best_us(work, [&] { tile_product(p); });
    const double blas = best_us(work, [&] {
      gradus::backends::blas::gemm(ta ? Transpose::Yes : Transpose::No, tb ? Transpose::Yes : Transpose::No, m, n, k,
                                   T(1), a.data(), ta ? m : k, b.data(), tb ? k : n, T(0), c.data(), n);
    });
    const int64_t sa[] = {m, k}, sb[] = {k, n}, sc[] = {m, n};
    const int64_t ta_strides[] = {a_row, a_column}, tb_strides[] = {b_row, b_column}, tc_strides[] = {n, 1};
    constexpr gradus::ScalarType kType = gradus::CppTypeToScalarType<T>::value;
    const View vc{c.data(), sc, tc_strides, 2, kType};
    const ConstView va{a.data(), sa, ta_strides, 2, kType}, vb{b.data(), sb, tb_strides, 2, kType};
    const ConstView none{nullptr, nullptr, nullptr, 0, kType};
    const double kernel = best_us(work, [&] { gemm(gradus::DeviceType::CPU, vc, va, vb, none, 1.0, 0.0); });
    std::printf("  %s tiles %9.3f blas %9.3f kernel %9.3f", form, tiles, blas, kernel);
  }
  std::printf("\n");
}

/// bf16 through the kernel, and f32 of the same shape, which is what widening costs at least.
void compare_bf16(int64_t m, int64_t n, int64_t k) {
  const size_t a_size = static_cast<size_t>(m * k), b_size = static_cast<size_t>(k * n),
               c_size = static_cast<size_t>(m * n);
  const int64_t sa[] = {m, k}, sb[] = {k, n}, sc[] = {m, n}, ta[] = {k, 1}, tb[] = {n, 1}, tc[] = {n, 1};
  const double work = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const auto time = [&](auto zero) {
    using T = decltype(zero);
    constexpr gradus::ScalarType kType = gradus::CppTypeToScalarType<T>::value;
    std::vector<T> a(a_size, T(1.0f)), b(b_size, T(0.5f)), c(c_size);
    const View vc{c.data(), sc, tc, 2, kType};
    const ConstView va{a.data(), sa, ta, 2, kType}, vb{b.data(), sb, tb, 2, kType},
        none{nullptr, nullptr, nullptr, 0, kType};
    return best_us(work, [&] { gemm(gradus::DeviceType::CPU, vc, va, vb, none, 1.0, 0.0); });
  };
  std::printf("bf16 %5lld %5lld %5lld  kernel %9.3f  f32 %9.3f\n", static_cast<long long>(m), static_cast<long long>(n),
              static_cast<long long>(k), time(gradus::BFloat16()), time(0.0f));
}

}  // namespace

int main() {
  std::printf("%s\n", gradus::backends::blas::description());
  constexpr int64_t kShapes[][3] = {{8, 8, 8},         {32, 16, 32},    {32, 32, 32},    {32, 4, 32},
                                    {64, 64, 64},      {128, 128, 128}, {64, 10, 128},   {64, 128, 10},
                                    {256, 256, 256},   {64, 128, 3136}, {512, 512, 512}, {768, 768, 768},
                                    {1024, 1024, 1024}};
  for (const auto& s : kShapes) compare<float>("f32", s[0], s[1], s[2]);
  for (const auto& s : kShapes) compare<double>("f64", s[0], s[1], s[2]);
  for (const auto& s : kShapes) compare_bf16(s[0], s[1], s[2]);
}
