#!/usr/bin/env python3
"""The rules of the tree's structure that a compiler does not check. Prints each fault as `file:line: fault`.

structure.py ROOT    checks the tree; structure_test.py shows that every check can fail.

A check is a function of a tree, {path: text}, and yields faults. docs/architecture.md has the reasons for the layers.
"""

import os
import pathlib
import posixpath
import re
import sys

# Who may include whom; a layer may always include itself. One that is missing here is a fault: a layer is a decision.
BELOW_NN = {"core", "autograd", "ops", "utils"}
BELOW_DATA = BELOW_NN | {"serialize", "nn", "optim"}
BELOW_GRAPH = BELOW_DATA | {"data", "amp", "quantization", "cuda", "profiler"}
LAYERS = {
    "core": set(),
    "utils": {"core"},
    "cuda": {"core"},
    "cuda/runtime": {"core", "cuda", "kernels", "kernels/cuda"},  # of kernels/cuda its headers
    "kernels": {"core"},
    "backends": {"core", "kernels"},
    "kernels/bodies": {"core", "kernels"},  # arithmetic that CPU and CUDA kernels share
    "kernels/cpu": {"core", "kernels", "kernels/bodies", "backends"},
    "backends/cuda": {"core", "cuda", "kernels", "kernels/cuda"},  # cublas and cudnn: they enqueue, as kernels do
    "kernels/cuda": {"core", "cuda", "kernels", "kernels/bodies", "backends/cuda"},
    "autograd": {"core"},
    "ops": {"core", "autograd", "kernels"},
    "profiler": BELOW_NN,
    "serialize": BELOW_NN,
    "nn": BELOW_NN | {"serialize"},
    "optim": BELOW_NN | {"serialize", "nn", "kernels"},
    "data": BELOW_DATA,
    "amp": BELOW_DATA,
    "quantization": BELOW_DATA | {"kernels"},
    "graph": BELOW_GRAPH,
    "onnx": BELOW_GRAPH | {"graph"},
    "distributed": BELOW_GRAPH | {"backends", "kernels"},
    "rpc": BELOW_GRAPH | {"distributed", "graph"},
    "umbrella": None,  # gradus/gradus.h: everything
}
ARROWS_BACK = {
    ("include/gradus/core/tensor.h", "include/gradus/ops/tensor_methods.h"): "class Tensor's generated declarations",
    ("src/core/kernel_table.cpp", "kernels/table.h"): "core gives kernels their tables,",
    ("src/core/parallel.cpp", "kernels/parallel.h"): "and their threads",
}

# What only these places may include.
OWNERS = [
    (re.compile(r"omp\.h$"), ("src/core/parallel.cpp",)),
    (re.compile(r".*\bdnnl"), ("src/backends/onednn/",)),
    (re.compile(r"(openblas|cblas|lapacke?)\b"), ("src/backends/blas/",)),
    (re.compile(r"hwy/"), ("kernels/cpu/",)),
    (re.compile(r"(cuda|cublas|cudnn|nccl|cub)"), ("kernels/cuda/", "src/backends/", "src/cuda/")),
]

INTRINSICS = {
    "kernels/cpu/math-inl.h": "scalef, which Highway 1.0 lacks",
    "kernels/cpu/denormals.h": "the control register, no arithmetic",
}

LINES = 600

STANDARD = set(
    """
    algorithm any array atomic bitset cassert cctype cerrno cfenv cfloat charconv chrono cinttypes climits
    clocale cmath codecvt complex condition_variable csetjmp csignal cstdarg cstddef cstdint cstdio cstdlib
    cstring ctime cuchar cwchar cwctype deque exception execution filesystem forward_list fstream functional
    future initializer_list iomanip ios iosfwd iostream istream iterator limits list locale map memory
    memory_resource mutex new numeric optional ostream queue random ratio regex scoped_allocator set
    shared_mutex sstream stack stdexcept streambuf string string_view strstream system_error thread tuple
    type_traits typeindex typeinfo unordered_map unordered_set utility valarray variant vector
    """.split()
)

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.M)
DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.M)
COMMENT = re.compile(r"""'(?:\\.|[^'\\\n])'|"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/""", re.S)


def is_code(path):
    return path.endswith((".h", ".cpp", ".cu", ".cuh"))


def code(text):
    """The text without comments, line for line."""

    def blank(match):
        piece = match.group(0)
        return piece if piece[0] in "\"'" else "\n" * piece.count("\n")

    return COMMENT.sub(blank, text)


def at(text, position):
    return text.count("\n", 0, position) + 1


def found(pattern, path, text):
    """(line, match) of every place in the code."""
    text = code(text)
    return [(at(text, m.start()), m) for m in pattern.finditer(text)]


def resolve(tree, path, name):
    """The file in the tree that `path` means by including `name`; None for another's."""
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
    roots = ("include/compat/",) if path.startswith("include/compat/") else ()
    for candidate in (beside, *(root + name for root in (*roots, "include/", "src/", ""))):
        if candidate in tree:
            return candidate
    return None


def includes(tree, path):
    """(line, name, file or None) of every include of a file."""
    return [(line, m.group(1), resolve(tree, path, m.group(1))) for line, m in found(INCLUDE, path, tree[path])]


def layer_of(path):
    """The layer a file of the library belongs to; None outside the library."""
    parts = path.split("/")
    if path == "include/gradus/gradus.h":
        return "umbrella"
    if path.startswith("include/gradus/"):
        return parts[2].removesuffix(".h")
    if parts[0] == "kernels":
        return "/".join(parts[:2]) if len(parts) > 2 else "kernels"
    if path.startswith(("src/backends/cublas/", "src/backends/cudnn/", "src/backends/nccl/")):
        return "backends/cuda"
    if path.startswith("src/cuda/runtime/"):
        return "cuda/runtime"
    return parts[1] if parts[0] == "src" and len(parts) > 2 else None


def library(tree):
    return [path for path in sorted(tree) if is_code(path) and layer_of(path)]


# --- the checks ---


def layers(tree, arrows_back=ARROWS_BACK):
    """Includes go from a layer to those it stands on."""
    used = set()
    for path in library(tree):
        layer = layer_of(path)
        if layer not in LAYERS:
            yield f"{path}:1: {layer} is no layer that tests/structure/structure.py and docs/architecture.md know"
            continue
        for line, name, file in includes(tree, path):
            other = file and layer_of(file)
            if not other or other == layer or LAYERS[layer] is None or other in LAYERS[layer]:
                continue
            if (path, file) in arrows_back:
                used.add((path, file))
                continue
            yield f"{path}:{line}: {layer} may not include {other} ({name})"
    for path, file in arrows_back:
        if (path, file) not in used:
            yield f"{path}:1: its include of {file} is allowed as an exception and not there: drop it from ARROWS_BACK"


def cycles(tree):
    """No file includes itself by a detour."""
    graph = {path: [file for _, _, file in includes(tree, path) if file] for path in tree if is_code(path)}
    done = set()
    for start in sorted(graph):
        trail, pending = [], [(start, False)]
        while pending:
            path, leaving = pending.pop()
            if leaving:
                trail.pop()
                done.add(path)
            elif path in trail:
                yield f"{path}:1: included in a circle: {' -> '.join([*trail[trail.index(path):], path])}"
            elif path not in done:
                trail.append(path)
                pending.append((path, True))
                pending.extend((file, False) for file in graph.get(path, ()))


def kernels_without_tensors(tree):
    """Kernels and backends compile without class Tensor, whatever they include includes."""
    for path in library(tree):
        if layer_of(path) not in ("kernels", "kernels/cpu", "kernels/cuda", "backends", "backends/cuda"):
            continue
        seen, pending = {path}, [path]
        while pending:
            for _, _, file in includes(tree, pending.pop()):
                if file and file not in seen:
                    seen.add(file)
                    pending.append(file)
        for file in sorted(seen):
            if re.match(r"include/gradus/core/tensor\w*\.h$", file):
                yield f"{path}:1: a kernel that gets to see {file}"


def public_macros(tree):
    """Public headers define GRADUS_ macros alone; include/compat repeats libtorch's."""
    for path in sorted(tree):
        if path.startswith("include/gradus/"):
            for line, match in found(DEFINE, path, tree[path]):
                if not re.match(r"GRADUS_[A-Z]", match.group(1)):
                    yield f"{path}:{line}: macro {match.group(1)} lacks the prefix GRADUS_"


def public_includes(tree):
    """Public headers include the standard library (of C++17) and each other."""
    for path in sorted(tree):
        if not path.startswith("include/"):
            continue
        inside = ("include/gradus/",) if path.startswith("include/gradus/") else ("include/",)
        for line, name, file in includes(tree, path):
            if name not in STANDARD and not (file and file.startswith(inside)):
                yield f"{path}:{line}: a public header includes {name}"


def owners(tree):
    """Another's library is included where it is wrapped and nowhere else."""
    for path in library(tree):
        for line, name, file in includes(tree, path):
            for pattern, places in OWNERS:
                if not file and pattern.match(name) and not path.startswith(places):
                    yield f"{path}:{line}: {name} belongs to {' '.join(places)}"


def threads(tree):
    """OpenMP stands behind parallel_for; what runs beside it is invisible to TSan and to nested calls."""
    pattern = re.compile(r'^[ \t]*#[ \t]*pragma[ \t]+omp\b|_Pragma\("omp\b|\bomp_\w+\(', re.M)
    for path in library(tree):
        if path != "src/core/parallel.cpp":
            for line, match in found(pattern, path, tree[path]):
                yield f"{path}:{line}: {match.group(0).strip()} outside src/core/parallel.cpp"


def intrinsics(tree):
    """Vectors are Highway's: an intrinsic is for one processor."""
    pattern = re.compile(r"\b_mm\d*_\w+\(|\b__m\d+[di]?\b|\b__builtin_ia32_\w+|\bsvld\w+\(|\bvld\d\w+\(")
    for path in library(tree):
        if path not in INTRINSICS:
            for line, match in found(pattern, path, tree[path]):
                yield f"{path}:{line}: intrinsic {match.group(0).rstrip('(')}"


def sizes(tree):
    """A file that one can hold in one's head."""
    for path in sorted(tree):
        if path.endswith((".h", ".cpp", ".cu", ".py", ".sh")) and not is_generated(path):
            lines = tree[path].count("\n")
            if lines > LINES:
                yield f"{path}:{LINES}: {lines} lines; split it by what is in it (at most {LINES})"


def is_generated(path):
    return "/generated/" in path or path.startswith("tests/references/")


def leftovers(tree):
    """What is not done is written down where it is seen, not in a comment."""
    pattern = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
    for path in sorted(tree):
        if not path.startswith("tests/structure/"):
            for match in pattern.finditer(tree[path]):
                yield f"{path}:{at(tree[path], match.start())}: {match.group(1)}"


def cmake_globals(tree):
    """A project that adds Gradus as a subdirectory keeps its own settings; sources are listed, not found."""
    pattern = re.compile(
        r"^[ \t]*(add_compile_options|add_compile_definitions|add_definitions|include_directories|link_libraries"
        r"|link_directories|add_link_options|set[ \t]*\([ \t]*CMAKE_(?:C|CXX|CUDA|POSITION|EXE|SHARED|MODULE)_\w+"
        r"|set[ \t]*\([ \t]*(?:BUILD_SHARED_LIBS|CMAKE_CUDA_ARCHITECTURES)|file[ \t]*\([ \t]*GLOB\w*[ \t]+(?!headers\b))",
        re.M | re.I,
    )
    for path in sorted(tree):  # tests/install has projects of users, who may
        if path.endswith((".cmake", "CMakeLists.txt", ".cmake.in")) and not path.startswith("tests/install/"):
            for match in pattern.finditer(tree[path]):
                yield f"{path}:{at(tree[path], match.start(1))}: {match.group(1)} reaches beyond Gradus's own targets"


def unbuilt(tree):
    """A source that nothing names is never compiled; a test among them can never fail."""
    scripts = {path: text for path, text in tree.items() if path.endswith((".cmake", "CMakeLists.txt", ".py", ".sh"))}
    for path in sorted(tree):
        if not path.endswith((".cpp", ".cu")) or is_generated(path):
            continue
        folder = posixpath.dirname(path)
        for script, text in scripts.items():
            above = posixpath.dirname(script)
            names = [re.escape(path)]  # from the root, or from the script's folder
            if not above or path.startswith(above + "/"):
                name = re.escape(posixpath.relpath(path, above or "."))
                # Beside the script without the ending, too: compat_test(printing).
                names.append(name.rsplit(r"\.", 1)[0] if above == folder else name)
            if re.search(rf"(?<![\w/])(PROJECT_SOURCE_DIR}}/)?({'|'.join(names)})\b", text):
                break
        else:
            yield f"{path}:1: nothing builds it: no CMakeLists.txt or script names it"


CHECKS = (
    layers,
    cycles,
    kernels_without_tensors,
    public_macros,
    public_includes,
    owners,
    threads,
    intrinsics,
    sizes,
    leftovers,
    cmake_globals,
    unbuilt,
)


def read_tree(root):
    """The project's own text files; build folders lie beside these and are not entered."""
    root = pathlib.Path(root)
    endings = (".h", ".cpp", ".cu", ".cuh", ".py", ".sh", ".cmake", ".in", ".ops", "CMakeLists.txt")
    tree = {}
    for top in ("CMakeLists.txt", "include", "src", "kernels", "tests", "examples", "benchmarks", "cmake"):
        files = [root / top] if (root / top).is_file() else []
        for folder, _, names in os.walk(root / top):
            files += [pathlib.Path(folder) / name for name in names]
        for file in files:
            if file.name.endswith(endings):
                tree[file.relative_to(root).as_posix()] = file.read_text(encoding="utf-8")
    return tree


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: structure.py ROOT")
    tree = read_tree(sys.argv[1])
    if len(library(tree)) < 100:
        sys.exit(f"structure.py: {sys.argv[1]} has {len(library(tree))} sources; this is not Gradus's root")
    faults = [fault for check in CHECKS for fault in check(tree)]
    print("\n".join(faults) if faults else f"{len(tree)} files, {len(CHECKS)} checks, no fault")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
