"""Every header that libtorch has for programs is in include/compat, as ours or as an #error that says what to do: one that
is missing would be taken from an installed libtorch without a word. headers_test.py INCLUDE_COMPAT."""

import pathlib
import sys

LIST = pathlib.Path(__file__).with_name("libtorch_headers.txt")


def faults(headers, folder):
    for header in headers:
        file = folder / header
        if not file.is_file():
            yield f"{header}: libtorch has it, {folder} does not"
            continue
        text = file.read_text(encoding="utf-8")
        if "#pragma once" not in text and not text.startswith(f'#error "Gradus: <{header}>: '):
            yield f'{header}: neither a header nor an #error that begins with "Gradus: <{header}>: "'


def main():
    headers = [line for line in LIST.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    if len(headers) < 500:
        sys.exit(f"{LIST} lists {len(headers)} headers")
    found = list(faults(headers, pathlib.Path(sys.argv[1])))
    print("\n".join(found) if found else f"{len(headers)} headers")
    sys.exit(1 if found else 0)


main()
