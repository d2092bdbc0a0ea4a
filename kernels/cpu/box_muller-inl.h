// Normal numbers in blocks of 16, from 16 uniform ones. Included once per target: no include guard.
#include <cmath>

HWY_BEFORE_NAMESPACE();
namespace gradus::inline v0::kernels::HWY_NAMESPACE {

// Note [Normal blocks]: Box and Muller turn two uniform numbers u, v into two normal ones,
//   sqrt(-2 log(1 - u)) * {cos, sin}(2 pi v).
// In a block u are the first 8 numbers and become the cosines, v the last 8 and become the sines. PyTorch's values for
// float come from the Cephes library's polynomials, so these are used here, with each rounding where PyTorch has it:
// the results are the same bits on a processor with fused multiply-add. Maximum errors over all 2^24 arguments: the
// logarithm's 0.82 ULP, sine's and cosine's 7.8e-8.

namespace hn = hwy::HWY_NAMESPACE;

/// log(x) for x in (0, 1].
template <class D, class V = hn::Vec<D>>
HWY_INLINE V CephesLog(D d, V x) {
  const hn::RebindToSigned<D> di;
  const auto c = [d](float v) { return hn::Set(d, v); };
  const auto bits = hn::BitCast(di, x);
  auto exponent = hn::ConvertTo(d, hn::Sub(hn::ShiftRight<23>(bits), hn::Set(di, 126)));
  auto m = hn::BitCast(d, hn::Or(hn::And(bits, hn::Set(di, 0x007fffff)), hn::Set(di, 0x3f000000)));
  const auto small = hn::Lt(m, c(0.707106781186547524f));
  exponent = hn::Sub(exponent, hn::IfThenElseZero(small, c(1.0f)));
  m = hn::Add(hn::Sub(m, c(1.0f)), hn::IfThenElseZero(small, m));
  const auto square = hn::Mul(m, m);
  V y = c(7.0376836292e-2f);
  for (const float k : {-1.1514610310e-1f, 1.1676998740e-1f, -1.2420140846e-1f, 1.4249322787e-1f, -1.6668057665e-1f,
                        2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f}) {
    y = hn::MulAdd(y, m, c(k));
  }
  y = hn::MulAdd(hn::Mul(y, m), square, hn::Mul(exponent, c(-2.12194440e-4f)));
  y = hn::NegMulAdd(square, c(0.5f), y);
  return hn::MulAdd(exponent, c(0.693359375f), hn::Add(m, y));
}

/// sin(x) and cos(x) for x in [0, 2 pi].
template <class D, class V = hn::Vec<D>>
HWY_INLINE void CephesSinCos(D d, V x, V& sine, V& cosine) {
  const hn::RebindToSigned<D> di;
  const auto c = [d](float v) { return hn::Set(d, v); };
  const auto ci = [di](int v) { return hn::Set(di, v); };
  // The nearest even multiple of pi/4 is taken off, in three parts for precision.
  const auto octant = hn::And(hn::Add(hn::ConvertTo(di, hn::Mul(x, c(1.27323954473516f))), ci(1)), ci(~1));
  const auto k = hn::ConvertTo(d, octant);
  x = hn::MulAdd(k, c(-0.78515625f), x);
  x = hn::MulAdd(k, c(-2.4187564849853515625e-4f), x);
  x = hn::MulAdd(k, c(-3.77489497744594108e-8f), x);
  const auto square = hn::Mul(x, x);
  V even = hn::MulAdd(c(2.443315711809948e-5f), square, c(-1.388731625493765e-3f));
  even = hn::MulAdd(even, square, c(4.166664568298827e-2f));
  even = hn::MulSub(hn::Mul(even, square), square, hn::Mul(square, c(0.5f)));
  even = hn::Add(even, c(1.0f));
  V odd = hn::MulAdd(c(-1.9515295891e-4f), square, c(8.3321608736e-3f));
  odd = hn::MulAdd(odd, square, c(-1.6666654611e-1f));
  odd = hn::MulAdd(hn::Mul(odd, square), x, x);
  const auto straight = hn::Eq(hn::BitCast(d, hn::And(octant, ci(2))), hn::Zero(d));
  const auto sine_sign = hn::BitCast(d, hn::ShiftLeft<29>(hn::And(octant, ci(4))));
  const auto cosine_sign = hn::BitCast(d, hn::ShiftLeft<29>(hn::AndNot(hn::Sub(octant, ci(2)), ci(4))));
  sine = hn::Xor(hn::IfThenElse(straight, odd, even), sine_sign);
  cosine = hn::Xor(hn::IfThenElse(straight, even, odd), cosine_sign);
}

/// Blocks of 16 floats in place.
inline void BoxMuller(float* data, int64_t blocks, float mean, float std) {
  const hn::CappedTag<float, 8> d;
  const auto mean_v = hn::Set(d, mean), std_v = hn::Set(d, std);
  for (float* end = data + blocks * 16; data != end; data += 16) {
    for (size_t i = 0; i < 8; i += hn::Lanes(d)) {
      const auto u = hn::Sub(hn::Set(d, 1.0f), hn::LoadU(d, data + i));
      const auto theta = hn::Mul(hn::Set(d, 6.283185307179586f), hn::LoadU(d, data + i + 8));
      const auto radius = hn::Sqrt(hn::Mul(hn::Set(d, -2.0f), CephesLog(d, u)));
      hn::Vec<decltype(d)> sine, cosine;
      CephesSinCos(d, theta, sine, cosine);
      hn::StoreU(hn::MulAdd(hn::Mul(radius, cosine), std_v, mean_v), d, data + i);
      hn::StoreU(hn::MulAdd(hn::Mul(radius, sine), std_v, mean_v), d, data + i + 8);
    }
  }
}

/// Blocks of 16 doubles in place: the C library's functions, as PyTorch.
inline void BoxMuller(double* data, int64_t blocks, double mean, double std) {
  for (double* end = data + blocks * 16; data != end; data += 16) {
    for (int i = 0; i < 8; ++i) {
      const double radius = std::sqrt(-2 * std::log(1 - data[i]));
      const double theta = 6.283185307179586 * data[i + 8];
      data[i] = std::fma(radius * std::cos(theta), std, mean);
      data[i + 8] = std::fma(radius * std::sin(theta), std, mean);
    }
  }
}

}  // namespace gradus::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
