#!/bin/bash
# resume_test.sh PROGRAM: the Fashion-MNIST example, killed with SIGKILL again and again and resumed, ends with the
# weights of a run that never stopped, bit for bit. 2,000 training images.
set -euo pipefail
program=$1
source_data=${2:-/usr/share/datasets/fashion-mnist}
if [ ! -d "$source_data" ]; then
  echo "no $source_data: install the package dataset-fashion-mnist" >&2
  exit 77
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The first images or labels of a file, with the header changed accordingly.
first() {  # file, header bytes, bytes per entry, count
  zcat "$source_data/$1.gz" | head -c 4
  printf "$(printf '\\x%02x\\x%02x\\x%02x\\x%02x' $(($4 >> 24 & 255)) $(($4 >> 16 & 255)) $(($4 >> 8 & 255)) $(($4 & 255)))"
  zcat "$source_data/$1.gz" | tail -c +9 | head -c $(($2 - 8 + $3 * $4))
}
mkdir "$work/data"
(
  set +o pipefail  # head closes its pipe early
  first train-images-idx3-ubyte 16 784 2000 >"$work/data/train-images-idx3-ubyte"
  first train-labels-idx1-ubyte 8 1 2000 >"$work/data/train-labels-idx1-ubyte"
  first t10k-images-idx3-ubyte 16 784 200 >"$work/data/t10k-images-idx3-ubyte"
  first t10k-labels-idx1-ubyte 8 1 200 >"$work/data/t10k-labels-idx1-ubyte"
) 2>/dev/null

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
