#!/usr/bin/env bash
# Gradus on a real GPU: the operator suite against the CPU and against PyTorch's answers, then the benchmark table against
# PyTorch. For a borrowed machine that has a driver, the CUDA 13 toolkit and Python with PyTorch, but no package manager, no
# network and no Debian libraries.
#
#   benchmarks/gpu_check.sh --pack [PACK]       here: builds for sm_90 and puts everything needed into one folder (< 60 MB)
#   benchmarks/gpu_check.sh --run [PACK]        there: builds nothing, ends within 6 minutes
#   benchmarks/gpu_check.sh --rehearse [PACK]   here: the same as --run, on the emulation of CUDA; with --no-build on what is
#                                               built already, without a pack on files that are put together for it
#
# PACK is build-gpu/pack in the repository, or, for the copy of this script in a pack, that pack. --run and --rehearse take
# --out DIR (else $OUT, else ./gpu_results), --seconds N, --rounds N, --only suite|benchmark, --python PYTHON (the one that has
# PyTorch), --short (a part of the suite). They leave summary.txt, results.json, suite.log and benchmark.log, which are
# rewritten after each step: whatever ends the run, what was known by then is there. A test that crashes, hangs or loses
# the device ends its own process; the others go on in a new one. The exit status is 0 if all tests passed and all rows ran;
# gates that were missed are printed, no more.
#
# A session that is lent a machine with a GPU calls its tool `run` with
#   command: "benchmarks/gpu_check.sh --run"   carry: ["build-gpu/pack"]   timeout_s: 420
# after --pack here and, since device time is scarce, --rehearse here.
#
# GRADUS_GPU_BUILD names another build folder than build-gpu; CUDAARCHS other architectures than 90-real.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
build=${GRADUS_GPU_BUILD:-$root/build-gpu}
programs=(ops_cuda_record_test ops_replay_test cuda_api_test cuda_loader_test gpu_ops)
device_programs=(cuda_kernels_device_test)  # on a device alone

mode=${1:-}
case "$mode" in
  --pack | --run | --rehearse) shift ;;
  *)
    sed -n '2,/^set /s/^# \{0,1\}//p' "$0"
    [ "$mode" = --help ] || [ "$mode" = -h ]
    exit
    ;;
esac
pack=$build/pack
if [ -e "$here/payload.tar.xz" ]; then pack=$here; fi
if [ $# -gt 0 ] && [ "${1#--}" = "$1" ]; then
  pack=$1
  shift
fi

# build [target ...]
build() {
  local options=(-DCMAKE_BUILD_TYPE=Release -DGRADUS_BUILD_TESTS=ON -DGRADUS_BUILD_BENCHMARKS=ON -DGRADUS_BUILD_EXAMPLES=OFF
                 -DCMAKE_SKIP_BUILD_RPATH=ON)
  export PATH=$PATH:/usr/local/cuda/bin
  if command -v nvcc > /dev/null; then
    options+=(-DGRADUS_CUDA=ON "-DCMAKE_CUDA_ARCHITECTURES=${CUDAARCHS:-90-real}")
  elif [ "$mode" = --pack ]; then
    echo "gpu_check.sh --pack: nvcc is not installed" >&2
    return 1
  fi
  . "$root/cmake/install_packages.sh"
  install_packages build tests
  export CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER-ccache}
  export CMAKE_CUDA_COMPILER_LAUNCHER=${CMAKE_CUDA_COMPILER_LAUNCHER-$CMAKE_CXX_COMPILER_LAUNCHER}
  cmake -S "$root" -B "$build" -G Ninja "${options[@]}" --log-level=WARNING
  cmake --build "$build" --target "$@"
}

case "$mode" in
  --pack)
    build gradus_cuda "${programs[@]}" "${device_programs[@]}"
    exec python3 "$here/gpu_pack.py" --build "$build" "$pack" "$@"
    ;;
  --run)
    # Should it not end by itself: a process that the driver holds cannot be waited for.
    exec timeout --kill-after=5 355 python3 "$here/gpu_check.py" --run "$pack" "$@"
    ;;
  --rehearse)
    library=$build/tests/cuda_emulation/libgradus_cuda.so
    if [ "${1:-}" = --no-build ]; then
      shift
    else
      build gradus_cuda_emulated "${programs[@]}"
    fi
    if [ ! -e "$pack" ]; then
      pack=$(mktemp -d)
      trap 'rm -rf "$pack"' EXIT
      python3 "$here/gpu_pack.py" --build "$build" --plain --without-cuda "$pack"
    fi
    python3 "$here/gpu_check.py" --rehearse "$pack" --cuda-library "$library" "$@"
    ;;
esac
