// at::globalContext(): libtorch's object for the process's switches. Each member is Gradus' function of the same meaning.
#pragma once

#include <torch/detail/names.h>

namespace gradus {
inline namespace v0 {

class Context {
 public:
  bool deterministicAlgorithms() const { return are_deterministic_algorithms_enabled(); }
  bool deterministicAlgorithmsWarnOnly() const { return is_deterministic_algorithms_warn_only_enabled(); }
  void setDeterministicAlgorithms(bool mode, bool warn_only) { use_deterministic_algorithms(mode, warn_only); }
  bool deterministicFillUninitializedMemory() const { return get_fill_uninitialized_memory(); }
  void setDeterministicFillUninitializedMemory(bool fill) { set_fill_uninitialized_memory(fill); }
  static void alertNotDeterministic(std::string_view caller) { alert_not_deterministic(caller); }

  bool userEnabledCuDNN() const { return cuda::get_cudnn_enabled(); }
  void setUserEnabledCuDNN(bool enabled) { cuda::set_cudnn_enabled(enabled); }
  bool benchmarkCuDNN() const { return cuda::get_cudnn_benchmark(); }
  void setBenchmarkCuDNN(bool benchmark) { cuda::set_cudnn_benchmark(benchmark); }
  int benchmarkLimitCuDNN() const { return cuda::get_cudnn_benchmark_limit(); }
  void setBenchmarkLimitCuDNN(int limit) { cuda::set_cudnn_benchmark_limit(limit); }
  bool deterministicCuDNN() const { return cuda::get_cudnn_deterministic(); }
  void setDeterministicCuDNN(bool deterministic) { cuda::set_cudnn_deterministic(deterministic); }
  bool allowTF32CuDNN() const { return cuda::get_cudnn_allow_tf32(); }
  void setAllowTF32CuDNN(bool allow) { cuda::set_cudnn_allow_tf32(allow); }
  bool allowTF32CuBLAS() const { return cuda::get_matmul_allow_tf32(); }
  void setAllowTF32CuBLAS(bool allow) { cuda::set_matmul_allow_tf32(allow); }
  bool allowFP16ReductionCuBLAS() const { return cuda::get_matmul_allow_fp16_reduction(); }
  void setAllowFP16ReductionCuBLAS(bool allow) { cuda::set_matmul_allow_fp16_reduction(allow); }
  bool allowBF16ReductionCuBLAS() const { return cuda::get_matmul_allow_bf16_reduction(); }
  void setAllowBF16ReductionCuBLAS(bool allow) { cuda::set_matmul_allow_bf16_reduction(allow); }

  const Generator& defaultGenerator(Device device) const { return default_generator(device); }
  static bool hasCUDA() { return cuda::is_available(); }
};

inline Context& globalContext() {
  static Context context;
  return context;
}
inline bool hasCUDA() {
  return Context::hasCUDA();
}

}  // namespace v0
}  // namespace gradus
