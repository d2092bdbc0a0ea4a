// Optimizer steps. Moments decay towards zero: subnormals, which are a hundred times slower, are flushed.
#include <kernels/optimizer.h>

#include <cmath>

#include <kernels/cpu/denormals.h>
#include <kernels/parallel.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/optimizer.cpp"
#include "kernels/cpu/simd.h"

#include "kernels/cpu/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gradus::inline v0::kernels::HWY_NAMESPACE {

/// What gradients are multiplied by: their sign, and the loss's scale is undone.
template <class C, class Step>
C gradient_factor(const Step& s) {
  const C sign = s.maximize ? C(-1) : C(1);
  return s.grad_scale == nullptr ? sign : sign / static_cast<C>(*s.grad_scale);
}
template <class Step>
bool is_skipped(const Step& s) {
  return s.found_inf != nullptr && *s.found_inf != 0;
}

template <class T, bool kAmsgrad>
void adam_range(const AdamTensor& t, const AdamStep& s, int64_t begin, int64_t end) {
  using C = Compute<T>;
  const double correction1 = 1 - std::pow(s.beta1, static_cast<double>(t.step));
  const double correction2 = 1 - std::pow(s.beta2, static_cast<double>(t.step));
  const auto step_size = static_cast<C>(s.lr / correction1), inv_root = static_cast<C>(1 / std::sqrt(correction2));
  const auto one_minus_beta1 = static_cast<C>(1 - s.beta1), beta2 = static_cast<C>(s.beta2),
             one_minus_beta2 = static_cast<C>(1 - s.beta2);
  const auto eps = static_cast<C>(s.eps), factor = gradient_factor<C>(s);
  const auto decay = static_cast<C>(s.decoupled ? 0 : s.weight_decay),
             keep = static_cast<C>(s.decoupled ? 1 - s.lr * s.weight_decay : 1);
  auto* param = static_cast<T*>(t.param);
  auto* grad = static_cast<const T*>(t.grad);
  auto *m = static_cast<T*>(t.exp_avg), *v = static_cast<T*>(t.exp_avg_sq),
       *highest = static_cast<T*>(t.max_exp_avg_sq);
#pragma GCC ivdep
  for (int64_t i = begin; i < end; ++i) {
    const C p = static_cast<C>(param[i]) * keep;
    const C g = factor * static_cast<C>(grad[i]) + decay * p;
    const C m_old = static_cast<C>(m[i]);
    const C m_new = m_old + one_minus_beta1 * (g - m_old);
    const C v_new = beta2 * static_cast<C>(v[i]) + one_minus_beta2 * g * g;
    m[i] = static_cast<T>(m_new);
    v[i] = static_cast<T>(v_new);
    C second = v_new;
    if constexpr (kAmsgrad) {
      const C before = static_cast<C>(highest[i]);
      second = before > v_new ? before : v_new;
      highest[i] = static_cast<T>(second);
    }
    param[i] = static_cast<T>(p - step_size * m_new / (std::sqrt(second) * inv_root + eps));
  }
}

template <class T>
void sgd_range(const SgdTensor& t, const SgdStep& s, int64_t begin, int64_t end) {
  using C = Compute<T>;
  const auto lr = static_cast<C>(s.lr), momentum = static_cast<C>(s.momentum), decay = static_cast<C>(s.weight_decay);
  const auto fresh = static_cast<C>(t.first ? 1 : 1 - s.dampening), factor = gradient_factor<C>(s);
  const C old = t.first ? C(0) : momentum;
  auto* param = static_cast<T*>(t.param);
  auto* grad = static_cast<const T*>(t.grad);
  auto* buffer = static_cast<T*>(t.momentum);
  if (buffer == nullptr) {
#pragma GCC ivdep
    for (int64_t i = begin; i < end; ++i) {
      const C p = static_cast<C>(param[i]);
      param[i] = static_cast<T>(p - lr * (factor * static_cast<C>(grad[i]) + decay * p));
    }
    return;
  }
#pragma GCC ivdep
  for (int64_t i = begin; i < end; ++i) {
    const C p = static_cast<C>(param[i]);
    const C g = factor * static_cast<C>(grad[i]) + decay * p;
    const C b = (t.first ? C(0) : old * static_cast<C>(buffer[i])) + fresh * g;
    buffer[i] = static_cast<T>(b);
    param[i] = static_cast<T>(p - lr * (s.nesterov ? g + momentum * b : b));
  }
}

void adam_kernel(const AdamTensor* tensors, int64_t count, const AdamStep& s) {
  if (is_skipped(s)) return;
  FlushDenormals flush;
  for (int64_t k = 0; k < count; ++k) {
    const AdamTensor& t = tensors[k];
    visit_floating(t.dtype, [&]<class T>() {
      parallel_for(0, t.numel, 16384, [&](int64_t b, int64_t e) {
        FlushDenormals flush_here;
        if (t.max_exp_avg_sq) {
          adam_range<T, true>(t, s, b, e);
        } else {
          adam_range<T, false>(t, s, b, e);
        }
      });
    });
  }
}

void sgd_kernel(const SgdTensor* tensors, int64_t count, const SgdStep& s) {
  if (is_skipped(s)) return;
  FlushDenormals flush;
  for (int64_t k = 0; k < count; ++k) {
    const SgdTensor& t = tensors[k];
    visit_floating(t.dtype, [&]<class T>() {
      parallel_for(0, t.numel, 32768, [&](int64_t b, int64_t e) {
        FlushDenormals flush_here;
        sgd_range<T>(t, s, b, e);
      });
    });
  }
}

}  // namespace gradus::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradus::inline v0::kernels {
HWY_EXPORT(adam_kernel);
HWY_EXPORT(sgd_kernel);
constinit KernelTable<void(const AdamTensor*, int64_t, const AdamStep&)> adam_step{
    "adam_step", [](const AdamTensor* t, int64_t n, const AdamStep& s) {
      HWY_DYNAMIC_DISPATCH(adam_kernel)
      (t, n, s);
    }};
constinit KernelTable<void(const SgdTensor*, int64_t, const SgdStep&)> sgd_step{
    "sgd_step", [](const SgdTensor* t, int64_t n, const SgdStep& s) {
      HWY_DYNAMIC_DISPATCH(sgd_kernel)
      (t, n, s);
    }};
}  // namespace gradus::inline v0::kernels
#endif
