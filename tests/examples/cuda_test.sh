#!/bin/bash
# cuda_test.sh PROGRAM: the Fashion-MNIST example on cuda:0 (GRADUS_CUDA_LIBRARY: on the emulation), whole and stopped after an
# epoch and resumed: the same weights, bit for bit. 32 training images, since the emulation computes plainly.
set -euo pipefail
program=$1
. "$(dirname "$0")/small_data.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
small_data "$work/data" 32 10

arguments=(--data "$work/data" --seed 7 --threads 1 --batch-size 16 --device cuda)
"$program" "${arguments[@]}" --epochs 2 --out "$work/whole" >"$work/whole.log"
"$program" "${arguments[@]}" --epochs 1 --out "$work/parts" >"$work/parts.log"
"$program" "${arguments[@]}" --epochs 2 --out "$work/parts" --resume >>"$work/parts.log"
cmp "$work/whole/fashion_mnist.safetensors" "$work/parts/fashion_mnist.safetensors"
grep "epoch 2/2" "$work/whole.log"
