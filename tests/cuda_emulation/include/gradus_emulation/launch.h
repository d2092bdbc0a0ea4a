// Launches: a kernel is a function and its arguments, copied when it is launched.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include "gradus_emulation/runtime.h"

namespace gradus_emulation {

using AnyFunction = void (*)();
/// Calls a kernel with the arguments of a tuple whose type the function knows.
using Invoke = void (*)(AnyFunction kernel, const void* arguments);

GRADUS_EMULATION_API cudaError_t launch(const cudaLaunchConfig_t* config, AnyFunction kernel, Invoke invoke,
                                        const void* arguments, size_t size);

template <class... P>
struct Kernel {
  using Arguments = std::tuple<P...>;
  static_assert((std::is_trivially_copyable_v<P> && ...), "arguments of a kernel are copied as bytes");
  static_assert((sizeof(P) + ... + 0) <= 32764, "the arguments of a kernel are at most 32,764 bytes");
  static void invoke(AnyFunction kernel, const void* arguments) {
    call(reinterpret_cast<void (*)(P...)>(kernel), *static_cast<const Arguments*>(arguments),
         std::index_sequence_for<P...>());
  }

 private:
  template <size_t... I>
  static void call(void (*kernel)(P...), [[maybe_unused]] const Arguments& arguments, std::index_sequence<I...>) {
    kernel(std::get<I>(arguments)...);
  }
};

}  // namespace gradus_emulation

template <class... P, class... A>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(P...), A&&... arguments) {
  using Kernel = ::gradus_emulation::Kernel<P...>;
  const typename Kernel::Arguments packed(static_cast<P>(std::forward<A>(arguments))...);
  return ::gradus_emulation::launch(config, reinterpret_cast<::gradus_emulation::AnyFunction>(kernel), &Kernel::invoke,
                                    &packed, sizeof packed);
}

template <class... P>
cudaError_t cudaFuncSetAttribute(void (*kernel)(P...), cudaFuncAttribute attribute, int value) {
  return cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), attribute, value);
}
template <class... P>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, void (*kernel)(P...)) {
  return cudaFuncGetAttributes(attributes, reinterpret_cast<const void*>(kernel));
}
template <class... P>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void (*kernel)(P...), int threads,
                                                          size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, reinterpret_cast<const void*>(kernel), threads, shared);
}
