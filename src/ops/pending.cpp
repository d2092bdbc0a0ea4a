// Weak stand-ins for operators that are not written yet; a real definition replaces its own. Temporary.
// clang-format off
#include <gradus/core/indexing.h>
#include "ops/surface/generated/ops_activation.h"
#include "ops/surface/generated/ops_comparison.h"
#include "ops/surface/generated/ops_copy.h"
#include "ops/surface/generated/ops_factory.h"
#include "ops/surface/generated/ops_indexing.h"
#include "ops/surface/generated/ops_linalg.h"
#include "ops/surface/generated/ops_loss.h"
#include "ops/surface/generated/ops_nn.h"
#include "ops/surface/generated/ops_pointwise.h"
#include "ops/surface/generated/ops_random.h"
#include "ops/surface/generated/ops_reduction.h"
#include "ops/surface/generated/ops_view.h"

namespace gradus::inline v0::ops {

[[noreturn]] static void missing(const char* op) { throw NotImplementedError(str(op, ": not written yet")); }

[[gnu::weak]] Tensor relu(const Dest&, const Tensor&) { missing("relu"); }
[[gnu::weak]] Tensor leaky_relu(const Dest&, const Tensor&, const Scalar&) { missing("leaky_relu"); }
[[gnu::weak]] Tensor gelu(const Dest&, const Tensor&, std::string_view) { missing("gelu"); }
[[gnu::weak]] Tensor silu(const Dest&, const Tensor&) { missing("silu"); }
[[gnu::weak]] Tensor hardtanh(const Dest&, const Tensor&, const Scalar&, const Scalar&) { missing("hardtanh"); }
[[gnu::weak]] Tensor threshold(const Dest&, const Tensor&, const Scalar&, const Scalar&) { missing("threshold"); }
[[gnu::weak]] Tensor softmax(const Dest&, const Tensor&, int64_t, std::optional<ScalarType>) { missing("softmax"); }
[[gnu::weak]] Tensor log_softmax(const Dest&, const Tensor&, int64_t, std::optional<ScalarType>) { missing("log_softmax"); }
[[gnu::weak]] Tensor sigmoid_backward(const Tensor&, const Tensor&) { missing("sigmoid_backward"); }
[[gnu::weak]] Tensor tanh_backward(const Tensor&, const Tensor&) { missing("tanh_backward"); }
[[gnu::weak]] Tensor threshold_backward(const Tensor&, const Tensor&, const Scalar&) { missing("threshold_backward"); }
[[gnu::weak]] Tensor leaky_relu_backward(const Tensor&, const Tensor&, const Scalar&, bool) { missing("leaky_relu_backward"); }
[[gnu::weak]] Tensor gelu_backward(const Tensor&, const Tensor&, std::string_view) { missing("gelu_backward"); }
[[gnu::weak]] Tensor silu_backward(const Tensor&, const Tensor&) { missing("silu_backward"); }
[[gnu::weak]] Tensor eq(const Dest&, const Tensor&, const Scalar&) { missing("eq"); }
[[gnu::weak]] Tensor eq(const Dest&, const Tensor&, const Tensor&) { missing("eq"); }
[[gnu::weak]] Tensor ne(const Dest&, const Tensor&, const Scalar&) { missing("ne"); }
[[gnu::weak]] Tensor ne(const Dest&, const Tensor&, const Tensor&) { missing("ne"); }
[[gnu::weak]] Tensor lt(const Dest&, const Tensor&, const Scalar&) { missing("lt"); }
[[gnu::weak]] Tensor lt(const Dest&, const Tensor&, const Tensor&) { missing("lt"); }
[[gnu::weak]] Tensor le(const Dest&, const Tensor&, const Scalar&) { missing("le"); }
[[gnu::weak]] Tensor le(const Dest&, const Tensor&, const Tensor&) { missing("le"); }
[[gnu::weak]] Tensor gt(const Dest&, const Tensor&, const Scalar&) { missing("gt"); }
[[gnu::weak]] Tensor gt(const Dest&, const Tensor&, const Tensor&) { missing("gt"); }
[[gnu::weak]] Tensor ge(const Dest&, const Tensor&, const Scalar&) { missing("ge"); }
[[gnu::weak]] Tensor ge(const Dest&, const Tensor&, const Tensor&) { missing("ge"); }
[[gnu::weak]] Tensor logical_and(const Dest&, const Tensor&, const Tensor&) { missing("logical_and"); }
[[gnu::weak]] Tensor logical_or(const Dest&, const Tensor&, const Tensor&) { missing("logical_or"); }
[[gnu::weak]] Tensor logical_xor(const Dest&, const Tensor&, const Tensor&) { missing("logical_xor"); }
[[gnu::weak]] Tensor logical_not(const Dest&, const Tensor&) { missing("logical_not"); }
[[gnu::weak]] Tensor isnan(const Tensor&) { missing("isnan"); }
[[gnu::weak]] Tensor isinf(const Tensor&) { missing("isinf"); }
[[gnu::weak]] Tensor isfinite(const Tensor&) { missing("isfinite"); }
[[gnu::weak]] Tensor isclose(const Tensor&, const Tensor&, double, double, bool) { missing("isclose"); }
[[gnu::weak]] bool allclose(const Tensor&, const Tensor&, double, double, bool) { missing("allclose"); }
[[gnu::weak]] bool equal(const Tensor&, const Tensor&) { missing("equal"); }
[[gnu::weak]] Tensor clone(const Tensor&, std::optional<MemoryFormat>) { missing("clone"); }
[[gnu::weak]] void copy_(const Tensor&, const Tensor&, bool) { missing("copy_"); }
[[gnu::weak]] Tensor contiguous(const Tensor&, MemoryFormat) { missing("contiguous"); }
[[gnu::weak]] Tensor to(const Tensor&, Device, ScalarType, bool, bool, std::optional<MemoryFormat>) { missing("to"); }
[[gnu::weak]] Tensor to(const Tensor&, ScalarType, bool, bool, std::optional<MemoryFormat>) { missing("to"); }
[[gnu::weak]] Tensor to(const Tensor&, const TensorOptions&, bool, bool, std::optional<MemoryFormat>) { missing("to"); }
[[gnu::weak]] Tensor to(const Tensor&, const Tensor&, bool, bool, std::optional<MemoryFormat>) { missing("to"); }
[[gnu::weak]] Tensor type_as(const Tensor&, const Tensor&) { missing("type_as"); }
[[gnu::weak]] Tensor fill(const Dest&, const Tensor&, const Scalar&) { missing("fill"); }
[[gnu::weak]] Tensor fill(const Dest&, const Tensor&, const Tensor&) { missing("fill"); }
[[gnu::weak]] void zero_(const Tensor&) { missing("zero_"); }
[[gnu::weak]] void resize_(const Tensor&, IntArrayRef, std::optional<MemoryFormat>) { missing("resize_"); }
[[gnu::weak]] Scalar item(const Tensor&) { missing("item"); }
[[gnu::weak]] void resize_as_(const Tensor&, const Tensor&, std::optional<MemoryFormat>) { missing("resize_as_"); }
[[gnu::weak]] Tensor _to_copy(const Tensor&, const TensorOptions&, bool, std::optional<MemoryFormat>) { missing("_to_copy"); }
[[gnu::weak]] Tensor empty(const Dest&, IntArrayRef, const TensorOptions&, std::optional<MemoryFormat>) { missing("empty"); }
[[gnu::weak]] Tensor empty_like(const Tensor&, const TensorOptions&, std::optional<MemoryFormat>) { missing("empty_like"); }
[[gnu::weak]] Tensor empty_strided(IntArrayRef, IntArrayRef, const TensorOptions&) { missing("empty_strided"); }
[[gnu::weak]] Tensor new_empty(const Tensor&, IntArrayRef, const TensorOptions&) { missing("new_empty"); }
[[gnu::weak]] Tensor new_zeros(const Tensor&, IntArrayRef, const TensorOptions&) { missing("new_zeros"); }
[[gnu::weak]] Tensor new_ones(const Tensor&, IntArrayRef, const TensorOptions&) { missing("new_ones"); }
[[gnu::weak]] Tensor new_empty_strided(const Tensor&, IntArrayRef, IntArrayRef, const TensorOptions&) { missing("new_empty_strided"); }
[[gnu::weak]] Tensor new_full(const Tensor&, IntArrayRef, const Scalar&, const TensorOptions&) { missing("new_full"); }
[[gnu::weak]] Tensor zeros(const Dest&, IntArrayRef, const TensorOptions&) { missing("zeros"); }
[[gnu::weak]] Tensor zeros_like(const Tensor&, const TensorOptions&, std::optional<MemoryFormat>) { missing("zeros_like"); }
[[gnu::weak]] Tensor ones(const Dest&, IntArrayRef, const TensorOptions&) { missing("ones"); }
[[gnu::weak]] Tensor ones_like(const Tensor&, const TensorOptions&, std::optional<MemoryFormat>) { missing("ones_like"); }
[[gnu::weak]] Tensor full(const Dest&, IntArrayRef, const Scalar&, const TensorOptions&) { missing("full"); }
[[gnu::weak]] Tensor full_like(const Tensor&, const Scalar&, const TensorOptions&, std::optional<MemoryFormat>) { missing("full_like"); }
[[gnu::weak]] Tensor scalar_tensor(const Scalar&, const TensorOptions&) { missing("scalar_tensor"); }
[[gnu::weak]] Tensor arange(const Dest&, const Scalar&, const TensorOptions&) { missing("arange"); }
[[gnu::weak]] Tensor arange(const Scalar&, const Scalar&, const TensorOptions&) { missing("arange"); }
[[gnu::weak]] Tensor arange(const Dest&, const Scalar&, const Scalar&, const Scalar&, const TensorOptions&) { missing("arange"); }
[[gnu::weak]] Tensor linspace(const Dest&, const Scalar&, const Scalar&, int64_t, const TensorOptions&) { missing("linspace"); }
[[gnu::weak]] Tensor linspace(const Dest&, const Scalar&, const Tensor&, int64_t, const TensorOptions&) { missing("linspace"); }
[[gnu::weak]] Tensor linspace(const Dest&, const Tensor&, const Scalar&, int64_t, const TensorOptions&) { missing("linspace"); }
[[gnu::weak]] Tensor linspace(const Dest&, const Tensor&, const Tensor&, int64_t, const TensorOptions&) { missing("linspace"); }
[[gnu::weak]] Tensor eye(const Dest&, int64_t, const TensorOptions&) { missing("eye"); }
[[gnu::weak]] Tensor eye(const Dest&, int64_t, int64_t, const TensorOptions&) { missing("eye"); }
[[gnu::weak]] Tensor one_hot(const Tensor&, int64_t) { missing("one_hot"); }
[[gnu::weak]] Tensor tril(const Dest&, const Tensor&, int64_t) { missing("tril"); }
[[gnu::weak]] Tensor triu(const Dest&, const Tensor&, int64_t) { missing("triu"); }
[[gnu::weak]] Tensor index(const Dest&, const Tensor&, ArrayRef<std::optional<Tensor>>) { missing("index"); }
[[gnu::weak]] Tensor index_put(const Dest&, const Tensor&, ArrayRef<std::optional<Tensor>>, const Tensor&, bool) { missing("index_put"); }
[[gnu::weak]] Tensor index_select(const Dest&, const Tensor&, int64_t, const Tensor&) { missing("index_select"); }
[[gnu::weak]] Tensor index_add(const Dest&, const Tensor&, int64_t, const Tensor&, const Tensor&, const Scalar&) { missing("index_add"); }
[[gnu::weak]] Tensor gather(const Dest&, const Tensor&, int64_t, const Tensor&, bool) { missing("gather"); }
[[gnu::weak]] Tensor scatter_add(const Dest&, const Tensor&, int64_t, const Tensor&, const Tensor&) { missing("scatter_add"); }
[[gnu::weak]] Tensor masked_fill(const Dest&, const Tensor&, const Tensor&, const Scalar&) { missing("masked_fill"); }
[[gnu::weak]] Tensor masked_fill(const Dest&, const Tensor&, const Tensor&, const Tensor&) { missing("masked_fill"); }
[[gnu::weak]] Tensor masked_select(const Dest&, const Tensor&, const Tensor&) { missing("masked_select"); }
[[gnu::weak]] Tensor nonzero(const Dest&, const Tensor&) { missing("nonzero"); }
[[gnu::weak]] std::vector<Tensor> nonzero_numpy(const Tensor&) { missing("nonzero_numpy"); }
[[gnu::weak]] Tensor cat(const Dest&, TensorList, int64_t) { missing("cat"); }
[[gnu::weak]] Tensor stack(const Dest&, TensorList, int64_t) { missing("stack"); }
[[gnu::weak]] Tensor embedding(const Tensor&, const Tensor&, int64_t, bool, bool) { missing("embedding"); }
[[gnu::weak]] Tensor embedding_dense_backward(const Tensor&, const Tensor&, int64_t, int64_t, bool) { missing("embedding_dense_backward"); }
[[gnu::weak]] Tensor index_copy(const Dest&, const Tensor&, int64_t, const Tensor&, const Tensor&) { missing("index_copy"); }
[[gnu::weak]] Tensor index_fill(const Dest&, const Tensor&, int64_t, const Tensor&, const Scalar&) { missing("index_fill"); }
[[gnu::weak]] Tensor index_fill(const Dest&, const Tensor&, int64_t, const Tensor&, const Tensor&) { missing("index_fill"); }
[[gnu::weak]] Tensor scatter(const Dest&, const Tensor&, int64_t, const Tensor&, const Tensor&, std::string_view) { missing("scatter"); }
[[gnu::weak]] Tensor scatter(const Dest&, const Tensor&, int64_t, const Tensor&, const Tensor&) { missing("scatter"); }
[[gnu::weak]] Tensor scatter(const Dest&, const Tensor&, int64_t, const Tensor&, const Scalar&) { missing("scatter"); }
[[gnu::weak]] Tensor scatter(const Dest&, const Tensor&, int64_t, const Tensor&, const Scalar&, std::string_view) { missing("scatter"); }
[[gnu::weak]] Tensor take(const Dest&, const Tensor&, const Tensor&) { missing("take"); }
[[gnu::weak]] Tensor argsort(const Tensor&, int64_t, bool) { missing("argsort"); }
[[gnu::weak]] Tensor argsort(const Dest&, const Tensor&, bool, int64_t, bool) { missing("argsort"); }
[[gnu::weak]] std::tuple<Tensor, Tensor> sort(const Dest&, const Tensor&, int64_t, bool) { missing("sort"); }
[[gnu::weak]] std::tuple<Tensor, Tensor> sort(const Dest&, const Tensor&, std::optional<bool>, int64_t, bool) { missing("sort"); }
[[gnu::weak]] std::tuple<Tensor, Tensor> topk(const Dest&, const Tensor&, int64_t, int64_t, bool, bool) { missing("topk"); }
[[gnu::weak]] Tensor mm(const Dest&, const Tensor&, const Tensor&) { missing("mm"); }
[[gnu::weak]] Tensor bmm(const Dest&, const Tensor&, const Tensor&) { missing("bmm"); }
[[gnu::weak]] Tensor matmul(const Dest&, const Tensor&, const Tensor&) { missing("matmul"); }
[[gnu::weak]] Tensor addmm(const Dest&, const Tensor&, const Tensor&, const Tensor&, const Scalar&, const Scalar&) { missing("addmm"); }
[[gnu::weak]] Tensor mv(const Dest&, const Tensor&, const Tensor&) { missing("mv"); }
[[gnu::weak]] Tensor dot(const Dest&, const Tensor&, const Tensor&) { missing("dot"); }
[[gnu::weak]] Tensor linear(const Dest&, const Tensor&, const Tensor&, const Tensor&) { missing("linear"); }
[[gnu::weak]] Tensor nll_loss(const Dest&, const Tensor&, const Tensor&, const Tensor&, int64_t, int64_t) { missing("nll_loss"); }
[[gnu::weak]] Tensor nll_loss_nd(const Tensor&, const Tensor&, const Tensor&, int64_t, int64_t) { missing("nll_loss_nd"); }
[[gnu::weak]] Tensor nll_loss2d(const Dest&, const Tensor&, const Tensor&, const Tensor&, int64_t, int64_t) { missing("nll_loss2d"); }
[[gnu::weak]] std::tuple<Tensor, Tensor> nll_loss_forward(const Dest&, const Tensor&, const Tensor&, const Tensor&, int64_t, int64_t) { missing("nll_loss_forward"); }
[[gnu::weak]] Tensor cross_entropy_loss(const Tensor&, const Tensor&, const Tensor&, int64_t, int64_t, double) { missing("cross_entropy_loss"); }
[[gnu::weak]] Tensor mse_loss(const Dest&, const Tensor&, const Tensor&, int64_t) { missing("mse_loss"); }
[[gnu::weak]] Tensor binary_cross_entropy_with_logits(const Tensor&, const Tensor&, const Tensor&, const Tensor&, int64_t) { missing("binary_cross_entropy_with_logits"); }
[[gnu::weak]] Tensor nll_loss_backward(const Tensor&, const Tensor&, const Tensor&, const Tensor&, int64_t, int64_t, const Tensor&) { missing("nll_loss_backward"); }
[[gnu::weak]] Tensor mse_loss_backward(const Tensor&, const Tensor&, const Tensor&, int64_t) { missing("mse_loss_backward"); }
[[gnu::weak]] Tensor conv2d(const Tensor&, const Tensor&, const Tensor&, IntArrayRef, IntArrayRef, IntArrayRef, int64_t) { missing("conv2d"); }
[[gnu::weak]] Tensor conv2d(const Tensor&, const Tensor&, const Tensor&, IntArrayRef, std::string_view, IntArrayRef, int64_t) { missing("conv2d"); }
[[gnu::weak]] Tensor convolution(const Tensor&, const Tensor&, const Tensor&, IntArrayRef, IntArrayRef, IntArrayRef, bool, IntArrayRef, int64_t) { missing("convolution"); }
[[gnu::weak]] Tensor max_pool2d(const Tensor&, IntArrayRef, IntArrayRef, IntArrayRef, IntArrayRef, bool) { missing("max_pool2d"); }
[[gnu::weak]] std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Dest&, const Tensor&, IntArrayRef, IntArrayRef, IntArrayRef, IntArrayRef, bool) { missing("max_pool2d_with_indices"); }
[[gnu::weak]] Tensor avg_pool2d(const Dest&, const Tensor&, IntArrayRef, IntArrayRef, IntArrayRef, bool, bool, std::optional<int64_t>) { missing("avg_pool2d"); }
[[gnu::weak]] Tensor batch_norm(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, bool, double, double, bool) { missing("batch_norm"); }
[[gnu::weak]] std::tuple<Tensor, Tensor, Tensor> native_batch_norm(const Dest&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, bool, double, double) { missing("native_batch_norm"); }
[[gnu::weak]] Tensor layer_norm(const Tensor&, IntArrayRef, const Tensor&, const Tensor&, double, bool) { missing("layer_norm"); }
[[gnu::weak]] std::tuple<Tensor, Tensor, Tensor> native_layer_norm(const Tensor&, IntArrayRef, const Tensor&, const Tensor&, double) { missing("native_layer_norm"); }
[[gnu::weak]] Tensor pad(const Tensor&, IntArrayRef, std::string_view, std::optional<double>) { missing("pad"); }
[[gnu::weak]] Tensor constant_pad_nd(const Tensor&, IntArrayRef, const Scalar&) { missing("constant_pad_nd"); }
[[gnu::weak]] std::tuple<Tensor, Tensor, Tensor> convolution_backward(const Tensor&, const Tensor&, const Tensor&, OptionalIntArrayRef, IntArrayRef, IntArrayRef, IntArrayRef, bool, IntArrayRef, int64_t, std::array<bool, 3>) { missing("convolution_backward"); }
[[gnu::weak]] Tensor max_pool2d_with_indices_backward(const Tensor&, const Tensor&, IntArrayRef, IntArrayRef, IntArrayRef, IntArrayRef, bool, const Tensor&) { missing("max_pool2d_with_indices_backward"); }
[[gnu::weak]] Tensor avg_pool2d_backward(const Tensor&, const Tensor&, IntArrayRef, IntArrayRef, IntArrayRef, bool, bool, std::optional<int64_t>) { missing("avg_pool2d_backward"); }
[[gnu::weak]] std::tuple<Tensor, Tensor, Tensor> native_batch_norm_backward(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, bool, double, std::array<bool, 3>) { missing("native_batch_norm_backward"); }
[[gnu::weak]] std::tuple<Tensor, Tensor, Tensor> native_layer_norm_backward(const Tensor&, const Tensor&, IntArrayRef, const Tensor&, const Tensor&, const Tensor&, const Tensor&, std::array<bool, 3>) { missing("native_layer_norm_backward"); }
[[gnu::weak]] Tensor abs(const Dest&, const Tensor&) { missing("abs"); }
[[gnu::weak]] Tensor neg(const Dest&, const Tensor&) { missing("neg"); }
[[gnu::weak]] Tensor exp(const Dest&, const Tensor&) { missing("exp"); }
[[gnu::weak]] Tensor log(const Dest&, const Tensor&) { missing("log"); }
[[gnu::weak]] Tensor log2(const Dest&, const Tensor&) { missing("log2"); }
[[gnu::weak]] Tensor log10(const Dest&, const Tensor&) { missing("log10"); }
[[gnu::weak]] Tensor log1p(const Dest&, const Tensor&) { missing("log1p"); }
[[gnu::weak]] Tensor expm1(const Dest&, const Tensor&) { missing("expm1"); }
[[gnu::weak]] Tensor sqrt(const Dest&, const Tensor&) { missing("sqrt"); }
[[gnu::weak]] Tensor rsqrt(const Dest&, const Tensor&) { missing("rsqrt"); }
[[gnu::weak]] Tensor square(const Dest&, const Tensor&) { missing("square"); }
[[gnu::weak]] Tensor reciprocal(const Dest&, const Tensor&) { missing("reciprocal"); }
[[gnu::weak]] Tensor erf(const Dest&, const Tensor&) { missing("erf"); }
[[gnu::weak]] Tensor sin(const Dest&, const Tensor&) { missing("sin"); }
[[gnu::weak]] Tensor cos(const Dest&, const Tensor&) { missing("cos"); }
[[gnu::weak]] Tensor tan(const Dest&, const Tensor&) { missing("tan"); }
[[gnu::weak]] Tensor tanh(const Dest&, const Tensor&) { missing("tanh"); }
[[gnu::weak]] Tensor sigmoid(const Dest&, const Tensor&) { missing("sigmoid"); }
[[gnu::weak]] Tensor sign(const Dest&, const Tensor&) { missing("sign"); }
[[gnu::weak]] Tensor floor(const Dest&, const Tensor&) { missing("floor"); }
[[gnu::weak]] Tensor ceil(const Dest&, const Tensor&) { missing("ceil"); }
[[gnu::weak]] Tensor round(const Dest&, const Tensor&) { missing("round"); }
[[gnu::weak]] Tensor round(const Dest&, const Tensor&, int64_t) { missing("round"); }
[[gnu::weak]] Tensor trunc(const Dest&, const Tensor&) { missing("trunc"); }
[[gnu::weak]] Tensor add(const Dest&, const Tensor&, const Scalar&, const Scalar&) { missing("add"); }
[[gnu::weak]] Tensor add(const Dest&, const Tensor&, const Tensor&, const Scalar&) { missing("add"); }
[[gnu::weak]] Tensor sub(const Dest&, const Tensor&, const Scalar&, const Scalar&) { missing("sub"); }
[[gnu::weak]] Tensor sub(const Dest&, const Tensor&, const Tensor&, const Scalar&) { missing("sub"); }
[[gnu::weak]] Tensor rsub(const Tensor&, const Scalar&, const Scalar&) { missing("rsub"); }
[[gnu::weak]] Tensor rsub(const Tensor&, const Tensor&, const Scalar&) { missing("rsub"); }
[[gnu::weak]] Tensor mul(const Dest&, const Tensor&, const Scalar&) { missing("mul"); }
[[gnu::weak]] Tensor mul(const Dest&, const Tensor&, const Tensor&) { missing("mul"); }
[[gnu::weak]] Tensor div(const Dest&, const Tensor&, const Scalar&) { missing("div"); }
[[gnu::weak]] Tensor div(const Dest&, const Tensor&, const Scalar&, std::optional<std::string_view>) { missing("div"); }
[[gnu::weak]] Tensor div(const Dest&, const Tensor&, const Tensor&) { missing("div"); }
[[gnu::weak]] Tensor div(const Dest&, const Tensor&, const Tensor&, std::optional<std::string_view>) { missing("div"); }
[[gnu::weak]] Tensor pow(const Dest&, const Scalar&, const Tensor&) { missing("pow"); }
[[gnu::weak]] Tensor pow(const Dest&, const Tensor&, const Scalar&) { missing("pow"); }
[[gnu::weak]] Tensor pow(const Dest&, const Tensor&, const Tensor&) { missing("pow"); }
[[gnu::weak]] Tensor floor_divide(const Dest&, const Tensor&, const Tensor&) { missing("floor_divide"); }
[[gnu::weak]] Tensor floor_divide(const Dest&, const Tensor&, const Scalar&) { missing("floor_divide"); }
[[gnu::weak]] Tensor remainder(const Dest&, const Tensor&, const Scalar&) { missing("remainder"); }
[[gnu::weak]] Tensor remainder(const Scalar&, const Tensor&) { missing("remainder"); }
[[gnu::weak]] Tensor remainder(const Dest&, const Tensor&, const Tensor&) { missing("remainder"); }
[[gnu::weak]] Tensor fmod(const Dest&, const Tensor&, const Scalar&) { missing("fmod"); }
[[gnu::weak]] Tensor fmod(const Dest&, const Tensor&, const Tensor&) { missing("fmod"); }
[[gnu::weak]] Tensor clamp(const Dest&, const Tensor&, const std::optional<Scalar>&, const std::optional<Scalar>&) { missing("clamp"); }
[[gnu::weak]] Tensor clamp(const Dest&, const Tensor&, const Tensor&, const Tensor&) { missing("clamp"); }
[[gnu::weak]] Tensor clamp_min(const Dest&, const Tensor&, const Scalar&) { missing("clamp_min"); }
[[gnu::weak]] Tensor clamp_min(const Dest&, const Tensor&, const Tensor&) { missing("clamp_min"); }
[[gnu::weak]] Tensor clamp_max(const Dest&, const Tensor&, const Scalar&) { missing("clamp_max"); }
[[gnu::weak]] Tensor clamp_max(const Dest&, const Tensor&, const Tensor&) { missing("clamp_max"); }
[[gnu::weak]] Tensor maximum(const Dest&, const Tensor&, const Tensor&) { missing("maximum"); }
[[gnu::weak]] Tensor minimum(const Dest&, const Tensor&, const Tensor&) { missing("minimum"); }
[[gnu::weak]] Tensor lerp(const Dest&, const Tensor&, const Tensor&, const Scalar&) { missing("lerp"); }
[[gnu::weak]] Tensor lerp(const Dest&, const Tensor&, const Tensor&, const Tensor&) { missing("lerp"); }
[[gnu::weak]] Tensor addcmul(const Dest&, const Tensor&, const Tensor&, const Tensor&, const Scalar&) { missing("addcmul"); }
[[gnu::weak]] Tensor addcdiv(const Dest&, const Tensor&, const Tensor&, const Tensor&, const Scalar&) { missing("addcdiv"); }
[[gnu::weak]] std::vector<Tensor> where(const Tensor&) { missing("where"); }
[[gnu::weak]] Tensor where(const Tensor&, const Scalar&, const Scalar&) { missing("where"); }
[[gnu::weak]] Tensor where(const Tensor&, const Tensor&, const Scalar&) { missing("where"); }
[[gnu::weak]] Tensor where(const Tensor&, const Scalar&, const Tensor&) { missing("where"); }
[[gnu::weak]] Tensor where(const Dest&, const Tensor&, const Tensor&, const Tensor&) { missing("where"); }
[[gnu::weak]] Tensor bitwise_not(const Dest&, const Tensor&) { missing("bitwise_not"); }
[[gnu::weak]] Tensor bitwise_and(const Dest&, const Tensor&, const Scalar&) { missing("bitwise_and"); }
[[gnu::weak]] Tensor bitwise_and(const Scalar&, const Tensor&) { missing("bitwise_and"); }
[[gnu::weak]] Tensor bitwise_and(const Dest&, const Tensor&, const Tensor&) { missing("bitwise_and"); }
[[gnu::weak]] Tensor bitwise_or(const Dest&, const Tensor&, const Scalar&) { missing("bitwise_or"); }
[[gnu::weak]] Tensor bitwise_or(const Scalar&, const Tensor&) { missing("bitwise_or"); }
[[gnu::weak]] Tensor bitwise_or(const Dest&, const Tensor&, const Tensor&) { missing("bitwise_or"); }
[[gnu::weak]] Tensor bitwise_xor(const Dest&, const Tensor&, const Scalar&) { missing("bitwise_xor"); }
[[gnu::weak]] Tensor bitwise_xor(const Scalar&, const Tensor&) { missing("bitwise_xor"); }
[[gnu::weak]] Tensor bitwise_xor(const Dest&, const Tensor&, const Tensor&) { missing("bitwise_xor"); }
[[gnu::weak]] Tensor rand(const Dest&, IntArrayRef, const TensorOptions&) { missing("rand"); }
[[gnu::weak]] Tensor rand(const Dest&, IntArrayRef, const std::optional<Generator>&, const TensorOptions&) { missing("rand"); }
[[gnu::weak]] Tensor rand_like(const Tensor&, const TensorOptions&, std::optional<MemoryFormat>) { missing("rand_like"); }
[[gnu::weak]] Tensor rand_like(const Tensor&, const std::optional<Generator>&, const TensorOptions&, std::optional<MemoryFormat>) { missing("rand_like"); }
[[gnu::weak]] Tensor randn(const Dest&, IntArrayRef, const TensorOptions&) { missing("randn"); }
[[gnu::weak]] Tensor randn(const Dest&, IntArrayRef, const std::optional<Generator>&, const TensorOptions&) { missing("randn"); }
[[gnu::weak]] Tensor randn_like(const Tensor&, const TensorOptions&, std::optional<MemoryFormat>) { missing("randn_like"); }
[[gnu::weak]] Tensor randn_like(const Tensor&, const std::optional<Generator>&, const TensorOptions&, std::optional<MemoryFormat>) { missing("randn_like"); }
[[gnu::weak]] Tensor randint(const Dest&, int64_t, IntArrayRef, const TensorOptions&) { missing("randint"); }
[[gnu::weak]] Tensor randint(const Dest&, int64_t, IntArrayRef, const std::optional<Generator>&, const TensorOptions&) { missing("randint"); }
[[gnu::weak]] Tensor randint(const Dest&, int64_t, int64_t, IntArrayRef, const TensorOptions&) { missing("randint"); }
[[gnu::weak]] Tensor randint(const Dest&, int64_t, int64_t, IntArrayRef, const std::optional<Generator>&, const TensorOptions&) { missing("randint"); }
[[gnu::weak]] Tensor randint_like(const Tensor&, int64_t, const TensorOptions&, std::optional<MemoryFormat>) { missing("randint_like"); }
[[gnu::weak]] Tensor randint_like(const Tensor&, int64_t, const std::optional<Generator>&, const TensorOptions&, std::optional<MemoryFormat>) { missing("randint_like"); }
[[gnu::weak]] Tensor randint_like(const Tensor&, int64_t, int64_t, const TensorOptions&, std::optional<MemoryFormat>) { missing("randint_like"); }
[[gnu::weak]] Tensor randint_like(const Tensor&, int64_t, int64_t, const std::optional<Generator>&, const TensorOptions&, std::optional<MemoryFormat>) { missing("randint_like"); }
[[gnu::weak]] Tensor randint_like(const Tensor&, const Tensor&, const TensorOptions&, std::optional<MemoryFormat>) { missing("randint_like"); }
[[gnu::weak]] Tensor randint_like(const Tensor&, const Tensor&, const std::optional<Generator>&, const TensorOptions&, std::optional<MemoryFormat>) { missing("randint_like"); }
[[gnu::weak]] Tensor randperm(const Dest&, int64_t, const TensorOptions&) { missing("randperm"); }
[[gnu::weak]] Tensor randperm(const Dest&, int64_t, const std::optional<Generator>&, const TensorOptions&) { missing("randperm"); }
[[gnu::weak]] Tensor normal(const Dest&, double, double, IntArrayRef, const std::optional<Generator>&, const TensorOptions&) { missing("normal"); }
[[gnu::weak]] Tensor normal(const Dest&, const Tensor&, double, const std::optional<Generator>&) { missing("normal"); }
[[gnu::weak]] Tensor normal(const Dest&, double, const Tensor&, const std::optional<Generator>&) { missing("normal"); }
[[gnu::weak]] Tensor normal(const Dest&, const Tensor&, const Tensor&, const std::optional<Generator>&) { missing("normal"); }
[[gnu::weak]] Tensor normal_functional(const Tensor&, double, double, const std::optional<Generator>&) { missing("normal_functional"); }
[[gnu::weak]] void uniform_(const Tensor&, double, double, const std::optional<Generator>&) { missing("uniform_"); }
[[gnu::weak]] void normal_(const Tensor&, double, double, const std::optional<Generator>&) { missing("normal_"); }
[[gnu::weak]] void log_normal_(const Tensor&, double, double, const std::optional<Generator>&) { missing("log_normal_"); }
[[gnu::weak]] void cauchy_(const Tensor&, double, double, const std::optional<Generator>&) { missing("cauchy_"); }
[[gnu::weak]] void exponential_(const Tensor&, double, const std::optional<Generator>&) { missing("exponential_"); }
[[gnu::weak]] void geometric_(const Tensor&, double, const std::optional<Generator>&) { missing("geometric_"); }
[[gnu::weak]] void random_(const Tensor&, const std::optional<Generator>&) { missing("random_"); }
[[gnu::weak]] void random_(const Tensor&, int64_t, std::optional<int64_t>, const std::optional<Generator>&) { missing("random_"); }
[[gnu::weak]] void random_(const Tensor&, int64_t, const std::optional<Generator>&) { missing("random_"); }
[[gnu::weak]] Tensor bernoulli(const Dest&, const Tensor&, const std::optional<Generator>&) { missing("bernoulli"); }
[[gnu::weak]] Tensor bernoulli(const Tensor&, double, const std::optional<Generator>&) { missing("bernoulli"); }
[[gnu::weak]] void bernoulli_(const Tensor&, double, const std::optional<Generator>&) { missing("bernoulli_"); }
[[gnu::weak]] void bernoulli_(const Tensor&, const Tensor&, const std::optional<Generator>&) { missing("bernoulli_"); }
[[gnu::weak]] Tensor multinomial(const Dest&, const Tensor&, int64_t, bool, const std::optional<Generator>&) { missing("multinomial"); }
[[gnu::weak]] Tensor dropout(const Dest&, const Tensor&, double, bool) { missing("dropout"); }
[[gnu::weak]] Tensor feature_dropout(const Dest&, const Tensor&, double, bool) { missing("feature_dropout"); }
[[gnu::weak]] Tensor alpha_dropout(const Dest&, const Tensor&, double, bool) { missing("alpha_dropout"); }
[[gnu::weak]] Tensor feature_alpha_dropout(const Dest&, const Tensor&, double, bool) { missing("feature_alpha_dropout"); }
[[gnu::weak]] std::tuple<Tensor, Tensor> native_dropout(const Tensor&, double, std::optional<bool>) { missing("native_dropout"); }
[[gnu::weak]] Tensor native_dropout_backward(const Tensor&, const Tensor&, double) { missing("native_dropout_backward"); }
[[gnu::weak]] Tensor sum(const Tensor&, std::optional<ScalarType>) { missing("sum"); }
[[gnu::weak]] Tensor sum(const Dest&, const Tensor&, OptionalIntArrayRef, bool, std::optional<ScalarType>) { missing("sum"); }
[[gnu::weak]] Tensor mean(const Dest&, const Tensor&, std::optional<ScalarType>) { missing("mean"); }
[[gnu::weak]] Tensor mean(const Dest&, const Tensor&, OptionalIntArrayRef, bool, std::optional<ScalarType>) { missing("mean"); }
[[gnu::weak]] Tensor prod(const Tensor&, std::optional<ScalarType>) { missing("prod"); }
[[gnu::weak]] Tensor prod(const Dest&, const Tensor&, int64_t, bool, std::optional<ScalarType>) { missing("prod"); }
[[gnu::weak]] Tensor var(const Tensor&, bool) { missing("var"); }
[[gnu::weak]] Tensor var(const Dest&, const Tensor&, OptionalIntArrayRef, const std::optional<Scalar>&, bool) { missing("var"); }
[[gnu::weak]] Tensor var(const Dest&, const Tensor&, OptionalIntArrayRef, bool, bool) { missing("var"); }
[[gnu::weak]] Tensor std(const Tensor&, bool) { missing("std"); }
[[gnu::weak]] Tensor std(const Dest&, const Tensor&, OptionalIntArrayRef, const std::optional<Scalar>&, bool) { missing("std"); }
[[gnu::weak]] Tensor std(const Dest&, const Tensor&, OptionalIntArrayRef, bool, bool) { missing("std"); }
[[gnu::weak]] std::tuple<Tensor, Tensor> var_mean(const Tensor&, bool) { missing("var_mean"); }
[[gnu::weak]] std::tuple<Tensor, Tensor> var_mean(const Tensor&, OptionalIntArrayRef, const std::optional<Scalar>&, bool) { missing("var_mean"); }
[[gnu::weak]] std::tuple<Tensor, Tensor> var_mean(const Tensor&, OptionalIntArrayRef, bool, bool) { missing("var_mean"); }
[[gnu::weak]] std::tuple<Tensor, Tensor> std_mean(const Tensor&, bool) { missing("std_mean"); }
[[gnu::weak]] std::tuple<Tensor, Tensor> std_mean(const Tensor&, OptionalIntArrayRef, const std::optional<Scalar>&, bool) { missing("std_mean"); }
[[gnu::weak]] std::tuple<Tensor, Tensor> std_mean(const Tensor&, OptionalIntArrayRef, bool, bool) { missing("std_mean"); }
[[gnu::weak]] Tensor norm(const Tensor&, const Scalar&) { missing("norm"); }
[[gnu::weak]] Tensor norm(const Dest&, const Tensor&, const std::optional<Scalar>&, IntArrayRef, bool) { missing("norm"); }
[[gnu::weak]] Tensor norm(const Dest&, const Tensor&, const std::optional<Scalar>&, IntArrayRef, bool, ScalarType) { missing("norm"); }
[[gnu::weak]] Tensor norm(const Tensor&, const std::optional<Scalar>&, ScalarType) { missing("norm"); }
[[gnu::weak]] Tensor linalg_vector_norm(const Dest&, const Tensor&, const Scalar&, OptionalIntArrayRef, bool, std::optional<ScalarType>) { missing("linalg_vector_norm"); }
[[gnu::weak]] Tensor min(const Dest&, const Tensor&) { missing("min"); }
[[gnu::weak]] std::tuple<Tensor, Tensor> min(const Dest&, const Tensor&, int64_t, bool) { missing("min"); }
[[gnu::weak]] Tensor min(const Dest&, const Tensor&, const Tensor&) { missing("min"); }
[[gnu::weak]] Tensor max(const Dest&, const Tensor&) { missing("max"); }
[[gnu::weak]] std::tuple<Tensor, Tensor> max(const Dest&, const Tensor&, int64_t, bool) { missing("max"); }
[[gnu::weak]] Tensor max(const Dest&, const Tensor&, const Tensor&) { missing("max"); }
[[gnu::weak]] Tensor amin(const Dest&, const Tensor&, IntArrayRef, bool) { missing("amin"); }
[[gnu::weak]] Tensor amax(const Dest&, const Tensor&, IntArrayRef, bool) { missing("amax"); }
[[gnu::weak]] Tensor argmin(const Dest&, const Tensor&, std::optional<int64_t>, bool) { missing("argmin"); }
[[gnu::weak]] Tensor argmax(const Dest&, const Tensor&, std::optional<int64_t>, bool) { missing("argmax"); }
[[gnu::weak]] Tensor any(const Dest&, const Tensor&) { missing("any"); }
[[gnu::weak]] Tensor any(const Dest&, const Tensor&, int64_t, bool) { missing("any"); }
[[gnu::weak]] Tensor any(const Dest&, const Tensor&, OptionalIntArrayRef, bool) { missing("any"); }
[[gnu::weak]] Tensor all(const Dest&, const Tensor&) { missing("all"); }
[[gnu::weak]] Tensor all(const Dest&, const Tensor&, int64_t, bool) { missing("all"); }
[[gnu::weak]] Tensor all(const Dest&, const Tensor&, OptionalIntArrayRef, bool) { missing("all"); }
[[gnu::weak]] Tensor logsumexp(const Dest&, const Tensor&, IntArrayRef, bool) { missing("logsumexp"); }
[[gnu::weak]] Tensor cumsum(const Dest&, const Tensor&, int64_t, std::optional<ScalarType>) { missing("cumsum"); }
[[gnu::weak]] Tensor sum_to_size(const Tensor&, IntArrayRef) { missing("sum_to_size"); }
[[gnu::weak]] Tensor count_nonzero(const Tensor&, std::optional<int64_t>) { missing("count_nonzero"); }
[[gnu::weak]] Tensor count_nonzero(const Tensor&, IntArrayRef) { missing("count_nonzero"); }
[[gnu::weak]] Tensor value_selecting_reduction_backward(const Tensor&, int64_t, const Tensor&, IntArrayRef, bool) { missing("value_selecting_reduction_backward"); }
[[gnu::weak]] Tensor view(const Tensor&, IntArrayRef) { missing("view"); }
[[gnu::weak]] Tensor view(const Tensor&, ScalarType) { missing("view"); }
[[gnu::weak]] Tensor view_as(const Tensor&, const Tensor&) { missing("view_as"); }
[[gnu::weak]] Tensor reshape(const Tensor&, IntArrayRef) { missing("reshape"); }
[[gnu::weak]] Tensor reshape_as(const Tensor&, const Tensor&) { missing("reshape_as"); }
[[gnu::weak]] Tensor permute(const Tensor&, IntArrayRef) { missing("permute"); }
[[gnu::weak]] Tensor transpose(const Tensor&, int64_t, int64_t) { missing("transpose"); }
[[gnu::weak]] void transpose_(const Tensor&, int64_t, int64_t) { missing("transpose_"); }
[[gnu::weak]] Tensor t(const Tensor&) { missing("t"); }
[[gnu::weak]] void t_(const Tensor&) { missing("t_"); }
[[gnu::weak]] Tensor numpy_T(const Tensor&) { missing("numpy_T"); }
[[gnu::weak]] Tensor mT(const Tensor&) { missing("mT"); }
[[gnu::weak]] Tensor expand(const Tensor&, IntArrayRef, bool) { missing("expand"); }
[[gnu::weak]] Tensor expand_as(const Tensor&, const Tensor&) { missing("expand_as"); }
[[gnu::weak]] Tensor broadcast_to(const Tensor&, IntArrayRef) { missing("broadcast_to"); }
[[gnu::weak]] Tensor squeeze(const Tensor&) { missing("squeeze"); }
[[gnu::weak]] Tensor squeeze(const Tensor&, int64_t) { missing("squeeze"); }
[[gnu::weak]] Tensor squeeze(const Tensor&, IntArrayRef) { missing("squeeze"); }
[[gnu::weak]] void squeeze_(const Tensor&) { missing("squeeze_"); }
[[gnu::weak]] void squeeze_(const Tensor&, int64_t) { missing("squeeze_"); }
[[gnu::weak]] void squeeze_(const Tensor&, IntArrayRef) { missing("squeeze_"); }
[[gnu::weak]] Tensor unsqueeze(const Tensor&, int64_t) { missing("unsqueeze"); }
[[gnu::weak]] void unsqueeze_(const Tensor&, int64_t) { missing("unsqueeze_"); }
[[gnu::weak]] Tensor flatten(const Tensor&, int64_t, int64_t) { missing("flatten"); }
[[gnu::weak]] Tensor unflatten(const Tensor&, int64_t, IntArrayRef) { missing("unflatten"); }
[[gnu::weak]] Tensor select(const Tensor&, int64_t, int64_t) { missing("select"); }
[[gnu::weak]] Tensor slice(const Tensor&, int64_t, std::optional<int64_t>, std::optional<int64_t>, int64_t) { missing("slice"); }
[[gnu::weak]] Tensor narrow(const Tensor&, int64_t, int64_t, int64_t) { missing("narrow"); }
[[gnu::weak]] Tensor narrow(const Tensor&, int64_t, const Tensor&, int64_t) { missing("narrow"); }
[[gnu::weak]] std::vector<Tensor> split(const Tensor&, IntArrayRef, int64_t) { missing("split"); }
[[gnu::weak]] std::vector<Tensor> split(const Tensor&, int64_t, int64_t) { missing("split"); }
[[gnu::weak]] std::vector<Tensor> split_with_sizes(const Tensor&, IntArrayRef, int64_t) { missing("split_with_sizes"); }
[[gnu::weak]] std::vector<Tensor> chunk(const Tensor&, int64_t, int64_t) { missing("chunk"); }
[[gnu::weak]] std::vector<Tensor> unbind(const Tensor&, int64_t) { missing("unbind"); }
[[gnu::weak]] Tensor movedim(const Tensor&, int64_t, int64_t) { missing("movedim"); }
[[gnu::weak]] Tensor movedim(const Tensor&, IntArrayRef, IntArrayRef) { missing("movedim"); }
[[gnu::weak]] Tensor as_strided(const Tensor&, IntArrayRef, IntArrayRef, std::optional<int64_t>) { missing("as_strided"); }
[[gnu::weak]] void as_strided_(const Tensor&, IntArrayRef, IntArrayRef, std::optional<int64_t>) { missing("as_strided_"); }
[[gnu::weak]] Tensor detach(const Tensor&) { missing("detach"); }
[[gnu::weak]] void detach_(const Tensor&) { missing("detach_"); }
[[gnu::weak]] Tensor alias(const Tensor&) { missing("alias"); }
[[gnu::weak]] Tensor select_backward(const Tensor&, IntArrayRef, int64_t, int64_t) { missing("select_backward"); }
[[gnu::weak]] Tensor slice_backward(const Tensor&, IntArrayRef, int64_t, int64_t, int64_t, int64_t) { missing("slice_backward"); }
[[gnu::weak]] Tensor swapaxes(const Tensor&, int64_t, int64_t) { missing("swapaxes"); }
[[gnu::weak]] Tensor ravel(const Tensor&) { missing("ravel"); }
[[gnu::weak]] Tensor diagonal(const Tensor&, int64_t, int64_t, int64_t) { missing("diagonal"); }
[[gnu::weak]] Tensor unfold(const Tensor&, int64_t, int64_t, int64_t) { missing("unfold"); }
[[gnu::weak]] Tensor flip(const Tensor&, IntArrayRef) { missing("flip"); }
[[gnu::weak]] Tensor roll(const Tensor&, IntArrayRef, IntArrayRef) { missing("roll"); }
[[gnu::weak]] Tensor repeat(const Tensor&, IntArrayRef) { missing("repeat"); }

}  // namespace gradus::inline v0::ops

// Methods of Tensor that are written by hand over operators.
namespace gradus::inline v0 {
using ops::missing;
[[gnu::weak]] Tensor& Tensor::operator=(const Tensor&) && { missing("operator="); }
[[gnu::weak]] Tensor& Tensor::operator=(Tensor&&) && { missing("operator="); }
[[gnu::weak]] Tensor& Tensor::operator=(const Scalar&) && { missing("operator="); }
[[gnu::weak]] Scalar Tensor::item() const { missing("item"); }
[[gnu::weak]] Tensor Tensor::operator[](int64_t) const { missing("operator[]"); }
[[gnu::weak]] Tensor Tensor::operator[](const Scalar&) const { missing("operator[]"); }
[[gnu::weak]] Tensor Tensor::operator[](const Tensor&) const { missing("operator[]"); }
[[gnu::weak]] Tensor Tensor::index(std::initializer_list<indexing::TensorIndex>) const { missing("index"); }
[[gnu::weak]] Tensor Tensor::index(ArrayRef<indexing::TensorIndex>) const { missing("index"); }
[[gnu::weak]] Tensor& Tensor::index_put_(std::initializer_list<indexing::TensorIndex>, const Tensor&) const { missing("index_put_"); }
[[gnu::weak]] Tensor& Tensor::index_put_(std::initializer_list<indexing::TensorIndex>, const Scalar&) const { missing("index_put_"); }
[[gnu::weak]] Tensor& Tensor::index_put_(ArrayRef<indexing::TensorIndex>, const Tensor&) const { missing("index_put_"); }
[[gnu::weak]] Tensor& Tensor::index_put_(ArrayRef<indexing::TensorIndex>, const Scalar&) const { missing("index_put_"); }
[[gnu::weak]] Tensor Tensor::operator-() const { missing("operator-"); }
[[gnu::weak]] Tensor Tensor::operator~() const { missing("operator~"); }
[[gnu::weak]] Tensor& Tensor::operator+=(const Tensor&) const { missing("operator+="); }
[[gnu::weak]] Tensor& Tensor::operator+=(const Scalar&) const { missing("operator+="); }
[[gnu::weak]] Tensor& Tensor::operator-=(const Tensor&) const { missing("operator-="); }
[[gnu::weak]] Tensor& Tensor::operator-=(const Scalar&) const { missing("operator-="); }
[[gnu::weak]] Tensor& Tensor::operator*=(const Tensor&) const { missing("operator*="); }
[[gnu::weak]] Tensor& Tensor::operator*=(const Scalar&) const { missing("operator*="); }
[[gnu::weak]] Tensor& Tensor::operator/=(const Tensor&) const { missing("operator/="); }
[[gnu::weak]] Tensor& Tensor::operator/=(const Scalar&) const { missing("operator/="); }
[[gnu::weak]] std::ostream& operator<<(std::ostream&, const Tensor&) { missing("operator<<"); }
}  // namespace gradus::inline v0
