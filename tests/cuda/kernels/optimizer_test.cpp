// Fused optimizer steps on the device against a plain loop in double: lists longer than a launch takes, sizes from 0 to
// several chunks, all dtypes mixed, misaligned arrays, loss scaling.
#include <cmath>
#include <memory>

#include <kernels/optimizer.h>

#include "device_tensor.h"

namespace gradus::inline v0::kernels {
namespace {

double unit_of(ScalarType t) {
  return t == kDouble ? 2e-16 : t == kFloat ? 6e-8 : t == kHalf ? 5e-4 : 4e-3;
}

/// An array of one of the floating types on the device.
class Array {
 public:
  Array(ScalarType type, int64_t n, int64_t shift) {
    switch (type) {
      case ScalarType::Float:
        hold(std::make_shared<DeviceTensor<float>>(std::vector<int64_t>{n}, std::vector<int64_t>{1}, shift));
        break;
      case ScalarType::Double:
        hold(std::make_shared<DeviceTensor<double>>(std::vector<int64_t>{n}, std::vector<int64_t>{1}, shift));
        break;
      case ScalarType::Half:
        hold(std::make_shared<DeviceTensor<Half>>(std::vector<int64_t>{n}, std::vector<int64_t>{1}, shift));
        break;
      default:
        hold(std::make_shared<DeviceTensor<BFloat16>>(std::vector<int64_t>{n}, std::vector<int64_t>{1}, shift));
    }
  }
  std::function<double(int64_t)> get;
  std::function<void(int64_t, double)> set;
  std::function<void*()> give;
  std::function<void()> take;

 private:
  template <class T>
  void hold(std::shared_ptr<DeviceTensor<T>> t) {
    get = [t](int64_t i) { return t->real(i); };
    set = [t](int64_t i, double v) { (*t)[i] = static_cast<T>(v); };
    give = [t] { return t->give().data; };
    take = [t] { t->take(); };
  }
};

struct Parameter {
  ScalarType type;
  int64_t numel;
  Array param, grad, first, second, highest;
  Parameter(ScalarType t, int64_t n, int64_t shift)
      : type(t),
        numel(n),
        param(t, n, shift),
        grad(t, n, shift),
        first(t, n, shift),
        second(t, n, shift),
        highest(t, n, shift) {
    for (int64_t i = 0; i < n; ++i) {
      param.set(i, std::sin(static_cast<double>(i)));
      grad.set(i, std::cos(static_cast<double>(i) * 1.3));
      first.set(i, 0.3 * std::sin(static_cast<double>(i) * 0.7));
      second.set(i, 0.2 + 0.1 * std::cos(static_cast<double>(i)));
      highest.set(i, i % 2 ? 0.1 : 0.5);
    }
  }
};
using Parameters = std::vector<std::unique_ptr<Parameter>>;

Parameters parameters(bool many) {
  Parameters list;
  const auto add = [&](ScalarType t, int64_t n, int64_t shift) {
    list.push_back(std::make_unique<Parameter>(t, n, shift));
  };
  for (ScalarType t : {kFloat, kDouble, kHalf, kBFloat16}) {
    for (int64_t n : {0, 1, 7, 31, 33, 1025}) add(t, n, 0);
    add(t, 16384, 0), add(t, 40001, 0), add(t, 100, 1), add(t, 259, 3);
  }
  for (int i = 0; many && i < 200; ++i) add(i % 3 ? kFloat : kBFloat16, 1 + i % 20, 0);
  return list;
}

void expect_close(ScalarType t, double got, double want, const char* what, int64_t i) {
  const double bound = unit_of(t) * std::abs(want) + (t == kDouble ? 4e-16 : 1e-6);
  ASSERT_TRUE(std::abs(got - want) <= bound) << what << " " << i << ": " << got << ", expected " << want;
}

struct Scale {
  DeviceTensor<float> scale{{1}}, found{{1}};
  const float *scale_pointer = nullptr, *found_pointer = nullptr;
  Scale(double s, double f) {
    scale[0] = static_cast<float>(s), found[0] = static_cast<float>(f);
    scale_pointer = static_cast<const float*>(scale.give().data);
    found_pointer = static_cast<const float*>(found.give().data);
  }
};

void check_adam(AdamStep s, bool amsgrad, double scale, bool skipped) {
  Parameters list = parameters(true);
  std::vector<AdamTensor> tensors;
  for (size_t k = 0; k < list.size(); ++k) {
    Parameter& p = *list[k];
    const bool highest = amsgrad && k % 2 == 0;
    tensors.push_back({p.param.give(), p.grad.give(), p.first.give(), p.second.give(),
                       highest ? p.highest.give() : nullptr, p.numel, static_cast<int64_t>(1 + k % 5), p.type});
  }
  adam_step(the_cuda_device(), tensors.data(), static_cast<int64_t>(tensors.size()), s);
  for (size_t k = 0; k < list.size(); ++k) {
    Parameter& p = *list[k];
    const Parameter old(p.type, p.numel, 0);
    const bool highest = amsgrad && k % 2 == 0;
    p.param.take(), p.first.take(), p.second.take();
    if (highest) p.highest.take();
    const auto step = static_cast<double>(1 + k % 5);
    for (int64_t i = 0; i < p.numel; ++i) {
      double w = old.param.get(i), m = old.first.get(i), v = old.second.get(i), h = old.highest.get(i);
      if (!skipped) {
        double g = old.grad.get(i) / scale * (s.maximize ? -1 : 1);
        if (s.decoupled) {
          w *= 1 - s.lr * s.weight_decay;
        } else {
          g += s.weight_decay * w;
        }
        m = s.beta1 * m + (1 - s.beta1) * g;
        v = s.beta2 * v + (1 - s.beta2) * g * g;
        if (highest) h = std::max(h, v);
        const double root = std::sqrt((highest ? h : v) / (1 - std::pow(s.beta2, step)));
        w -= s.lr / (1 - std::pow(s.beta1, step)) * m / (root + s.eps);
      }
      expect_close(p.type, p.param.get(i), w, "param", i);
      expect_close(p.type, p.first.get(i), m, "exp_avg", i);
      expect_close(p.type, p.second.get(i), v, "exp_avg_sq", i);
      if (highest) expect_close(p.type, p.highest.get(i), h, "max_exp_avg_sq", i);
      if (::testing::Test::HasFatalFailure()) FAIL() << "tensor " << k << " of " << p.numel << " elements";
    }
  }
}

TEST(Optimizer, Adam) {
  check_adam({0.01, 0.9, 0.99, 1e-8, 0, false, false}, false, 1, false);
  check_adam({0.02, 0.8, 0.95, 1e-6, 0.1, false, true}, true, 1, false);
  check_adam({0.02, 0.8, 0.95, 1e-6, 0.1, true, false}, true, 1, false);
}

TEST(Optimizer, AdamWithLossScaling) {
  AdamStep s{0.01, 0.9, 0.99, 1e-8, 0.1, true, true};
  const Scale good(1024, 0), bad(1024, 1);
  s.grad_scale = good.scale_pointer, s.found_inf = good.found_pointer;
  check_adam(s, false, 1024, false);
  s.found_inf = bad.found_pointer;
  check_adam(s, true, 1024, true);
}

void check_sgd(SgdStep s, bool with_momentum, double scale, bool skipped) {
  Parameters list = parameters(true);
  std::vector<SgdTensor> tensors;
  for (size_t k = 0; k < list.size(); ++k) {
    Parameter& p = *list[k];
    const bool first = k % 3 == 0;
    for (int64_t i = 0; first && with_momentum && i < p.numel; ++i) p.first.set(i, NAN);  // not to be read
    tensors.push_back(
        {p.param.give(), p.grad.give(), with_momentum ? p.first.give() : nullptr, p.numel, first, p.type});
  }
  sgd_step(the_cuda_device(), tensors.data(), static_cast<int64_t>(tensors.size()), s);
  for (size_t k = 0; k < list.size(); ++k) {
    Parameter& p = *list[k];
    const Parameter old(p.type, p.numel, 0);
    p.param.take();
    if (with_momentum) p.first.take();
    for (int64_t i = 0; i < p.numel; ++i) {
      double w = old.param.get(i);
      if (!skipped) {
        double g = old.grad.get(i) / scale * (s.maximize ? -1 : 1) + s.weight_decay * w;
        if (with_momentum) {
          const double b = k % 3 == 0 ? g : s.momentum * old.first.get(i) + (1 - s.dampening) * g;
          expect_close(p.type, p.first.get(i), b, "momentum", i);
          g = s.nesterov ? g + s.momentum * b : b;
        }
        w -= s.lr * g;
      }
      expect_close(p.type, p.param.get(i), w, "param", i);
      if (::testing::Test::HasFatalFailure()) FAIL() << "tensor " << k << " of " << p.numel << " elements";
    }
  }
}

TEST(Optimizer, Sgd) {
  check_sgd({0.1, 0, 0, 0, false, false}, false, 1, false);
  check_sgd({0.1, 0, 0, 0.2, false, true}, false, 1, false);
  check_sgd({0.1, 0.9, 0.3, 0.1, false, false}, true, 1, false);
  check_sgd({0.1, 0.9, 0, 0.1, true, true}, true, 1, false);
}

TEST(Optimizer, SgdWithLossScaling) {
  SgdStep s{0.1, 0.9, 0, 0.1, true, false};
  const Scale good(4096, 0), bad(4096, 1);
  s.grad_scale = good.scale_pointer, s.found_inf = good.found_pointer;
  check_sgd(s, true, 4096, false);
  s.found_inf = bad.found_pointer;
  check_sgd(s, false, 4096, true);
}

TEST(Optimizer, NoTensors) {
  adam_step(the_cuda_device(), nullptr, 0, {0.1, 0.9, 0.9, 1e-8, 0, false, false});
  sgd_step(the_cuda_device(), nullptr, 0, {0.1, 0, 0, 0, false, false});
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

}  // namespace
}  // namespace gradus::inline v0::kernels
