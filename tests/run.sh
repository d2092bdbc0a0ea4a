#!/bin/bash
# tests/run.sh [--asan | --tsan] [ctest arguments]: installs what is missing, builds and runs every test; with --asan
# under the address and undefined-behaviour sanitizers, with --tsan those tests that start threads.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)

build="$root/build-tests"
options=(-DGRADUS_BUILD_TESTS=ON -DCMAKE_BUILD_TYPE=Release)
sanitizer=(-DGRADUS_BUILD_EXAMPLES=OFF -DCMAKE_CXX_FLAGS_RELEASE=-O1)  # half of -O3's build time
target=all
select=()
case "${1:-}" in
  --asan)
    build="$root/build-asan"
    options+=("${sanitizer[@]}" -DGRADUS_SANITIZE=address,undefined)
    export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:strict_string_checks=1}
    export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1:halt_on_error=1}
    shift
    ;;
  --tsan)
    build="$root/build-tsan"
    options+=("${sanitizer[@]}" -DGRADUS_SANITIZE=thread)
    target=thread_tests
    select=(-L threads)
    export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1:second_deadlock_stack=1:suppressions=$root/tests/tsan.supp}
    shift
    ;;
  -h | --help)
    sed -n '2,3s/^# //p' "$0"
    exit 0
    ;;
  *) options+=(-DGRADUS_BUILD_EXAMPLES=ON) ;;  # a test runs one
esac

. "$root/cmake/install_packages.sh"
install_packages build examples tests
export CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER-ccache}
cmake -S "$root" -B "$build" -G Ninja "${options[@]}" --log-level=WARNING
cmake --build "$build" --target "$target"
cd "$build"
ctest --output-on-failure -j2 "${select[@]}" "$@"
