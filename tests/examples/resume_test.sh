#!/bin/bash
# resume_test.sh PROGRAM: the Fashion-MNIST example, killed with SIGKILL again and again and resumed, ends with the
# weights of a run that never stopped, bit for bit. 2,000 training images.
set -euo pipefail
program=$1
. "$(dirname "$0")/small_data.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
small_data "$work/data" 2000 200

arguments=(--data "$work/data" --epochs 2 --seed 7 --threads 2)
"$program" "${arguments[@]}" --out "$work/whole" >"$work/whole.log"

# Each attempt is killed a little later in its life, so that it gets further than the one before.
kills=0
delay=0.3
while true; do
  status=0
  {  # the braces send the shell's own message about the kill away
    timeout -s KILL "$delay" "$program" "${arguments[@]}" --out "$work/killed" --checkpoint-seconds 0.05 --resume \
      >"$work/killed.log" 2>&1 || status=$?
  } 2>/dev/null
  [ "$status" -ne 0 ] || break
  if [ "$status" -ne 137 ]; then
    cat "$work/killed.log" >&2
    exit 1
  fi
  kills=$((kills + 1))
  delay=$(awk -v d="$delay" 'BEGIN { print d * 1.5 }')
done
[ "$kills" -gt 0 ] || { echo "the run ended before it could be killed" >&2; exit 1; }
cmp "$work/whole/fashion_mnist.safetensors" "$work/killed/fashion_mnist.safetensors"
if ls "$work/killed" | grep '\.tmp$'; then
  echo "half-written files were left behind" >&2
  exit 1
fi
[ -s "$work/killed/predictions.png" ] && [ -s "$work/killed/training.png" ]
echo "killed $kills times, the weights are the same"
