// The one door to the device: every kernel is launched here, on the calling thread's current device and stream.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include <gradus/core/macros.h>

#include "kernels/cuda/device.h"
#include "kernels/table.h"

namespace gradus::inline v0::kernels {
struct IndexPlan;
struct Loop;
}  // namespace gradus::inline v0::kernels

namespace gradus::inline v0::kernels::cuda {

constexpr int kWarp = 32;

/// Where this thread's kernels run.
struct Context {
  cudaStream_t stream;
  int device;
  int multiprocessors;
  int threads_per_multiprocessor;
  int max_shared;  // bytes a block may ask for
};
/// Of the current device and its current stream. Implemented in src/cuda/runtime.
const Context& context();

/// Throws an Error with CUDA's text: what was called, by which operator, on which device, for a kernel how it was
/// launched; OutOfMemoryError for that. `what` names the call or the kernel. Inside of a kernel table's slot the
/// operands are added (CudaSlot).
[[noreturn]] void fail(cudaError_t error, const char* what, const cudaLaunchConfig_t* launch = nullptr);
inline void check(cudaError_t error, const char* what, const cudaLaunchConfig_t* launch = nullptr) {
  if (error != cudaSuccess) [[unlikely]]
    fail(error, what, launch);
}
/// After every launch: with GRADUS_CUDA_SYNC=1, waits for the kernel and reports its errors.
void launched(const Context& c, const char* kernel, const cudaLaunchConfig_t* launch = nullptr);

/// Runs kernel(args...) on `grid` blocks of `block` threads with `shared` bytes of dynamic shared memory. An empty grid
/// launches nothing. `name` is the kernel's, for errors.
template <class... P, class... A>
void launch(const char* name, void (*kernel)(P...), dim3 grid, dim3 block, size_t shared, A... args) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
  const Context& c = context();
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared;
  config.stream = c.stream;
  if (shared > 48 * 1024) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)), name,
          &config);
  }
  check(cudaLaunchKernelEx(&config, kernel, static_cast<P>(args)...), name, &config);
  launched(c, name, &config);
}

/// Blocks for a grid-stride loop over `work` items, one thread for each: enough to fill the device, `waves` times over.
inline unsigned blocks_for(int64_t work, int threads, int waves = 8) {
  const Context& c = context();
  const int64_t needed = (work + threads - 1) / threads;
  const int64_t full =
      static_cast<int64_t>(c.multiprocessors) * std::max(1, c.threads_per_multiprocessor / threads) * waves;
  return static_cast<unsigned>(std::min<int64_t>({needed, full, INT32_MAX}));
}
constexpr int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

/// One argument of a slot, as an error's text shows it; nothing of those that have no elements.
struct ShownOperand {
  void (*append)(std::string& text, const void* operand) = nullptr;
  const void* operand = nullptr;

  template <class T>
  explicit ShownOperand(const T&) {}
  explicit ShownOperand(const ConstView& v);
  explicit ShownOperand(const View& v);
  explicit ShownOperand(const Loop& l);
  explicit ShownOperand(const IndexPlan& p);
};
/// In a handler: throws the exception again, with the operands' dtypes and sizes if it is CUDA's or a lack of memory.
[[noreturn]] void rethrow_with_operands(const char* table, const ShownOperand* operands, size_t count);

/// What stands in a table's CUDA slot: the function, and the handler, which costs nothing where nothing is thrown.
template <class Function>
struct CudaSlot;
template <class R, class... A>
struct CudaSlot<R(A...)> {
  template <const auto& table, R (*function)(A...)>
  static R call(A... args) {
    try {
      return function(static_cast<A>(args)...);
    } catch (...) {
      const ShownOperand operands[] = {ShownOperand(args)...};
      rethrow_with_operands(table.name(), operands, sizeof...(A));
    }
  }
};

/// Puts a function into a table's CUDA slot when the CUDA library is loaded: GRADUS_CUDA_KERNEL(softmax_forward,
/// forward)
#define GRADUS_CUDA_KERNEL(table, function)                                                        \
  namespace {                                                                                      \
  [[maybe_unused]] const bool gradus_registered_##table =                                          \
      (::gradus::kernels::table.set(                                                               \
           ::gradus::kernels::Backend::CUDA,                                                       \
           &::gradus::kernels::cuda::CudaSlot<decltype(::gradus::kernels::table)::Function>::call< \
               ::gradus::kernels::table, &function>),                                              \
       true);                                                                                      \
  }

}  // namespace gradus::inline v0::kernels::cuda
