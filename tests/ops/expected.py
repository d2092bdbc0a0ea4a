#!/usr/bin/env python3
"""Writes expected.h: what PyTorch 2.15 answers to the calls of expected_test.cpp.

    python tests/ops/expected.py > tests/ops/expected.h

Inputs are small numbers that both sides make by the same rule: ramp(sizes)[i] = (7 i mod 11) - 5.
"""

import mpmath
import torch
import torch.nn.functional as F


def ramp(*sizes):
    n = torch.Size(sizes).numel()
    return ((7 * torch.arange(n) % 11) - 5).double().reshape(sizes)


def values(name, t):
    numbers = ", ".join(f"{v:.17g}" for v in t.detach().double().reshape(-1).tolist())
    print(f"inline const std::vector<double> {name} = {{{numbers}}};")


def gradients(name, f, x):
    """The result, its gradient, and the gradient of that, weighted so that no symmetry hides anything."""
    x = x.clone().requires_grad_()
    y = f(x)
    weights = ramp(*y.shape) + 6 if y.dim() else torch.tensor(1.5, dtype=torch.float64)
    (first,) = torch.autograd.grad((y * weights).sum(), x, create_graph=True)
    values(name, y)
    values(f"{name}_first", first)
    if first.requires_grad:
        (second,) = torch.autograd.grad((first * (ramp(*first.shape) + 6)).sum(), x)
        values(f"{name}_second", second)


def with_zeros(x, *at):
    x = x.clone()
    x.view(-1)[list(at)] = 0
    return x


print("// Written by expected.py from PyTorch's answers. Do not edit.")
print("// clang-format off\n#pragma once\n\n#include <vector>\n\nnamespace gradus::testing::expected {\n")
matrix = torch.where(ramp(3, 4) == 0, 6.0, ramp(3, 4))
for zeros in ((), (5,), (1, 6), (1, 5), (0, 4, 8)):
    tag = "_".join(map(str, zeros)) or "none"
    x = with_zeros(matrix, *zeros)
    gradients(f"prod_{tag}", lambda t: t.prod(), x)
    gradients(f"prod_rows_{tag}", lambda t: t.prod(1), x)
    gradients(f"prod_columns_{tag}", lambda t: t.prod(0, keepdim=True), x)

for mode, padding in (("constant", (1, 2)), ("constant", (-1, 1, 0, 2)), ("reflect", (1, 2)), ("replicate", (2, 0)),
                      ("circular", (1, 2))):
    tag = "_".join(str(p).replace("-", "minus") for p in padding)
    gradients(f"pad_{mode}_{tag}", lambda t: F.pad(t, padding, mode), ramp(2, 3, 4))
values("pad_value", F.pad(ramp(2, 3), (1, 0, 0, 1), "constant", 2.5))

values("one_hot", F.one_hot(torch.tensor([[2, 0], [1, 1]])))
values("one_hot_5", F.one_hot(torch.tensor([3, 0]), 5))

for diagonal in (-5, -1, 0, 2, 4):
    tag = str(diagonal).replace("-", "minus")
    gradients(f"tril_{tag}", lambda t: t.tril(diagonal), ramp(2, 3, 4))
    gradients(f"triu_{tag}", lambda t: t.triu(diagonal), ramp(2, 3, 4))

gradients("take", lambda t: t.take(torch.tensor([[0, -1], [5, 5]])), ramp(3, 4))
gradients("take_of_transposed", lambda t: t.t().take(torch.tensor([1, 4, -12])), ramp(3, 4))

scatter_index = torch.tensor([[0, 1, 1], [2, 0, 2]])
source = ramp(2, 3) + 7
reduced = {"add": ramp(3, 3).scatter(0, scatter_index, source, reduce="add"),
           "multiply": ramp(3, 3).scatter(0, scatter_index, source, reduce="multiply")}
for name, t in reduced.items():
    values(f"scatter_{name}", t)

# Layer norm's second gradient for rows whose variance is far below eps, and without eps: in 60 digits, not by PyTorch.
mpmath.mp.dps = 60


def layer_norm_second(row, eps, g, v):
    """The gradient of sum(v * dL/dx) by x, for L = sum(g * layer_norm(x))."""
    n = len(row)
    x = [mpmath.mpf(a) for a in row]

    def first(x):
        mean = sum(x) / n
        var = sum((a - mean) ** 2 for a in x) / n
        r = 1 / mpmath.sqrt(var + mpmath.mpf(eps))
        h = [(a - mean) * r for a in x]
        mg = mpmath.mpf(sum(g)) / n
        mgh = sum(mpmath.mpf(a) * b for a, b in zip(g, h)) / n
        return sum(mpmath.mpf(v[i]) * r * (mpmath.mpf(g[i]) - mg - h[i] * mgh) for i in range(n))

    return [mpmath.diff(lambda a, i=i: first(x[:i] + [a] + x[i + 1:]), x[i], h=mpmath.mpf(10) ** -30) for i in range(n)]


for tag, scale, eps in (("tiny", 2.0 ** -30, 1e-5), ("tiny_eps", 2.0 ** -30, 1e-18), ("no_eps", 2.0 ** -30, 0.0),
                        ("ordinary", 1.0, 1e-5)):
    row = [float(a) * scale for a in ramp(5).tolist()]
    second = layer_norm_second(row, eps, [1, -2, 3, 1, 4], [2, 1, -1, 3, 1])
    numbers = ", ".join(mpmath.nstr(a, 17) for a in second)
    print(f"inline const std::vector<double> layer_norm_{tag} = {{{numbers}}};")
print("\n}  // namespace gradus::testing::expected")
