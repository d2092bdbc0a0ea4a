// The order of a launch's blocks: the k-th is (first + k * step) % total.
#include "scheduling.h"

namespace gradus_emulation {
namespace {

BlockOrder block_order = BlockOrder::Forward;
uint64_t block_seed = 0;
uint64_t left, all_blocks, next_number, step;

uint64_t mixed_bits(uint64_t v) {
  v += 0x9e3779b97f4a7c15u;
  v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9u;
  v = (v ^ (v >> 27)) * 0x94d049bb133111ebu;
  return v ^ (v >> 31);
}
uint64_t greatest_common_divisor(uint64_t a, uint64_t b) {
  while (b != 0) {
    const uint64_t r = a % b;
    a = b;
    b = r;
  }
  return a;
}

}  // namespace

void order_blocks(uint64_t total) {
  all_blocks = left = total;
  next_number = 0;
  step = 1;
  if (block_order == BlockOrder::Backward) {
    next_number = total - 1;
    step = total - 1;
  } else if (block_order == BlockOrder::Random && total > 1) {
    block_seed = mixed_bits(block_seed);
    next_number = block_seed % total;
    step = mixed_bits(block_seed) % total;
    while (greatest_common_divisor(step, total) != 1) step = step % total + 1;
  }
}

void set_block_order(BlockOrder order, uint64_t seed) {
  block_order = order;
  block_seed = seed;
}

bool blocks_left() {
  return left != 0;
}
uint64_t next_block() {
  const uint64_t number = next_number;
  next_number = static_cast<uint64_t>((static_cast<unsigned __int128>(number) + step) % all_blocks);
  --left;
  return number;
}

}  // namespace gradus_emulation
