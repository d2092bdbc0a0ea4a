// libtorch's macros.
#pragma once

#include <torch/detail/context.h>
#include <torch/detail/names.h>

// The release of libtorch whose C++ API is followed.
#define TORCH_VERSION_MAJOR 2
#define TORCH_VERSION_MINOR 1
#define TORCH_VERSION_PATCH 0
#define TORCH_VERSION "2.1.0"

#define TORCH_API
#define TORCH_CUDA_CPP_API
#define C10_API
#define C10_EXPORT
#define C10_HOST_DEVICE
#define C10_NODISCARD [[nodiscard]]
#define C10_UNUSED [[maybe_unused]]
#define C10_LIKELY(expression) GRADUS_LIKELY(expression)
#define C10_UNLIKELY(expression) GRADUS_UNLIKELY(expression)
#define C10_ALWAYS_INLINE __attribute__((always_inline)) inline
#define C10_NOINLINE __attribute__((noinline))
#define C10_CONCATENATE_IMPL(a, b) a##b
#define C10_CONCATENATE(a, b) C10_CONCATENATE_IMPL(a, b)

#define TORCH_MODULE(Name) GRADUS_MODULE(Name)
#define TORCH_MODULE_IMPL(Name, ImplType) GRADUS_MODULE_IMPL(Name, ImplType)
#define TORCH_ARG(T, name) GRADUS_ARG(T, name)
#define TORCH_LIBRARY(ns, m) GRADUS_LIBRARY(ns, m)

#define TORCH_CHECK_WITH(ErrorType, condition, ...)                           \
  do {                                                                        \
    if (GRADUS_UNLIKELY(!(condition))) {                                      \
      ::gradus::compat::fail<::gradus::ErrorType>(#condition, ##__VA_ARGS__); \
    }                                                                         \
  } while (false)
#define TORCH_CHECK(condition, ...) TORCH_CHECK_WITH(Error, condition, ##__VA_ARGS__)
#define TORCH_CHECK_INDEX(condition, ...) TORCH_CHECK_WITH(IndexError, condition, ##__VA_ARGS__)
#define TORCH_CHECK_VALUE(condition, ...) TORCH_CHECK_WITH(ValueError, condition, ##__VA_ARGS__)
#define TORCH_CHECK_TYPE(condition, ...) TORCH_CHECK_WITH(TypeError, condition, ##__VA_ARGS__)
#define TORCH_CHECK_LINALG(condition, ...) TORCH_CHECK_WITH(LinAlgError, condition, ##__VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(condition, ...) TORCH_CHECK_WITH(NotImplementedError, condition, ##__VA_ARGS__)
#define TORCH_INTERNAL_ASSERT(condition, ...) TORCH_CHECK_WITH(Error, condition, ##__VA_ARGS__)
#ifdef NDEBUG
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(condition, ...) \
  do {                                                   \
    (void)sizeof(!(condition));                          \
  } while (false)
#else
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(condition, ...) TORCH_INTERNAL_ASSERT(condition, ##__VA_ARGS__)
#endif
#define AT_ASSERT(condition) TORCH_INTERNAL_ASSERT(condition)
#define AT_ASSERTM(condition, ...) TORCH_CHECK(condition, __VA_ARGS__)
#define AT_ERROR(...) ::gradus::compat::fail<::gradus::Error>("", __VA_ARGS__)
#define C10_THROW_ERROR(ErrorType, message) throw ::gradus::ErrorType(message)

#define TORCH_WARN(...) ::gradus::warn(::gradus::compat::text(__VA_ARGS__))
#define TORCH_WARN_ONCE(...)                                                     \
  do {                                                                           \
    [[maybe_unused]] static const bool warned = (TORCH_WARN(__VA_ARGS__), true); \
  } while (false)

// One body for several element types: scalar_t is the C++ type of the case that is taken.
#define AT_DISPATCH_CASE(SCALAR_TYPE, ...)                                          \
  case SCALAR_TYPE: {                                                               \
    using scalar_t [[maybe_unused]] = ::gradus::compat::CppType<SCALAR_TYPE>::type; \
    return __VA_ARGS__();                                                           \
  }
#define AT_DISPATCH_SWITCH(TYPE, NAME, ...)                                                 \
  [&] {                                                                                     \
    const ::gradus::ScalarType dispatch_type = TYPE;                                        \
    switch (dispatch_type) {                                                                \
      __VA_ARGS__                                                                           \
      default:                                                                              \
        throw ::gradus::NotImplementedError(std::string(NAME) + ": not implemented for '" + \
                                            ::gradus::to_string(dispatch_type) + "'");      \
    }                                                                                       \
  }()
#define AT_DISPATCH_CASE_FLOATING_TYPES(...)                  \
  AT_DISPATCH_CASE(::gradus::ScalarType::Double, __VA_ARGS__) \
  AT_DISPATCH_CASE(::gradus::ScalarType::Float, __VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...)                \
  AT_DISPATCH_CASE(::gradus::ScalarType::Byte, __VA_ARGS__) \
  AT_DISPATCH_CASE(::gradus::ScalarType::Char, __VA_ARGS__) \
  AT_DISPATCH_CASE(::gradus::ScalarType::Int, __VA_ARGS__)  \
  AT_DISPATCH_CASE(::gradus::ScalarType::Long, __VA_ARGS__) \
  AT_DISPATCH_CASE(::gradus::ScalarType::Short, __VA_ARGS__)
#define AT_DISPATCH_CASE_COMPLEX_TYPES(...)                          \
  AT_DISPATCH_CASE(::gradus::ScalarType::ComplexDouble, __VA_ARGS__) \
  AT_DISPATCH_CASE(::gradus::ScalarType::ComplexFloat, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES(...) \
  AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(TYPE, NAME, ...) \
  AT_DISPATCH_FLOATING_TYPES_AND(::gradus::ScalarType::Half, TYPE, NAME, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND(A, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND2(A, B, TYPE, NAME, ...)                                     \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                                                   \
                     AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__) \
                         AT_DISPATCH_CASE(B, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                \
                     AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(TYPE, NAME, ...) AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND(A, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND2(A, B, TYPE, NAME, ...)                                     \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                                              \
                     AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__) \
                         AT_DISPATCH_CASE(B, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND3(A, B, C, TYPE, NAME, ...)                                  \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                                              \
                     AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__) \
                         AT_DISPATCH_CASE(B, __VA_ARGS__) AT_DISPATCH_CASE(C, __VA_ARGS__))
