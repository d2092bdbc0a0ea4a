// Copies that change the dtype.
#pragma once

#include <kernels/elementwise.h>
#include <kernels/visit.h>

namespace gradus::inline v0::kernels::cuda {

/// out_dtype(a), for any two dtypes that visit_stored knows.
void cast(const Loop& l);

/// Calls f with the type of any dtype that tensors hold and casts know.
template <class F>
decltype(auto) visit_stored(ScalarType t, F&& f) {
  switch (t) {
    case ScalarType::UInt16:
      return f.template operator()<uint16_t>();
    case ScalarType::UInt32:
      return f.template operator()<uint32_t>();
    case ScalarType::UInt64:
      return f.template operator()<uint64_t>();
    case ScalarType::ComplexFloat:
      return f.template operator()<complex<float>>();
    case ScalarType::ComplexDouble:
      return f.template operator()<complex<double>>();
    case ScalarType::Float8_e4m3fn:
      return f.template operator()<Float8_e4m3fn>();
    case ScalarType::Float8_e5m2:
      return f.template operator()<Float8_e5m2>();
    default:
      return visit_all(t, static_cast<F&&>(f));
  }
}

}  // namespace gradus::inline v0::kernels::cuda
