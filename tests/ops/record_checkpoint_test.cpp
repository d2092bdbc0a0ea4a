// Every differentiable operator inside a checkpoint, plain and with all results kept that may be: its gradients, and
// those of their squares, are the ones that it has outside. This is the same arithmetic on the same numbers.
#include <gtest/gtest.h>

#include <gradus/autograd/autograd.h>
#include <gradus/ops/selective_checkpoint.h>

#include "ops/record_walk.h"

namespace gradus::testing {
namespace {

using autograd::variable_list;

// The gradients of f, and of the squares of these; empty where there are none.
std::vector<IValue> gradients(const autograd::CheckedFunction& f, const variable_list& inputs) {
  const variable_list outputs = f(inputs);
  variable_list cotangents;
  for (const Tensor& t : outputs) cotangents.push_back(t.detach().cos());
  variable_list all = autograd::grad(outputs, inputs, cotangents, true, true, true);
  Tensor squares;
  for (const Tensor& g : all) {
    if (!g.defined() || !g.requires_grad()) continue;
    squares = squares.defined() ? squares + g.mul(g).sum() : g.mul(g).sum();
  }
  if (squares.defined()) {
    for (Tensor& g : autograd::grad({squares}, inputs, {}, std::nullopt, false, true)) all.push_back(std::move(g));
  }
  std::vector<IValue> values;
  for (const Tensor& g : all) values.emplace_back(g.defined() ? g.detach() : full({}, -1.0, kDouble));
  return values;
}

TEST(RecordCheckpoint, TheSameGradients) {
  // The sample's copies of running statistics are written.
  const auto save_all = autograd::selective_checkpoint([](const std::string& name) {
    return name == "aten::clone" ? autograd::CheckpointPolicy::kRecompute : autograd::CheckpointPolicy::kSave;
  });
  int samples = 0;
  for (const auto& [name, record] : records()) {
    const auto op = find_operator(name);
    if (!op || !record.gradient || !has_dtype(record, kDouble)) continue;
    Make make(kDouble);
    int number = 0;
    for (const Args& args : record.samples(make)) {
      SCOPED_TRACE(name + " sample " + std::to_string(number++));
      const DifferentiableSample sample(*op, args, make);
      if (sample.inputs().empty()) continue;
      const autograd::CheckedFunction f = sample.function();
      if (f(sample.inputs()).empty()) continue;
      ++samples;
      try {
        const std::vector<IValue> want = gradients(f, sample.inputs());
        for (const bool selective : {false, true}) {
          const auto checkpointed = [&](const variable_list& in) {
            return autograd::checkpoint(f, in, selective ? save_all : autograd::CheckpointOptions());
          };
          EXPECT_EQ(difference(gradients(checkpointed, sample.inputs()), want, 0), "") << "selective: " << selective;
        }
      } catch (const std::exception& e) {
        ADD_FAILURE() << e.what();
      }
    }
  }
  EXPECT_GT(samples, 300);
}

}  // namespace
}  // namespace gradus::testing
