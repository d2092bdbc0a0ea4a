// What random operators share: the generator, its lock, the tensor as a kernel sees it.
#pragma once

#include <mutex>
#include <optional>

#include <kernels/random.h>

#include <gradus/core/small_vector.h>
#include <gradus/core/tensor.h>

namespace gradus::inline v0::ops {

/// The generator a call draws from, held for as long as it draws: the one given, else the thread's default one.
class RandomSource {
 public:
  RandomSource(const char* op, const std::optional<Generator>& given, Device device)
      : generator_(given && given->defined() ? *given : default_generator(device)), lock_(generator_.mutex()) {
    GRADUS_CHECK(generator_.device().type() == device.type(), op, ": the generator is on ", generator_.device(),
                 ", the tensor on ", device, "; expected both on the same kind of device");
  }
  GeneratorImpl& operator*() const { return *generator_.unsafeGetGeneratorImpl(); }

 private:
  Generator generator_;
  std::lock_guard<std::mutex> lock_;
};

inline kernels::View view_of(const Tensor& t) {
  return {t.data_ptr(), t.sizes().data(), t.strides().data(), static_cast<int>(t.dim()), t.scalar_type(), t.device()};
}

/// fill(device, view, generator) unless there is nothing to fill.
template <class Fill>
void draw_into(const char* op, const Tensor& out, const std::optional<Generator>& generator, Fill&& fill) {
  if (out.is_meta() || out.numel() == 0) return;
  const RandomSource source(op, generator, out.device());
  if (!out.is_complex()) return fill(out.device(), view_of(out), *source);
  // A complex tensor as a real one with a last dimension of two.
  DimVector sizes(out.sizes()), strides(out.strides());
  for (int64_t& s : strides) s *= 2;
  sizes.push_back(2);
  strides.push_back(1);
  fill(out.device(),
       kernels::View{out.data_ptr(), sizes.data(), strides.data(), static_cast<int>(sizes.size()),
                     to_real(out.scalar_type()), out.device()},
       *source);
}

}  // namespace gradus::inline v0::ops
