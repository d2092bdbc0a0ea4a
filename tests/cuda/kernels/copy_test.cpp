// Copies, casts, fills and ranges on the device.
#include "elementwise_fixture.h"

#include <kernels/factories.h>
#include <kernels/pointwise.h>

namespace gradus::inline v0::kernels::cuda_test {
namespace {

constexpr ScalarType kEvery[] = {kBool,   kByte,          kChar,        kShort,        kInt,          kLong,
                                 kUInt16, kUInt32,        kUInt64,      kHalf,         kBFloat16,     kFloat,
                                 kDouble, kFloat8_e4m3fn, kFloat8_e5m2, kComplexFloat, kComplexDouble};

void copy(const Loop& l) {
  kernels::copy.get(Backend::CUDA)(l);
}
bool is_integer(ScalarType t) {
  return is_integral(t, true);
}

// What the CPU's cast gives, by another way: 128-bit integers and long double.
Element cast_of(const Element& from, ScalarType from_type, ScalarType to) {
  unsigned char bytes[16];
  Element source = from;
  if (!is_complex(from_type)) source.imaginary = 0;
  if (is_complex(to)) {
    Element r;
    const bool narrow = to == kComplexFloat;
    r.real = narrow ? static_cast<float>(source.real) : static_cast<double>(source.real);
    r.imaginary = narrow ? static_cast<float>(source.imaginary) : static_cast<double>(source.imaginary);
    return r;
  }
  if (to == kBool) {
    Element r;
    r.integer = source.real != 0;
    r.real = r.integer;
    return r;
  }
  if (is_integer(to)) {
    int64_t v = source.integer;
    if (!is_integer(from_type)) {
      const bool through_32_bits = element_size(to) < 4 || to == kInt;
      const long double half = through_32_bits ? 0x1p31L : 0x1p63L, whole = std::trunc(source.real);
      if (to == kUInt64 && whole >= 0x1p63L && whole < 0x1p64L) {
        v = static_cast<int64_t>(static_cast<uint64_t>(whole));
      } else {
        v = whole >= -half && whole < half ? static_cast<int64_t>(whole) : through_32_bits ? INT32_MIN : INT64_MIN;
      }
    }
    write(to, bytes, 0, v);
    return read(to, bytes);
  }
  // Through float, which is rounded once, to the smaller floats.
  double real = static_cast<double>(source.real);
  if (to != kDouble) real = static_cast<float>(source.real);
  write(to, bytes, real, 0);
  return read(to, bytes);
}

bool same(const Element& a, const Element& b, ScalarType t) {
  if (is_integer(t)) return a.integer == b.integer;
  const auto equal = [](long double x, long double y) { return (std::isnan(x) && std::isnan(y)) || x == y; };
  return equal(a.real, b.real) && equal(a.imaginary, b.imaginary);
}

std::pair<double, int64_t> any_value(int64_t i) {
  static const double reals[] = {0.0,          -0.0,         1.0,           -1.0,        0.5,          -0.75,  1.5,
                                 2.5,          100.3,        -100.7,        300.0,       -300.0,       448.0,  460.0,
                                 464.0,        465.0,        57344.0,       61440.0,     65504.0,      1e5,    -1e5,
                                 2147483500.0, 2147483648.0, -2147483648.0, -3e9,        1e10,         9.3e18, -9.3e18,
                                 1.9e19,       1e-3,         0.0009765625,  0.001953125, 0.0029296875, 1e-5,   7e-6,
                                 1e-40,        3e38,         1e300,         INFINITY,    -INFINITY,    NAN};
  static const int64_t integers[] = {0,
                                     1,
                                     -1,
                                     2,
                                     127,
                                     128,
                                     -128,
                                     255,
                                     256,
                                     -300,
                                     1000,
                                     32767,
                                     65535,
                                     -32768,
                                     16777217,
                                     33554435,
                                     2147483647,
                                     -2147483647 - 1,
                                     int64_t{1} << 40,
                                     INT64_MAX,
                                     INT64_MIN,
                                     (int64_t{1} << 53) + 1,
                                     -(int64_t{1} << 54) - 2};
  const auto at = static_cast<size_t>(i);
  return {reals[at % std::size(reals)], integers[at % std::size(integers)]};
}

std::vector<Geometry> layouts() {
  const auto two = [](const char* name, std::vector<int64_t> sizes, Layout out, Layout in) {
    return Geometry{name, std::move(sizes), {std::move(out), std::move(in)}};
  };
  return {two("dense", {943}, {{1}}, {{1}}),
          two("unaligned", {943}, {{1}, 1}, {{1}, 1}),
          two("transposed", {23, 41}, {{1, 23}}, {{41, 1}}),
          two("repeated", {23, 41}, {{1, 23}}, {{0, 1}}),
          two("a number of the device's", {60}, {{1}}, {{0}}),
          two("a number of the host's", {60}, {{1}}, {{0}, 0, true}),
          two("steps", {99, 3}, {{2, 200}}, {{3, 300}}),
          two("one", {1}, {{1}}, {{1}}),
          two("none", {0}, {{1}}, {{1}})};
}

TEST(Copy, CastsBetweenAllDtypes) {
  for (const ScalarType to : kEvery) {
    for (const ScalarType from : kEvery) {
      for (const Geometry& g : layouts()) {
        SCOPED_TRACE(g.name + ": " + to_string(from) + " to " + to_string(to));
        Operands o(g, {to, from}, from);
        o.fill(1, any_value);
        o.run(copy);
        for (int64_t i = 0; i < g.numel(); ++i) {
          const Element want = cast_of(o.at(1, i), from, to), got = o.at(0, i);
          ASSERT_TRUE(to == from ? std::memcmp(o.bytes(0, i), o.bytes(1, i), element_size(to)) == 0
                                 : same(got, want, to))
              << static_cast<double>(o.at(1, i).real) << " gave " << static_cast<double>(got.real) << " or "
              << got.integer << ", expected " << static_cast<double>(want.real) << " or " << want.integer;
        }
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Of every 8-bit float, and of floats on both sides of each and in the middle between neighbours.
TEST(Copy, EightBitFloats) {
  for (const ScalarType t : {kFloat8_e4m3fn, kFloat8_e5m2}) {
    SCOPED_TRACE(to_string(t));
    const Geometry values{"", {256}, {{{1}}, {{1}}}};
    Operands widened(values, {kFloat, t}, t);
    std::vector<float> floats;
    widened.fill(1, [](int64_t) { return std::pair<double, int64_t>(0, 0); });
    for (int b = 0; b < 256; ++b) const_cast<unsigned char*>(widened.bytes(1, b))[0] = static_cast<unsigned char>(b);
    widened.run(copy);
    for (int b = 0; b < 256; ++b) {
      ASSERT_TRUE(same(widened.at(0, b), widened.at(1, b), kFloat)) << b;
      const auto v = static_cast<float>(widened.at(0, b).real);
      floats.push_back(v);
      if (!std::isfinite(v)) continue;
      const auto next = static_cast<float>(read(t, widened.bytes(1, b ^ 1)).real);
      const float middle = std::isfinite(next) ? (v + next) / 2 : v * 1.0625f;
      for (const float f :
           {middle, std::nextafter(middle, -HUGE_VALF), std::nextafter(middle, HUGE_VALF), v * 1.03f, -v})
        floats.push_back(f);
    }
    const Geometry g{"", {static_cast<int64_t>(floats.size())}, {{{1}}, {{1}}}};
    Operands narrowed(g, {t, kFloat}, kFloat);
    narrowed.fill(1, [&](int64_t i) { return std::pair<double, int64_t>(floats[static_cast<size_t>(i)], 0); });
    narrowed.run(copy);
    for (int64_t i = 0; i < g.numel(); ++i) {
      const float f = floats[static_cast<size_t>(i)];
      const uint8_t want = t == kFloat8_e4m3fn ? Float8_e4m3fn(f).x : Float8_e5m2(f).x;
      ASSERT_EQ(narrowed.bytes(0, i)[0], want) << f;
    }
  }
}

TEST(Copy, Transposes) {
  struct Matrix {
    int64_t rows, columns, batches;
  };
  for (const ScalarType t : {kByte, kHalf, kFloat, kDouble, kComplexDouble}) {
    for (const Matrix& m : {Matrix{64, 64, 1}, {100, 77, 1}, {16, 300, 1}, {300, 16, 1}, {129, 65, 3}, {33, 40, 7}}) {
      const std::vector<int64_t> sizes = {m.rows, m.columns, m.batches};
      const int64_t pitch = m.columns + 5;
      const Geometry g{"", sizes, {{{1, m.rows + 2, (m.rows + 2) * m.columns}}, {{pitch, 1, pitch * m.rows}, 1}}};
      SCOPED_TRACE(std::to_string(m.rows) + " by " + std::to_string(m.columns) + " of " + to_string(t));
      Operands o(g, {t, t}, t);
      o.fill(1, [](int64_t i) { return std::pair<double, int64_t>(static_cast<double>(i % 2000), i); });
      o.run(copy);
      for (int64_t i = 0; i < g.numel(); ++i)
        ASSERT_EQ(std::memcmp(o.bytes(0, i), o.bytes(1, i), element_size(t)), 0) << i;
    }
  }
}

TEST(Copy, Fills) {
  for (const ScalarType t : kEvery) {
    for (const Scalar& value : {Scalar(0), Scalar(1), Scalar(-3), Scalar(2.75), Scalar(true), Scalar(-1.0),
                                Scalar(int64_t{1} << 40), Scalar(INFINITY)}) {
      for (const int64_t n : {0, 1, 3, 4, 33, 5000}) {
        for (const Layout& layout : {Layout{{1}}, Layout{{1}, 1}, Layout{{3}}}) {
          const Geometry g{"", {n}, {layout}};
          SCOPED_TRACE(str(to_string(t), " with ", value.as_double(), ", ", n, " elements"));
          Operands o(g, {t}, t);
          o.run([&](const Loop& l) { kernels::fill.get(Backend::CUDA)(l, value); });
          Element source;
          source.real = value.isIntegral(true) ? static_cast<long double>(value.as_int()) : value.as_double();
          source.integer = value.as_int();
          const Element want = cast_of(source, value.isIntegral(true) ? kLong : kDouble, t);
          for (int64_t i = 0; i < n; ++i) ASSERT_TRUE(same(o.at(0, i), want, t)) << i;
          if (HasFatalFailure()) return;
        }
      }
    }
  }
  const Geometry g{"", {7}, {{{1}}}};
  Operands o(g, {kComplexFloat}, kComplexFloat);
  o.run([](const Loop& l) { kernels::fill.get(Backend::CUDA)(l, Scalar(complex<double>(1.5, -2))); });
  for (int64_t i = 0; i < 7; ++i) EXPECT_TRUE(o.at(0, i).real == 1.5L && o.at(0, i).imaginary == -2.0L);
}

TEST(Factories, Arange) {
  for (const ScalarType t : {kBool, kByte, kChar, kShort, kInt, kLong, kHalf, kBFloat16, kFloat, kDouble}) {
    for (const int64_t n : {0, 1, 31, 32, 33, 1025}) {
      for (const int64_t offset : {0, 1}) {
        const bool integral = is_integer(t);
        const Scalar start = integral ? Scalar(-3) : Scalar(0.25), step = integral ? Scalar(7) : Scalar(0.1);
        const Geometry g{"", {n}, {{{1}, offset}}};
        Operands o(g, {t}, t);
        o.run([&](const Loop& l) { kernels::arange.get(Backend::CUDA)(l.data[0], n, t, start, step); });
        for (int64_t i = 0; i < n; ++i) {
          unsigned char bytes[16];
          if (integral) {
            write(t, bytes, 0, t == kBool ? -3 + 7 * i != 0 : -3 + 7 * i);
            ASSERT_EQ(o.at(0, i).integer, read(t, bytes).integer) << to_string(t) << " " << i;
          } else {
            ASSERT_TRUE(is_close(t, o.at(0, i).real, 0.25L + 0.1L * i, 1)) << to_string(t) << " " << i;
          }
        }
      }
    }
  }
}

TEST(Factories, Linspace) {
  for (const ScalarType t : {kByte, kChar, kShort, kInt, kLong, kHalf, kBFloat16, kFloat, kDouble}) {
    for (const int64_t n : {0, 1, 2, 3, 5, 33, 1024}) {
      const bool integral = is_integer(t);
      const Geometry g{"", {n}, {{{1}}}};
      Operands o(g, {t}, t);
      const Scalar start = integral ? Scalar(3) : Scalar(-1.5), end = integral ? Scalar(120) : Scalar(2.5);
      o.run([&](const Loop& l) { kernels::linspace.get(Backend::CUDA)(l.data[0], n, t, start, end); });
      for (int64_t i = 0; i < n; ++i) {
        const long double from = integral ? 3 : -1.5L, to = integral ? 120 : 2.5L;
        const long double want = n == 1 ? from : from + (to - from) * i / (n - 1);
        // Both ends exactly.
        ASSERT_TRUE(i != 0 || o.at(0, i).real == from);
        ASSERT_TRUE(i != n - 1 || n == 1 || o.at(0, i).real == to);
        if (integral) {
          ASSERT_LE(std::abs(o.at(0, i).real - std::floor(want + 1e-9L)), 1) << i;
          ASSERT_LE(std::abs(o.at(0, i).real - want), 1 + 1e-9L) << i;
        } else {
          ASSERT_TRUE(is_close(t, o.at(0, i).real, want, 4, 2.5)) << to_string(t) << " " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace gradus::inline v0::kernels::cuda_test
