// For tests of elementwise kernels on the device: operands of any dtype and layout, filled, copied over, computed on
// and compared with plain loops.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <kernels/elementwise.h>

namespace gradus::inline v0::kernels::cuda_test {

/// An element as the reference sees it: floats in `real`, integers and bool in `integer` too.
struct Element {
  long double real = 0, imaginary = 0;
  int64_t integer = 0;
};

inline Element read(ScalarType t, const void* p) {
  Element e;
  const auto integer = [&](auto v) {
    std::memcpy(&v, p, sizeof v);
    e.integer = static_cast<int64_t>(v);
    e.real = static_cast<long double>(v);
  };
  const auto real = [&](auto v) {
    std::memcpy(&v, p, sizeof v);
    if constexpr (std::is_arithmetic_v<decltype(v)>) {
      e.real = v;
    } else {
      e.real = static_cast<float>(v);
    }
  };
  const auto complex_number = [&](auto v) {
    std::memcpy(&v, p, sizeof v);
    e.real = v.re;
    e.imaginary = v.im;
  };
  switch (t) {
    case kBool:
    case kByte:
      integer(uint8_t());
      break;
    case kChar:
      integer(int8_t());
      break;
    case kShort:
      integer(int16_t());
      break;
    case kInt:
      integer(int32_t());
      break;
    case kLong:
      integer(int64_t());
      break;
    case kUInt16:
      integer(uint16_t());
      break;
    case kUInt32:
      integer(uint32_t());
      break;
    case kUInt64:
      integer(uint64_t());
      break;
    case kHalf:
      real(Half());
      break;
    case kBFloat16:
      real(BFloat16());
      break;
    case kFloat:
      real(float());
      break;
    case kDouble:
      real(double());
      break;
    case kFloat8_e4m3fn:
      real(Float8_e4m3fn());
      break;
    case kFloat8_e5m2:
      real(Float8_e5m2());
      break;
    case kComplexFloat:
      complex_number(complex<float>());
      break;
    case kComplexDouble:
      complex_number(complex<double>());
      break;
    default:
      ADD_FAILURE() << "no such dtype";
  }
  return e;
}

/// Writes a float (to a floating or complex dtype) or an integer, which wraps.
inline void write(ScalarType t, void* p, double real, int64_t integer) {
  const auto put = [&](auto v) { std::memcpy(p, &v, sizeof v); };
  switch (t) {
    case kBool:
      return put(static_cast<uint8_t>(integer & 1));
    case kByte:
    case kChar:
      return put(static_cast<uint8_t>(integer));
    case kShort:
    case kUInt16:
      return put(static_cast<uint16_t>(integer));
    case kInt:
    case kUInt32:
      return put(static_cast<uint32_t>(integer));
    case kLong:
    case kUInt64:
      return put(integer);
    case kHalf:
      return put(Half(static_cast<float>(real)));
    case kBFloat16:
      return put(BFloat16(static_cast<float>(real)));
    case kFloat:
      return put(static_cast<float>(real));
    case kDouble:
      return put(real);
    case kFloat8_e4m3fn:
      return put(Float8_e4m3fn(static_cast<float>(real)));
    case kFloat8_e5m2:
      return put(Float8_e5m2(static_cast<float>(real)));
    case kComplexFloat:
      return put(complex<float>(static_cast<float>(real), static_cast<float>(-2 * real)));
    case kComplexDouble:
      return put(complex<double>(real, -2 * real));
    default:
      ADD_FAILURE() << "no such dtype";
  }
}

inline void must(cudaError_t error) {
  ASSERT_EQ(error, cudaSuccess) << cudaGetErrorString(error);
}

/// Memory on the device beside its copy on the host.
class Memory {
 public:
  explicit Memory(size_t bytes) : host(bytes) { must(cudaMalloc(&device_, bytes + 1)); }
  ~Memory() { cudaFree(device_); }
  Memory(const Memory&) = delete;
  char* device() const { return static_cast<char*>(device_); }
  void to_device() const { must(cudaMemcpy(device_, host.data(), host.size(), cudaMemcpyHostToDevice)); }
  void to_host() { must(cudaMemcpy(host.data(), device_, host.size(), cudaMemcpyDeviceToHost)); }
  std::vector<unsigned char> host;

 private:
  void* device_ = nullptr;
};

/// Where the elements of an operand lie: strides, in elements, innermost dimension first, and the first element's
/// place.
struct Layout {
  std::vector<int64_t> strides;
  int64_t offset = 0;
  bool on_host = false;
};
/// An index space and its operands' layouts, the output's first.
struct Geometry {
  std::string name;
  std::vector<int64_t> sizes;
  std::vector<Layout> layouts;
  int64_t numel() const {
    int64_t n = 1;
    for (const int64_t s : sizes) n *= s;
    return n;
  }
};

inline std::vector<int64_t> dense_strides(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides;
  int64_t step = 1;
  for (const int64_t s : sizes) {
    strides.push_back(step);
    step *= s;
  }
  return strides;
}

/// Operands in memory and the Loop over them.
class Operands {
 public:
  /// dtypes[0] is the output's. `dtype` is the Loop's, of the inputs.
  Operands(const Geometry& g, const std::vector<ScalarType>& dtypes, ScalarType dtype) : geometry_(g), dtypes_(dtypes) {
    loop.ndim = static_cast<int>(g.sizes.size());
    loop.operands = static_cast<int>(dtypes.size());
    loop.contiguous = false;
    loop.dtype = dtype;
    loop.out_dtype = dtypes[0];
    loop.on_host = 0;
    loop.numel = g.numel();
    for (size_t k = 0; k < dtypes.size(); ++k) {
      const Layout& l = g.layouts[k];
      const auto item = static_cast<int64_t>(element_size(dtypes[k]));
      int64_t last = l.offset, first = l.offset;  // of the elements, counted from the place without an offset
      for (size_t d = 0; d < g.sizes.size(); ++d) {
        loop.sizes[d] = g.sizes[d];
        loop.strides[d][k] = l.strides[d] * item;
        const int64_t way = g.sizes[d] == 0 ? 0 : (g.sizes[d] - 1) * l.strides[d];
        (way > 0 ? last : first) += way;
      }
      // Elements are left free on both sides; 32 of them keep the alignment.
      start_.push_back(32 - first + 2 * l.offset);
      memory_.push_back(std::make_unique<Memory>(static_cast<size_t>((last - first + l.offset + 40) * item)));
      if (l.on_host) loop.on_host |= static_cast<uint8_t>(1 << k);
      loop.data[k] =
          (l.on_host ? reinterpret_cast<char*>(memory_[k]->host.data()) : memory_[k]->device()) + start_.back() * item;
    }
  }
  /// f(i) gives the i-th element of operand k, counted over the index space: a float and an integer.
  template <class F>
  void fill(size_t k, F f) {
    for (int64_t i = geometry_.numel(); i-- > 0;) {
      const auto [real, integer] = f(i);
      write(dtypes_[k], memory_[k]->host.data() + place(k, i), real, integer);
    }
  }
  /// Copies the operands over, calls, and copies the output back, of which only what is in the layout may have changed.
  void run(const std::function<void(const Loop&)>& call) {
    for (size_t k = 0; k < memory_.size(); ++k) {
      if (k == 0) std::fill(memory_[0]->host.begin(), memory_[0]->host.end(), static_cast<unsigned char>(0xa5));
      memory_[k]->to_device();
    }
    call(loop);
    must(cudaDeviceSynchronize());
    memory_[0]->to_host();
    std::vector<bool> written(memory_[0]->host.size());
    for (int64_t i = 0; i < geometry_.numel(); ++i) {
      const size_t at = place(0, i);
      for (size_t b = 0; b < element_size(dtypes_[0]); ++b) written[at + b] = true;
    }
    for (size_t b = 0; b < written.size(); ++b)
      ASSERT_TRUE(written[b] || memory_[0]->host[b] == 0xa5) << "a byte beside the output was written: " << b;
  }
  Element at(size_t k, int64_t i) const { return read(dtypes_[k], memory_[k]->host.data() + place(k, i)); }
  const unsigned char* bytes(size_t k, int64_t i) const { return memory_[k]->host.data() + place(k, i); }

  Loop loop;

 private:
  size_t place(size_t k, int64_t i) const {
    int64_t at = start_[k];
    for (size_t d = 0; d < geometry_.sizes.size(); ++d) {
      at += i % geometry_.sizes[d] * geometry_.layouts[k].strides[d];
      i /= geometry_.sizes[d];
    }
    return static_cast<size_t>(at) * element_size(dtypes_[k]);
  }
  const Geometry& geometry_;
  std::vector<ScalarType> dtypes_;
  std::vector<int64_t> start_;
  std::vector<std::unique_ptr<Memory>> memory_;
};

/// A floating dtype's distance from 1 to the next number.
inline double epsilon(ScalarType t) {
  return t == kDouble ? 0x1p-52 : t == kFloat ? 0x1p-23 : t == kHalf ? 0x1p-10 : 0x1p-7;
}
/// The largest finite number and the smallest subnormal one.
inline long double largest(ScalarType t) {
  return t == kDouble  ? std::numeric_limits<double>::max()
         : t == kHalf  ? 65504.0L
         : t == kFloat ? std::numeric_limits<float>::max()
                       : 0x1.fep127L;
}
inline long double smallest(ScalarType t) {
  return t == kDouble ? 0x1p-1074L : t == kFloat ? 0x1p-149L : t == kHalf ? 0x1p-24L : 0x1p-133L;
}

/// Whether `got` is `want`, computed in float or double with an error of up to `ulps` of that type relative to the
/// larger of |want| and `floor`, and then rounded to t.
inline bool is_close(ScalarType t, long double got, long double want, double ulps, double floor = 0) {
  if (std::isnan(want)) return std::isnan(got);
  if (got == want) return true;
  const long double half_step = epsilon(t) * 0.5L * std::max(std::abs(want), 0.0L) + smallest(t);
  const double computing = t == kDouble ? 0x1p-53 : 0x1p-24;
  const long double bound = half_step + 2 * ulps * computing * std::max<long double>(std::abs(want), floor);
  if (std::isinf(got)) {
    // Infinite, or within an error of it.
    return got > 0 ? want + bound >= largest(t) : want - bound <= -largest(t);
  }
  if (std::isinf(want)) return false;
  if (std::abs(want) > largest(t))
    return std::abs(got) >= largest(t) * 0.999L && std::signbit(got) == std::signbit(want);
  return std::abs(got - want) <= bound;
}

}  // namespace gradus::inline v0::kernels::cuda_test
