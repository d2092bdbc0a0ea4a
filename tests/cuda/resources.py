#!/usr/bin/env python3
"""What ptxas reported of each kernel (cmake/ptxas_log.sh): registers, spills, and how many threads of a multiprocessor fit.

resources.py BUILD [--table]    fails where a kernel spills registers; --table prints the families for docs/cuda.md
"""

import collections
import pathlib
import re
import subprocess
import sys

REGISTERS = 65536  # of a multiprocessor
THREADS = 2048
ENTRY = re.compile(r"Compiling entry function '(\S+)' for '(\w+)'")
STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers")

# Kernels that may spill, each with its reason: by name, as it stands in the sources.
MAY_SPILL = {}


def kernels(build):
    """(file, kernel, registers, bytes of stack, bytes spilled) of every kernel."""
    for log in sorted(pathlib.Path(build).rglob("*.ptxas")):
        name = stack = spilled = None
        for line in log.read_text().splitlines():
            if m := ENTRY.search(line):
                name = m.group(1)
            elif m := STACK.search(line):
                stack, spilled = int(m.group(1)), int(m.group(2)) + int(m.group(3))
            elif (m := USED.search(line)) and name:
                yield log.name.removesuffix(".o.ptxas"), name, int(m.group(1)), stack, spilled
                name = None


def readable(names):
    try:
        text = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout
        return text.split("\n")
    except (OSError, subprocess.CalledProcessError):
        return names


def family(name):
    return re.sub(r"<.*", "", name.split("(")[0].split("::")[-1] if "<" not in name else name.split("<")[0].split("::")[-1])


def occupancy(registers):
    per_thread = max(8, -(-registers // 8) * 8)
    return min(THREADS, REGISTERS // per_thread // 32 * 32)


def main():
    found = list(kernels(sys.argv[1]))
    if not found:
        print(f"{sys.argv[1]} holds no report of ptxas: build with -DGRADUS_CUDA_RESOURCES=ON")
        return 1
    names = readable([k[1] for k in found])
    if "--table" in sys.argv:
        groups = collections.defaultdict(list)
        for (file, _, registers, _, _), name in zip(found, names):
            groups[file, family(name)].append(registers)
        print("| file | kernel | instances | registers | threads of a multiprocessor |\n|---|---|---|---|---|")
        for (file, name), used in sorted(groups.items()):
            span = f"{min(used)}" if min(used) == max(used) else f"{min(used)}-{max(used)}"
            print(f"| {file} | {name} | {len(used)} | {span} | {occupancy(max(used))} |")
    faults = 0
    for (file, _, registers, _, spilled), name in zip(found, names):
        if spilled and family(name) not in MAY_SPILL:
            faults += 1
            print(f"{file}: {name} spills {spilled} bytes with {registers} registers")
    print(f"{len(found)} kernels, {faults} of them spill registers")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
