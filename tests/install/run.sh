#!/bin/bash
# run.sh find_package SOURCE BUILD: installs the build into a new prefix and builds a project against it there, after
# the prefix was moved. run.sh add_subdirectory SOURCE BUILD: configures a project that contains Gradus and builds it.
set -euo pipefail
kind=$1 source=$2 build=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT


case $kind in
  find_package)
    cmake --install "$build" --prefix "$work/first" >/dev/null
    mv "$work/first" "$work/prefix"  # an installed Gradus may be moved
    cmake -S "$source/tests/install/find_package" -B "$work/program-build" -G Ninja \
      -DCMAKE_PREFIX_PATH="$work/prefix" >/dev/null
    cmake --build "$work/program-build"
    "$work/program-build/program"
    ;;
  add_subdirectory)
    cmake -S "$source/tests/install/add_subdirectory" -B "$work/program-build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
      -DGRADUS_SOURCE="$source" >/dev/null
    cmake --build "$work/program-build" --target program -j2
    "$work/program-build/program"
    ;;
  *)
    echo "usage: run.sh find_package|add_subdirectory SOURCE BUILD" >&2
    exit 2
    ;;
esac
