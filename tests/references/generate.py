"""Stores PyTorch's answers to the samples of its own operator test database; README.md says how to run it.

One safetensors file per family: the calls as JSON in the header's metadata under "calls", their tensors under
`entry/sample/argument`. README.md describes a call's fields.
"""

import argparse
import contextlib
import itertools
import pathlib
import random
import sys
import warnings
from collections import Counter

import numpy
import torch
from torch.testing._internal.common_methods_invocations import op_db

import binding
import extra
import operators
from store import Store

DTYPES = [torch.float32, torch.bfloat16, torch.float16, torch.int64, torch.int32, torch.uint8, torch.bool]
COMPLEX = [torch.complex128, torch.complex64]
SAMPLES_F64, SAMPLES_OTHER, REQUIRED_F64 = 40, 10, 24
SMALL = 1000  # elements of a sample's inputs: larger ones are taken only where fewer than the required number are small
LARGE = 20000  # and these never


def name_of(entry):
    return entry.name + ("|" + entry.variant_test_name if entry.variant_test_name else "")


def short_name(name):
    return name.replace("nn.functional.", "")


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))


def map_tensors(function, value):
    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return type(value)(map_tensors(function, item) for item in value)
    return value


class Copies:
    """Copies tensors as leaves of the same geometry; tensors that share a storage share the copy's."""

    def __init__(self):
        self._storages = {}

    def __call__(self, value):
        return map_tensors(self._copy, value)

    def _copy(self, tensor):
        storage = tensor.detach().untyped_storage()
        if storage._cdata not in self._storages:
            # The original is kept too, or its address could be used again.
            self._storages[storage._cdata] = (storage, storage.clone())
        copy = torch.empty(0, dtype=tensor.dtype).set_(self._storages[storage._cdata][1], tensor.storage_offset(),
                                                       tensor.shape, tensor.stride())
        return copy.requires_grad_(tensor.requires_grad)


def copy_arguments(bound):
    copies = Copies()
    return [(name, kind, copies(value)) for name, kind, value in bound]


def seed_all(text):
    number = sum(ord(c) * (i + 1) for i, c in enumerate(text)) % (2**31)
    torch.manual_seed(number)
    random.seed(number)
    numpy.random.seed(number)


def elements(sample):
    return sum(t.numel() for t in tensors_in([sample.input, sample.args, sample.kwargs]))


@contextlib.contextmanager
def filled_memory():
    """Uninitialised memory, which a few samples contain, is the same every time."""
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


def drained(samples):
    """The samples up to the first that the database itself cannot make (some ask for integers that need gradients)."""
    result = []
    try:
        result.extend(samples)
    except ValueError:
        pass
    return result


@filled_memory()
def samples_of(entry, dtype, wanted):
    """The database's samples for gradients, then those it withholds from gradcheck, then its reference samples."""
    with_grad = dtype == torch.float64 and entry.supports_autograd
    seed_all(f"{name_of(entry)} {dtype}")
    pool = list(entry.sample_inputs("cpu", dtype, requires_grad=with_grad))
    if len(pool) < wanted and with_grad:
        pool += entry.sample_inputs("cpu", dtype, requires_grad=False)
    if len(pool) < wanted and entry.reference_inputs_func is not None:
        pool += drained(entry.reference_inputs("cpu", dtype, requires_grad=with_grad))
    for tensor in tensors_in([sample.input for sample in pool] if with_grad else []):
        if tensor.is_floating_point():
            tensor.requires_grad_(True)
    return [s for s in pool if elements(s) <= LARGE and not any(
        t.layout != torch.strided or t.is_neg() or t.is_conj() for t in tensors_in([s.input, s.args, s.kwargs]))]


def choose(pool, wanted, required):
    small = [s for s in pool if elements(s) <= SMALL]
    if len(small) < required:
        small = sorted(pool, key=elements)[:required]
    if len(small) <= wanted:
        return small
    return [small[i * len(small) // wanted] for i in range(wanted)]


def same(a, b):
    a, b = list(tensors_in(a)) or [a], list(tensors_in(b)) or [b]
    if len(a) != len(b):
        return False
    for x, y in zip(a, b):
        if not isinstance(x, torch.Tensor):
            if x != y:
                return False
        elif x.dtype != y.dtype or x.shape != y.shape or not torch.allclose(x, y, rtol=1e-2, atol=1e-5, equal_nan=True):
            return False
    return True


class Recorder:
    """Turns the samples of one family into calls and tensors."""

    def __init__(self, with_complex):
        self.with_complex = with_complex
        self.store, self.calls, self.dropped = Store(), [], Counter()
        self.cotangents = torch.Generator()

    def _tensor(self, prefix, label, tensor, grads, shared):
        """A tensor argument: its values, or its storage and geometry where those are not plain, and its gradient."""
        key, storage = f"{prefix}/{label}", tensor.detach().untyped_storage()
        whole = tensor.is_contiguous() and storage.nbytes() == tensor.numel() * tensor.element_size()
        if whole and storage._cdata not in shared:
            result = {"t": self.store.add(key, tensor)}
        else:
            flat = torch.empty(0, dtype=tensor.dtype).set_(storage)
            result = {"t": self.store.add(key, flat), "sizes": list(tensor.shape), "strides": list(tensor.stride()),
                      "offset": tensor.storage_offset()}
        if storage._cdata in shared:
            result["storage"] = shared.index(storage._cdata)
        if tensor.requires_grad:
            grad = grads.get(id(tensor))
            result["grad"] = None if grad is None else self.store.add(f"{prefix}/grad_{label}", grad)
        return result

    def _encode_args(self, prefix, bound, grads):
        uses = Counter(t.untyped_storage()._cdata for _, _, value in bound for t in tensors_in(value))
        shared = [storage for storage, count in uses.items() if count > 1]
        encoded = []
        for name, _, value in bound:
            labels = (f"{name}.{i}" for i in itertools.count()) if isinstance(value, (list, tuple)) else iter([name])
            encoded.append(binding.encode(
                value, lambda t, labels=labels: self._tensor(prefix, next(labels), t, grads, shared)))
        return encoded

    def record(self, entry, sample_name, dtype, name, args, kwargs, expected, random_op):
        """Runs the overloads that fit until one gives the Python call's answer, and stores it."""
        for overload, bound in binding.candidates(name, args, kwargs):
            before, running = copy_arguments(bound), copy_arguments(bound)
            if random_op:
                torch.manual_seed(operators.SEED)
            output = binding.invoke(overload, running)
            if not self.with_complex and any(t.is_complex() for t in tensors_in([output, args])):
                raise operators.Unsupported("complex")
            if expected is None or entry in operators.UNDEFINED or same(output, expected):
                break
        else:
            raise operators.Unsupported("no overload gives the Python call's answer")
        prefix = f"{short_name(entry)}/{sample_name}"
        call = {"op": binding.qualified_name(overload), "entry": entry, "sample": sample_name,
                "dtype": str(dtype).removeprefix("torch.")}
        self._outputs(call, prefix, output, running, entry in operators.UNDEFINED)
        grads = self._gradients(call, prefix, output, before, running)
        call["args"] = self._encode_args(prefix, before, grads)
        self._mutations(call, prefix, before, running)
        if random_op:
            call["seed"] = operators.SEED
        self.calls.append(call)

    def _outputs(self, call, prefix, output, running, undefined):
        single = not isinstance(output, (list, tuple))
        call["outputs"] = []
        call["list"] = isinstance(output, list)
        owners = {t.untyped_storage()._cdata: n for n, _, value in running for t in tensors_in(value)}
        for i, value in enumerate([output] if single else output):
            if not isinstance(value, torch.Tensor):
                call["outputs"].append(binding.encode(value, None))
                continue
            if undefined:
                result = {"sizes": list(value.shape), "dtype": binding.DTYPE_NUMBERS[value.dtype]}
            else:
                result = {"t": self.store.add(f"{prefix}/out{i}", value)}
            if not value.is_contiguous():
                result["strides"] = list(value.stride())
            if value.untyped_storage()._cdata in owners:
                result["view_of"] = owners[value.untyped_storage()._cdata]
            call["outputs"].append(result)
        if not call["list"]:
            del call["list"]

    def _gradients(self, call, prefix, output, before, running):
        """Backward from random cotangents; gradients by the id of the tensors in `before`."""
        outputs = [t for t in tensors_in(output)]
        differentiable = [t.requires_grad for t in outputs]
        if not any(differentiable):
            return {}
        self.cotangents.manual_seed(len(self.calls))
        cotangents = [torch.randn(t.shape, dtype=torch.float64, generator=self.cotangents).to(t.dtype)
                      if needs else None for t, needs in zip(outputs, differentiable)]
        call["cotangents"] = [None if c is None else {"t": self.store.add(f"{prefix}/cotangent{i}", c)}
                              for i, c in enumerate(cotangents)]
        torch.autograd.backward([t for t in outputs if t.requires_grad], [c for c in cotangents if c is not None])
        inputs = tensors_in([value for _, _, value in before])
        return {id(a): b.grad for a, b in zip(inputs, tensors_in([value for _, _, value in running]))}

    def _mutations(self, call, prefix, before, running):
        for (name, _, old), (_, _, new) in zip(before, running):
            if isinstance(old, torch.Tensor) and not same(old, new):
                call.setdefault("mutated", {})[name] = self.store.add(f"{prefix}/mutated_{name}", new)

    def record_error(self, entry, sample_name, name, args, kwargs):
        """Stores a call that must throw, if it is one that reaches ATen."""
        for overload, bound in binding.candidates(name, args, kwargs):
            try:
                binding.invoke(overload, copy_arguments(bound))
            except Exception as error:  # noqa: BLE001 - any exception is the answer
                self.calls.append({
                    "op": binding.qualified_name(overload), "entry": entry, "sample": sample_name,
                    "args": self._encode_args(f"{short_name(entry)}/{sample_name}", bound, {}),
                    "error": type(error).__name__, "message": str(error).split("\n")[0]})
                return
        raise operators.Unsupported("only the Python binding refuses it")


def walk_samples(recorder, entry, dtype):
    name, random_op = name_of(entry), entry.name in operators.RANDOM
    f64 = dtype == torch.float64
    wanted, required = (SAMPLES_F64, REQUIRED_F64) if f64 else (SAMPLES_OTHER, SAMPLES_OTHER)
    pool, kept = samples_of(entry, dtype, wanted), []
    for sample in pool:
        try:
            args, kwargs = (sample.input, *sample.args), sample.kwargs
            kept.append((sample, operators.aten_call(entry.name, args, kwargs)))
        except (operators.Unsupported, TypeError) as reason:
            recorder.dropped[f"{name}: {reason}"] += 1
    chosen = {id(s) for s in choose([s for s, _ in kept], wanted, required)}
    count = 0
    for sample, (aten, args, kwargs) in [item for item in kept if id(item[0]) in chosen]:
        try:
            with torch.no_grad():
                expected = entry.op(Copies()(sample.input), *Copies()(sample.args),
                                    **{k: Copies()(v) for k, v in sample.kwargs.items()})
            recorder.record(name, f"{str(dtype).removeprefix('torch.')}_{count}", dtype, aten, args, kwargs, expected,
                            random_op)
            count += 1
        except (operators.Unsupported, binding.Unbindable) as reason:
            recorder.dropped[f"{name}: {reason}"] += 1


def walk_errors(recorder, entry):
    name = name_of(entry)
    if entry.error_inputs_func is None:
        return
    seed_all(name)
    with filled_memory():
        errors = list(entry.error_inputs("cpu"))
    for count, error in enumerate(errors):
        sample = error.sample_input
        try:
            aten, args, kwargs = operators.aten_call(entry.name, (sample.input, *sample.args), sample.kwargs)
            recorder.record_error(name, f"error_{count}", aten, args, kwargs)
        except (operators.Unsupported, binding.Unbindable, TypeError, AttributeError) as reason:
            recorder.dropped[f"{name}: error input: {reason}"[:150]] += 1


def walk_family(family, with_complex):
    recorder, entries = Recorder(with_complex), {name_of(entry): entry for entry in op_db}
    for name in operators.FAMILIES[family]:
        entry = entries[name]
        for dtype in [torch.float64] + DTYPES + (COMPLEX if with_complex else []):
            if dtype in entry.supported_dtypes("cpu"):
                walk_samples(recorder, entry, dtype)
        walk_errors(recorder, entry)
    seed_all(family)
    for count, (name, args, kwargs) in enumerate(extra.calls(family)):
        dtype = next((t.dtype for t in tensors_in(args)), torch.float32)
        recorder.record(f"extra.{name}", f"sample_{count}", dtype, name, args, kwargs, None, name in operators.RANDOM)
    for count, (name, args, *kwargs) in enumerate(extra.errors(family)):
        try:
            recorder.record_error(f"extra.{name}", f"error_{count}", name, args, kwargs[0] if kwargs else {})
        except (operators.Unsupported, binding.Unbindable) as reason:
            recorder.dropped[f"extra error {count}, {name}: {reason}"] += 1
    return recorder


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("families", nargs="*", default=list(operators.FAMILIES))
    parser.add_argument("--out", default=pathlib.Path(__file__).parent / "data", type=pathlib.Path)
    parser.add_argument("--complex", action="store_true", help="store complex samples too")
    parser.add_argument("--verbose", action="store_true", help="list the samples that were dropped, with reasons")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    options.out.mkdir(parents=True, exist_ok=True)
    for family in options.families:
        recorder = walk_family(family, options.complex)
        path = options.out / f"{family}.safetensors"
        recorder.store.save(path, calls=recorder.calls, version=torch.__version__)
        errors = sum("error" in call for call in recorder.calls)
        print(f"{family}: {len(recorder.calls) - errors} calls, {errors} errors, {sum(recorder.dropped.values())} dropped, "
              f"{path.stat().st_size / 1e6:.2f} MB")
        if options.verbose:
            for reason, count in recorder.dropped.items():
                print(f"  {count} x {reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
