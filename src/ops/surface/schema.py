"""Reads the operator index: src/ops/schema/<family>.ops.

An entry is a schema in ATen's notation at the line's start, followed by indented `key: value` lines:

    add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
      forms: function method
      inplace: add_.Tensor method
      out: add.out
      flags: pointwise
      doc: Adds `other`, scaled by `alpha`, to `self`.
        A line indented further goes on with the one above.

forms       which of `function` and `method` the schema has; `boxed` for neither
inplace     name and forms of its in-place operator
out         name of its out operator, with the out arguments' names in parentheses where it is not a single `out`
flags       composite (made of other operators), nondiff, data_dependent, pointwise, reduction, random
calls       the op function's name where it is another operator's (an alias)
no_default  arguments that have no default in C++, where it would make two overloads ambiguous
doc         what it does

`#` starts a comment line. Everything else is an error with file and line.
"""

import re

FLAGS = ("composite", "nondiff", "data_dependent", "pointwise", "reduction", "random")
KEYS = ("forms", "inplace", "out", "flags", "calls", "no_default", "doc")
QUADRUPLE = ("dtype", "layout", "device", "pin_memory")
BASE_TYPES = ("Tensor", "Scalar", "int", "float", "bool", "str", "ScalarType", "Layout", "Device", "MemoryFormat",
              "Generator")

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
TYPE = re.compile(r"(?P<base>[A-Za-z]+)(?:\((?P<alias>[a-z]!?|[a-z] -> \*)\))?(?P<suffix>(?:\?|\[\d*\])*)$")
OP_NAME = re.compile(r"(?P<base>[A-Za-z_][A-Za-z0-9_]*)(?:\.(?P<overload>[A-Za-z_][A-Za-z0-9_]*))?$")


class IndexError_(Exception):
    """A mistake in an .ops file; the text begins with file:line."""


class Type:
    """`int[2]?` is base int, list, size 2, optional; `Tensor?[]` a list of optional elements."""

    def __init__(self, text):
        m = TYPE.match(text)
        if not m or m["base"] not in BASE_TYPES:
            raise ValueError(f"unknown type '{text}'; expected one of {', '.join(BASE_TYPES)} with (a!), ?, [] or [N]")
        self.text = text
        self.base = m["base"]
        self.alias = m["alias"]
        shape = re.fullmatch(r"(\?)?(?:\[(\d*)\])?(\?)?", m["suffix"])
        if not shape:
            raise ValueError(f"type '{text}' is nested deeper than a list")
        self.is_list = shape[2] is not None
        self.size = int(shape[2]) if shape[2] else None
        self.optional = bool(shape[3]) or (bool(shape[1]) and not self.is_list)
        self.optional_element = bool(shape[1]) and self.is_list

    @property
    def written(self):
        return bool(self.alias) and self.alias.endswith("!")


class Argument:
    def __init__(self, type_, name, default, kwarg_only):
        self.type, self.name, self.default, self.kwarg_only = type_, name, default, kwarg_only

    def __str__(self):
        return f"{self.type.text} {self.name}" + ("" if self.default is None else f"={self.default}")


class Schema:
    def __init__(self, name, arguments, returns):
        m = OP_NAME.match(name)
        if not m:
            raise ValueError(f"'{name}' is no operator name; expected name or name.overload")
        self.name, self.base, self.overload = name, m["base"], m["overload"] or ""
        self.arguments, self.returns = arguments, returns

    def __str__(self):
        parts, star = [], False
        for a in self.arguments:
            if a.kwarg_only and not star:
                parts.append("*")
                star = True
            parts.append(str(a))
        rets = [t.text + (f" {n}" if n else "") for t, n in self.returns]
        ret = rets[0] if len(rets) == 1 and " " not in rets[0] else f"({', '.join(rets)})"
        return f"{self.name}({', '.join(parts)}) -> {ret}"


def split(text):
    """Splits at the commas outside of brackets and quotes."""
    parts, depth, quote, start = [], 0, None, 0
    for i, c in enumerate(text):
        if quote:
            quote = None if c == quote else quote
        elif c in "'\"":
            quote = c
        elif c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        elif c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    return parts + ([last] if last else [])


def parse_argument(text, kwarg_only):
    declaration, eq, default = text.partition("=")
    type_text, space, name = declaration.strip().rpartition(" ")
    if not space or not NAME.fullmatch(name):
        raise ValueError(f"'{text}' is no argument; expected 'type name' or 'type name=default'")
    return Argument(Type(type_text), name, default.strip() if eq else None, kwarg_only)


def parse_schema(text):
    head, arrow, ret = text.rpartition(") -> ")
    # A return of several values is in parentheses, so the last arrow may be an alias's inside the arguments.
    while arrow and head.count("(") != head.count(")") + 1:
        head, arrow, more = head.rpartition(") -> ")
        ret = more + ") -> " + ret
    name, paren, inside = head.partition("(")
    if not arrow or not paren:
        raise ValueError("no schema; expected 'name.overload(arguments) -> returns'")
    arguments, kwarg_only, seen = [], False, set()
    for part in split(inside):
        if part == "*":
            kwarg_only = True
            continue
        a = parse_argument(part, kwarg_only)
        if a.name in seen:
            raise ValueError(f"argument '{a.name}' stands there twice")
        seen.add(a.name)
        arguments.append(a)
    ret = ret.strip()
    returns = []
    many = ret.startswith("(") and ret.endswith(")")
    for part in split(ret[1:-1] if many else ret):
        m = re.fullmatch(r"(\S+?(?:\([a-z]!?\))?\S*)(?: ([A-Za-z_]\w*))?", part)
        if not m:
            raise ValueError(f"'{part}' is no return type")
        returns.append((Type(m[1]), m[2]))
    return Schema(name.strip(), arguments, returns)


class Operator:
    """One registered operator: an entry's functional form, or the in-place or out form derived from it."""

    def __init__(self, kind, schema, entry, forms):
        self.kind, self.schema, self.entry, self.forms = kind, schema, entry, forms


class Entry:
    def __init__(self, schema, where):
        self.schema, self.where = schema, where
        self.forms, self.flags, self.no_default, self.calls = None, [], [], schema.base
        self.doc, self.inplace, self.out = "", None, None

    @property
    def pure_inplace(self):
        first = self.schema.arguments[:1]
        return bool(first) and first[0].type.written

    @property
    def takes_dest(self):
        return self.inplace is not None or self.out is not None

    @property
    def is_view(self):
        return any(t.alias and not t.written for t, _ in self.schema.returns)

    def operators(self):
        yield Operator("inplace" if self.pure_inplace else "functional", self.schema, self, self.forms)
        if self.inplace:
            yield self.inplace
        if self.out:
            yield self.out


def derive_inplace(entry, value):
    name, *forms = value.split()
    first = entry.schema.arguments[:1]
    if not first or first[0].type.text != "Tensor":
        raise ValueError("an in-place form needs a Tensor as first argument")
    if [t.text for t, _ in entry.schema.returns] != ["Tensor"]:
        raise ValueError("an in-place form needs an operator that returns one Tensor")
    self_ = Argument(Type("Tensor(a!)"), "self", None, False)
    schema = Schema(name, [self_] + entry.schema.arguments[1:], [(Type("Tensor(a!)"), None)])
    if not schema.base.endswith("_"):
        raise ValueError(f"the in-place operator's name '{name}' has no '_' at the end")
    return Operator("inplace", schema, entry, check_forms(forms))


def derive_out(entry, value):
    name, paren, names = value.partition("(")
    returns = entry.schema.returns
    names = [n.strip() for n in names.rstrip(") ").split(",")] if paren else ["out"]
    if len(names) != len(returns):
        raise ValueError(f"{len(names)} out arguments for {len(returns)} results; name them as 'out: name(a, b)'")
    if any(t.text != "Tensor" for t, _ in returns):
        raise ValueError("an out form needs an operator that returns Tensors")
    kept = [a for a in entry.schema.arguments if a not in quadruple_of(entry.schema)]
    kinds = [Type(f"Tensor({chr(ord('a') + i)}!)") for i in range(len(names))]
    outs = [Argument(t, n, None, True) for t, n in zip(kinds, names)]
    return Operator("out", Schema(name.strip(), kept + outs, [(t, r[1]) for t, r in zip(kinds, returns)]), entry,
                    ["function"])


def quadruple_of(schema):
    """The arguments dtype, layout, device, pin_memory where they stand together, else nothing."""
    args = schema.arguments
    for i in range(len(args) - 3):
        if tuple(a.name for a in args[i:i + 4]) == QUADRUPLE:
            return args[i:i + 4]
    return []


def check_forms(forms):
    if not forms or any(f not in ("function", "method", "boxed") for f in forms):
        raise ValueError(f"forms are 'function', 'method' or 'boxed', not '{' '.join(forms)}'")
    return [] if forms == ["boxed"] else forms


def apply(entry, key, value):
    if key == "forms":
        entry.forms = check_forms(value.split())
    elif key == "inplace":
        entry.inplace = derive_inplace(entry, value)
    elif key == "out":
        entry.out = derive_out(entry, value)
    elif key == "flags":
        entry.flags = value.split()
        for f in entry.flags:
            if f not in FLAGS:
                raise ValueError(f"unknown flag '{f}'; known are {', '.join(FLAGS)}")
    elif key == "calls":
        entry.calls = value
    elif key == "no_default":
        entry.no_default = value.split()
        for n in entry.no_default:
            if n not in [a.name for a in entry.schema.arguments]:
                raise ValueError(f"no_default names '{n}', which is no argument")
    else:
        entry.doc = value


def finish(entry):
    if entry.forms is None:
        raise ValueError(f"{entry.schema.name} has no 'forms:' line")
    if not entry.doc:
        raise ValueError(f"{entry.schema.name} has no 'doc:' line")
    if "method" in entry.forms and not any(a.name == "self" for a in entry.schema.arguments):
        raise ValueError(f"{entry.schema.name} is a method but has no argument 'self'")
    if entry.pure_inplace and entry.takes_dest:
        raise ValueError(f"{entry.schema.name} works in place itself; 'inplace:' and 'out:' belong to the functional form")


def read_file(path):
    """The file's leading comment and its entries."""
    entries, comment, fields = [], [], {}
    entry = None

    def close():
        if entry is None:
            return
        for key, (value, line) in fields.items():
            with_place(line, apply, entry, key, value)
        with_place(entry.where[1], finish, entry)

    def with_place(line, f, *args):
        try:
            return f(*args)
        except ValueError as e:
            raise IndexError_(f"{path}:{line}: {e}") from None

    last_key, key_indent = None, 0
    with open(path, encoding="utf-8") as f:
        lines = f.read().split("\n")
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text.startswith("#"):
            if entry is None:
                comment.append(text.lstrip("# "))
            continue
        if not text:
            continue
        indent = len(line) - len(line.lstrip())
        if indent == 0:
            close()
            entry, fields, last_key = Entry(with_place(number, parse_schema, text), (path, number)), {}, None
            entries.append(entry)
            continue
        if entry is None:
            raise IndexError_(f"{path}:{number}: an indented line before the first schema")
        if last_key and indent > key_indent:
            value, at = fields[last_key]
            fields[last_key] = (f"{value}\n{text}", at)
            continue
        key, colon, value = text.partition(":")
        if not colon or key not in KEYS:
            raise IndexError_(f"{path}:{number}: '{text}' is no field; expected one of {', '.join(KEYS)}")
        if key in fields:
            raise IndexError_(f"{path}:{number}: field '{key}' stands there twice")
        fields[key], last_key, key_indent = (value.strip(), number), key, indent
    close()
    return " ".join(comment), entries


def check_unique(families):
    """Every operator name stands once in the whole index."""
    seen = {}
    for entries in families.values():
        for entry in entries:
            for op in entry.operators():
                if op.schema.name in seen:
                    first = seen[op.schema.name]
                    raise IndexError_(f"{entry.where[0]}:{entry.where[1]}: {op.schema.name} stands already at "
                                      f"{first[0]}:{first[1]}")
                seen[op.schema.name] = entry.where


def without_return_names(schema):
    return str(Schema(schema.name, schema.arguments, [(t, None) for t, _ in schema.returns]))


def check_against(families, path):
    """Compares every schema with a list of ATen's, one a line, ` | ` and what follows ignored.

    Returns the operators that the list says nothing about: it leaves out names that start with an underscore.
    """
    known, unknown = {}, []
    with open(path, encoding="utf-8") as f:
        for line in f:
            text = line.split(" | ")[0].strip()
            if text and not text.startswith("#") and ") -> " in text:
                known[text.partition("(")[0]] = text
    for entries in families.values():
        for entry in entries:
            for op in entry.operators():
                place = f"{entry.where[0]}:{entry.where[1]}"
                want = known.get(op.schema.name)
                if want is None and op.schema.base.startswith("_"):
                    unknown.append(f"{place}: {op.schema.name}")
                    continue
                if want is None:
                    raise IndexError_(f"{place}: ATen has no operator {op.schema.name}")
                got = str(op.schema)
                try:
                    same = got == want or (op.kind == "out" and
                                           without_return_names(op.schema) == without_return_names(parse_schema(want)))
                except ValueError:
                    same = False
                if not same:
                    raise IndexError_(f"{place}: {got}\n  differs from ATen's {want}")
    return unknown
