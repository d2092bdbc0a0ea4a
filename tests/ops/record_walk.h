// What the tests that walk the registry with the records share: rewriting a sample's arguments, comparing results,
// finding an operator's forms, a sample as a differentiable function.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gradus/autograd/gradcheck.h>

#include "ops/records.h"

namespace gradus::testing {

/// All records by operator.
const std::map<std::string, Record>& records();

bool has_dtype(const Record& r, ScalarType t);
double eps_of(ScalarType t);

/// The tensors among results, lists opened, numbers as tensors.
std::vector<Tensor> tensors_of(const std::vector<IValue>& values);
/// An empty text, or what is different. The tolerance is relative to the largest element.
std::string difference(const std::vector<IValue>& got, const std::vector<IValue>& want, double tolerance);
std::string difference(const Tensor& got, const Tensor& want, double tolerance);
/// The reference as the integers it was to become: they wrap and truncate.
std::vector<IValue> wrapped_as(const std::vector<IValue>& got, const std::vector<IValue>& want);

/// `args` with every tensor, in lists too, replaced by f(tensor).
template <class F>
Args map_tensors(const Args& args, F f) {
  Args result;
  for (const IValue& v : args) {
    if (v.isTensor()) {
      result.emplace_back(f(v.toTensor()));
    } else if (v.isTensorList()) {
      std::vector<Tensor> list;
      for (const Tensor& t : v.toTensorVector()) list.push_back(f(t));
      result.emplace_back(std::move(list));
    } else if (v.isOptionalTensorList()) {
      IValue::OptionalTensors list;
      for (const auto& t : v.toOptionalTensorVector()) list.push_back(t ? std::optional<Tensor>(f(*t)) : std::nullopt);
      result.emplace_back(std::move(list));
    } else {
      result.push_back(v);
    }
  }
  return result;
}
/// Copies that lie in memory as the originals do: an operator may write into its arguments.
Args copies(const Args& args);
/// Fresh contiguous copies, for forms that write into their first argument.
Args fresh(const Args& args);
/// The sample on the meta device, in the same geometry.
Args on_meta(const Args& args);
/// The sample with every size above 1 multiplied by `factor`, list arguments that are sizes too. Tensors are repeated;
/// with `meta` they are meta tensors. Throws Error where that is not the same kind of call any more.
Args scaled(const OperatorHandle& op, const Args& args, int64_t factor, bool meta);
/// The sample with every size `size` replaced by 0: the same arithmetic on nothing.
Args emptied(const Args& args, int64_t size);
/// Elements of the largest tensor, and how many dimensions above 1 it has.
std::pair<int64_t, int64_t> largest(const Args& args);

/// Operators whose results are drawn or that have a suite of their own.
bool tested_elsewhere(const OperatorHandle& op);
/// Running statistics are written: they may not be expanded.
bool writes_statistics(const OperatorHandle& op);

/// The in-place and out operators of a functional one: same arguments after the first, before the outs.
struct Forms {
  std::optional<OperatorHandle> inplace, out;
};
Forms forms_of(const OperatorHandle& op);
/// The functional form's arguments as the out form takes them: a factory's has no options.
Args for_out(const OperatorHandle& op, const OperatorHandle& out, Args args);
/// Out arguments for the out form: like `results`, or empty ones that must grow.
std::vector<std::pair<std::string, IValue>> outs_for(const OperatorHandle& out, const std::vector<IValue>& results,
                                                     bool right_size);

/// How an operator is called; the sabotage tests call it wrongly.
using Caller = std::function<std::vector<IValue>(const OperatorHandle&, Args)>;
std::vector<IValue> plain_call(const OperatorHandle& op, Args args);

/// One sample as a function of its differentiable inputs, for gradcheck.
class DifferentiableSample {
 public:
  DifferentiableSample(OperatorHandle op, Args sample, const Make& made, Caller caller = &plain_call);
  /// Leaves that require gradients; empty where the sample has no input that takes one.
  const autograd::variable_list& inputs() const { return inputs_; }
  /// The results that have gradients, of the operator or of its form `which`, which writes into its first argument.
  autograd::CheckedFunction function() const;
  autograd::CheckedFunction function_in_place(const OperatorHandle& which) const;
  /// Floating results that require no gradient although inputs do, by number.
  std::set<size_t> without_gradient() const;
  /// What gradcheck and gradgradcheck say; empty if nothing.
  std::string fault() const;
  std::string fault_in_place(const OperatorHandle& which) const;

 private:
  autograd::CheckedFunction function_of(const OperatorHandle& which, bool writes) const;
  std::vector<IValue> run(const OperatorHandle& which, const autograd::variable_list& given, bool writes) const;
  OperatorHandle op_;
  Args sample_;
  std::vector<bool> is_input_;  // of the sample's tensors, in order
  autograd::variable_list inputs_;
  Caller caller_;
};

}  // namespace gradus::testing
