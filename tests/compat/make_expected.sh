#!/usr/bin/env bash
# Builds each program of this folder against Debian's libtorch (package libtorch-dev, 1.13.1) and stores what it prints
# as <name>.expected. Only needed when a program changes; the tests compare Gradus' output with the stored text.
# Usage: make_expected.sh [name...]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
api=/usr/include/torch/csrc/api/include
if [ ! -e "$api/torch/torch.h" ]; then
  echo "make_expected.sh: Debian's libtorch is not installed; apt-get install libtorch-dev" >&2
  exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
names=("$@")
if [ ${#names[@]} -eq 0 ]; then
  for source in "$here"/*.cpp; do
    name=$(basename "$source" .cpp)
    [[ $name == compile_only* ]] || names+=("$name")
  done
fi
# The header is compiled once: it is most of the cost of every program.
mkdir -p "$work/torch"
g++ -std=c++17 -O0 -I"$api" -x c++-header "$api/torch/torch.h" -o "$work/torch/torch.h.gch"
for name in "${names[@]}"; do
  echo "$name"
  g++ -std=c++17 -O0 -I"$work" -I"$api" "$here/$name.cpp" -o "$work/$name" -ltorch -ltorch_cpu -lc10 -pthread
  "$work/$name" >"$work/$name.txt"
  cp "$work/$name.txt" "$here/$name.expected"
done
