// Matrix products and linear layers.
#include <gradus/ops/ops.h>

#include <kernels/gemm.h>

#include "../autograd/recording.h"
#include "../core/thread_state.h"
#include "dense_result.h"
#include "kernel_view.h"
#include "ops/surface/generated/ops_linalg.h"
#include "pointwise_plan.h"

namespace gradus::inline v0::ops {

namespace {

void check_operands(const char* op, const Tensor& a, const Tensor& b, int64_t dims_a, int64_t dims_b) {
  GRADUS_CHECK(a.defined() && b.defined(), op, ": an operand is an undefined tensor; expected one with data");
  GRADUS_CHECK(a.dim() == dims_a && b.dim() == dims_b, op, ": operands of ", a.dim(), " and ", b.dim(),
               " dimensions were given; expected ", dims_a, " and ", dims_b);
  GRADUS_CHECK_AS(TypeError, a.scalar_type() == b.scalar_type(), op, ": operands of type ", a.scalar_type(), " and ",
                  b.scalar_type(), " were given; expected the same type");
  GRADUS_CHECK_AS(TypeError, a.scalar_type() != kBool && element_size(a.scalar_type()) > 0, op, ": operands of type ",
                  a.scalar_type(), " have no product; convert them with to()");
  GRADUS_CHECK(a.device() == b.device(), op, ": operands on ", a.device(), " and ", b.device(),
               " were given; expected the same device");
}

void check_inner(const char* op, const Tensor& a, const Tensor& b) {
  GRADUS_CHECK(a.size(-1) == b.size(-2), op, ": shapes ", a.sizes(), " and ", b.sizes(),
               " cannot be multiplied: ", a.size(-1), " columns against ", b.size(-2), " rows; expected equal numbers");
}

kernels::ConstView no_bias() {
  return readable(Tensor());
}

// out = beta * out + alpha * a b (+ bias). Outputs that an operand shares memory with are computed aside by the caller.
void run_gemm(const Tensor& out, const Tensor& a, const Tensor& b, const Tensor& bias, const Scalar& alpha,
              const Scalar& beta) {
  kernels::gemm(out.device(), writable(out), readable(a), readable(b), readable(bias), alpha, beta);
}

const Scalar kOne(1), kZero(0);

// The gradients below multiply by the other operand as it is; a complex one would have to be conjugated.
template <class Recorder>
void refuse_complex_gradient(const char* op, const Recorder& r, const Tensor& operand) {
  GRADUS_CHECK_AS(NotImplementedError, !r || !operand.is_complex(), op, ": products of ", operand.scalar_type(),
                  " tensors have no gradient yet; compute them of detach()ed tensors or under NoGradGuard");
}

}  // namespace

Tensor mm(const Dest& dest, const Tensor& self, const Tensor& mat2) {
  check_operands("mm", self, mat2, 2, 2);
  check_inner("mm", self, mat2);
  auto r = recording(dest, self, mat2);
  refuse_complex_gradient("mm", r, self);
  const int64_t shape[] = {self.impl()->geometry_.sizes_data()[0], mat2.impl()->geometry_.sizes_data()[1]};
  const bool aside = !dest.is_fresh() && dest.shares_memory({&self, &mat2});
  Tensor out = aside ? core::empty(shape, self.scalar_type(), self.device())
                     : dest.result("mm", shape, self.scalar_type(), self.device());
  run_gemm(out, self, mat2, Tensor(), kOne, kZero);
  if (aside) out = dest.deliver("mm", std::move(out));
  if (r) {
    r.node("MmBackward0", out, [a = r.save_if(1, 0), b = r.save_if(0, 1)](const GradIn& g, GradOut& d) {
      if (d.needs(0)) d[0] = g[0].mm(d.unpack(b).t());
      if (d.needs(1)) d[1] = d.unpack(a).t().mm(g[0]);
    });
  }
  return out;
}

Tensor bmm(const Dest& dest, const Tensor& self, const Tensor& mat2) {
  check_operands("bmm", self, mat2, 3, 3);
  GRADUS_CHECK(self.size(0) == mat2.size(0), "bmm: batches of ", self.size(0), " and ", mat2.size(0),
               " matrices were given; expected as many of each");
  check_inner("bmm", self, mat2);
  auto r = recording(dest, self, mat2);
  refuse_complex_gradient("bmm", r, self);
  const int64_t shape[] = {self.size(0), self.size(1), mat2.size(2)};
  const bool aside = !dest.is_fresh() && dest.shares_memory({&self, &mat2});
  Tensor out = aside ? core::empty(shape, self.scalar_type(), self.device())
                     : dest.result("bmm", shape, self.scalar_type(), self.device());
  run_gemm(out, self, mat2, Tensor(), kOne, kZero);
  if (aside) out = dest.deliver("bmm", std::move(out));
  if (r) {
    r.node("BmmBackward0", out, [a = r.save_if(1, 0), b = r.save_if(0, 1)](const GradIn& g, GradOut& d) {
      if (d.needs(0)) d[0] = g[0].bmm(d.unpack(b).transpose(1, 2));
      if (d.needs(1)) d[1] = d.unpack(a).transpose(1, 2).bmm(g[0]);
    });
  }
  return out;
}

Tensor addmm(const Dest& dest, const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
             const Scalar& alpha) {
  check_operands("addmm", mat1, mat2, 2, 2);
  check_inner("addmm", mat1, mat2);
  GRADUS_CHECK(self.defined(), "addmm: self is an undefined tensor; expected one with data");
  GRADUS_CHECK_AS(TypeError, self.scalar_type() == mat1.scalar_type(), "addmm: self is ", self.scalar_type(),
                  " and mat1 is ", mat1.scalar_type(), "; expected the same type");
  GRADUS_CHECK(self.device() == mat1.device(), "addmm: self on ", self.device(), " and mat1 on ", mat1.device(),
               " were given; expected the same device");
  GRADUS_CHECK_AS(TypeError,
                  !is_integral(self.scalar_type(), true) || (alpha.isIntegral(true) && beta.isIntegral(true)),
                  "addmm: beta ", beta, " and alpha ", alpha, " were given; for integers they must be integers");
  auto r = recording(dest, self, mat1, mat2);
  refuse_complex_gradient("addmm", r, mat1);
  r.keep_self_if_operand();
  const int64_t shape[] = {mat1.size(0), mat2.size(1)};
  const DimVector full = broadcast_shapes("addmm", self.sizes(), shape);
  GRADUS_CHECK(IntArrayRef(full) == IntArrayRef(shape), "addmm: self of shape ", self.sizes(),
               " does not broadcast to the product's shape ", IntArrayRef(shape));
  const bool direct = dest.is_inplace() ? !dest.shares_memory({&mat1, &mat2})
                                        : is_dense_target(dest, shape, self.scalar_type(), MemoryFormat::Contiguous,
                                                          {&self, &mat1, &mat2});
  Tensor out = (direct ? dest : Dest()).result("addmm", shape, self.scalar_type(), mat1.device());
  if (!beta.equal(0) && !(direct && dest.is_inplace())) copy_into(out, self);
  run_gemm(out, mat1, mat2, Tensor(), alpha, beta);
  if (!direct) out = dest.deliver("addmm", std::move(out));
  if (r) {
    r.node("AddmmBackward0", out, [alpha, beta, a = r.save_if(2, 1), b = r.save_if(1, 2)](const GradIn& g, GradOut& d) {
      if (d.needs(0)) d[0] = beta.equal(1) ? g[0] : g[0].mul(beta);
      if (d.needs(1)) {
        Tensor m = g[0].mm(d.unpack(b).t());
        d[1] = alpha.equal(1) ? m : m.mul(alpha);
      }
      if (d.needs(2)) {
        Tensor m = d.unpack(a).t().mm(g[0]);
        d[2] = alpha.equal(1) ? m : m.mul(alpha);
      }
    });
  }
  return out;
}

Tensor mv(const Dest& dest, const Tensor& self, const Tensor& vec) {
  check_operands("mv", self, vec, 2, 1);
  GRADUS_CHECK(self.size(1) == vec.size(0), "mv: a matrix of shape ", self.sizes(), " and a vector of ", vec.size(0),
               " elements were given; expected ", self.size(1));
  auto r = recording(dest, self, vec);
  refuse_complex_gradient("mv", r, self);
  const int64_t shape[] = {self.size(0)};
  const bool direct = is_dense_target(dest, shape, self.scalar_type(), MemoryFormat::Contiguous, {&self, &vec});
  Tensor out = (direct ? dest : Dest()).result("mv", shape, self.scalar_type(), self.device());
  const int64_t column_sizes[] = {vec.size(0), 1}, column_strides[] = {vec.stride(0), 1},
                out_sizes[] = {self.size(0), 1}, out_strides[] = {1, 1};
  kernels::gemm(out.device(), kernels::View{out.data_ptr(), out_sizes, out_strides, 2, out.scalar_type(), out.device()},
                readable(self),
                kernels::ConstView{vec.data_ptr(), column_sizes, column_strides, 2, vec.scalar_type(), vec.device()},
                no_bias(), kOne, kZero);
  if (!direct) out = dest.deliver("mv", std::move(out));
  if (r) {
    r.node("MvBackward0", out, [a = r.save_if(1, 0), v = r.save_if(0, 1)](const GradIn& g, GradOut& d) {
      if (d.needs(0)) d[0] = g[0].unsqueeze(1).mul(d.unpack(v));
      if (d.needs(1)) d[1] = d.unpack(a).t().mv(g[0]);
    });
  }
  return out;
}

Tensor dot(const Dest& dest, const Tensor& self, const Tensor& tensor) {
  check_operands("dot", self, tensor, 1, 1);
  GRADUS_CHECK(self.size(0) == tensor.size(0), "dot: vectors of ", self.size(0), " and ", tensor.size(0),
               " elements were given; expected equal lengths");
  auto r = recording(dest, self, tensor);
  refuse_complex_gradient("dot", r, self);
  Tensor out = core::empty({}, self.scalar_type(), self.device());
  const int64_t n = self.size(0), sa = self.stride(0), sb = tensor.stride(0);
  const int64_t row_sizes[] = {1, n}, row_strides[] = {n * sa, sa}, column_sizes[] = {n, 1}, column_strides[] = {sb, 1},
                one[] = {1, 1};
  kernels::gemm(
      out.device(), kernels::View{out.data_ptr(), one, one, 2, out.scalar_type(), out.device()},
      kernels::ConstView{self.data_ptr(), row_sizes, row_strides, 2, self.scalar_type(), self.device()},
      kernels::ConstView{tensor.data_ptr(), column_sizes, column_strides, 2, tensor.scalar_type(), tensor.device()},
      no_bias(), kOne, kZero);
  out = dest.deliver("dot", std::move(out));
  if (r) {
    r.node("DotBackward0", out, [a = r.save_if(1, 0), b = r.save_if(0, 1)](const GradIn& g, GradOut& d) {
      if (d.needs(0)) d[0] = g[0].mul(d.unpack(b));
      if (d.needs(1)) d[1] = g[0].mul(d.unpack(a));
    });
  }
  return out;
}

namespace {

// Rows of the last dimension as a matrix; a copy only where the rows do not follow one another.
Tensor as_rows(const Tensor& t) {
  if (t.dim() == 2) return t;
  int64_t count = 1;
  for (size_t d = 0; d + 1 < t.sizes().size(); ++d) count *= t.sizes()[d];
  return t.reshape({count, t.size(-1)});
}

// Batches broadcast, as views where that is possible.
Tensor matmul_batched(const Tensor& a, const Tensor& b) {
  const IntArrayRef batch_a = a.sizes().slice(0, static_cast<size_t>(a.dim() - 2)),
                    batch_b = b.sizes().slice(0, static_cast<size_t>(b.dim() - 2));
  const DimVector batch = broadcast_shapes("matmul", batch_a, batch_b);
  int64_t count = 1;
  for (int64_t s : batch) count *= s;
  auto spread = [&](const Tensor& t) {
    DimVector full(batch);
    full.push_back(t.size(-2));
    full.push_back(t.size(-1));
    return t.expand(full).reshape({count, t.size(-2), t.size(-1)});
  };
  Tensor product = spread(a).bmm(spread(b));
  DimVector shape(batch);
  shape.push_back(a.size(-2));
  shape.push_back(b.size(-1));
  return product.reshape(shape);
}

}  // namespace

Tensor matmul(const Dest& dest, const Tensor& self, const Tensor& other) {
  GRADUS_CHECK(self.defined() && other.defined(), "matmul: an operand is an undefined tensor; expected one with data");
  const int64_t da = self.dim(), db = other.dim();
  GRADUS_CHECK(da > 0 && db > 0, "matmul: operands of ", da, " and ", db,
               " dimensions were given; expected at least 1 each");
  GRADUS_CHECK(self.size(-1) == other.size(db == 1 ? 0 : -2), "matmul: shapes ", self.sizes(), " and ", other.sizes(),
               " cannot be multiplied: ", self.size(-1), " against ", other.size(db == 1 ? 0 : -2));
  if (dest.is_fresh() && da == 2 && db == 2) return self.mm(other);
  if (dest.is_out() && dest.target().defined() && dest.target().scalar_type() == self.scalar_type()) {
    Tensor target = dest.target();
    if (da == 2 && db == 2) return gradus::mm_out(target, self, other);
    if (da == 2 && db == 1) return gradus::mv_out(target, self, other);
    if (da == 3 && db == 3 && self.size(0) == other.size(0)) return gradus::bmm_out(target, self, other);
  }
  Tensor out;
  if (da == 1 && db == 1) {
    out = self.dot(other);
  } else if (da == 2 && db == 1) {
    out = self.mv(other);
  } else if (da == 1 && db == 2) {
    out = self.unsqueeze(0).mm(other).squeeze(0);
  } else if (da == 2 && db == 2) {
    out = self.mm(other);
  } else if (da >= 3 && db <= 2) {
    // One product: the batch is rows.
    DimVector shape(self.sizes());
    shape.pop_back();
    Tensor rows = as_rows(self);
    if (db == 1) {
      out = rows.mv(other).reshape(shape);
    } else {
      shape.push_back(other.size(1));
      out = rows.mm(other).reshape(shape);
    }
  } else if (da == 1) {
    out = matmul_batched(self.unsqueeze(0), other).squeeze(-2);
  } else if (db == 1) {
    out = matmul_batched(self, other.unsqueeze(1)).squeeze(-1);
  } else {
    out = matmul_batched(self, other);
  }
  if (!dest.is_fresh() && grad_mode_enabled() && out.requires_grad()) autograd::out_form_requires_grad("out=");
  return dest.deliver("matmul", std::move(out));
}

Tensor linear(const Dest& dest, const Tensor& input, const Tensor& weight, const Tensor& bias) {
  GRADUS_CHECK(input.defined() && weight.defined(),
               "linear: input or weight is an undefined tensor; expected ones with data");
  GRADUS_CHECK(input.dim() >= 1 && (weight.dim() == 1 || weight.dim() == 2), "linear: input of ", input.dim(),
               " and weight of ", weight.dim(), " dimensions were given; expected at least 1, and 1 or 2");
  if (weight.dim() == 1) {  // one feature, whose dimension is dropped
    GRADUS_CHECK(input.size(-1) == weight.size(0), "linear: input of shape ", input.sizes(), " and weight of shape ",
                 weight.sizes(), " were given: ", input.size(-1), " features against ", weight.size(0));
    Tensor product = gradus::matmul(input, weight);
    if (bias.defined()) product = product.add(bias);
    return dest.is_fresh() ? product : dest.deliver("linear", std::move(product));
  }
  GRADUS_CHECK(input.size(-1) == weight.size(1), "linear: input of shape ", input.sizes(), " and weight of shape ",
               weight.sizes(), " were given: ", input.size(-1), " features against ", weight.size(1));
  GRADUS_CHECK_AS(
      TypeError,
      input.scalar_type() == weight.scalar_type() && (!bias.defined() || bias.scalar_type() == input.scalar_type()),
      "linear: input is ", input.scalar_type(), " and weight is ", weight.scalar_type(),
      "; expected the same type for all operands");
  GRADUS_CHECK(!bias.defined() || (bias.dim() == 1 && bias.size(0) == weight.size(0)), "linear: bias of shape ",
               bias.defined() ? bias.sizes() : IntArrayRef(), " was given for ", weight.size(0), " output features");
  auto r = recording(dest, input, weight, bias);
  refuse_complex_gradient("linear", r, input);
  // Here the rows are a plain reading of the input: history is recorded once, for all.
  Tensor rows = input;
  if (input.dim() != 2) {
    autograd::GradModeOff off;
    rows = as_rows(input.detach());
  }
  DimVector shape(input.sizes());
  shape.back() = weight.size(0);
  const bool direct =
      is_dense_target(dest, shape, input.scalar_type(), MemoryFormat::Contiguous, {&input, &weight, &bias});
  Tensor out = (direct ? dest : Dest()).result("linear", shape, input.scalar_type(), input.device());
  int64_t count = 1;
  for (size_t d = 0; d + 1 < shape.size(); ++d) count *= shape[d];
  const int64_t n = weight.size(0), k = weight.size(1);
  const int64_t out_sizes[] = {count, n}, out_strides[] = {n, 1}, w_sizes[] = {k, n},
                w_strides[] = {weight.stride(1), weight.stride(0)};
  const int64_t row_sizes[] = {count, k}, row_strides[] = {rows.stride(0), rows.stride(1)};
  kernels::gemm(out.device(), kernels::View{out.data_ptr(), out_sizes, out_strides, 2, out.scalar_type(), out.device()},
                kernels::ConstView{rows.data_ptr(), row_sizes, row_strides, 2, rows.scalar_type(), rows.device()},
                kernels::ConstView{weight.data_ptr(), w_sizes, w_strides, 2, weight.scalar_type(), weight.device()},
                readable(bias), kOne, kZero);
  if (!direct) out = dest.deliver("linear", std::move(out));
  if (r) {
    r.node("LinearBackward0", out, [x = r.save_if(1, 0), w = r.save_if(0, 1)](const GradIn& g, GradOut& d) {
      if (d.needs(0)) d[0] = g[0].matmul(d.unpack(w));
      if (!d.needs(1) && !d.needs(2)) return;
      Tensor rows_of_grad = as_rows(g[0]);
      if (d.needs(1)) d[1] = rows_of_grad.t().mm(as_rows(d.unpack(x)));
      if (d.needs(2)) d[2] = g[0].dim() == 1 ? g[0] : rows_of_grad.sum(0);
    });
  }
  return out;
}

}  // namespace gradus::inline v0::ops
