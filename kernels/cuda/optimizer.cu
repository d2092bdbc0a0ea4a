// Optimizer steps over lists of tensors. A launch takes as many tensors as its arguments hold, in chunks of one block.
#include "kernels/optimizer.h"

#include <cmath>

#include "kernels/cuda/launch.h"
#include "kernels/cuda/numeric.h"
#include "kernels/visit.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

constexpr unsigned kThreads = 256;
constexpr int64_t kChunk = 16384;    // elements
constexpr size_t kArguments = 4096;  // bytes that every version of CUDA can pass

/// Loss scaling: gradients are divided by *grad_scale, and nothing is done where *found_inf is not zero.
struct Scaling {
  const float *grad_scale, *found_inf;
  __device__ bool skip() const { return found_inf != nullptr && *found_inf != 0; }
  /// What a gradient is multiplied by.
  template <class C>
  __device__ C factor(C sign) const {
    return grad_scale == nullptr ? sign : sign / static_cast<C>(*grad_scale);
  }
};

/// Tensors of one launch: `kArrays` arrays each, and an Extra.
template <class Extra, int kArrays, int kTensors>
struct TensorList {
  char* array[kArrays][kTensors];
  int64_t numel[kTensors];
  Extra extra[kTensors];
  uint32_t end_chunk[kTensors];  // chunks of the tensors up to and with this one
  int count;

  __device__ int find(uint32_t chunk) const {
    int low = 0, high = count - 1;
    while (low < high) {
      const int middle = (low + high) / 2;
      if (chunk < end_chunk[middle]) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
};
/// How many tensors fit beside `rules` bytes.
template <class Extra, int kArrays>
constexpr int list_capacity(size_t rules) {
  return static_cast<int>((kArguments - rules - 16) / (kArrays * sizeof(char*) + sizeof(int64_t) + sizeof(Extra) + 4));
}

/// Updates the first n elements of the arrays: `update` gets one of each, in the computing type, and changes all but
/// that of array 0, which is only read.
template <class T, int kArrays, class Update>
__device__ void update_chunk(T* const (&array)[kArrays], int64_t n, const Update& update) {
  using C = Compute<T>;
  constexpr int kPack = kPackSize<T>;
  using Elements = Pack<T, kPack>;
  bool aligned = true;
#pragma unroll
  for (int k = 0; k < kArrays; ++k) aligned = aligned && reinterpret_cast<uintptr_t>(array[k]) % sizeof(Elements) == 0;
  const int64_t packs = aligned ? n / kPack : 0;
  for (int64_t i = threadIdx.x; i < packs; i += kThreads) {
    Elements pack[kArrays];
#pragma unroll
    for (int k = 0; k < kArrays; ++k) pack[k] = reinterpret_cast<const Elements*>(array[k])[i];
#pragma unroll
    for (int j = 0; j < kPack; ++j) {
      C value[kArrays];
#pragma unroll
      for (int k = 0; k < kArrays; ++k) value[k] = widen(pack[k].at[j]);
      update(value);
#pragma unroll
      for (int k = 1; k < kArrays; ++k) pack[k].at[j] = narrow<T>(value[k]);
    }
#pragma unroll
    for (int k = 1; k < kArrays; ++k) reinterpret_cast<Elements*>(array[k])[i] = pack[k];
  }
  for (int64_t i = packs * kPack + threadIdx.x; i < n; i += kThreads) {
    C value[kArrays];
#pragma unroll
    for (int k = 0; k < kArrays; ++k) value[k] = load(array[k] + i);
    update(value);
#pragma unroll
    for (int k = 1; k < kArrays; ++k) store(array[k] + i, value[k]);
  }
}

/// Finds this block's chunk in the list and updates it.
template <class T, int kArrays, class List, class Update>
__device__ void update_list(const List& list, int tensor, const Update& update) {
  const uint32_t first = tensor == 0 ? 0 : list.end_chunk[tensor - 1];
  const int64_t begin = static_cast<int64_t>(blockIdx.x - first) * kChunk, left = list.numel[tensor] - begin;
  T* array[kArrays];
#pragma unroll
  for (int k = 0; k < kArrays; ++k) array[k] = reinterpret_cast<T*>(list.array[k][tensor]) + begin;
  update_chunk<T>(array, left < kChunk ? left : kChunk, update);
}

// Collects tensors and launches when the list is full.
template <class List, class Launch>
class Batches {
 public:
  explicit Batches(Launch launch) : launch_(launch) {}
  template <class Arrays, class Extra>
  void add(const Arrays& arrays, int64_t numel, const Extra& extra) {
    if (numel == 0) return;
    if (list_.count == static_cast<int>(std::size(list_.numel))) flush();
    const int i = list_.count++;
    for (size_t k = 0; k < std::size(arrays); ++k) list_.array[k][i] = static_cast<char*>(const_cast<void*>(arrays[k]));
    list_.numel[i] = numel;
    list_.extra[i] = extra;
    chunks_ += ceil_div(numel, kChunk);
    list_.end_chunk[i] = static_cast<uint32_t>(chunks_);
  }
  void flush() {
    if (list_.count != 0) launch_(list_, static_cast<unsigned>(chunks_));
    list_.count = 0;
    chunks_ = 0;
  }

 private:
  Launch launch_;
  List list_ = {};
  int64_t chunks_ = 0;
};

// --- Adam ---

template <class C>
struct AdamRules {
  C one_minus_beta1, beta2, one_minus_beta2, eps, sign, decay, keep;
  Scaling scaling;
};
/// What depends on a tensor's step.
template <class C>
struct AdamExtra {
  C step_size, inv_root;
};
template <class T, bool amsgrad>
using AdamList = TensorList<AdamExtra<Compute<T>>, amsgrad ? 5 : 4,
                            list_capacity<AdamExtra<Compute<T>>, amsgrad ? 5 : 4>(sizeof(AdamRules<Compute<T>>))>;

/// On a gradient, a parameter, its moments and, with amsgrad, the highest second moment.
template <class C, bool amsgrad>
struct AdamUpdate {
  const AdamRules<C>& rules;
  C step_size, inv_root, factor;
  __device__ void operator()(C (&v)[amsgrad ? 5 : 4]) const {
    const C p = v[1] * rules.keep;
    const C g = factor * v[0] + rules.decay * p;
    v[2] += rules.one_minus_beta1 * (g - v[2]);
    v[3] = rules.beta2 * v[3] + rules.one_minus_beta2 * g * g;
    C second = v[3];
    if constexpr (amsgrad) {
      if (v[4] > second) second = v[4];
      v[4] = second;
    }
    v[1] = p - step_size * v[2] / (std::sqrt(second) * inv_root + rules.eps);
  }
};

template <class T, bool amsgrad>
__global__ void __launch_bounds__(kThreads) adam_kernel(AdamList<T, amsgrad> list, AdamRules<Compute<T>> rules) {
  using C = Compute<T>;
  if (rules.scaling.skip()) return;
  const int tensor = list.find(blockIdx.x);
  const AdamExtra<C> extra = list.extra[tensor];
  update_list<T, amsgrad ? 5 : 4>(
      list, tensor, AdamUpdate<C, amsgrad>{rules, extra.step_size, extra.inv_root, rules.scaling.factor(rules.sign)});
}

template <class T, bool amsgrad>
void adam_of(const AdamTensor* tensors, int64_t count, const AdamStep& s) {
  using C = Compute<T>;
  using List = AdamList<T, amsgrad>;
  AdamRules<C> rules;
  rules.one_minus_beta1 = static_cast<C>(1 - s.beta1), rules.beta2 = static_cast<C>(s.beta2);
  rules.one_minus_beta2 = static_cast<C>(1 - s.beta2), rules.eps = static_cast<C>(s.eps);
  rules.sign = static_cast<C>(s.maximize ? -1 : 1);
  rules.decay = static_cast<C>(s.decoupled ? 0 : s.weight_decay);
  rules.keep = static_cast<C>(s.decoupled ? 1 - s.lr * s.weight_decay : 1);
  rules.scaling = {s.grad_scale, s.found_inf};
  static_assert(sizeof(List) + sizeof rules <= kArguments);
  const auto run = [&](const List& list, unsigned chunks) {
    launch("adam_kernel", adam_kernel<T, amsgrad>, chunks, kThreads, 0, list, rules);
  };
  Batches<List, decltype(run)> batches(run);
  for (int64_t i = 0; i < count; ++i) {
    const AdamTensor& t = tensors[i];
    if (t.dtype != CppTypeToScalarType<T>::value || (t.max_exp_avg_sq != nullptr) != amsgrad) continue;
    const double correction1 = 1 - std::pow(s.beta1, static_cast<double>(t.step));
    const double correction2 = 1 - std::pow(s.beta2, static_cast<double>(t.step));
    const AdamExtra<C> extra = {static_cast<C>(s.lr / correction1), static_cast<C>(1 / std::sqrt(correction2))};
    if constexpr (amsgrad) {
      const void* arrays[] = {t.grad, t.param, t.exp_avg, t.exp_avg_sq, t.max_exp_avg_sq};
      batches.add(arrays, t.numel, extra);
    } else {
      const void* arrays[] = {t.grad, t.param, t.exp_avg, t.exp_avg_sq};
      batches.add(arrays, t.numel, extra);
    }
  }
  batches.flush();
}

// --- SGD ---

template <class C>
struct SgdRules {
  C lr, momentum, fresh, decay, sign;
  bool nesterov;
  Scaling scaling;
};
struct SgdExtra {
  int32_t first;
};
template <class T, bool with_momentum>
using SgdList = TensorList<SgdExtra, with_momentum ? 3 : 2,
                           list_capacity<SgdExtra, with_momentum ? 3 : 2>(sizeof(SgdRules<Compute<T>>))>;

/// On a gradient, a parameter and its momentum.
template <class C, bool with_momentum>
struct SgdUpdate {
  const SgdRules<C>& rules;
  C factor;
  bool first;
  __device__ void operator()(C (&v)[with_momentum ? 3 : 2]) const {
    const C p = v[1];
    const C g = factor * v[0] + rules.decay * p;
    if constexpr (with_momentum) {
      // In the first step the buffer's content, which may be anything, is not used.
      const C b = first ? g : rules.momentum * v[2] + rules.fresh * g;
      v[2] = b;
      v[1] = p - rules.lr * (rules.nesterov ? g + rules.momentum * b : b);
    } else {
      v[1] = p - rules.lr * g;
    }
  }
};

template <class T, bool with_momentum>
__global__ void __launch_bounds__(kThreads) sgd_kernel(SgdList<T, with_momentum> list, SgdRules<Compute<T>> rules) {
  using C = Compute<T>;
  if (rules.scaling.skip()) return;
  const int tensor = list.find(blockIdx.x);
  update_list<T, with_momentum ? 3 : 2>(
      list, tensor,
      SgdUpdate<C, with_momentum>{rules, rules.scaling.factor(rules.sign), list.extra[tensor].first != 0});
}

template <class T, bool with_momentum>
void sgd_of(const SgdTensor* tensors, int64_t count, const SgdStep& s) {
  using C = Compute<T>;
  using List = SgdList<T, with_momentum>;
  SgdRules<C> rules;
  rules.lr = static_cast<C>(s.lr), rules.momentum = static_cast<C>(s.momentum);
  rules.fresh = static_cast<C>(1 - s.dampening), rules.decay = static_cast<C>(s.weight_decay);
  rules.sign = static_cast<C>(s.maximize ? -1 : 1);
  rules.nesterov = s.nesterov;
  rules.scaling = {s.grad_scale, s.found_inf};
  static_assert(sizeof(List) + sizeof rules <= kArguments);
  const auto run = [&](const List& list, unsigned chunks) {
    launch("sgd_kernel", sgd_kernel<T, with_momentum>, chunks, kThreads, 0, list, rules);
  };
  Batches<List, decltype(run)> batches(run);
  for (int64_t i = 0; i < count; ++i) {
    const SgdTensor& t = tensors[i];
    if (t.dtype != CppTypeToScalarType<T>::value || (t.momentum != nullptr) != with_momentum) continue;
    if constexpr (with_momentum) {
      const void* arrays[] = {t.grad, t.param, t.momentum};
      batches.add(arrays, t.numel, SgdExtra{t.first});
    } else {
      const void* arrays[] = {t.grad, t.param};
      batches.add(arrays, t.numel, SgdExtra{0});
    }
  }
  batches.flush();
}

// A bit for each of the floating types among the tensors.
template <class Tensor>
unsigned dtypes_of(const Tensor* tensors, int64_t count) {
  unsigned seen = 0;
  for (int64_t i = 0; i < count; ++i) seen |= 1u << static_cast<int>(tensors[i].dtype);
  return seen;
}

template <class F>
void for_dtypes(unsigned seen, F&& f) {
  for (ScalarType t : {ScalarType::Float, ScalarType::BFloat16, ScalarType::Half, ScalarType::Double}) {
    if (seen >> static_cast<int>(t) & 1) visit_floating(t, f);
  }
}

void adam(const AdamTensor* tensors, int64_t count, const AdamStep& s) {
  bool any = false;
  for (int64_t i = 0; i < count; ++i) any = any || tensors[i].max_exp_avg_sq != nullptr;
  for_dtypes(dtypes_of(tensors, count), [&]<class T>() {
    adam_of<T, false>(tensors, count, s);
    if (any) adam_of<T, true>(tensors, count, s);
  });
}

void sgd(const SgdTensor* tensors, int64_t count, const SgdStep& s) {
  for_dtypes(dtypes_of(tensors, count), [&]<class T>() {
    sgd_of<T, false>(tensors, count, s);
    sgd_of<T, true>(tensors, count, s);
  });
}

}  // namespace

GRADUS_CUDA_KERNEL(adam_step, adam)
GRADUS_CUDA_KERNEL(sgd_step, sgd)

}  // namespace gradus::inline v0::kernels::cuda
