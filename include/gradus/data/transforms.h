// Functions over samples and batches, for Dataset::map.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include <gradus/core/array_ref.h>
#include <gradus/data/example.h>

namespace gradus {
inline namespace v0 {
namespace data {
namespace transforms {

/// Turns a batch into something else. Each loading thread has a copy of its own.
template <class InputBatch, class OutputBatch>
class BatchTransform {
 public:
  using InputBatchType = InputBatch;
  using OutputBatchType = OutputBatch;
  virtual ~BatchTransform() = default;
  virtual OutputBatch apply_batch(InputBatch batch) = 0;
};

/// Turns one sample into another.
template <class Input, class Output>
class Transform : public BatchTransform<std::vector<Input>, std::vector<Output>> {
 public:
  using InputType = Input;
  using OutputType = Output;
  virtual Output apply(Input input) = 0;

  std::vector<Output> apply_batch(std::vector<Input> batch) override {
    std::vector<Output> out;
    out.reserve(batch.size());
    for (auto& input : batch) out.push_back(apply(std::move(input)));
    return out;
  }
};

/// A batch of samples made into one sample.
template <class T = Example<>, class Batch = std::vector<T>>
using Collation = BatchTransform<Batch, T>;

/// A function over batches.
template <class Input, class Output = Input>
class BatchLambda : public BatchTransform<Input, Output> {
 public:
  using FunctionType = std::function<Output(Input)>;
  explicit BatchLambda(FunctionType function) : function_(std::move(function)) {}
  Output apply_batch(Input batch) override { return function_(std::move(batch)); }

 private:
  FunctionType function_;
};

/// A collation given as a function.
template <class T = Example<>, class Batch = std::vector<T>>
using Collate = BatchLambda<Batch, T>;

/// A function over samples.
template <class Input, class Output = Input>
class Lambda : public Transform<Input, Output> {
 public:
  using FunctionType = std::function<Output(Input)>;
  explicit Lambda(FunctionType function) : function_(std::move(function)) {}
  Output apply(Input input) override { return function_(std::move(input)); }

 private:
  FunctionType function_;
};

namespace detail {
// gradus::stack over the samples' tensors; out of line, so that this header needs no operator.
GRADUS_API Tensor stack_tensors(const std::vector<Tensor>& tensors);
}  // namespace detail

/// Stacks the samples' tensors along a new first dimension: what most training loops want of a batch.
template <class T = Example<>>
struct Stack;

template <>
struct Stack<Example<>> : public Collation<Example<>> {
  Example<> apply_batch(std::vector<Example<>> examples) override {
    std::vector<Tensor> data, targets;
    data.reserve(examples.size());
    targets.reserve(examples.size());
    for (auto& example : examples) {
      data.push_back(std::move(example.data));
      targets.push_back(std::move(example.target));
    }
    return {detail::stack_tensors(data), detail::stack_tensors(targets)};
  }
};

template <>
struct Stack<TensorExample> : public Collation<TensorExample> {
  TensorExample apply_batch(std::vector<TensorExample> examples) override {
    std::vector<Tensor> data;
    data.reserve(examples.size());
    for (auto& example : examples) data.push_back(std::move(example.data));
    return detail::stack_tensors(data);
  }
};

/// A transform of a sample's data that leaves its target alone.
template <class Target = Tensor>
class TensorTransform : public Transform<Example<Tensor, Target>, Example<Tensor, Target>> {
 public:
  using E = Example<Tensor, Target>;
  virtual Tensor operator()(Tensor input) = 0;

  E apply(E input) override {
    input.data = (*this)(std::move(input.data));
    return input;
  }
};

/// A function over a sample's data.
template <class Target = Tensor>
class TensorLambda : public TensorTransform<Target> {
 public:
  using FunctionType = std::function<Tensor(Tensor)>;
  explicit TensorLambda(FunctionType function) : function_(std::move(function)) {}
  Tensor operator()(Tensor input) override { return function_(std::move(input)); }

 private:
  FunctionType function_;
};

namespace detail {
// [C] numbers as a float tensor [C, 1, 1]; throws ValueError for an empty list or a deviation of 0.
GRADUS_API Tensor channel_values(ArrayRef<double> values, const char* name, bool is_deviation);
GRADUS_API Tensor normalize(const Tensor& input, const Tensor& mean, const Tensor& stddev);
}  // namespace detail

/// (input - mean) / stddev, per channel of a [C, H, W] image.
template <class Target = Tensor>
struct Normalize : public TensorTransform<Target> {
  Normalize(ArrayRef<double> mean, ArrayRef<double> stddev)
      : mean(detail::channel_values(mean, "mean", false)), stddev(detail::channel_values(stddev, "stddev", true)) {}
  Tensor operator()(Tensor input) override { return detail::normalize(input, mean, stddev); }

  Tensor mean, stddev;
};

}  // namespace transforms
}  // namespace data
}  // namespace v0
}  // namespace gradus
