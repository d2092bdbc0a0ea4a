"""A safetensors file of named tensors whose header carries the calls as JSON."""

import hashlib
import json
import struct

import torch

_NAMES = {
    torch.bool: "BOOL", torch.uint8: "U8", torch.int8: "I8", torch.int16: "I16", torch.int32: "I32", torch.int64: "I64",
    torch.float16: "F16", torch.bfloat16: "BF16", torch.float32: "F32", torch.float64: "F64", torch.complex64: "C64",
    torch.complex128: "C128",
}


def _bytes_of(tensor):
    flat = torch.empty(tensor.numel(), dtype=tensor.dtype)
    flat.view(tensor.shape).copy_(tensor.detach())
    return flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""


class Store:
    """Collects tensors; equal ones are kept once, under the key that came first."""

    def __init__(self):
        self._entries = {}
        self._keys = {}

    def add(self, key, tensor):
        """The key under which the tensor stands."""
        data = _bytes_of(tensor)
        identity = (tensor.dtype, tuple(tensor.shape), hashlib.sha256(data).digest())
        if identity not in self._keys:
            assert key not in self._entries, key
            self._keys[identity] = key
            self._entries[key] = (_NAMES[tensor.dtype], list(tensor.shape), data)
        return self._keys[identity]

    def save(self, path, **metadata):
        header = {"__metadata__": {name: json.dumps(value, separators=(",", ":"), allow_nan=False)
                                   for name, value in metadata.items()}}
        offset = 0
        # Wide elements first, so that every tensor is aligned to its element.
        ordered = sorted(self._entries.items(), key=lambda item: -len(item[1][2]) // max(1, _count(item[1][1])))
        for key, (dtype, shape, data) in ordered:
            header[key] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(data)]}
            offset += len(data)
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        with open(path, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for _, (_, _, data) in ordered:
                file.write(data)


def _count(shape):
    count = 1
    for size in shape:
        count *= size
    return count
