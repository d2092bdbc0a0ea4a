#!/bin/bash
# refusals.sh CXX ROOT: a compiler set up so that linking would fail or misbehave is refused at the first #include, by a
# message that names the cause (row 33 of the complaints).
set -euo pipefail
compiler=$1 root=$2

refused() {  # refused TEXT FLAGS...: compiling with these flags fails with this text
  local text=$1 output
  shift
  if output=$("$compiler" -fsyntax-only -I"$root/include" -x c++ "$@" - 2>&1 <<<'#include <gradus/gradus.h>'); then
    echo "$* was accepted"
    exit 1
  fi
  if ! grep -qF "$text" <<<"$output"; then
    echo "$* was refused, but not by: $text"
    sed -n 1,5p <<<"$output"
    exit 1
  fi
}

refused "Gradus needs C++17 or newer: compile with -std=c++17" -std=c++14
if echo '#include <string>' | "$compiler" -std=c++17 -E -x c++ - | grep -q __cxx11; then  # libstdc++
  refused "remove -D_GLIBCXX_USE_CXX11_ABI=0" -std=c++17 -D_GLIBCXX_USE_CXX11_ABI=0
fi
"$compiler" -fsyntax-only -std=c++17 -I"$root/include" -x c++ - <<<'#include <gradus/gradus.h>'
