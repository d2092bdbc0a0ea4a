// One sample of a data set, or a batch of them: data and, usually, a target.
#pragma once

#include <utility>

#include <gradus/core/tensor.h>

namespace gradus {
inline namespace v0 {
namespace data {

namespace example {
/// Stands where an Example has no target.
using NoTarget = void;
}  // namespace example

/// Data with its target.
template <class Data = Tensor, class Target = Tensor>
struct Example {
  using DataType = Data;
  using TargetType = Target;

  Example() = default;
  Example(Data data, Target target) : data(std::move(data)), target(std::move(target)) {}

  Data data;
  Target target;
};

/// Data alone; converts to it.
template <class Data>
struct Example<Data, example::NoTarget> {
  using DataType = Data;
  using TargetType = example::NoTarget;

  Example() = default;
  Example(Data data) : data(std::move(data)) {}  // NOLINT: implicit, as in libtorch

  operator Data&() { return data; }              // NOLINT
  operator const Data&() const { return data; }  // NOLINT

  Data data;
};

using TensorExample = Example<Tensor, example::NoTarget>;

}  // namespace data
}  // namespace v0
}  // namespace gradus
