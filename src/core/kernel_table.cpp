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

void detail::check_memory(const char* kernel, const ConstView& v) {
  int64_t elements = v.sizes == nullptr ? 0 : 1;  // no sizes: the operand is absent
  for (int d = 0; d < v.ndim; ++d) elements *= v.sizes[d];
  GRADUS_CHECK(elements == 0, kernel,
               ": a tensor without memory (on meta) was given together with others; expected all ",
               "on the same device");
}

}  // namespace gradus::inline v0::kernels
