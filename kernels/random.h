// Random fills. Each takes its draws from `generator` in PyTorch's order; the caller holds the generator's mutex.
#pragma once

#include <gradus/core/generator.h>

#include "kernels/table.h"
#include "kernels/view.h"

namespace gradus::inline v0::kernels {

// Note [Order of draws]: one draw after the other goes to the elements in the order in which they lie in memory
// (dimensions sorted by stride), not in the order of their indices, as PyTorch does it. A transposed tensor so gets
// what its contiguous base would get.

GRADUS_TABLES_BEGIN
/// Uniform in [from, to): float types.
extern KernelTable<void(const View& out, double from, double to, GeneratorImpl& generator)> uniform_fill;
/// Normal: float types. A contiguous tensor of 16 elements or more is made in blocks of 16 (Note [Normal blocks]).
extern KernelTable<void(const View& out, double mean, double std, GeneratorImpl& generator)> normal_fill;
extern KernelTable<void(const View& out, double mean, double std, GeneratorImpl& generator)> log_normal_fill;
extern KernelTable<void(const View& out, double median, double sigma, GeneratorImpl& generator)> cauchy_fill;
extern KernelTable<void(const View& out, double lambda, GeneratorImpl& generator)> exponential_fill;
/// The number of trials up to the first success of probability p: every real type but bool.
extern KernelTable<void(const View& out, double p, GeneratorImpl& generator)> geometric_fill;
/// 1 with probability p, else 0: every real type.
extern KernelTable<void(const View& out, double p, GeneratorImpl& generator)> bernoulli_fill;
/// The same with a probability per element: `p`, a float type, has out's sizes. Returns whether all of p was in [0, 1];
/// where not, filling stops there.
extern KernelTable<bool(const View& out, const ConstView& p, GeneratorImpl& generator)> bernoulli_each_fill;
/// Integers base + (0 .. range - 1): every real type.
extern KernelTable<void(const View& out, uint64_t range, int64_t base, GeneratorImpl& generator)> integer_range_fill;
/// Any of the 2^64 int64 values.
extern KernelTable<void(const View& out, GeneratorImpl& generator)> integer_all_fill;
/// Integers from 0 to the type's greatest, for floats to the greatest up to which all integers exist.
extern KernelTable<void(const View& out, GeneratorImpl& generator)> integer_type_fill;
/// What was wrong with a row of weights.
enum class WeightError : uint8_t { kNone, kNegative, kNotFinite, kZeroSum };
/// Rows of `weights` (2-d, contiguous float type) as probabilities; each row of `out` (int64, contiguous) gets draws
/// with replacement of its column numbers.
extern KernelTable<WeightError(const View& out, const ConstView& weights, GeneratorImpl& generator)> multinomial_draw;
/// The same without replacement: the columns with the greatest weight / exponential, in descending order. `exponential`
/// has weights' shape and is overwritten.
extern KernelTable<WeightError(const View& out, const ConstView& weights, const View& exponential)> multinomial_pick;
/// A permutation of 0 .. n - 1 into a vector of n: every real type but bool.
extern KernelTable<void(const View& out, GeneratorImpl& generator)> permutation_fill;
GRADUS_TABLES_END

}  // namespace gradus::inline v0::kernels
