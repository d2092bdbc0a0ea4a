#!/usr/bin/env bash
# Measures Gradus against libtorch: builds the same sources for Gradus, for Debian's libtorch (package libtorch-dev, 1.13.1)
# and for the libtorch in PyTorch's wheel, runs them in turn, prints a table with ratios and saves JSON.
#
#   benchmarks/compare.sh --setup    makes the Python environment with PyTorch's wheel (5 GB, a few minutes) and ends
#   benchmarks/compare.sh [--rounds N] [--only small|cnn|compile|hello|size ...] [--json FILE]
#
# The environment lies in $GRADUS_PEER_VENV, by default ${XDG_CACHE_HOME:-~/.cache}/gradus/peer-venv. A peer that is missing is
# left out. Gradus is built in build-benchmarks, or taken from $GRADUS_PREFIX where it is installed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
venv=${GRADUS_PEER_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/gradus/peer-venv}
torch_version=2.15

case "${1:-}" in
  --setup)
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet "torch==$torch_version.*" numpy
    "$venv/bin/python" -c 'import torch; print("PyTorch", torch.__version__, "in", torch.__path__[0])'
    exit 0
    ;;
  -h | --help)
    sed -n '2,9s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
esac

prefix=${GRADUS_PREFIX:-}
if [ -z "$prefix" ]; then
  build="$root/build-benchmarks"
  prefix="$build/prefix"
  echo "building Gradus in $build" >&2
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DGRADUS_BUILD_TESTS=OFF -DGRADUS_BUILD_EXAMPLES=OFF \
    -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib --log-level=WARNING >&2
  cmake --build "$build" >&2
  cmake --install "$build" >/dev/null
fi
exec python3 "$here/compare.py" --prefix "$prefix" --venv "$venv" "$@"
