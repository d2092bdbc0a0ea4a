"""Samples of our own, where PyTorch's test database has none of an operator, or only in Python's spelling of it.

A family's calls are (ATen name, args, kwargs); its errors, calls that PyTorch refuses, are (ATen name, args) or the same.
"""

import torch

_INF = float("inf")


def _f64(*shape):
    return torch.randn(shape, dtype=torch.float64, requires_grad=True)


def _long(*values):
    return torch.tensor(values, dtype=torch.int64)


def _indexing_calls():
    mask = torch.tensor([True, False, True, True])
    square = torch.tensor([[True, False, True], [False, False, True], [True, True, False], [False, True, False]])
    yield "index", (_f64(4, 3), [_long(0, -1, 2)]), {}
    yield "index", (_f64(4, 3), [None, _long(2, 0)]), {}
    yield "index", (_f64(4, 3), [mask]), {}
    yield "index", (_f64(4, 3), [square]), {}
    yield "index", (_f64(4, 3), [mask, None]), {}
    yield "index", (_f64(2, 4, 3), [None, mask]), {}
    yield "index", (_f64(2, 4, 3), [None, square]), {}
    yield "index", (_f64(4, 3), [_long(0, 1, 1), _long(2, 2, 2)]), {}
    yield "index", (_f64(4, 3, 2), [_long(0, 1), None, _long(1, 0)]), {}
    yield "index", (_f64(4, 3, 2, 5), [None, _long(0, 1), None, _long(4, 0)]), {}
    yield "index", (_f64(4, 3, 2), [_long(0, 3).view(2, 1), _long(1, 0, 2)]), {}
    yield "index", (_f64(4, 3), [torch.zeros(0, dtype=torch.int64)]), {}
    yield "index", (_f64(4, 3), [torch.zeros(4, dtype=torch.bool)]), {}
    yield "index", (_f64(4, 3), [torch.tensor(1)]), {}
    yield "index", (_f64(4, 3).t(), [_long(2, 2, 0)]), {}
    yield "index", (_f64(4, 3), [_long(1, 2).int()]), {}
    for accumulate in (False, True):
        yield "index_put", (_f64(4, 3), [_long(0, 3)], _f64(2, 3), accumulate), {}
        yield "index_put", (_f64(4, 3), [mask], _f64(3, 3), accumulate), {}
        yield "index_put", (_f64(4, 3), [None, _long(2, 0)], _f64(4, 1), accumulate), {}
        yield "index_put", (_f64(4, 3), [_long(0, 2), _long(1, -1)], _f64(), accumulate), {}
    yield "index_put", (_f64(4, 3), [_long(1, 1, 1)], _f64(3, 3), True), {}
    yield "gather", (_f64(3, 4), 1, torch.zeros(3, 0, dtype=torch.int64)), {}
    yield "where", (torch.tensor([True, False]), torch.tensor([1, 2]), torch.tensor([0.5, 0.25])), {}
    yield "where", (torch.tensor([True, False]), torch.ones(2, dtype=torch.float16), torch.zeros(2)), {}
    yield "nonzero", (torch.tensor([[0.0, float("nan")], [-0.0, 2.0]]),), {}


def _indexing_errors():
    yield "index", (torch.zeros(4, 3), [_long(4)])
    yield "index", (torch.zeros(4, 3), [_long(-5)])
    yield "index", (torch.zeros(4, 3), [_long(0), _long(0), _long(0)])
    yield "index", (torch.zeros(4, 3), [_long(0, 1), _long(0, 1, 2)])
    yield "index", (torch.zeros(4, 3), [torch.zeros(3, dtype=torch.bool)])
    yield "index", (torch.zeros(4, 3), [torch.zeros(2)])
    yield "index_put", (torch.zeros(4, 3), [_long(4)], torch.zeros(1, 3))
    yield "index_put", (torch.zeros(4, 3), [_long(0, 1)], torch.zeros(3, 3))
    yield "gather", (torch.zeros(2, 3), 1, torch.full((2, 1), 3))
    yield "scatter", (torch.zeros(2, 3), 1, torch.full((2, 1), 3), 1.0)
    yield "masked_fill", (torch.zeros(2, 3), torch.zeros(2, 3), 1.0)
    yield "where", (torch.zeros(2, dtype=torch.bool), torch.zeros(3), torch.zeros(4))


def _reduction_calls():
    empty = torch.zeros(0, 3, dtype=torch.float64, requires_grad=True)
    for name in ("sum", "mean", "any", "all"):
        yield name, (empty.detach(),), {}
        yield name, (empty.detach(), 0), {}
    nan = torch.tensor([[1.0, float("nan"), 3.0], [_INF, -_INF, 0.0]], dtype=torch.float64)
    for name in ("max", "min", "amax", "amin", "argmax", "argmin", "sum", "mean", "std"):
        yield name, (nan, 1), {}
    ties = torch.tensor([[2.0, 2.0, 1.0], [0.0, 0.0, 0.0]], dtype=torch.float64, requires_grad=True)
    for name in ("max", "min", "amax", "amin"):
        yield name, (ties, 1), {}
    for name in ("max", "min", "amax", "amin"):
        yield name, (ties,), {}
    yield "argmax", (ties.detach(), 1), {}
    yield "argmin", (ties.detach(), 1, True), {}
    for p in (0, 1, 2, 3, 0.5, _INF, -_INF):
        yield "norm", (_f64(3, 4), p), {}
        yield "norm", (_f64(3, 4), p, [1], False), {}
    yield "norm", (torch.zeros(3, dtype=torch.float64, requires_grad=True), 2), {}
    yield "sum", (torch.full((3, 5), 7, dtype=torch.uint8),), {}
    yield "sum", (torch.full((3, 5), True),), {}
    yield "sum", (torch.full((3, 5), 2000.0, dtype=torch.float16), 1), {}
    yield "sum", (torch.ones(3, 5, dtype=torch.int32), [0, 1], True), {"dtype": torch.float64}
    yield "var", (_f64(3, 4), [0]), {"correction": 2}
    yield "std", (_f64(3, 4), [0, 1]), {"correction": 0, "keepdim": True}
    yield "std", (_f64(4), True), {}
    yield "mean", (torch.randn(3000).to(torch.bfloat16),), {}


def _reduction_errors():
    yield "sum", (torch.zeros(2, 3), 2)
    yield "sum", (torch.zeros(2, 3), [0, 0])
    yield "mean", (torch.zeros(2, 3, dtype=torch.int64),)
    yield "var", (torch.zeros(2, 3, dtype=torch.int64),)
    yield "max", (torch.zeros(0),)
    yield "max", (torch.zeros(0, 3), 0)
    yield "amax", (torch.zeros(0, 3), 0)
    yield "argmax", (torch.zeros(0),)
    yield "argmin", (torch.zeros(2, 3), -3)
    yield "any", (torch.zeros(2, 3), 5)
    yield "norm", (torch.zeros(2, 3, dtype=torch.int64), 2)


def _factory_calls():
    for dtype in (torch.float32, torch.float64):
        for size in ([3], [2, 3], [17], [0], [], [5, 7]):
            yield "rand", (size,), {"dtype": dtype}
            yield "randn", (size,), {"dtype": dtype}
    for n in (0, 1, 2, 5, 17, 100):
        yield "randperm", (n,), {}
    yield "randperm", (7,), {"dtype": torch.int32}
    yield "randint", (-3, 4, [11]), {}
    yield "randint", (1 << 40, [11]), {}
    yield "randint", (10, [6]), {"dtype": torch.float32}
    yield "arange", (0, 1, 0.1), {}
    yield "arange", (5,), {}
    yield "arange", (5, 0, -2), {}
    yield "arange", (0, 0), {"dtype": torch.float64}
    yield "arange", (1, 4), {"dtype": torch.float16}
    yield "full", ([2, 3], True), {}
    yield "full", ([2, 3], 2), {}
    yield "full", ([2, 3], 2.5), {}
    values = torch.tensor([0.0, -0.0, 1.5, -2.5, 100.75, 3e38, -_INF, float("nan")])
    for dtype in (torch.float64, torch.float16, torch.bfloat16, torch.bool):
        yield "to", (values, dtype), {}
    yield "to", (torch.tensor([-1, 300, 255, 0]), torch.uint8), {}
    yield "to", (torch.tensor([2.0**40, -7.9, 7.9], dtype=torch.float64), torch.int64), {}
    yield "_to_copy", (_f64(2, 3),), {"dtype": torch.float32}
    yield "_to_copy", (_f64(3, 2).t(),), {}


def _factory_errors():
    yield "zeros", ([2, -1],)
    yield "full", ([-1], 1.0)
    yield "arange", (0, 5, 0)
    yield "arange", (0, 5, -1)
    yield "randperm", (-1,)
    yield "randint", (0, [3])
    yield "randint", (5, 5, [3])
    yield "rand", ([-2],)


def _view_errors():
    yield "view", (torch.zeros(2, 3), [4])
    yield "view", (torch.zeros(3, 2).t(), [6])
    yield "view", (torch.zeros(2, 3), [-1, -1])
    yield "reshape", (torch.zeros(2, 3), [-1, 4])
    yield "reshape", (torch.zeros(0, 3), [-1, 0])
    yield "permute", (torch.zeros(2, 3), [0])
    yield "permute", (torch.zeros(2, 3), [0, 0])
    yield "transpose", (torch.zeros(2, 3), 0, 2)
    yield "t", (torch.zeros(2, 3, 4),)
    yield "expand", (torch.zeros(2, 3), [2, 4])
    yield "expand", (torch.zeros(2, 3), [3])
    yield "squeeze", (torch.zeros(2, 3), 2)
    yield "unsqueeze", (torch.zeros(2, 3), 4)
    yield "flatten", (torch.zeros(2, 3), 1, 0)
    yield "select", (torch.zeros(2, 3), 0, 2)
    yield "select", (torch.zeros(()), 0, 0)
    yield "slice", (torch.zeros(2, 3), 0, 0, 2, 0)
    yield "narrow", (torch.zeros(2, 3), 0, 1, 2)
    yield "split", (torch.zeros(2, 3), -1)
    yield "split_with_sizes", (torch.zeros(5, 3), [2, 2])
    yield "as_strided", (torch.zeros(4), [2, 3], [3, 1])


def _pointwise_calls():
    special = torch.tensor([0.0, -0.0, 1.0, -1.0, _INF, -_INF, float("nan"), 1e-310, 709.0, -745.0, 88.5, -104.0],
                           dtype=torch.float64)
    for name in ("exp", "log", "sqrt", "rsqrt", "abs", "neg", "tanh", "sigmoid", "relu", "gelu", "silu", "erf", "sin",
                 "cos", "isnan", "leaky_relu"):
        for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
            yield name, (special.to(dtype),), {}


def _binary_calls():
    a = torch.tensor([5, -5, 5, -5, 0], dtype=torch.int64)
    b = torch.tensor([3, 3, -3, -3, 7], dtype=torch.int64)
    for mode in (None, "trunc", "floor"):
        yield "div", (a, b), {"rounding_mode": mode}
        yield "div", (a.double(), b.double()), {"rounding_mode": mode}
        yield "div", (torch.tensor([1.0, -1.0, 0.0, _INF]), torch.tensor([0.0, 0.0, 0.0, 2.0])), {"rounding_mode": mode}
    yield "pow", (a, 2), {}
    yield "pow", (a, 0.5), {}
    yield "pow", (2, a.abs()), {}
    yield "pow", (torch.zeros(2, dtype=torch.float64, requires_grad=True), 0), {}
    yield "pow", (torch.tensor([0.0, 2.0], dtype=torch.float64, requires_grad=True),
                  torch.tensor([0.0, 3.0], dtype=torch.float64, requires_grad=True)), {}
    yield "add", (torch.ones(2, 3, dtype=torch.int32), torch.ones(3, dtype=torch.float16)), {}
    yield "add", (torch.ones(2, dtype=torch.uint8), torch.ones(2, dtype=torch.int8)), {}
    yield "add", (torch.ones(2, dtype=torch.int64), torch.tensor(2.5)), {}
    yield "add", (torch.ones(2, dtype=torch.float32), torch.tensor(2.5, dtype=torch.float64)), {}
    yield "add", (torch.ones(2, dtype=torch.bool), 1), {}
    yield "add", (torch.ones(2, dtype=torch.int32), 1.5), {}
    yield "mul", (torch.full((3,), 200, dtype=torch.uint8), 2), {}
    yield "add", (_f64(0, 3), _f64(1, 3)), {}
    yield "add", (_f64(3, 4), _f64(4)), {"alpha": -0.5}
    yield "mul", (_f64(5, 4).t(), _f64(4, 5)), {}
    nan = torch.tensor([float("nan"), 1.0, -_INF])
    yield "maximum", (nan, torch.tensor([1.0, float("nan"), _INF])), {}
    yield "minimum", (nan, torch.tensor([1.0, float("nan"), _INF])), {}
    yield "maximum", (torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True),
                      torch.tensor([1.0, 1.0], dtype=torch.float64, requires_grad=True)), {}
    yield "clamp", (nan, 0.0, 1.0), {}
    yield "clamp", (torch.tensor([1.0, 2.0, 0.0], dtype=torch.float64, requires_grad=True), 1.0, 2.0), {}


def _binary_errors():
    for name in ("add", "sub", "mul", "div", "pow", "maximum", "minimum"):
        yield name, (torch.zeros(2, 3), torch.zeros(2))
    yield "sub", (torch.ones(2, dtype=torch.bool), torch.ones(2, dtype=torch.bool))
    yield "add", (torch.ones(2, dtype=torch.int64), torch.ones(2, dtype=torch.int64)), {"alpha": 0.5}
    yield "pow", (torch.ones(2, dtype=torch.int64), -1)
    yield "clamp", (torch.zeros(2), None, None)
    yield "div", (torch.zeros(2, dtype=torch.int64), torch.zeros(2, dtype=torch.int64)), {"rounding_mode": "trunc"}
    yield "div", (torch.zeros(2), torch.zeros(2)), {"rounding_mode": "round"}


def _comparison_errors():
    for name in ("eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor"):
        yield name, (torch.zeros(2, 3), torch.zeros(2))
    yield "allclose", (torch.zeros(2), torch.zeros(2, dtype=torch.float64))
    yield "allclose", (torch.zeros(2, 3), torch.zeros(2))


def _joining_errors():
    yield "cat", ([],)
    yield "cat", ([torch.zeros(2, 3), torch.zeros(2, 4)],)
    yield "cat", ([torch.zeros(2, 3), torch.zeros(2)],)
    yield "cat", ([torch.zeros(2, 3)], 2)
    yield "stack", ([],)
    yield "stack", ([torch.zeros(2, 3), torch.zeros(3, 2)],)


def _linalg_calls():
    yield "mm", (_f64(0, 3), _f64(3, 2)), {}
    yield "mm", (_f64(2, 0), _f64(0, 3)), {}
    yield "mm", (_f64(3, 2).t(), _f64(4, 3).t()), {}
    yield "mm", (_f64(17, 33), _f64(33, 9)), {}
    yield "bmm", (_f64(3, 2, 4).transpose(1, 2), _f64(3, 2, 5)), {}
    yield "matmul", (_f64(4), _f64(4)), {}
    yield "matmul", (_f64(4), _f64(4, 2)), {}
    yield "matmul", (_f64(2, 4), _f64(4)), {}
    yield "matmul", (_f64(3, 1, 2, 4), _f64(5, 4, 3)), {}
    yield "addmm", (_f64(3), _f64(2, 4), _f64(4, 3)), {"beta": 0.5, "alpha": -2.0}
    yield "addmm", (torch.full((2, 3), float("nan"), dtype=torch.float64), _f64(2, 4), _f64(4, 3)), {"beta": 0}
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        yield "mm", (torch.randn(17, 40).to(dtype), torch.randn(40, 19).to(dtype)), {}


def _linalg_errors():
    yield "mm", (torch.zeros(2, 3), torch.zeros(2, 3))
    yield "mm", (torch.zeros(3), torch.zeros(3, 2))
    yield "mm", (torch.zeros(2, 3), torch.zeros(3, 2, dtype=torch.float64))
    yield "bmm", (torch.zeros(2, 3, 4), torch.zeros(3, 4, 2))
    yield "bmm", (torch.zeros(2, 3), torch.zeros(3, 2))
    yield "matmul", (torch.zeros(()), torch.zeros(3))
    yield "matmul", (torch.zeros(2, 3), torch.zeros(4))
    yield "addmm", (torch.zeros(4), torch.zeros(2, 3), torch.zeros(3, 2))


def _convolution_errors():
    yield "conv2d", (torch.zeros(1, 3, 5, 5), torch.zeros(2, 4, 3, 3))
    yield "conv2d", (torch.zeros(1, 3, 2, 2), torch.zeros(2, 3, 3, 3))
    yield "conv2d", (torch.zeros(3, 3), torch.zeros(2, 3, 3, 3))
    yield "conv2d", (torch.zeros(1, 3, 5, 5), torch.zeros(2, 3, 3, 3), torch.zeros(3))
    yield "conv2d", (torch.zeros(1, 3, 5, 5), torch.zeros(2, 3, 3, 3), None, [0, 0])
    yield "max_pool2d", (torch.zeros(1, 1, 4, 4), [2, 2], [2, 2], [2, 2])
    yield "max_pool2d", (torch.zeros(4, 4), [2, 2])
    yield "avg_pool2d", (torch.zeros(1, 1, 4, 4), [2, 2], [2, 2], [2, 2])


def _normalization_calls():
    row = torch.tensor([[0.0, -_INF, 1.0], [_INF, 0.0, 1.0], [-_INF, -_INF, -_INF]], dtype=torch.float64)
    for name in ("softmax", "log_softmax"):
        yield name, (row, 1), {}
        yield name, (_f64(2, 33), -1), {}
        yield name, (_f64(3, 4, 5), 1), {}
        yield name, (torch.randn(2, 40).to(torch.bfloat16), 1), {}
        yield name, (torch.full((2, 5), 1e4), 1), {}
    yield "layer_norm", (_f64(2, 33), [33], _f64(33), _f64(33)), {}
    yield "layer_norm", (_f64(2, 3, 4), [3, 4]), {}


def _normalization_errors():
    yield "softmax", (torch.zeros(2, 3), 2)
    yield "log_softmax", (torch.zeros(2, 3), -3)
    yield "softmax", (torch.zeros(2, 3, dtype=torch.int64), 1)
    yield "layer_norm", (torch.zeros(2, 3), [4])
    yield "layer_norm", (torch.zeros(2, 3), [3], torch.zeros(2))
    yield "batch_norm", (torch.zeros(1, 3), None, None, None, None, True, 0.1, 1e-5, False)
    yield "batch_norm", (torch.zeros(2, 3), torch.zeros(4), None, None, None, True, 0.1, 1e-5, False)
    yield "batch_norm", (torch.zeros(2, 3), None, None, torch.zeros(4), torch.zeros(4), False, 0.1, 1e-5, False)


def _targets(classes, *shape):
    return torch.arange(torch.Size(shape).numel()).mul(7).remainder(classes).reshape(shape)


def _leaf(values):
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def _cross_entropy_calls():
    """Every combination of options on a few shapes, long rows, infinities, what counts nothing, memory orders."""
    name = "cross_entropy_loss"
    for shape in ((5, 4), (6,), (3, 7, 2, 3), (2, 33, 5)):
        classes = shape[1] if len(shape) > 1 else shape[0]
        targets = _targets(classes, *shape[:1], *shape[2:]) if len(shape) > 1 else torch.tensor(3)
        weight = torch.rand(classes, dtype=torch.float64) + 0.2
        for reduction in (0, 1, 2):
            for smoothing in (0.0, 0.1, 1.0):
                for w in (None, weight):
                    for ignored in (-100, 3):
                        yield name, (_f64(*shape), targets, w, reduction, ignored, smoothing), {}
    for rows, classes in ((2, 1025), (3, 4100), (300, 3), (1, 1), (70, 17)):
        for smoothing in (0.0, 0.2):
            yield name, (_f64(rows, classes), _targets(classes, rows), None, 1, -100, smoothing), {}
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        x = torch.randn(9, 40).mul(3).to(dtype).requires_grad_()
        yield name, (x, _targets(40, 9), None, 1, -100, 0.0), {}
        yield name, (x, _targets(40, 9), torch.rand(40).to(dtype), 2, 7, 0.1), {}
    yield name, (_f64(4, 3), _targets(3, 4).to(torch.uint8)), {}
    far = torch.randn(6, 50).mul(3).add(1e4)  # whose digits would be lost if the largest were not taken off first
    for shift in (0.0, -2e4):
        for smoothing in (0.0, 0.1):
            yield name, ((far + shift).requires_grad_(), _targets(50, 6), None, 0, -100, smoothing), {}

    nan, rows = float("nan"), [0, 1, 2, 0]
    special = (
        [[-_INF, 0, 1], [0, -_INF, 1], [-_INF, -_INF, 3], [2, -_INF, -_INF]],
        [[-_INF, -_INF, -_INF], [0, 1, 2], [1, 1, 1], [0, 0, 0]],
        [[_INF, 0, 1], [0, _INF, 1], [0, 1, 2], [_INF, _INF, 0]],
        [[nan, 0, 1], [0, 1, nan], [0, 1, 2], [nan, nan, nan]],
        [[1e308, -1e308, 0], [-1e308, -1e308, -1e308], [0, 0, 1e308], [700, -700, 0]],
    )
    for values in special:
        for ignored in (-100, 0):
            for reduction in (0, 1):
                for smoothing in (0.0, 0.3):
                    yield name, (_leaf(values), _long(*rows), None, reduction, ignored, smoothing), {}
        # One column of each: neighbouring samples lie side by side.
        columns = torch.tensor(values, dtype=torch.float64).t().reshape(1, 3, 4).contiguous().requires_grad_()
        yield name, (columns, _long(rows), None, 0, -100, 0.0), {}
        yield name, (columns, _long(rows), None, 2, 2, 0.3), {}
    for smoothing in (0.0, 0.5):
        for reduction in (0, 1, 2):
            ignored = _long(-100, -100)
            yield name, (_f64(2, 3), ignored, None, reduction, -100, smoothing), {}
            yield name, (_f64(2, 3), ignored, torch.rand(3, dtype=torch.float64), reduction, -100, smoothing), {}
            zero = torch.tensor([0.0, 1.0, 0.0], dtype=torch.float64)
            yield name, (_f64(2, 3), _long(0, 2), zero, reduction, -100, smoothing), {}
            yield name, (_f64(0, 3), _long(), None, reduction, -100, smoothing), {}
            yield name, (_f64(0, 3, 2), torch.zeros(0, 2, dtype=torch.int64), None, reduction, -100, smoothing), {}
            yield name, (_f64(2, 3, 0), torch.zeros(2, 0, dtype=torch.int64), None, reduction, -100, smoothing), {}
        yield name, (_f64(2, 0), _long(-100, -100), None, 0, -100, smoothing), {}

    for smoothing in (0.0, 0.1):
        for reduction in (0, 1):
            images, targets = torch.randn(2, 5, 3, 4, dtype=torch.float64), _targets(5, 2, 3, 4)
            last = images.to(memory_format=torch.channels_last).requires_grad_()
            yield name, (last, targets, None, reduction, 2, smoothing), {}
            yield name, (last, targets.transpose(1, 2).contiguous().transpose(1, 2), None, reduction, 2, smoothing), {}
            tall = images.transpose(2, 3).requires_grad_()
            yield name, (tall, targets.transpose(1, 2), None, reduction, 2, smoothing), {}
            words = torch.randn(2, 6, 5, dtype=torch.float64).transpose(1, 2).requires_grad_()
            yield name, (words, _targets(5, 2, 6), None, reduction, 2, smoothing), {}
            wide = torch.randn(4, 10, dtype=torch.float64)[:, ::2].requires_grad_()
            yield name, (wide, _targets(5, 4), torch.rand(10, dtype=torch.float64)[::2], reduction, 2, smoothing), {}


def _cross_entropy_errors():
    name = "cross_entropy_loss"
    yield name, (torch.zeros(2, 3), _long(0, -1))
    yield name, (torch.zeros(2, 3), _long(0, 3), None, 1, -100, 0.1)
    yield name, (torch.zeros(2, 3), _long(0, -100), None, 1, 5)
    yield name, (torch.zeros(2, 3, 2), _long([0, 1], [3, 0]))
    yield name, (torch.zeros(3), torch.tensor(3))
    yield name, (torch.zeros(2, 0), _long(0, 0))
    yield name, (torch.zeros(2, 3), torch.zeros(2, 1, dtype=torch.int64))
    yield name, (torch.zeros(2, 3, 4), torch.zeros(2, 3, dtype=torch.int64))
    yield name, (torch.zeros(2, 3), _long(0, 1), torch.zeros(4))
    yield name, (torch.zeros(2, 3), _long(0, 1), torch.zeros(3, dtype=torch.float64))
    yield name, (torch.zeros(2, 3), torch.zeros(2))
    yield name, (torch.zeros(2, 3, dtype=torch.int64), _long(0, 1))


def _loss_errors():
    yield "nll_loss", (torch.zeros(2, 3), _long(0, 3))
    yield "nll_loss", (torch.zeros(2, 3), _long(0, 1, 2))
    yield "nll_loss", (torch.zeros(2, 3), _long(0, 1), torch.zeros(2))
    yield "nll_loss", (torch.zeros(2, 3), torch.zeros(2))
    yield "cross_entropy_loss", (torch.zeros(2, 3), _long(0, 3))
    yield "cross_entropy_loss", (torch.zeros(2, 3), _long(0, 1, 2))
    yield "cross_entropy_loss", (torch.zeros(2, 3), _long(0, 1), None, 1, -100, 1.5)
    yield "mse_loss", (torch.zeros(2, 3), torch.zeros(2))
    yield "binary_cross_entropy_with_logits", (torch.zeros(2, 3), torch.zeros(2))


def _misc_errors():
    yield "embedding", (torch.zeros(4, 2), _long(0, 4))
    yield "embedding", (torch.zeros(4, 2), torch.zeros(2))
    yield "embedding", (torch.zeros(4), _long(0))
    yield "one_hot", (_long(0, -1),)
    yield "one_hot", (_long(0, 3), 3)
    yield "one_hot", (torch.zeros(2), 3)
    yield "dropout", (torch.zeros(2), 1.5, True)
    yield "dropout", (torch.zeros(2), -0.5, True)
    yield "pad", (torch.zeros(2, 3), [1])
    yield "pad", (torch.zeros(2, 3), [-2, -2])
    yield "pad", (torch.zeros(1, 2, 3), [3, 3], "reflect")
    yield "pad", (torch.zeros(1, 2, 3), [1, 1], "mirror")


_CALLS = {
    "pointwise_unary": _pointwise_calls, "pointwise_binary": _binary_calls, "reduction": _reduction_calls,
    "indexing": _indexing_calls, "linalg": _linalg_calls, "normalization": _normalization_calls,
    "factories": _factory_calls, "cross_entropy": _cross_entropy_calls,
}
_ERRORS = {
    "pointwise_binary": _binary_errors, "comparison": _comparison_errors, "reduction": _reduction_errors,
    "views": _view_errors, "indexing": _indexing_errors, "joining": _joining_errors, "linalg": _linalg_errors,
    "convolution": _convolution_errors, "normalization": _normalization_errors, "loss": _loss_errors,
    "cross_entropy": _cross_entropy_errors,
    "nn_misc": _misc_errors, "factories": _factory_errors,
}


def calls(family):
    return _CALLS[family]() if family in _CALLS else []


def errors(family):
    return _ERRORS[family]() if family in _ERRORS else []
