// Writes to places that indices name, where two of them may be the same: shared by index_put and scatter.
#pragma once

#include <cstdint>

#include <gradus/core/scalar_type.h>

#include "kernels/cuda/device.h"
#include "kernels/cuda/scratch.h"
#include "kernels/cuda/strided_walk.h"

namespace gradus::inline v0::kernels::cuda {

/// A number for each position: 32 bits wide where that is enough.
struct PositionKeys {
  void* data;
  bool wide;
  __device__ uint64_t load(int64_t i) const {
    return wide ? static_cast<const uint64_t*>(data)[i] : static_cast<const uint32_t*>(data)[i];
  }
  __device__ void store(int64_t i, uint64_t key) const {
    if (wide) {
      static_cast<uint64_t*>(data)[i] = key;
    } else {
      static_cast<uint32_t*>(data)[i] = static_cast<uint32_t>(key);
    }
  }
};

/// Where each of `count` positions leads, on the device.
struct Positions {
  int64_t count;
  uint64_t places;   // how many there are to name
  PositionKeys key;  // the number of the place; `places` for a bad index
  int64_t* offset;   // in bytes from the first place; -1 for a position that is not to be used
  Scratch memory;
};
/// Memory for the keys and offsets, which the caller's kernel fills. Throws, naming `op`, for more than a device's
/// memory would hold anyway.
Positions allocate_positions(const char* op, int64_t count, uint64_t places);

/// Of the positions that name one place the last is kept; the others' offsets become -1.
void keep_last(const Positions& positions);

/// target[offset[i] + a] += values[b + c] (or *=) for all positions i in order and all elements of `columns`, which
/// give a and b; `values` gives c for a position. The order of the sums depends on the positions alone; 16-bit floats
/// are summed in float. Any dtype that has sums. Overwrites the keys.
struct Accumulation {
  ScalarType dtype;
  bool multiply;
  char* target;
  const char* values;
  WalkDims<2> columns;
  WalkDims<1> value_of_position;
};
void accumulate(const Positions& positions, const Accumulation& how);

}  // namespace gradus::inline v0::kernels::cuda
