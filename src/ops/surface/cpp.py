"""How schema types, defaults and signatures are spelled in C++, and how a line is broken at 120 columns."""

import schema

WIDTH = 120

VALUES = {
    "Tensor": "const Tensor&",
    "Tensor?": "const std::optional<Tensor>&",
    "Tensor[]": "TensorList",
    "Tensor?[]": "ArrayRef<std::optional<Tensor>>",
    "Scalar": "const Scalar&",
    "Scalar?": "const std::optional<Scalar>&",
    "Scalar[]": "ArrayRef<Scalar>",
    "int": "int64_t",
    "int?": "std::optional<int64_t>",
    "int[]": "IntArrayRef",
    "int[]?": "OptionalIntArrayRef",
    "float": "double",
    "float?": "std::optional<double>",
    "float[]": "ArrayRef<double>",
    "float[]?": "std::optional<ArrayRef<double>>",
    "bool": "bool",
    "bool?": "std::optional<bool>",
    "str": "std::string_view",
    "str?": "std::optional<std::string_view>",
    "ScalarType": "ScalarType",
    "ScalarType?": "std::optional<ScalarType>",
    "Layout": "Layout",
    "Layout?": "std::optional<Layout>",
    "Device": "Device",
    "Device?": "std::optional<Device>",
    "MemoryFormat": "MemoryFormat",
    "MemoryFormat?": "std::optional<MemoryFormat>",
    "Generator?": "const std::optional<Generator>&",
}

RETURNS = {
    "Tensor": "Tensor",
    "Tensor[]": "std::vector<Tensor>",
    "Scalar": "Scalar",
    "int": "int64_t",
    "float": "double",
    "bool": "bool",
    "ScalarType": "ScalarType",
}

DTYPES = {"long": "kLong", "int": "kInt", "float": "kFloat", "double": "kDouble", "bool": "kBool"}
NAMES = {"None": "std::nullopt", "True": "true", "False": "false", "Mean": "Reduction::Mean",
         "contiguous_format": "MemoryFormat::Contiguous", "preserve_format": "MemoryFormat::Preserve"}


def key(type_):
    """The type without alias and size, as VALUES and RETURNS are keyed."""
    text = type_.base + ("?" if type_.optional_element else "")
    if type_.is_list:
        text += "[]"
    return text + ("?" if type_.optional else "")


def value_type(type_):
    if type_.base == "bool" and type_.is_list and type_.size:
        return f"std::array<bool, {type_.size}>"
    try:
        return VALUES[key(type_)]
    except KeyError:
        raise ValueError(f"no C++ type for an argument of type '{type_.text}'") from None


def return_type(returns):
    try:
        types = [RETURNS[key(t)] for t, _ in returns]
    except KeyError as e:
        raise ValueError(f"no C++ type for a result of type {e}") from None
    if not types:
        return "void"
    return types[0] if len(types) == 1 else f"std::tuple<{', '.join(types)}>"


def default_value(argument):
    d, t = argument.default, argument.type
    if d in NAMES:
        return "{}" if d == "None" and t.base == "Tensor" else NAMES[d]
    if t.base == "ScalarType" and d in DTYPES:
        return DTYPES[d]
    if d.startswith("[") and d.endswith("]"):
        inside = schema.split(d[1:-1])
        return "{" + ", ".join(inside) + "}"
    if d[0] in "'\"":
        return '"' + d[1:-1] + '"'
    float(d)  # a number is spelled as in C++; anything else is an error
    return d


class Parameter:
    """A C++ parameter: one schema argument, or the four that make a TensorOptions."""

    def __init__(self, name, type_, default, tensor_optional=False, is_options=False):
        self.name, self.type, self.default = name, type_, default
        self.tensor_optional, self.is_options = tensor_optional, is_options

    def declare(self, with_default):
        return f"{self.type} {self.name}" + (f" = {self.default}" if with_default and self.default else "")

    @property
    def op_type(self):
        """An optional Tensor reaches the op function as a Tensor that may be undefined."""
        return "const Tensor&" if self.tensor_optional else self.type

    @property
    def op_argument(self):
        return f"or_undefined({self.name})" if self.tensor_optional else self.name


def parameters(op):
    """The operator's C++ parameters in schema order; defaults only where every later parameter has one too."""
    result, quadruple = [], schema.quadruple_of(op.schema)
    for a in op.schema.arguments:
        if a in quadruple:
            if a is quadruple[0]:
                default = "{}" if a.default == "None" else default_value(a) if a.default else None
                result.append(Parameter("options", "const TensorOptions&", default, is_options=True))
            continue
        default = None if a.default is None or a.name in op.entry.no_default else default_value(a)
        result.append(Parameter(a.name, value_type(a.type), default, tensor_optional=key(a.type) == "Tensor?"))
    # An out tensor comes first in `_out` and last in `_outf`, where nothing has a default: it does not count here.
    written = [a.name for a in op.schema.arguments if a.type.written and a.kwarg_only]
    last = max((i for i, p in enumerate(result) if p.default is None and p.name not in written), default=-1)
    for p in result[:max(last, 0)]:
        p.default = None
    return result


def broken(head, items, tail):
    """`head(items)tail` on one line, or broken behind commas and aligned behind the parenthesis."""
    line = f"{head}({', '.join(items)}){tail}"
    if len(line) <= WIDTH or not items:
        return line
    pad = head.rfind("\n") + 1
    column = len(head) - pad + 1
    lines, current = [], head[pad:] + "("
    for i, item in enumerate(items):
        piece = item + ("," if i + 1 < len(items) else ")" + tail)
        glue = "" if current.endswith("(") or not current.strip() else " "
        if len(current) + len(glue) + len(piece) > WIDTH and current.strip() and not current.endswith("("):
            lines.append(current)
            current, glue = " " * column, ""
        current += glue + piece
    return head[:pad] + "\n".join(lines + [current])
