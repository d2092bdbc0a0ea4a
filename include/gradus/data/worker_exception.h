// What a DataLoader throws when a worker thread failed.
#pragma once

#include <exception>
#include <string>

#include <gradus/core/error.h>

namespace gradus {
inline namespace v0 {
namespace data {

/// Carries the worker's exception to the thread that iterates; its message ends with the original one.
struct GRADUS_API WorkerException : public Error {
  explicit WorkerException(std::exception_ptr original);
  ~WorkerException() override;

  /// Rethrow this to get the original type.
  std::exception_ptr original_exception;
};

}  // namespace data
}  // namespace v0
}  // namespace gradus
