"""Prints tests/references/random_values.h: what PyTorch's CPU generator draws and how it saves its state."""

import torch

FNV_OFFSET, FNV_PRIME, MASK = 0xCBF29CE484222325, 0x100000001B3, (1 << 64) - 1
BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def fnv(data):
    """FNV-1a over bytes."""
    h = FNV_OFFSET
    for byte in bytes(data):
        h = (h ^ byte) * FNV_PRIME & MASK
    return h


def bits(tensor):
    """The elements' bit patterns as hexadecimal numbers."""
    width = tensor.element_size()
    raw = tensor.contiguous().flatten().view(BITS[width]).tolist()
    return ", ".join(f"0x{v & (1 << 8 * width) - 1:x}" for v in raw)


def array(name, tensor):
    ctype = {1: "uint8_t", 2: "uint16_t", 4: "uint32_t", 8: "uint64_t"}[tensor.element_size()]
    print(f"constexpr {ctype} {name}[] = {{{bits(tensor)}}};")


def filled(size, dtype, fill, seed=7):
    torch.manual_seed(seed)
    return fill(torch.zeros(size, dtype=dtype))


def main():
    print("// Made by tests/references/random_values.py with PyTorch", torch.__version__.split("+")[0] + ".")
    print("// clang-format off")
    print("#pragma once\n\n#include <cstdint>\n\nnamespace {\n")
    # random_ of an int32 is a 32-bit draw without its top bit; over all of int64 it is a 64-bit draw.
    array("kDraws32", filled(8, torch.int32, lambda t: t.random_()))
    array("kDraws64", filled(8, torch.int64, lambda t: t.random_(-(2**63), None)))
    torch.manual_seed(-1)
    array("kDrawsOfSeed2To64Minus1", torch.zeros(4, dtype=torch.int32).random_())
    for label, dtype in (("Float", torch.float), ("Double", torch.double), ("Half", torch.half),
                         ("BFloat16", torch.bfloat16)):
        array(f"kUniform{label}", filled(12, dtype, lambda t: t.uniform_(-1.5, 4)))
        array(f"kNormalFew{label}", filled(15, dtype, lambda t: t.normal_(1, 2)))
        array(f"kNormalBlocks{label}", filled(37, dtype, lambda t: t.normal_(1, 2)))
        array(f"kExponential{label}", filled(6, dtype, lambda t: t.exponential_(0.5)))
    array("kNormalTransposed", filled((4, 5), torch.float, lambda t: t.t().normal_()).t())
    array("kLogNormal", filled(6, torch.float, lambda t: t.log_normal_(1, 2)))
    array("kCauchy", filled(6, torch.float, lambda t: t.cauchy_(0.5, 2)))
    array("kGeometric", filled(6, torch.int64, lambda t: t.geometric_(0.2)))
    array("kBernoulli", filled(24, torch.uint8, lambda t: t.bernoulli_(0.3)))
    array("kBernoulliEach", filled(24, torch.uint8, lambda t: t.bernoulli_(torch.arange(24) / 24)))
    array("kRangeNarrow", filled(8, torch.int64, lambda t: t.random_(-3, 2**28 - 4)))
    array("kRangeWide", filled(8, torch.int64, lambda t: t.random_(-3, 2**28 - 3)))
    array("kTypeHalf", filled(8, torch.half, lambda t: t.random_()))
    array("kTypeDouble", filled(8, torch.double, lambda t: t.random_()))
    torch.manual_seed(7)
    array("kPermutation", torch.randperm(12))
    # The state after an odd number of scalar normal draws holds the pair's other one.
    print("\nconstexpr uint64_t kStateHashes[] = {  // fresh, after 3 normal draws, after 1000 uniform ones more")
    torch.manual_seed(7)
    for draw in (lambda: None, lambda: torch.randn(3), lambda: torch.rand(1000)):
        draw()
        print(f"    0x{fnv(torch.get_rng_state().tolist()):x},")
    print("};\n\n}  // namespace")


if __name__ == "__main__":
    main()
