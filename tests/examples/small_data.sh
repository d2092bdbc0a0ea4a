# Sourced: small_data FOLDER TRAINING TEST makes a small copy of Fashion-MNIST, or ends with 77 where the package is missing.
source_data=${GRADUS_FASHION_MNIST:-/usr/share/datasets/fashion-mnist}
if [ ! -d "$source_data" ]; then
  echo "no $source_data: install the package dataset-fashion-mnist" >&2
  exit 77
fi

# The first images or labels of a file, with the header changed accordingly.
first() {  # file, header bytes, bytes per entry, count
  zcat "$source_data/$1.gz" | head -c 4
  printf "$(printf '\\x%02x\\x%02x\\x%02x\\x%02x' $(($4 >> 24 & 255)) $(($4 >> 16 & 255)) $(($4 >> 8 & 255)) $(($4 & 255)))"
  zcat "$source_data/$1.gz" | tail -c +9 | head -c $(($2 - 8 + $3 * $4))
}
small_data() {
  mkdir "$1"
  (
    set +o pipefail  # head closes its pipe early
    first train-images-idx3-ubyte 16 784 "$2" >"$1/train-images-idx3-ubyte"
    first train-labels-idx1-ubyte 8 1 "$2" >"$1/train-labels-idx1-ubyte"
    first t10k-images-idx3-ubyte 16 784 "$3" >"$1/t10k-images-idx3-ubyte"
    first t10k-labels-idx1-ubyte 8 1 "$3" >"$1/t10k-labels-idx1-ubyte"
  ) 2>/dev/null
}
