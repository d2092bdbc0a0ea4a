// Visibility, branch hints and the versioned namespace every public header lives in.
#pragma once

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "Gradus needs C++17 or newer: compile with -std=c++17"
#endif

#if defined(_GLIBCXX_RELEASE) && defined(_GLIBCXX_USE_CXX11_ABI) && !_GLIBCXX_USE_CXX11_ABI
#error "Gradus uses libstdc++'s C++11 string ABI: remove -D_GLIBCXX_USE_CXX11_ABI=0"
#endif

#if defined(_WIN32)
#define GRADUS_API
#else
#define GRADUS_API __attribute__((visibility("default")))
#endif

#define GRADUS_LIKELY(x) __builtin_expect(static_cast<bool>(x), 1)
#define GRADUS_UNLIKELY(x) __builtin_expect(static_cast<bool>(x), 0)

// Every sub-namespace is declared here once, inside the inline version namespace. A later `namespace gradus::nn {`
// (a user's, or `namespace torch { namespace nn {` through include/compat) then extends these instead of making twins.
namespace gradus {
inline namespace v0 {
namespace autograd {}
namespace cuda {}
namespace data {
namespace datasets {}
namespace samplers {}
namespace transforms {}
}  // namespace data
namespace detail {}
namespace enumtype {}
namespace fft {}
namespace indexing {}
namespace kernels {}
namespace linalg {}
namespace nn {
namespace functional {}
namespace init {}
namespace modules {}
namespace utils {}
}  // namespace nn
namespace ops {}
namespace optim {}
namespace serialize {}
namespace special {}
}  // namespace v0
}  // namespace gradus
