"""Which entries of PyTorch's operator test database are stored, by family, and what their Python calls are in ATen."""

import torch

FAMILIES = {
    "pointwise_unary": [
        "exp", "log", "sqrt", "rsqrt", "abs", "neg", "tanh", "sigmoid", "nn.functional.relu", "nn.functional.leaky_relu",
        "nn.functional.gelu", "nn.functional.silu", "erf", "sin", "cos", "logical_not", "isnan",
    ],
    "pointwise_further": [
        "ceil", "floor", "trunc", "round", "round|decimals_0", "round|decimals_3", "round|decimals_neg_3", "sign",
        "bitwise_not", "log1p", "expm1", "reciprocal", "square", "isfinite", "isinf", "nn.functional.threshold", "lerp",
        "addcmul", "addcdiv", "rsub", "isclose",
    ],
    "pointwise_binary": [
        "add", "sub", "mul", "div|no_rounding_mode", "div|trunc_rounding", "div|floor_rounding", "pow", "clamp",
        "clamp_min", "clamp_max", "maximum", "minimum",
    ],
    "pointwise_special": ["exp2", "erfc", "hypot"],
    "comparison": [
        "eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor", "equal", "allclose",
    ],
    "reduction": [
        "sum", "mean", "var", "var|unbiased", "std", "std|unbiased", "norm", "norm|fro", "norm|inf",
        "max|reduction_with_dim", "max|reduction_no_dim", "max|binary", "min|reduction_with_dim",
        "min|reduction_no_dim", "min|binary", "amin", "amax", "argmax", "argmin", "any", "all", "prod", "var_mean",
        "var_mean|unbiased", "linalg.vector_norm",
    ],
    "views": [
        "view", "reshape", "permute", "transpose", "t", "expand", "squeeze", "squeeze|multiple", "unsqueeze", "flatten",
        "select", "slice", "narrow", "split", "split|list_args", "split_with_sizes", "as_strided",
        "as_strided|partial_views", "clone", "contiguous", "broadcast_to", "chunk", "sum_to_size", "expand_as",
        "reshape_as", "view_as", "unflatten", "unbind", "movedim",
    ],
    "indexing": [
        "__getitem__", "index_put", "nonzero", "gather", "scatter", "scatter_add", "masked_fill", "masked_select", "where",
        "index_select", "index_add",
    ],
    "joining": ["cat", "stack"],
    "arranging": [
        "hstack", "vstack", "tensor_split", "tril", "triu", "take", "flip", "roll", "repeat", "diagonal", "unfold",
    ],
    "linalg": ["mm", "bmm", "matmul", "addmm", "dot", "mv", "nn.functional.linear"],
    "convolution": ["nn.functional.conv2d", "nn.functional.max_pool2d", "nn.functional.avg_pool2d"],
    "normalization": [
        "nn.functional.batch_norm", "nn.functional.layer_norm", "softmax", "softmax|with_dtype", "log_softmax",
        "log_softmax|with_dtype", "native_layer_norm",
    ],
    "loss": [
        "nn.functional.nll_loss", "nn.functional.cross_entropy", "nn.functional.mse_loss",
        "nn.functional.binary_cross_entropy_with_logits",
    ],
    "cross_entropy": [],  # samples of our own alone
    "nn_misc": [
        "nn.functional.dropout", "nn.functional.embedding", "nn.functional.one_hot", "nn.functional.pad|constant",
        "nn.functional.pad|reflect", "nn.functional.pad|replicate", "nn.functional.pad|replicate_negative",
        "nn.functional.pad|circular", "constant_pad_nd",
    ],
    "factories": [
        "empty", "zeros", "ones", "full", "arange", "randn", "randint", "empty_like", "zeros_like", "ones_like",
        "full_like", "rand_like", "randn_like", "randint_like", "to", "bool", "byte", "int", "long", "half", "bfloat16",
        "float", "double", "linspace", "eye", "scalar_tensor", "new_zeros", "new_ones", "new_full", "new_empty",
        "new_empty_strided", "empty_strided",
    ],
}

# Their values are draws: PyTorch's test database seeds with 42 before each, and so does the replay.
RANDOM = {"rand", "randperm", "randn", "randint", "rand_like", "randn_like", "randint_like", "nn.functional.dropout"}
SEED = 42
# Their values are whatever the memory held.
UNDEFINED = {"empty", "empty_like", "new_empty", "new_empty_strided", "empty_strided"}

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


class Unsupported(Exception):
    """A sample that is no single ATen call, with the reason."""


def _without_inplace(name):
    def adapt(*args, inplace=False, **kwargs):
        if inplace:
            raise Unsupported("in-place forms are derived by the replay")
        return name, args, kwargs

    return adapt


def _leaky_relu(x, negative_slope=0.01, inplace=False):
    return "leaky_relu", (x, negative_slope), {}


def _threshold(x, threshold, value, inplace=False):
    return "threshold", (x, threshold, value), {}


def _sum_to_size(x, *size):
    return "sum_to_size", (x, size[0] if len(size) == 1 and not isinstance(size[0], int) else list(size)), {}


def _norm(x, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    if p == "nuc":
        raise Unsupported("nuclear norm needs an SVD")
    p = 2 if p in ("fro", None) else p
    dtype = {} if dtype is None else {"dtype": dtype}
    if dim is None and not keepdim:
        return "norm", (x, p), dtype
    dims = list(range(x.dim())) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    return "norm", (x, p, dims, keepdim), dtype


def _getitem(x, index):
    """Tensor indices, full slices and an ellipsis are index.Tensor; what else Python's brackets take is several calls."""
    index = index if isinstance(index, (tuple, list)) else (index,)
    consumed = sum(i.dim() if isinstance(i, torch.Tensor) and i.dtype == torch.bool else 1 for i in index if i is not ...)
    indices = []
    for item in index:
        if item is ...:
            indices += [None] * (x.dim() - consumed)
        elif isinstance(item, slice) and item == slice(None):
            indices.append(None)
        elif isinstance(item, torch.Tensor):
            indices.append(item)
        elif isinstance(item, (list, tuple)):
            indices.append(torch.tensor(item))
        else:
            raise Unsupported("brackets with integers, slices or None are several calls")
    if all(item is None for item in indices):
        raise Unsupported("brackets without a tensor are no index.Tensor")
    return "index", (x, indices), {}


def _scatter(*args, reduce=None, **kwargs):
    if reduce is not None:
        raise Unsupported("scatter with a reduction is deprecated")
    return "scatter", args, kwargs


def _where(x, condition, other):
    return "where", (condition, x, other), {}


def _nonzero(x, as_tuple=False):
    if as_tuple:
        raise Unsupported("as_tuple is several calls")
    return "nonzero", (x,), {}


def _max_pool2d(*args, return_indices=False, **kwargs):
    return "max_pool2d_with_indices" if return_indices else "max_pool2d", args, kwargs


def _batch_norm(x, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    return "batch_norm", (x, weight, bias, running_mean, running_var, training, momentum, eps, False), {}


def _nll_loss(x, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    name = "nll_loss" if x.dim() <= 2 else "nll_loss_nd"
    return name, (x, target, weight, _REDUCTIONS.get(reduction, 7), ignore_index), {}


def _cross_entropy(x, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean",
                   label_smoothing=0.0):
    return "cross_entropy_loss", (x, target, weight, _REDUCTIONS.get(reduction, 7), ignore_index, label_smoothing), {}


def _mse_loss(x, target, size_average=None, reduce=None, reduction="mean", weight=None):
    if weight is not None:
        raise Unsupported("a weighted mse_loss is several calls")
    return "mse_loss", (x, target, _REDUCTIONS.get(reduction, 7)), {}


def _bce_with_logits(x, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None):
    return "binary_cross_entropy_with_logits", (x, target, weight, pos_weight, _REDUCTIONS.get(reduction, 7)), {}


def _dropout(x, p=0.5, training=True, inplace=False):
    return "dropout", (x, p, training), {}


def _embedding(weight, indices, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    if max_norm is not None:
        raise Unsupported("max_norm renormalises the weight: several calls")
    if sparse:
        raise Unsupported("sparse gradients")
    padding_idx = -1 if padding_idx is None else padding_idx + (weight.size(0) if padding_idx < 0 else 0)
    return "embedding", (weight, indices, padding_idx, scale_grad_by_freq), {}


def _to(x, *args, **kwargs):
    if args and isinstance(args[0], (str, torch.device)) and not (len(args) > 1 and isinstance(args[1], torch.dtype)):
        names = ("device", "dtype", "non_blocking", "copy")
        kwargs = {**dict(zip(names, args)), **kwargs}
        return "to", (x,), {name: value for name, value in kwargs.items() if value is not None}
    return "to", (x, *args), kwargs


def _cast(dtype):
    return lambda x, **kwargs: ("to", (x, dtype), kwargs)


ADAPTERS = {
    "nn.functional.relu": _without_inplace("relu"),
    "nn.functional.leaky_relu": _leaky_relu,
    "nn.functional.silu": _without_inplace("silu"),
    "nn.functional.threshold": _threshold,
    "linalg.vector_norm": lambda *args, **kwargs: ("linalg_vector_norm", args, kwargs),
    "sum_to_size": _sum_to_size,
    "norm": _norm,
    "__getitem__": _getitem,
    "scatter": _scatter,
    "where": _where,
    "nonzero": _nonzero,
    "nn.functional.max_pool2d": _max_pool2d,
    "nn.functional.batch_norm": _batch_norm,
    "nn.functional.nll_loss": _nll_loss,
    "nn.functional.cross_entropy": _cross_entropy,
    "nn.functional.mse_loss": _mse_loss,
    "nn.functional.binary_cross_entropy_with_logits": _bce_with_logits,
    "nn.functional.dropout": _dropout,
    "nn.functional.embedding": _embedding,
    "to": _to,
    "bool": _cast(torch.bool), "byte": _cast(torch.uint8), "int": _cast(torch.int32), "long": _cast(torch.int64),
    "half": _cast(torch.float16), "bfloat16": _cast(torch.bfloat16), "float": _cast(torch.float32),
    "double": _cast(torch.float64),
}


def aten_call(entry, args, kwargs):
    """(ATen name, args, kwargs) of a sample of the operator test database."""
    adapter = ADAPTERS.get(entry)
    if adapter:
        return adapter(*args, **kwargs)
    return entry.split(".")[-1], args, kwargs
