// A drawing of a backward graph.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gradus/core/tensor.h>

namespace gradus {
inline namespace v0 {
namespace autograd {

/// The graph behind `root` as text for Graphviz (`dot -Tsvg`): a box for each node with the name that libtorch gives
/// it, blue boxes for leaves, with their name among `names` and their shape, and arrows from operands to results.
/// Throws Error where `root` needs no gradient.
GRADUS_API std::string graph_to_dot(const Tensor& root, const std::vector<std::pair<std::string, Tensor>>& names = {});

/// The same with what Module::named_parameters() returns.
template <class Dict>
auto graph_to_dot(const Tensor& root, const Dict& names) -> decltype(names.pairs(), std::string()) {
  return graph_to_dot(root, names.pairs());
}

}  // namespace autograd
}  // namespace v0
}  // namespace gradus
