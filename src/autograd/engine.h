// The backward pass. How it works, with a ten-line example: see engine.cpp.
#pragma once

#include "node_factory.h"

namespace gradus::inline v0::autograd {

struct RunOptions {
  bool keep_graph = false;
  bool create_graph = false;
  bool accumulate = true;  // leaves' grads are written
};

/// Runs the graph from `roots` with `grads`. Where `captures` is given, only what leads to them runs and their
/// gradients are returned in order (undefined for one that was not reached).
variable_list run_backward(ArrayRef<Edge> roots, variable_list grads, ArrayRef<Edge> captures,
                           const RunOptions& options);

/// Makes a gradient fit the output it is for: summed over broadcast dimensions, cast. `who` names the producer in
/// errors.
void fit_gradient(Tensor& grad, const Node::Output& output, const char* who);

/// Adds `grad` to a leaf.
void accumulate_into(Node* leaf, Tensor grad, bool create_graph);

}  // namespace gradus::inline v0::autograd
