// Rows of a table by index.
#include <gradus/ops/ops.h>

#include <kernels/embedding.h>

#include "../autograd/recording.h"
#include "kernel_view.h"
#include "ops/surface/generated/ops_indexing.h"
#include "pointwise_plan.h"

namespace gradus::inline v0::ops {

namespace {

void check_indices(const char* op, const Tensor& indices) {
  GRADUS_CHECK(indices.defined(), op, ": the indices are an undefined tensor; expected one with data");
  GRADUS_CHECK_AS(TypeError, indices.scalar_type() == kLong || indices.scalar_type() == kInt, op, ": the indices are ",
                  indices.scalar_type(), "; expected Long or Int");
}

}  // namespace

Tensor embedding(const Tensor& weight, const Tensor& indices, int64_t padding_idx, bool scale_grad_by_freq,
                 bool sparse) {
  check_indices("embedding", indices);
  GRADUS_CHECK(weight.defined() && weight.dim() == 2, "embedding: the weight has ", weight.defined() ? weight.dim() : 0,
               " dimensions; expected 2");
  GRADUS_CHECK_AS(NotImplementedError, !sparse, "embedding: sparse gradients are not supported yet; pass sparse=false");
  auto r = recording(weight);
  DimVector shape(indices.sizes());
  shape.push_back(weight.size(1));
  Tensor out = core::empty(shape, weight.scalar_type(), weight.device());
  {
    autograd::GradModeOff off;
    Tensor i = indices.contiguous(), w = weight.stride(1) == 1 || weight.size(1) < 2 ? weight : weight.contiguous();
    const kernels::BadIndex bad =
        out.numel() || i.numel() ? kernels::embedding_forward(out.device(), writable(out), readable(w), readable(i))
                                 : kernels::BadIndex();
    GRADUS_CHECK_AS(IndexError, !bad.found(), "embedding: index ", bad.value, " at position ", bad.position,
                    " is out of range; expected 0..", weight.size(0) - 1);
  }
  if (r) {
    r.node("EmbeddingBackward0", out,
           [i = r.save_other(indices), rows = weight.size(0), padding_idx, scale_grad_by_freq](const GradIn& g,
                                                                                               GradOut& d) {
             d[0] = gradus::embedding_dense_backward(g[0], d.unpack(i), rows, padding_idx, scale_grad_by_freq);
           });
  }
  return out;
}

Tensor embedding_dense_backward(const Tensor& grad_output, const Tensor& indices, int64_t num_weights,
                                int64_t padding_idx, bool scale_grad_by_freq) {
  const char* op = "embedding_dense_backward";
  check_indices(op, indices);
  GRADUS_CHECK(grad_output.defined() && grad_output.dim() == indices.dim() + 1, op, ": grad_output has ",
               grad_output.defined() ? grad_output.dim() : 0, " dimensions; expected ", indices.dim() + 1);
  GRADUS_CHECK(grad_output.sizes().slice(0, indices.sizes().size()) == indices.sizes(), op, ": grad_output has shape ",
               grad_output.sizes(), " and the indices ", indices.sizes(), "; expected one row for each index");
  auto r = recording(grad_output);
  Tensor out = core::empty({num_weights, grad_output.size(-1)}, grad_output.scalar_type(), grad_output.device());
  {
    autograd::GradModeOff off;
    Tensor g = grad_output.contiguous(), i = indices.contiguous();
    if (out.numel())
      kernels::embedding_backward(out.device(), writable(out), readable(g), readable(i), padding_idx,
                                  scale_grad_by_freq);
  }
  if (r) {
    r.node("EmbeddingDenseBackwardBackward0", out,
           [i = r.save_other(indices), padding_idx, scale_grad_by_freq](const GradIn& gg, GradOut& d) {
             GRADUS_CHECK_AS(NotImplementedError, !scale_grad_by_freq,
                             "embedding_dense_backward: no second gradient with scale_grad_by_freq");
             Tensor indices = d.unpack(i);
             Tensor back = gg[0]
                               .index_select(0, indices.reshape({-1}))
                               .reshape(d.node().edges_[0].node->outputs_[d.node().edges_[0].input_nr].sizes);
             d[0] = padding_idx >= 0 ? back.masked_fill(indices.eq(padding_idx).unsqueeze(-1), 0.0) : back;
           });
  }
  return out;
}

}  // namespace gradus::inline v0::ops
