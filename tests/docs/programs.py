#!/usr/bin/env python3
"""The programs printed in the pages compile, run and succeed: programs.py CXX ROOT LIBRARY PAGE...

A program is a fenced block of C++ with a main(); it is built as a reader would build it, against the public headers and
the shared library, in a folder of its own.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")  # Debian's dataset-fashion-mnist, which the README's program reads


def programs(text):
    """(line, source) of every program in a page."""
    for match in re.finditer(r"^```cpp\n(.*?)^```", text, re.M | re.S):
        if re.search(r"^int main\(", match.group(1), re.M):
            yield text.count("\n", 0, match.start(1)) + 1, match.group(1)


def run(compiler, root, library, page, line, source):
    with tempfile.TemporaryDirectory() as folder:
        file, program = pathlib.Path(folder) / "program.cpp", pathlib.Path(folder) / "program"
        file.write_text(f'#line {line} "{page}"\n{source}', encoding="utf-8")
        place = library.resolve().parent
        command = [compiler, "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{root}/include", str(file)]
        subprocess.run([*command, "-o", str(program), str(library), f"-Wl,-rpath,{place}"], check=True)
        if "MNIST" in source and not DATA.is_dir():
            print(f"{page}:{line}: compiled, not run: {DATA} is missing (apt-get install dataset-fashion-mnist)")
            return
        subprocess.run([str(program)], check=True, cwd=folder, timeout=240)
        print(f"{page}:{line}: compiled and run")


def main():
    compiler, root, library, *pages = sys.argv[1:]
    found = [(page, *program) for page in pages for program in programs((pathlib.Path(root) / page).read_text("utf-8"))]
    if not found:
        sys.exit(f"no program in {' '.join(pages)}")
    for page, line, source in found:
        try:
            run(compiler, root, pathlib.Path(library), page, line, source)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as fault:
            sys.exit(f"{page}:{line}: this program does not work: {fault}")


if __name__ == "__main__":
    main()
