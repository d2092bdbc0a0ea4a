// torch.autograd.functional by backward passes. Each function works on inputs of its own: views that keep the caller's
// history where the results are to be differentiated again, detached leaves else.
#include <gradus/ops/functional.h>

#include <gradus/autograd/autograd.h>
#include <gradus/ops/ops.h>

namespace gradus::inline v0::autograd::functional {

namespace {

variable_list own_inputs(const char* op, const variable_list& inputs, bool create_graph) {
  GRADUS_CHECK(!inputs.empty(), op, ": the list of inputs is empty; expected at least one");
  variable_list own;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& t = inputs[i];
    GRADUS_CHECK(t.defined(), op, ": input ", i, " is undefined; expected a tensor");
    GRADUS_CHECK(is_floating_point(t.scalar_type()) || t.is_complex(), op, ": input ", i, " is of type ", t.dtype(),
                 "; expected a floating or complex type");
    own.push_back(create_graph && t.requires_grad() ? t.view_as(t) : t.detach().requires_grad_());
  }
  return own;
}

variable_list call(const char* op, const Function& f, const variable_list& inputs, bool strict) {
  GRADUS_CHECK(f, op, ": the function is empty; expected one to call");
  variable_list outputs = f(inputs);
  GRADUS_CHECK(!outputs.empty(), op, ": the function returned nothing; expected at least one tensor");
  for (size_t o = 0; o < outputs.size(); ++o) {
    GRADUS_CHECK(outputs[o].defined(), op, ": output ", o, " of the function is undefined; expected a tensor");
    GRADUS_CHECK(!strict || outputs[o].requires_grad(), op, ": output ", o,
                 " of the function does not depend on the inputs, which strict forbids");
  }
  return outputs;
}

Tensor single(const char* op, const variable_list& outputs) {
  GRADUS_CHECK(outputs.size() == 1 && outputs[0].numel() == 1, op, ": the function returned ", outputs.size(),
               " tensors, the first of shape ", outputs[0].sizes(), "; expected one tensor of one element");
  return outputs[0].reshape({});
}

// `v` as one tensor for each of `like`.
variable_list vectors(const char* op, const variable_list& v, const variable_list& like, const char* what) {
  if (v.empty()) {
    GRADUS_CHECK(like.size() == 1 && like[0].numel() == 1, op, ": v was left out and there are ", like.size(), " ",
                 what, ", the first of shape ", like[0].sizes(), "; expected v, or one of one element");
    return {ones_like(like[0].detach())};
  }
  GRADUS_CHECK(v.size() == like.size(), op, ": v has ", v.size(), " tensors; expected one for each of the ",
               like.size(), " ", what);
  for (size_t i = 0; i < v.size(); ++i) {
    GRADUS_CHECK(v[i].defined() && v[i].sizes() == like[i].sizes(), op, ": v has ",
                 v[i].defined() ? str("shape ", v[i].sizes()) : std::string("no tensor"), " at position ", i,
                 "; expected shape ", like[i].sizes(), ", that of the ", what, " there");
  }
  return v;
}

// grad() that takes outputs without history; what does not depend is undefined.
variable_list gradients(const variable_list& outputs, const variable_list& inputs, const variable_list& grad_outputs,
                        bool create_graph) {
  variable_list with_history, their_grads;
  for (size_t o = 0; o < outputs.size(); ++o) {
    if (!outputs[o].defined() || !outputs[o].requires_grad()) continue;
    with_history.push_back(outputs[o]);
    their_grads.push_back(grad_outputs.empty() ? Tensor() : grad_outputs[o]);
  }
  if (with_history.empty()) return variable_list(inputs.size());
  return grad(with_history, inputs, their_grads, /*retain_graph=*/true, create_graph, /*allow_unused=*/true);
}

// Zeros, or an error, for what does not depend; detached where nobody differentiates again.
variable_list finish(const char* op, variable_list results, const variable_list& like, const Options& options,
                     const char* what) {
  for (size_t i = 0; i < results.size(); ++i) {
    Tensor& r = results[i];
    GRADUS_CHECK(!options.strict || r.defined(), op, ": ", what, " ", i,
                 " does not take part in the result, which strict forbids");
    if (!r.defined()) r = zeros_like(like[i].detach());
    if (!options.create_graph) r = r.detach();
  }
  return results;
}

variable_list detached(variable_list list, bool create_graph) {
  if (!create_graph) {
    for (Tensor& t : list) t = t.detach();
  }
  return list;
}

variable_list zeros_to_differentiate(const variable_list& like) {
  variable_list zeros;
  for (const Tensor& t : like) zeros.push_back(zeros_like(t.detach()).requires_grad_());
  return zeros;
}

// J v is the derivative of v'^T J with respect to v', which is linear in it.
variable_list forward_product(const variable_list& outputs, const variable_list& inputs, const variable_list& v,
                              bool create_graph) {
  const variable_list seeds = zeros_to_differentiate(outputs);
  return gradients(gradients(outputs, inputs, seeds, true), seeds, v, create_graph);
}

}  // namespace

std::pair<variable_list, variable_list> vjp(const Function& f, const variable_list& inputs, const variable_list& v,
                                            const Options& options) {
  const AutoGradMode recording(true);
  const variable_list own = own_inputs("vjp", inputs, options.create_graph);
  variable_list outputs = call("vjp", f, own, options.strict);
  const variable_list seeds = vectors("vjp", v, outputs, "outputs");
  variable_list products = gradients(outputs, own, seeds, options.create_graph);
  return {detached(std::move(outputs), options.create_graph),
          finish("vjp", std::move(products), own, options, "input")};
}

std::pair<variable_list, variable_list> jvp(const Function& f, const variable_list& inputs, const variable_list& v,
                                            const Options& options) {
  const AutoGradMode recording(true);
  const variable_list own = own_inputs("jvp", inputs, options.create_graph);
  const variable_list directions = vectors("jvp", v, own, "inputs");
  variable_list outputs = call("jvp", f, own, options.strict);
  variable_list products = forward_product(outputs, own, directions, options.create_graph);
  products = finish("jvp", std::move(products), outputs, options, "output");
  return {detached(std::move(outputs), options.create_graph), std::move(products)};
}

std::vector<variable_list> jacobian(const Function& f, const variable_list& inputs, const Options& options) {
  const AutoGradMode recording(true);
  const variable_list own = own_inputs("jacobian", inputs, options.create_graph);
  const variable_list outputs = call("jacobian", f, own, options.strict);
  std::vector<variable_list> result;
  for (const Tensor& output : outputs) {
    std::vector<variable_list> rows(own.size());
    const Tensor flat = output.reshape({-1});
    for (int64_t e = 0; e < flat.numel(); ++e) {
      variable_list row =
          finish("jacobian", gradients({flat.select(0, e)}, own, {}, options.create_graph), own, options, "input");
      for (size_t i = 0; i < own.size(); ++i) rows[i].push_back(std::move(row[i]));
    }
    variable_list parts;
    for (size_t i = 0; i < own.size(); ++i) {
      DimVector shape(output.sizes());
      for (const int64_t s : own[i].sizes()) shape.push_back(s);
      parts.push_back(rows[i].empty() ? own[i].detach().new_zeros(shape) : stack(rows[i]).reshape(shape));
    }
    result.push_back(std::move(parts));
  }
  return result;
}

Tensor jacobian(const std::function<Tensor(const Tensor&)>& f, const Tensor& input, const Options& options) {
  GRADUS_CHECK(f, "jacobian: the function is empty; expected one to call");
  return jacobian([&](const variable_list& in) { return variable_list{f(in[0])}; }, variable_list{input},
                  options)[0][0];
}

std::vector<variable_list> hessian(const Function& f, const variable_list& inputs, const Options& options) {
  const auto gradient = [&](const variable_list& own) {
    const Tensor value = single("hessian", call("hessian", f, own, options.strict));
    return finish("hessian", gradients({value}, own, {}, true), own, {/*create_graph=*/true, options.strict}, "input");
  };
  return jacobian(gradient, inputs, options);
}

Tensor hessian(const std::function<Tensor(const Tensor&)>& f, const Tensor& input, const Options& options) {
  GRADUS_CHECK(f, "hessian: the function is empty; expected one to call");
  return hessian([&](const variable_list& in) { return variable_list{f(in[0])}; }, variable_list{input}, options)[0][0];
}

namespace {
// multiply(gradient, inputs, vectors): what hvp and vhp differ in.
template <class Multiply>
std::pair<Tensor, variable_list> hessian_product(const char* op, const Function& f, const variable_list& inputs,
                                                 const variable_list& v, const Options& options, Multiply multiply) {
  const AutoGradMode recording(true);
  const variable_list own = own_inputs(op, inputs, options.create_graph);
  const variable_list factors = vectors(op, v, own, "inputs");
  const variable_list outputs = call(op, f, own, options.strict);
  const variable_list gradient = gradients({single(op, outputs)}, own, {}, true);
  variable_list products = finish(op, multiply(gradient, own, factors), own, options, "input");
  return {detached(outputs, options.create_graph)[0], std::move(products)};
}
}  // namespace

std::pair<Tensor, variable_list> hvp(const Function& f, const variable_list& inputs, const variable_list& v,
                                     const Options& options) {
  return hessian_product("hvp", f, inputs, v, options, [&](const auto& gradient, const auto& own, const auto& factors) {
    return forward_product(finish("hvp", gradient, own, {true, options.strict}, "input"), own, factors,
                           options.create_graph);
  });
}

std::pair<Tensor, variable_list> vhp(const Function& f, const variable_list& inputs, const variable_list& v,
                                     const Options& options) {
  return hessian_product("vhp", f, inputs, v, options, [&](const auto& gradient, const auto& own, const auto& factors) {
    return gradients(gradient, own, factors, options.create_graph);
  });
}

}  // namespace gradus::inline v0::autograd::functional
