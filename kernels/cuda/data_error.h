// How a kernel on the device reports bad data: into a record that the host reads at the next synchronisation, where the
// error is thrown. The kernel goes on and touches nothing outside of its operands.
#pragma once

#include <cstdint>

#include "kernels/cuda/data_record.h"
#include "kernels/cuda/device.h"
#include "kernels/table.h"

namespace gradus::inline v0::kernels::cuda {

/// The current device's record for a kernel launched now; `operation` must be a literal.
struct DataErrorSlot {
  DataError* record;
  const char* operation;
  __device__ void report(DataErrorKind what, long long position, long long value, long long limit) const {
    if (atomicCAS(&record->taken, 0u, 1u) != 0u) return;
    record->what = what;
    record->position = position;
    record->value = value;
    record->limit = limit;
    record->operation = operation;
    __threadfence_system();
  }
};
inline DataErrorSlot data_error_slot(const char* operation) {
  return {data_error_record(), launch_operation ? launch_operation : operation};
}

}  // namespace gradus::inline v0::kernels::cuda
