#!/bin/bash
# tests/run.sh [--asan | --tsan | --cuda] [ctest arguments]: installs what is missing, builds and runs every test; with --asan
# under the address and undefined-behaviour sanitizers, with --tsan those tests that start threads. --cuda compiles the CUDA
# library with nvcc, where that is installed, and checks what the compiler says of its kernels; where cuDNN is installed, too
# (or CUDNN_PATH names its folder), also that it plans the convolutions.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)

build="$root/build-tests"
options=(-DGRADUS_BUILD_TESTS=ON -DCMAKE_BUILD_TYPE=Release)
sanitizer=(-DGRADUS_BUILD_EXAMPLES=OFF -DCMAKE_CXX_FLAGS_RELEASE=-O0)  # a third of -O1's build time
targets=(all)
select=()
case "${1:-}" in
  --asan)
    build="$root/build-asan"
    options+=("${sanitizer[@]}" -DGRADUS_SANITIZE=address,undefined)
    export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:strict_string_checks=1}
    export LSAN_OPTIONS=${LSAN_OPTIONS:-suppressions=$root/tests/lsan.supp:print_suppressions=0}
    export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1:halt_on_error=1}
    shift
    ;;
  --tsan)
    build="$root/build-tsan"
    options+=("${sanitizer[@]}" -DGRADUS_SANITIZE=thread)
    targets=(thread_tests)
    select=(-L threads)
    export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1:second_deadlock_stack=1:suppressions=$root/tests/tsan.supp}
    shift
    ;;
  --cuda)
    if ! command -v nvcc > /dev/null && [ ! -x /usr/local/cuda/bin/nvcc ]; then
      echo "tests/run.sh --cuda: nvcc is not installed; nothing to compile"
      exit 0
    fi
    export PATH=$PATH:/usr/local/cuda/bin
    build="$root/build-cuda"
    options=(-DCMAKE_BUILD_TYPE=Release -DGRADUS_BUILD_TESTS=OFF -DGRADUS_BUILD_EXAMPLES=OFF -DGRADUS_CUDA=ON
             -DGRADUS_CUDA_RESOURCES=ON "-DCMAKE_CUDA_ARCHITECTURES=${CUDAARCHS:-90-real}")
    targets=(gradus_cuda cuda_toolkit_checks)
    shift
    ;;
  -h | --help)
    sed -n '2,5s/^# //p' "$0"
    exit 0
    ;;
  *) options+=(-DGRADUS_BUILD_EXAMPLES=ON) ;;  # a test runs one
esac

. "$root/cmake/install_packages.sh"
install_packages build examples tests
export CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER-ccache}
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros}  # or it leaves sources with precompiled headers alone
cmake -S "$root" -B "$build" -G Ninja "${options[@]}" --log-level=WARNING
cmake --build "$build" --target "${targets[@]}"
if [ "${targets[0]}" = gradus_cuda ]; then
  plans=$build/tests/cuda/toolkit/cudnn_plans
  if [ -x "$plans" ]; then
    LD_LIBRARY_PATH=${CUDNN_PATH:+$CUDNN_PATH/lib:}${LD_LIBRARY_PATH:-} "$plans"
  fi
  exec python3 "$root/tests/cuda/resources.py" "$build" "$@"
fi
cd "$build"
ctest --output-on-failure -j2 "${select[@]}" "$@"
