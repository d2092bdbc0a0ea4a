"""Builds the benchmark programs for each library, runs them in turn and prints how they compare. Called by compare.sh."""
import argparse
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))

# Row, what it is, the gate: a ratio against the better peer, or a bound of ours.
RATIO_ROWS = [
    ("add_8", "a + b, 8 floats", 12),
    ("empty_8", "empty({8})", 12),
    ("add_inplace_8", "a.add_(b)", 16),
    ("sum_8", "sum of 8", 16),
    ("view_8", "view", 8),
    ("mm_8x8", "mm 8x8", 8),
    ("add_8_recording", "a + b, recording", 15),
    ("mul_sum_backward", "(a*b).sum().backward()", 20),
    ("chain_1000", "1,000 multiplications, fwd + bwd", 30),
    ("mlp_step", "MLP 16-32-32-4, Adam step", 12),
    ("fashion_cnn_image", "Fashion-MNIST CNN, per image", 1.5),
]
BOUND_ROWS = [
    ("trainer_compile_s", "CNN trainer, compile -O2, s user", 3),
    ("trainer_compile_mb", "CNN trainer, compile -O2, MB", 300),
    ("hello_compile_s", "hello, compile -O0, s user", 1.5),
    ("hello_run_s", "hello, run, s", 0.02),
    ("hello_run_mb", "hello, run, MB", 25),
    ("library_mb", "library, stripped, MB", 10),
]


class Library:
    """One library to measure: how to compile and run against it."""

    def __init__(self, name, compile_flags, link_flags, files):
        self.name, self.compile_flags, self.link_flags, self.files = name, compile_flags, link_flags, files
        self.programs = {}

    def command(self, source, out, level):
        return (["g++", "-std=c++17", level, *self.compile_flags, os.path.join(HERE, source), "-o", out] + self.link_flags)


def gradus(prefix):
    lib = os.path.join(prefix, "lib")
    return Library("Gradus", [f"-I{prefix}/include", f"-I{prefix}/include/gradus-compat"],
                   [f"-L{lib}", f"-Wl,-rpath,{lib}", "-lgradus"], [os.path.join(lib, "libgradus.so")])


def debian():
    api = "/usr/include/torch/csrc/api/include"
    if not os.path.exists(f"{api}/torch/torch.h"):
        return None
    lib = "/usr/lib/x86_64-linux-gnu"
    return Library("libtorch 1.13.1", [f"-I{api}"], ["-ltorch", "-ltorch_cpu", "-lc10", "-pthread"],
                   [f"{lib}/libtorch_cpu.so", f"{lib}/libc10.so"])


def wheel(venv):
    python = os.path.join(venv, "bin", "python")
    if not os.path.exists(python):
        return None
    script = "import torch, os; print(torch.__version__); print(os.path.dirname(torch.__file__)); print(int(torch._C._GLIBCXX_USE_CXX11_ABI))"
    try:
        version, path, abi = subprocess.check_output([python, "-c", script], text=True).split()
    except subprocess.CalledProcessError:
        return None
    lib = f"{path}/lib"
    # The CPU part alone, as for the other libraries; what the wheel's libtorch itself needs is found by the rpath.
    links = [f"-L{lib}", f"-Wl,-rpath,{lib}", "-Wl,--no-as-needed", "-ltorch", "-ltorch_cpu", "-lc10", "-pthread"]
    return Library(f"PyTorch {version.split('+')[0]}",
                   ["-std=c++20", f"-D_GLIBCXX_USE_CXX11_ABI={abi}", f"-I{path}/include", f"-I{path}/include/torch/csrc/api/include"],
                   links, [f"{lib}/libtorch_cpu.so", f"{lib}/libc10.so"])


def measured(command, **options):
    """Runs a command: (wall seconds, user seconds, peak MB of the largest process in it)."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, **options)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    # wait4 counts the process and the children it waited for (the compiler proper); its peak is the largest of these.
    return wall, usage.ru_utime, usage.ru_maxrss / 1024 if before >= 0 else 0


def build(library, source, work, level="-O2"):
    out = os.path.join(work, f"{source}-{library.name}".replace(" ", "_"))
    subprocess.run(library.command(source + ".cpp", out, level), check=True)
    library.programs[source] = out


def run_json(program, cpus):
    out = subprocess.check_output(["taskset", "-c", cpus, program], text=True) if shutil.which("taskset") else \
        subprocess.check_output([program], text=True)
    return json.loads(out)


def in_turn(libraries, rounds, measure):
    """measure(library) -> {row: value}, five rounds in turn; {library: {row: [values]}}."""
    results = {l.name: {} for l in libraries}
    for r in range(rounds):
        print(f"  round {r + 1} of {rounds}", file=sys.stderr)
        for library in libraries:
            for row, value in measure(library).items():
                results[library.name].setdefault(row, []).append(value)
    return results


def merge(into, results):
    for name, rows in results.items():
        into.setdefault(name, {}).update(rows)


def compile_cost(library, source, level, work):
    out = os.path.join(work, "object.o")
    _, user, peak = measured(["g++", "-std=c++17", level, *library.compile_flags, "-c", os.path.join(HERE, source), "-o", out])
    return user, peak


def trainer_cost(library, work):
    user, peak = compile_cost(library, "cnn_trainer_compile.cpp", "-O2", work)
    return {"trainer_compile_s": user, "trainer_compile_mb": peak}


def hello_cost(library, work):
    user, _ = compile_cost(library, "hello.cpp", "-O0", work)
    walls, peaks = [], []
    for _ in range(5):
        wall, _, peak = measured([library.programs["hello"]])
        walls.append(wall)
        peaks.append(peak)
    return {"hello_compile_s": user, "hello_run_s": statistics.median(walls), "hello_run_mb": max(peaks)}


def stripped_size(library, work):
    total = 0
    for path in library.files:
        copy = os.path.join(work, "stripped.so")
        subprocess.run(["strip", "--strip-unneeded", "-o", copy, os.path.realpath(path)], check=True)
        total += os.path.getsize(copy)
    return {"library_mb": [total / 1e6]}


def show(value):
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}" if value >= 0.01 else f"{value:.2g}"


def table(libraries, values):
    """The rows to print, and whether every gate that was measured is met."""
    ours, peers = libraries[0].name, [l.name for l in libraries[1:]]
    rows, met_all = [["us, median", *[l.name for l in libraries], "ratio", "gate", "met"]], True
    for key, title, gate in RATIO_ROWS:
        if key not in values[ours]:
            continue
        medians = {name: statistics.median(values[name][key]) for name in [ours, *peers]}
        ratio = None
        if peers:
            better = min(peers, key=lambda p: medians[p])
            ratio = statistics.median(p / o for p, o in zip(values[better][key], values[ours][key]))
        met = ratio is None or ratio >= gate
        met_all = met_all and met
        rows.append([title, *[show(medians[n]) for n in [ours, *peers]], show(ratio), f">= {gate}",
                     "-" if ratio is None else "yes" if met else "NO"])
    for key, title, gate in BOUND_ROWS:
        if key not in values[ours]:
            continue
        medians = {n: statistics.median(values[n][key]) if key in values[n] else None for n in [ours, *peers]}
        met = medians[ours] <= gate
        met_all = met_all and met
        known = [medians[p] for p in peers if medians[p] is not None]
        ratio = min(known) / medians[ours] if known else None
        rows.append([title, *[show(medians[n]) for n in [ours, *peers]], show(ratio), f"<= {gate}", "yes" if met else "NO"])
    return rows, met_all


def print_table(rows):
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    for i, row in enumerate(rows):
        print("| " + " | ".join(c.ljust(w) if j == 0 else c.rjust(w) for j, (c, w) in enumerate(zip(row, widths))) + " |")
        if i == 0:
            print("|" + "|".join("-" * (w + 2) for w in widths) + "|")


def machine():
    model = platform.processor()
    try:
        with open("/proc/cpuinfo") as f:
            model = next((l.split(":", 1)[1].strip() for l in f if l.startswith("model name")), model)
    except OSError:
        pass
    return {"cpu": model, "cores": os.cpu_count(), "kernel": platform.release()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--venv", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", default=["small", "cnn", "hello", "compile", "size"])
    parser.add_argument("--json", default=os.path.join(os.path.dirname(HERE), "build-benchmarks", "compare.json"))
    args = parser.parse_args()

    libraries = [l for l in (gradus(args.prefix), debian(), wheel(args.venv)) if l]
    print("measuring " + ", ".join(l.name for l in libraries), file=sys.stderr)
    if len(libraries) == 1:
        print("no peer found: apt-get install libtorch-dev, or benchmarks/compare.sh --setup", file=sys.stderr)
    values = {l.name: {} for l in libraries}
    with tempfile.TemporaryDirectory() as work:
        programs = {"small": ("small_ops", "-O2"), "cnn": ("fashion_cnn", "-O2"), "hello": ("hello", "-O0")}
        for part, (source, level) in programs.items():
            if part in args.only:
                print(f"compiling {source}", file=sys.stderr)
                for library in libraries:
                    build(library, source, work, level)
        if "small" in args.only:
            merge(values, in_turn(libraries, args.rounds, lambda l: run_json(l.programs["small_ops"], "0")))
        if "cnn" in args.only:
            merge(values, in_turn(libraries, args.rounds, lambda l: run_json(l.programs["fashion_cnn"], "0,1")))
        if "hello" in args.only:
            merge(values, in_turn(libraries, args.rounds, lambda l: hello_cost(l, work)))
        if "compile" in args.only:
            merge(values, in_turn(libraries, min(args.rounds, 3), lambda l: trainer_cost(l, work)))
        if "size" in args.only:
            merge(values, {l.name: stripped_size(l, work) for l in libraries})
    rows, met = table(libraries, values)
    print_table(rows)
    os.makedirs(os.path.dirname(os.path.abspath(args.json)), exist_ok=True)
    with open(args.json, "w") as f:
        json.dump({"machine": machine(), "rounds": args.rounds, "values": values}, f, indent=1)
    print(f"{args.json} holds every value", file=sys.stderr)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
