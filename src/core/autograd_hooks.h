// The two things core needs done by autograd when a tensor dies. Defined in src/autograd/node.cpp.
#pragma once

#include <gradus/core/tensor_impl.h>

namespace gradus::inline v0::autograd {

/// Drops a tensor's reference of its node; the node's memory is freed without recursion.
void release_node(Node* node) noexcept;
void delete_extra(TensorExtra* extra) noexcept;

}  // namespace gradus::inline v0::autograd
