#!/bin/bash
# examples/run.sh NAME [arguments]: installs what is missing, builds Release in build/ and runs examples/NAME.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)

name=${1:-}
if [ -z "$name" ] || [ ! -f "$root/examples/$name/main.cpp" ]; then
  echo "usage: examples/run.sh NAME [arguments]" >&2
  echo "NAME is one of: $(cd "$root/examples" && ls -d */ | tr -d / | tr '\n' ' ')" >&2
  exit 2
fi
shift

. "$root/cmake/install_packages.sh"
install_packages build examples
export CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER-ccache}
cmake -S "$root" -B "$root/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DGRADUS_BUILD_EXAMPLES=ON --log-level=WARNING
cmake --build "$root/build" --target "example_$name"
exec "$root/build/examples/$name/$name" "$@"
