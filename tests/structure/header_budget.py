#!/usr/bin/env python3
"""What a program pays for including Gradus, in lines and bytes after the preprocessor: header_budget.py CXX ROOT.

A budget is about a tenth above what the header cost when it was set, so that a header that grows, or that drags in another
part of the standard library, is noticed by whoever did it. It is in lines and bytes, not seconds: those depend on the
machine and on what else it does, and follow these. An empty file with <vector>, <string>, <functional> and <memory> is
36,000 lines. Most of the rest is the standard library's, so the figures hold for the compiler they were taken with.
"""

import subprocess
import sys

COMPILER = "12"  # g++, Debian 12

# header: (lines, kilobytes)
BUDGET = {
    "gradus/core/tensor.h": (47_800, 1_630),
    "gradus/nn/nn.h": (51_250, 1_815),
    "gradus/gradus.h": (60_700, 2_215),
    "torch/torch.h": (66_100, 2_385),
}


def cost(compiler, root, header):
    command = [compiler, "-std=c++17", "-E", "-P", "-x", "c++", f"-I{root}/include", f"-I{root}/include/compat", "-"]
    text = subprocess.run(command, input=f"#include <{header}>\n".encode(), check=True, capture_output=True).stdout
    return text.count(b"\n"), round(len(text) / 1000)


def version(compiler):
    text = subprocess.run([compiler, "--version"], check=True, capture_output=True, text=True).stdout
    number = subprocess.run([compiler, "-dumpversion"], check=True, capture_output=True, text=True).stdout.strip()
    return number.split(".")[0] if "Free Software Foundation" in text else None


def main():
    _, compiler, root = sys.argv
    if version(compiler) != COMPILER:
        print(f"the budget is for g++ {COMPILER}; {compiler} is another compiler")
        sys.exit(77)
    over = False
    print(f"{'header':24} {'lines':>8} {'budget':>8} {'kB':>8} {'budget':>8}")
    for header, (most_lines, most_kilobytes) in BUDGET.items():
        lines, kilobytes = cost(compiler, root, header)
        fault = lines > most_lines or kilobytes > most_kilobytes
        over = over or fault
        print(f"{header:24} {lines:8} {most_lines:8} {kilobytes:8} {most_kilobytes:8}{'  over its budget' if fault else ''}")
    sys.exit(1 if over else 0)


if __name__ == "__main__":
    main()
