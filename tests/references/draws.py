"""Stores PyTorch's draws under manual_seed (random.safetensors) and freshly made modules (init.safetensors)."""

import argparse
import pathlib
import warnings

import torch
from torch import nn

import binding
from store import Store

DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16]
# 1 to 40 spans the scalar path of the normal draws (below 16 elements), the one by sixteens, and its tails.
SIZES = [*range(41), 1000]


class Destination:
    """A fresh tensor that an in-place draw fills."""

    def __init__(self, sizes, dtype, strides=None):
        self.sizes, self.dtype, self.strides = sizes, dtype, strides

    def make(self):
        if self.strides is None:
            return torch.zeros(self.sizes, dtype=self.dtype)
        return torch.empty_strided(self.sizes, self.strides, dtype=self.dtype).zero_()

    def encode(self):
        result = {"empty": list(self.sizes), "dtype": binding.DTYPE_NUMBERS[self.dtype]}
        return result if self.strides is None else {**result, "strides": list(self.strides)}


class Draws:
    """Sequences of draws, each from a fresh seed of the default generator."""

    def __init__(self):
        self.store, self.sequences = Store(), []

    def add(self, seed, *steps):
        torch.manual_seed(seed)
        calls = []
        for i, (name, *args) in enumerate(steps):
            kwargs = args.pop() if args and isinstance(args[-1], dict) else {}
            calls.append(self._draw(f"{len(self.sequences)}/{i}", name, args, kwargs))
        self.sequences.append({"seed": seed, "calls": calls})

    def _draw(self, prefix, name, args, kwargs):
        packet, _, overload = name.partition(".")
        function = getattr(getattr(torch.ops.aten, packet), overload or "default")
        tensors = [arg.make() if isinstance(arg, Destination) else arg for arg in args]
        output = function(*tensors, **kwargs)
        flat = [arg.encode() if isinstance(arg, Destination) else
                binding.encode(arg, lambda t: self._encode(f"{prefix}/input", t)) for arg in args]
        flat += [binding.encode(value, None) for value in kwargs.values()]
        return {"op": f"aten::{name}", "args": flat, "outputs": [{"t": self.store.add(f"{prefix}/out", output)}]}

    def _encode(self, key, tensor):
        if tensor.is_contiguous():
            return {"t": self.store.add(key, tensor)}
        # The order of the draws follows the memory, so the arrangement is part of the question.
        flat = tensor.as_strided((tensor.numel(),), (1,))
        return {"t": self.store.add(key, flat), "sizes": list(tensor.shape), "strides": list(tensor.stride()), "offset": 0}


    def _input(self, prefix, tensor):
        if tensor.is_contiguous():
            return {"t": self.store.add(f"{prefix}/input", tensor)}
        memory = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())
        return {"t": self.store.add(f"{prefix}/input", memory), "sizes": list(tensor.shape),
                "strides": list(tensor.stride()), "offset": tensor.storage_offset()}


def in_place_draws(draws):
    for dtype in DTYPES:
        for n in SIZES:
            draws.add(n, ("uniform_", Destination([n], dtype)), ("uniform_", Destination([n], dtype), -2.0, 3.0))
            draws.add(n + 1, ("normal_", Destination([n], dtype)), ("normal_", Destination([n], dtype), -2.0, 3.0))
            draws.add(n + 2, ("exponential_", Destination([n], dtype)), ("exponential_", Destination([n], dtype), 2.5))
            draws.add(n + 3, ("bernoulli_.float", Destination([n], dtype), 0.3), ("bernoulli_.float",
                                                                                  Destination([n], dtype)))
        # Not contiguous: the draws go to the elements in another order, and the normal ones one by one.
        for name in ("uniform_", "normal_", "exponential_", "bernoulli_.float"):
            draws.add(5, (name, Destination([3, 8], dtype, [1, 3])), (name, Destination([5], dtype, [2])),
                      (name, Destination([2, 3, 4], dtype)))
        # A normal draw of an odd count keeps its second value for the next one, whatever that fills.
        draws.add(7, *[("normal_", Destination([n], dtype)) for n in (1, 1, 3, 16, 1, 17, 2, 5, 40, 1)])
        draws.add(8, ("normal_", Destination([1], dtype)), ("normal_", Destination([1], torch.float64)),
                  ("uniform_", Destination([2], dtype)), ("normal_", Destination([3], torch.float32)))
        draws.add(9, ("random_", Destination([9], dtype)), ("random_.to", Destination([9], dtype), 100),
                  ("random_.from", Destination([9], dtype), -5, 7))
    for dtype in (torch.int64, torch.int32, torch.uint8, torch.bool):
        draws.add(10, ("random_", Destination([9], dtype)))
        draws.add(10, ("bernoulli_.float", Destination([9], dtype), 0.5))
    for seed in (0, 1, 42, 2**31, 2**32 - 1, 2**32, 2**63, 2**64 - 1):
        draws.add(seed, ("uniform_", Destination([4], torch.float32)), ("normal_", Destination([20], torch.float32)))


def made_draws(draws):
    for dtype in DTYPES:
        for sizes in ([], [1], [2, 3], [15], [4, 4], [3, 7], [0, 3], [64]):
            kwargs = {"dtype": dtype}
            draws.add(0, ("rand", sizes, kwargs), ("randn", sizes, kwargs), ("rand", sizes, kwargs))
    for n in [*range(41), 1000]:
        draws.add(n, ("randperm", n), ("randperm", n))
    for low, high in ((0, 1), (0, 2), (-3, 4), (0, 10), (0, 1 << 20), (0, (1 << 28) - 1), (0, 1 << 28), (0, (1 << 28) + 1),
                      (0, (1 << 32) - 1), (0, 1 << 32), (0, (1 << 32) + 1), (-(1 << 40), 1 << 40), (-(1 << 62), 1 << 62)):
        draws.add(3, ("randint.low", low, high, [20]), ("randint.low", low, high, [3]))
    draws.add(4, ("randint", 100, [20], {"dtype": torch.int32}), ("randint", 100, [20], {"dtype": torch.float32}))
    draws.add(11, ("randn", [1]), ("randint", 100, [3]), ("randperm", 5), ("randn", [3]), ("rand", [2]), ("randn", [16]),
              ("randn", [1], {"dtype": torch.float64}))
    for dtype in DTYPES:
        for n in (1, 7, 16, 33, 1000):
            for p in (0.0, 0.1, 0.5, 1.0):
                draws.add(n, ("dropout", torch.ones(n, dtype=dtype), p, True))
        draws.add(12, ("dropout", torch.ones(3, 5, dtype=dtype).t(), 0.5, True), ("rand_like", torch.ones(3, dtype=dtype)),
                  ("randn_like", torch.ones(17, dtype=dtype)), ("bernoulli", torch.full((30,), 0.25, dtype=dtype)))


def module_record(store, name, args, kwargs, dtype=None):
    torch.manual_seed(0)
    module = getattr(nn, name)(*args, **kwargs, dtype=dtype)
    label = f"module{len(store._entries)}"
    return {"module": name, "args": list(args), "kwargs": kwargs, "seed": 0,
            "dtype": binding.DTYPE_NUMBERS[dtype or torch.float32],
            "parameters": {key: store.add(f"{label}/{key}", value) for key, value in module.named_parameters()},
            "buffers": {key: store.add(f"{label}/{key}", value) for key, value in module.named_buffers()}}


MODULES = [
    ("Linear", (3, 2), {}), ("Linear", (20, 30), {}), ("Linear", (5, 7), {"bias": False}), ("Conv2d", (1, 4, 3), {}),
    ("Conv2d", (4, 6, [3, 5]), {"groups": 2}), ("Conv2d", (2, 3, 3), {"bias": False}), ("Embedding", (10, 3), {}),
    ("Embedding", (5, 4), {"padding_idx": 1}), ("BatchNorm1d", (3,), {}), ("BatchNorm2d", (3,), {}),
    ("BatchNorm2d", (3,), {"affine": False}), ("LayerNorm", ([4],), {}), ("LayerNorm", ([2, 3],), {}),
]

# A small network's modules, made one after the other from one seed.
NETWORK = [("Conv2d", (1, 6, 5), {}), ("BatchNorm2d", (6,), {}), ("Linear", (12, 10), {}), ("Embedding", (7, 3), {}),
           ("Linear", (10, 3), {})]

INITS = [
    ("uniform_", {}), ("uniform_", {"a": -1.0, "b": 2.0}), ("normal_", {}), ("normal_", {"mean": 1.0, "std": 0.1}),
    ("xavier_uniform_", {}), ("xavier_uniform_", {"gain": 2.0}), ("xavier_normal_", {}),
    ("kaiming_uniform_", {}), ("kaiming_uniform_", {"a": 0.5, "mode": "fan_out"}),
    ("kaiming_uniform_", {"nonlinearity": "relu"}), ("kaiming_normal_", {}),
    ("kaiming_normal_", {"mode": "fan_out", "nonlinearity": "relu"}), ("trunc_normal_", {}),
    ("trunc_normal_", {"mean": 0.5, "std": 2.0, "a": 0.0, "b": 1.0}),
]


def initial_values(store):
    modules = [module_record(store, *module, dtype) for module in MODULES for dtype in (None, torch.float64)]
    torch.manual_seed(0)
    made = [getattr(nn, name)(*args, **kwargs) for name, args, kwargs in NETWORK]
    network = {"seed": 0, "modules": [
        {"module": name, "args": list(args), "kwargs": kwargs,
         "parameters": {key: store.add(f"network{i}/{key}", value) for key, value in module.named_parameters()}}
        for i, ((name, args, kwargs), module) in enumerate(zip(NETWORK, made))]}
    inits = []
    for name, kwargs in INITS:
        for shape in ([6, 5], [4, 3, 3, 3]):
            for dtype in (torch.float32, torch.float64):
                torch.manual_seed(len(inits))
                value = getattr(nn.init, name)(torch.empty(shape, dtype=dtype), **kwargs)
                inits.append({"function": name, "kwargs": kwargs, "sizes": shape, "dtype": binding.DTYPE_NUMBERS[dtype],
                              "seed": len(inits), "out": store.add(f"init{len(inits)}", value)})
    return {"modules": modules, "network": network, "inits": inits}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default=pathlib.Path(__file__).parent / "data", type=pathlib.Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    draws = Draws()
    in_place_draws(draws)
    made_draws(draws)
    draws.store.save(options.out / "random.safetensors", sequences=draws.sequences, version=torch.__version__)
    store = Store()
    store.save(options.out / "init.safetensors", **initial_values(store), version=torch.__version__)
    print(f"{len(draws.sequences)} sequences of draws")


if __name__ == "__main__":
    main()
