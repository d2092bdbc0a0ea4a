// The record behind data_error.h, for host code: what a kernel reports and where it is thrown.
#pragma once

#include <gradus/core/macros.h>

namespace gradus::inline v0::kernels::cuda {

/// In page-locked memory that host and device see. The first report wins.
struct DataError {
  unsigned int taken;  // 0: free; 1: a report was begun
  unsigned int what;   // a DataErrorKind
  long long position;
  long long value;
  long long limit;        // what was expected: 0 <= value < limit, or a kind's own meaning
  const char* operation;  // the name of the host's kernel table
};
enum DataErrorKind : unsigned int {
  kIndexOutOfRange,  // position, value, limit; negative indices count from the end where the message's operator says so
  kProbability,      // a probability outside of [0, 1] at position
  kWeight,           // multinomial: a negative, infinite or NaN weight, or a row whose sum is zero
  kOtherDataError,
};

/// The current device's record. Implemented in src/cuda/runtime.
DataError* data_error_record();
/// Throws what the device's record holds, and frees it. The device must have been synchronised with.
void throw_data_error(int device);

}  // namespace gradus::inline v0::kernels::cuda
