#!/bin/bash
# exports.sh LIBRARY: what a shared library shows to programs. All of it must be Gradus's own and public: a symbol of the
# standard library's templates, or of a library inside, can be bound to by others and clash with theirs. And it is in the namespace that is named for the version, so that a program
# built for another one does not link (row 33 of the complaints).
# exports.sh --check-the-check: the filter itself.
set -euo pipefail

own='^_Z(N(R|O|K|KR|KO)?|T[VTISWH]N|T[hv][^_]*(_[^_]*)?_N(K)?|GVN)6gradus2v0'
inner='^_ZN(K)?6gradus2v0(3ops|4core|8backends|5utils)'
faults() { grep -vE "$own" || true; }
# What libgradus_cuda.so calls: src/core/accelerator.h.
internals() { grep -E "$inner" | grep -vE 'v04core([0-9]+[a-z_]*accelerator|9Handshake)' || true; }

if [ "$1" = --check-the-check ]; then
  good='_ZN6gradus2v04onesEv
_ZNK6gradus2v06Tensor3dimEv
_ZNO6gradus2v06TensoraSERKS1_
_ZTVN6gradus2v05ErrorE
_ZTSN6gradus2v05ErrorE
_ZThn16_N6gradus2v05ErrorD0Ev'
  bad='_ZN6gradus4onesEv
_ZNSt6vectorIN6gradus2v06TensorESaIS2_EED2Ev
_ZTISt18bad_variant_access
dnnl_sgemm
inflate
main
_ZNSt8__detail16__to_chars_10_implImEEvPcjT_E8__digits'
  [ -z "$(faults <<<"$good")" ] && [ "$(faults <<<"$bad")" = "$bad" ] || exit 1
  [ "$(internals <<<_ZN6gradus2v03ops7softmaxEv)" ] && [ -z "$(internals <<<"$good")" ] || exit 1
  exit 0
fi

symbols=$(nm -D --defined-only "$1" | awk '{print $NF}' | sort -u)
if [ "$(wc -l <<<"$symbols")" -lt 1000 ]; then
  echo "$1 shows $(wc -l <<<"$symbols") symbols; is it Gradus?"
  exit 1
fi
wrong=$(faults <<<"$symbols"; internals <<<"$symbols")
if [ -n "$wrong" ]; then
  echo "$1 shows what is not public (hidden by GRADUS_API's absence, or by cmake/exports.map):"
  c++filt <<<"$wrong" | cut -c1-160 | sed -n 1,20p
  exit 1
fi
echo "$(wc -l <<<"$symbols") symbols, all of namespace gradus"
