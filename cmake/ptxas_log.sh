#!/bin/bash
# Runs a CUDA compiler; what ptxas says of registers and spills goes beside the object, for tests/cuda/resources.py.
object= previous=
for argument; do
  [ "$previous" = -o ] && object=$argument
  previous=$argument
done
log=${object:-/dev/null}
[ -n "$object" ] && log=$object.ptxas
"$@" 2> "$log.tmp"
status=$?
mv "$log.tmp" "$log"
grep -v '^ptxas info\|bytes stack frame\|^$' "$log" >&2
exit $status
