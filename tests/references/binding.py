"""Finds the ATen overload that a Python-level operator call amounts to, and writes its arguments as JSON.

The arguments of a call are stored as one flat list in the schema's order, keyword-only ones included, up to the last one
that differs from being left out, so that whoever replays the call needs no schema.
"""

import re

import torch

_ALIASES = {"input": "self", "axis": "dim", "keepdims": "keepdim", "x": "self", "condition": "condition"}
_MEMORY_FORMATS = {
    torch.contiguous_format: 0,
    torch.preserve_format: 1,
    torch.channels_last: 2,
    torch.channels_last_3d: 3,
}
DTYPE_NUMBERS = {
    torch.uint8: 0, torch.int8: 1, torch.int16: 2, torch.int32: 3, torch.int64: 4, torch.float16: 5, torch.float32: 6,
    torch.float64: 7, torch.complex32: 8, torch.complex64: 9, torch.complex128: 10, torch.bool: 11, torch.bfloat16: 15,
}


class Unbindable(Exception):
    """The call has no ATen overload that takes these arguments as they are."""


def _is_int(value):
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value):
    return isinstance(value, (int, float, complex, bool))


def _convert_list(kind, size, value):
    if size is not None and _is_int(value) and kind == "int":
        return [value] * size
    if not isinstance(value, (list, tuple, torch.Size)):
        raise Unbindable(f"{value!r} is no list of {kind}")
    return [convert(kind, item) for item in value]


def convert(kind, value):
    """The value as an argument of a schema type such as `int[2]?`, or Unbindable."""
    if kind.endswith("?"):
        return None if value is None else convert(kind[:-1], value)
    match = re.fullmatch(r"(.*)\[(\d*)\]", kind)
    if match:
        return _convert_list(match.group(1), int(match.group(2)) if match.group(2) else None, value)
    if kind == "Tensor" and isinstance(value, torch.Tensor):
        return value
    if kind == "int" and _is_int(value):
        return value
    if kind == "float" and _is_number(value) and not isinstance(value, (bool, complex)):
        return float(value)
    if kind == "bool" and isinstance(value, bool):
        return value
    if kind == "Scalar" and _is_number(value):
        return value
    if kind == "str" and isinstance(value, str):
        return value
    if kind == "ScalarType" and isinstance(value, torch.dtype):
        return value
    if kind == "Device" and isinstance(value, (str, torch.device)):
        return torch.device(value)
    if kind == "Layout" and isinstance(value, torch.layout):
        return value
    if kind == "MemoryFormat" and isinstance(value, torch.memory_format):
        return value
    raise Unbindable(f"{value!r} is no {kind}")


def _arguments_of(overload):
    """(name, type, keyword only, has default, default) per argument, the types read from the schema's own text."""
    text = str(overload._schema).replace("SymInt", "int")
    inside = text[text.index("(") + 1 : text.rindex(") ->")]
    parts = re.split(r",\s*(?![^\[\(]*[\]\)])", inside)
    types = [re.sub(r"\([^)]*\)", "", part).strip().split(" ")[0] for part in parts if part.strip() not in ("", "*")]
    for argument, kind in zip(overload._schema.arguments, types, strict=True):
        yield argument.name, kind, argument.kwarg_only, argument.has_default_value(), argument.default_value


def _bind(overload, args, kwargs):
    """The flat argument list of one overload: [(name, type, value)], trailing arguments left out where not given."""
    args, kwargs, bound, given = list(args), dict(kwargs), [], 0
    for name, kind, keyword_only, has_default, default in _arguments_of(overload):
        if (args and not keyword_only) or name in kwargs:
            value = args.pop(0) if args and not keyword_only else kwargs.pop(name)
            # Python's wrappers write None where the schema has an empty list (a pooling's stride).
            value = [] if value is None and has_default and default == [] else convert(kind, value)
            given = len(bound) + 1
        elif has_default:
            value = default
        else:
            raise Unbindable(f"{name} is missing")
        bound.append((name, kind, value))
    if args or kwargs:
        raise Unbindable("arguments left over")
    return bound[:given]


def _rename(kwargs, overload):
    names = {argument.name for argument in overload._schema.arguments}
    return {(name if name in names else _ALIASES.get(name, name)): value for name, value in kwargs.items()}


def _overloads_of(name, with_out):
    packet = getattr(torch.ops.aten, name)
    for overload_name in packet.overloads():
        overload = getattr(packet, overload_name)
        schema = str(overload._schema)
        if ("!" in schema) != with_out or "Dimname" in schema or "Generator" in schema:
            continue
        if not torch._C._dispatch_has_kernel(qualified_name(overload)):
            continue
        yield overload


def candidates(name, args, kwargs):
    """All overloads of an ATen operator that take the arguments, each with its flat argument list."""
    found, kwargs = [], {name: value for name, value in kwargs.items() if (name, value) != ("requires_grad", False)}
    for overload in _overloads_of(name, "out" in kwargs):
        try:
            found.append((overload, _bind(overload, args, _rename(kwargs, overload))))
        except Unbindable:
            continue
    if not found:
        raise Unbindable(name)
    return found


def invoke(overload, bound):
    """Calls an overload with a flat argument list."""
    keyword_only = {argument.name for argument in overload._schema.arguments if argument.kwarg_only}
    args = [value for name, _, value in bound if name not in keyword_only]
    return overload(*args, **{name: value for name, _, value in bound if name in keyword_only})


def qualified_name(overload):
    schema = overload._schema
    return schema.name + ("." + schema.overload_name if schema.overload_name else "")


def encode(value, store):
    """A JSON value; `store(tensor)` answers for the tensors."""
    if isinstance(value, torch.Tensor):
        return store(value)
    if isinstance(value, (list, tuple)):
        return [encode(item, store) for item in value]
    if isinstance(value, complex):
        return {"c": [value.real, value.imag]}
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return {"f": str(value)}
    if isinstance(value, torch.dtype):
        return {"dtype": DTYPE_NUMBERS[value]}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    if isinstance(value, torch.layout):
        return {"layout": {torch.strided: 0}[value]}
    if isinstance(value, torch.memory_format):
        return {"memory_format": _MEMORY_FORMATS[value]}
    return value
