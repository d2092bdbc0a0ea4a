#include <kernels/table.h>

namespace gradus::inline v0::kernels {

void no_kernel(const char* kernel, Backend backend) {
  static constexpr const char* kNames[] = {
      "cpu",        "cuda",        "meta",        "quantized cpu", "quantized cuda",
      "sparse cpu", "sparse cuda", "privateuse1", "privateuse2",   "privateuse3"};
  const char* name = kNames[static_cast<int>(backend)];
  if (backend == Backend::CUDA) {
    throw NotImplementedError(
        str(kernel, ": there is no cuda kernel: this build is without CUDA. Move the tensors with .cpu()"));
  }
  throw NotImplementedError(
      str(kernel, ": there is no ", name, " kernel; move the tensors to the cpu, or register one for this backend"));
}

}  // namespace gradus::inline v0::kernels
