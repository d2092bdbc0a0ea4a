#include "kernels/cpu/random_sink.h"

#include <algorithm>

namespace gradus::inline v0::kernels {

namespace {
template <class T, class V>
T cast(V v) {
  if constexpr (std::is_same_v<V, uint8_t>) {
    return v != 0 ? T(1) : T(0);  // no number but these two, and no conversion in the loop
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return T(static_cast<float>(v));
  } else if constexpr (std::is_same_v<V, double> && std::is_integral_v<T>) {
    return static_cast<T>(static_cast<int64_t>(v));
  } else {
    return static_cast<T>(v);
  }
}
}  // namespace

template <class T, class V>
void RandomSink::store(const V* values, int64_t n) {
  left_ -= n;
  const int64_t length = order_.size[0], stride = order_.stride[0][0];
  while (n > 0) {
    T* p = static_cast<T*>(data_) + offset_ + position_[0] * stride;
    const int64_t m = std::min(n, length - position_[0]);
    if (stride == 1) {
      for (int64_t i = 0; i < m; ++i) p[i] = cast<T>(values[i]);
    } else {
      for (int64_t i = 0; i < m; ++i) p[i * stride] = cast<T>(values[i]);
    }
    values += m;
    n -= m;
    position_[0] += m;
    if (position_[0] < length) return;
    position_[0] = 0;
    for (int d = 1; d < order_.ndim; ++d) {
      offset_ += order_.stride[0][d];
      if (++position_[d] < order_.size[d]) break;
      offset_ -= order_.stride[0][d] * order_.size[d];
      position_[d] = 0;
    }
  }
}

template <class V>
void RandomSink::store_by_type(const V* values, int64_t n) {
  switch (dtype_) {
    case ScalarType::Float:
      return store<float>(values, n);
    case ScalarType::Double:
      return store<double>(values, n);
    case ScalarType::Half:
      return store<Half>(values, n);
    case ScalarType::BFloat16:
      return store<BFloat16>(values, n);
    default:
      break;
  }
  if constexpr (!std::is_same_v<V, float>) {
    switch (dtype_) {
      case ScalarType::Bool:
        return store<bool>(values, n);
      case ScalarType::Byte:
        return store<uint8_t>(values, n);
      case ScalarType::Char:
        return store<int8_t>(values, n);
      case ScalarType::Short:
        return store<int16_t>(values, n);
      case ScalarType::Int:
        return store<int32_t>(values, n);
      case ScalarType::Long:
        return store<int64_t>(values, n);
      case ScalarType::UInt16:
        return store<uint16_t>(values, n);
      case ScalarType::UInt32:
        return store<uint32_t>(values, n);
      default:
        return store<uint64_t>(values, n);
    }
  }
}

void RandomSink::put(const float* values, int64_t n) {
  store_by_type(values, n);
}
void RandomSink::put(const double* values, int64_t n) {
  store_by_type(values, n);
}
void RandomSink::put(const int64_t* values, int64_t n) {
  store_by_type(values, n);
}
void RandomSink::put(const uint8_t* values, int64_t n) {
  store_by_type(values, n);
}

}  // namespace gradus::inline v0::kernels
