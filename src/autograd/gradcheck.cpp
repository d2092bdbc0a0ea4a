#include <gradus/autograd/gradcheck.h>

#include <cmath>

#include <gradus/autograd/autograd.h>

#include "../core/make_tensor.h"

namespace gradus::inline v0::autograd {

namespace {

// Fixed, unequal, of both signs: no symmetry of an operator can hide behind them.
double cotangent_value(int64_t i) {
  return std::sin(1.0 + 2.39996 * static_cast<double>(i)) + 0.3;
}

Tensor cotangent_for(const Tensor& out, int64_t salt) {
  Tensor c = core::empty(out.sizes(), out.scalar_type(), out.device());
  auto* p = c.data_ptr<double>();
  for (int64_t i = 0; i < c.numel(); ++i) p[i] = cotangent_value(i + 17 * salt);
  return c;
}

// The cotangents' product with the outputs, in plain double arithmetic.
double weighed(const variable_list& outputs) {
  double sum = 0;
  for (size_t o = 0; o < outputs.size(); ++o) {
    if (!outputs[o].defined() || outputs[o].scalar_type() != kDouble) continue;
    Tensor dense = outputs[o].detach().contiguous();
    const double* p = dense.data_ptr<double>();
    for (int64_t i = 0; i < dense.numel(); ++i) sum += p[i] * cotangent_value(i + 17 * static_cast<int64_t>(o));
  }
  return sum;
}

bool is_checked(const Tensor& t) {
  return t.defined() && t.requires_grad();
}

void check_inputs(const char* op, const variable_list& inputs) {
  bool any = false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!is_checked(inputs[i])) continue;
    any = true;
    GRADUS_CHECK_AS(TypeError, inputs[i].scalar_type() == kDouble, op, ": input ", i, " is ", inputs[i].dtype(),
                    "; expected Double: differences of other types are too coarse");
    GRADUS_CHECK(!core::overlaps_itself(*inputs[i].impl()), op, ": input ", i,
                 " overlaps itself; expected one with an element per index");
  }
  GRADUS_CHECK(any, op, ": no input requires a gradient");
}

// The element number `i` in index order, wherever it lies.
double* element(const Tensor& t, int64_t i) {
  int64_t offset = 0;
  for (int64_t d = t.dim() - 1; d >= 0; --d) {
    offset += i % t.size(d) * t.stride(d);
    i /= t.size(d);
  }
  return t.data_ptr<double>() + offset;
}

bool close(double a, double b, const GradcheckOptions& o) {
  return std::fabs(a - b) <= o.atol + o.rtol * std::fabs(b);
}

}  // namespace

bool gradcheck(const CheckedFunction& f, const variable_list& inputs, const GradcheckOptions& options) {
  check_inputs("gradcheck", inputs);
  variable_list outputs = f(inputs), roots, cotangents;
  for (size_t o = 0; o < outputs.size(); ++o) {
    if (!outputs[o].defined() || !outputs[o].requires_grad() || outputs[o].scalar_type() != kDouble) continue;
    roots.push_back(outputs[o]);
    cotangents.push_back(cotangent_for(outputs[o], static_cast<int64_t>(o)));
  }
  variable_list wanted;
  for (const Tensor& t : inputs) {
    if (is_checked(t)) wanted.push_back(t);
  }
  variable_list analytic(wanted.size());
  if (!roots.empty())
    analytic = grad(roots, wanted, cotangents, /*retain_graph=*/true, /*create_graph=*/false, /*allow_unused=*/true);

  size_t w = 0;
  for (size_t n = 0; n < inputs.size(); ++n) {
    if (!is_checked(inputs[n])) continue;
    Tensor a = analytic[w].defined() ? analytic[w].contiguous() : Tensor();
    ++w;
    GRADUS_CHECK(!a.defined() || a.sizes() == inputs[n].sizes(), "gradcheck: the gradient of input ", n, " has shape ",
                 a.sizes(), "; expected ", inputs[n].sizes());
    for (int64_t i = 0; i < inputs[n].numel(); ++i) {
      double* x = element(inputs[n], i);
      const double before = *x;
      double up, down;
      {
        NoGradGuard guard;
        *x = before + options.eps;
        up = weighed(f(inputs));
        *x = before - options.eps;
        down = weighed(f(inputs));
        *x = before;
      }
      const double numeric = (up - down) / (2 * options.eps);
      const double computed = a.defined() ? a.data_ptr<double>()[i] : 0.0;
      if (!close(computed, numeric, options)) {
        GRADUS_CHECK(
            !options.raise, "gradcheck: the gradient of input ", n, " at element ", i, " is ", computed,
            "; differences give ", numeric,
            roots.empty() ? " (no output requires a gradient)" : str(" (made by ", roots[0].grad_fn()->name(), ")"));
        return false;
      }
    }
  }
  return true;
}

bool gradgradcheck(const CheckedFunction& f, const variable_list& inputs, const GradcheckOptions& options) {
  check_inputs("gradgradcheck", inputs);
  variable_list outputs = f(inputs), all = inputs;
  const size_t count = inputs.size();
  std::vector<size_t> used;
  for (size_t o = 0; o < outputs.size(); ++o) {
    if (!outputs[o].defined() || !outputs[o].requires_grad() || outputs[o].scalar_type() != kDouble) continue;
    used.push_back(o);
    all.push_back(cotangent_for(outputs[o], static_cast<int64_t>(o) + 3).set_requires_grad(true));
  }
  if (used.empty()) return true;
  auto gradients = [&](const variable_list& in) {
    AutoGradMode on(true);
    variable_list outs = f(variable_list(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(count))), roots, wanted;
    for (size_t o : used) roots.push_back(outs[o]);
    for (size_t i = 0; i < count; ++i) {
      if (is_checked(in[i])) wanted.push_back(in[i]);
    }
    return grad(roots, wanted, variable_list(in.begin() + static_cast<std::ptrdiff_t>(count), in.end()), true, true,
                true);
  };
  return gradcheck(gradients, all, options);
}

}  // namespace gradus::inline v0::autograd
