// One record per operator: sample calls, dtypes, what is differentiable. record_suite_test.cpp walks the registry with
// them.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gradus/ops/operator.h>
#include <gradus/ops/ops.h>

namespace gradus::testing {

/// How inputs lie in memory.
enum class Geometry { kContiguous, kStrided, kExpanded };

/// Makes a sample's tensors: the same values for the same seed, whatever dtype and geometry.
class Make {
 public:
  explicit Make(ScalarType dtype, Geometry geometry = Geometry::kContiguous) : dtype_(dtype), geometry_(geometry) {}

  /// An input that takes gradients. Values lie in [low, high], away from 0, and no two are equal; whole numbers for
  /// integers.
  Tensor in(std::vector<int64_t> sizes, double low = -2, double high = 2);
  /// The same, contiguous whatever the geometry: for operators that refuse others.
  Tensor dense(std::vector<int64_t> sizes, double low = -2, double high = 2);
  /// As in(), never differentiated (running statistics, gradients' masks).
  Tensor other(std::vector<int64_t> sizes, double low = -2, double high = 2);
  /// As in(), with zeros at these places.
  Tensor with_zeros(std::vector<int64_t> sizes, const std::vector<int64_t>& at, double low, double high);
  /// int64 numbers in [0, limit).
  Tensor index(std::vector<int64_t> sizes, int64_t limit);
  Tensor mask(std::vector<int64_t> sizes);
  ScalarType dtype() const { return dtype_; }
  bool is_input(const Tensor& t) const { return inputs_.count(t.impl()) != 0; }

 private:
  Tensor values(const std::vector<int64_t>& sizes, double low, double high);
  Tensor place(const Tensor& values, Geometry geometry);
  double next();
  ScalarType dtype_;
  Geometry geometry_;
  uint64_t state_ = 1;
  std::set<const TensorImpl*> inputs_;
  std::vector<Tensor> keep_;
};

using Args = std::vector<IValue>;
using Samples = std::vector<Args>;
using Ints = std::vector<int64_t>;

enum Dtypes : unsigned { kFloats = 1, kInts = 2, kBools = 4, kReals = kFloats | kInts, kEvery = kReals | kBools };

struct Record {
  std::string op;  // "add.Tensor"
  std::function<Samples(Make&)> samples;
  unsigned dtypes = kFloats;
  bool gradient = true;                    // checked against differences, once and twice
  bool values_by_dtype = true;             // integer results equal those of the same numbers as doubles
  bool values = true;                      // false: the result's elements are unspecified (empty)
  double growth = 16;                      // of the rounding error, in units of the dtype's eps
  std::set<size_t> constant_results = {};  // floating results that have no gradient, by number
  std::string no_gradient = {};            // why an operator that the index calls differentiable has no gradient check
};

/// Of an operator without a gradient: the index says nondiff, or no input could take one.
inline Record nondiff(Record r) {
  r.gradient = false;
  return r;
}
/// Of one that has a gradient which differences cannot check.
inline Record unchecked(Record r, const char* why) {
  r.gradient = false;
  r.no_gradient = why;
  return r;
}

std::vector<Record> pointwise_records();
std::vector<Record> reduction_records();
std::vector<Record> view_records();
std::vector<Record> nn_records();
inline std::vector<Record> all_records() {
  std::vector<Record> all;
  for (auto* part : {&pointwise_records, &reduction_records, &view_records, &nn_records}) {
    for (Record& r : part()) all.push_back(std::move(r));
  }
  return all;
}

}  // namespace gradus::testing
