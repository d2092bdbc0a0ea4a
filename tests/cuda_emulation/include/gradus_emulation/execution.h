// What device code asks of the scheduler: where it is, barriers, warp operations, shared memory.
#pragma once

#include <cstring>
#include <type_traits>

#include "gradus_emulation/types.h"

#if defined(__SANITIZE_THREAD__)
#define GRADUS_EMULATION_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define GRADUS_EMULATION_TSAN 1
#endif
#endif

extern GRADUS_EMULATION_API uint3 threadIdx;
extern GRADUS_EMULATION_API uint3 blockIdx;
extern GRADUS_EMULATION_API dim3 blockDim;
extern GRADUS_EMULATION_API dim3 gridDim;
constexpr int warpSize = 32;

namespace gradus_emulation {

/// Where in the source a thread waits.
struct Site {
  const char* what;
  const char* file;
  int line;
};

enum class Combine { None, Count, And, Or };
GRADUS_EMULATION_API int block_barrier(Site site, Combine combine, int value);

enum class WarpOperation { Shuffle, ShuffleUp, ShuffleDown, ShuffleXor, Ballot, Any, All, Sync, MatchAny, MatchAll };
/// `lane` is the operand that selects the lane of a shuffle. Values travel as bits.
GRADUS_EMULATION_API uint64_t warp_operation(Site site, WarpOperation operation, unsigned mask, uint64_t value,
                                             int lane, int width);
enum class WarpReduction { Add, Min, Max, And, Or, Xor };
GRADUS_EMULATION_API uint64_t warp_reduction(Site site, WarpReduction reduction, bool is_signed, unsigned mask,
                                             uint64_t value);

/// A place in the source that declares shared memory: one for each instance of a template.
struct SharedSite {
  size_t size;
  size_t alignment;
  const char* name;
  const char* file;
  int line;
  uint64_t block;  // the block that `address` was given to
  void* address;
};
GRADUS_EMULATION_API void* static_shared(SharedSite& site);
GRADUS_EMULATION_API void* dynamic_shared();

GRADUS_EMULATION_API void thread_fence();
GRADUS_EMULATION_API void after_atomic(const void* address);
/// Lets other threads of the block run; reports a thread that waits for ever.
GRADUS_EMULATION_API void yield();
[[noreturn]] GRADUS_EMULATION_API void trap(Site site);

template <class T>
uint64_t to_bits(T value) {
  static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8), "warp operations take 4 or 8 bytes");
  if constexpr (sizeof(T) == 4) {
    return __builtin_bit_cast(uint32_t, value);
  } else {
    return __builtin_bit_cast(uint64_t, value);
  }
}
template <class T>
T from_bits(uint64_t bits) {
  if constexpr (sizeof(T) == 4) {
    return __builtin_bit_cast(T, static_cast<uint32_t>(bits));
  } else {
    return __builtin_bit_cast(T, bits);
  }
}

}  // namespace gradus_emulation

#define GRADUS_SHARED(T, name, shape)                                                                                \
  typedef T gradus_shared_type_##name shape;                                                                         \
  static constinit ::gradus_emulation::SharedSite gradus_shared_site_##name = {                                      \
      sizeof(gradus_shared_type_##name), alignof(gradus_shared_type_##name), #name, __FILE__, __LINE__, 0, nullptr}; \
  gradus_shared_type_##name& name =                                                                                  \
      *static_cast<gradus_shared_type_##name*>(::gradus_emulation::static_shared(gradus_shared_site_##name))
#define GRADUS_DYNAMIC_SHARED(T, name) T* name = static_cast<T*>(::gradus_emulation::dynamic_shared())

// The call's place, as trailing default arguments of the operations below.
#define GRADUS_EMULATED_PLACE const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline void __syncthreads(GRADUS_EMULATED_PLACE) {
  ::gradus_emulation::block_barrier({"__syncthreads", file, line}, ::gradus_emulation::Combine::None, 0);
}
inline int __syncthreads_count(int predicate, GRADUS_EMULATED_PLACE) {
  return ::gradus_emulation::block_barrier({"__syncthreads_count", file, line}, ::gradus_emulation::Combine::Count,
                                           predicate);
}
inline int __syncthreads_and(int predicate, GRADUS_EMULATED_PLACE) {
  return ::gradus_emulation::block_barrier({"__syncthreads_and", file, line}, ::gradus_emulation::Combine::And,
                                           predicate);
}
inline int __syncthreads_or(int predicate, GRADUS_EMULATED_PLACE) {
  return ::gradus_emulation::block_barrier({"__syncthreads_or", file, line}, ::gradus_emulation::Combine::Or,
                                           predicate);
}
inline void __syncwarp(unsigned mask = 0xffffffffu, GRADUS_EMULATED_PLACE) {
  ::gradus_emulation::warp_operation({"__syncwarp", file, line}, ::gradus_emulation::WarpOperation::Sync, mask, 0, 0,
                                     32);
}

#define GRADUS_EMULATED_SHUFFLE(name, Operand, operation)                                                           \
  template <class T>                                                                                                \
  inline T name(unsigned mask, T value, Operand lane, int width = 32, GRADUS_EMULATED_PLACE) {                      \
    return ::gradus_emulation::from_bits<T>(                                                                        \
        ::gradus_emulation::warp_operation({#name, file, line}, ::gradus_emulation::WarpOperation::operation, mask, \
                                           ::gradus_emulation::to_bits(value), static_cast<int>(lane), width));     \
  }
GRADUS_EMULATED_SHUFFLE(__shfl_sync, int, Shuffle)
GRADUS_EMULATED_SHUFFLE(__shfl_up_sync, unsigned, ShuffleUp)
GRADUS_EMULATED_SHUFFLE(__shfl_down_sync, unsigned, ShuffleDown)
GRADUS_EMULATED_SHUFFLE(__shfl_xor_sync, int, ShuffleXor)
#undef GRADUS_EMULATED_SHUFFLE

#define GRADUS_EMULATED_VOTE(Result, name, operation)                                                     \
  inline Result name(unsigned mask, int predicate, GRADUS_EMULATED_PLACE) {                               \
    return static_cast<Result>(::gradus_emulation::warp_operation(                                        \
        {#name, file, line}, ::gradus_emulation::WarpOperation::operation, mask, predicate != 0, 0, 32)); \
  }
GRADUS_EMULATED_VOTE(unsigned, __ballot_sync, Ballot)
GRADUS_EMULATED_VOTE(int, __any_sync, Any)
GRADUS_EMULATED_VOTE(int, __all_sync, All)
#undef GRADUS_EMULATED_VOTE

template <class T>
inline unsigned __match_any_sync(unsigned mask, T value, GRADUS_EMULATED_PLACE) {
  return static_cast<unsigned>(::gradus_emulation::warp_operation({"__match_any_sync", file, line},
                                                                  ::gradus_emulation::WarpOperation::MatchAny, mask,
                                                                  ::gradus_emulation::to_bits(value), 0, 32));
}
template <class T>
inline unsigned __match_all_sync(unsigned mask, T value, int* all, GRADUS_EMULATED_PLACE) {
  const auto matching = static_cast<unsigned>(
      ::gradus_emulation::warp_operation({"__match_all_sync", file, line}, ::gradus_emulation::WarpOperation::MatchAll,
                                         mask, ::gradus_emulation::to_bits(value), 0, 32));
  *all = matching != 0;
  return matching;
}

#define GRADUS_EMULATED_REDUCTION(T, name, reduction)                                                         \
  inline T name(unsigned mask, T value, GRADUS_EMULATED_PLACE) {                                              \
    return ::gradus_emulation::from_bits<T>(                                                                  \
        ::gradus_emulation::warp_reduction({#name, file, line}, ::gradus_emulation::WarpReduction::reduction, \
                                           std::is_signed_v<T>, mask, ::gradus_emulation::to_bits(value)));   \
  }
GRADUS_EMULATED_REDUCTION(unsigned, __reduce_add_sync, Add)
GRADUS_EMULATED_REDUCTION(int, __reduce_add_sync, Add)
GRADUS_EMULATED_REDUCTION(unsigned, __reduce_min_sync, Min)
GRADUS_EMULATED_REDUCTION(int, __reduce_min_sync, Min)
GRADUS_EMULATED_REDUCTION(unsigned, __reduce_max_sync, Max)
GRADUS_EMULATED_REDUCTION(int, __reduce_max_sync, Max)
GRADUS_EMULATED_REDUCTION(unsigned, __reduce_and_sync, And)
GRADUS_EMULATED_REDUCTION(unsigned, __reduce_or_sync, Or)
GRADUS_EMULATED_REDUCTION(unsigned, __reduce_xor_sync, Xor)
#undef GRADUS_EMULATED_REDUCTION

inline void __trap(GRADUS_EMULATED_PLACE) {
  ::gradus_emulation::trap({"__trap", file, line});
}
#undef GRADUS_EMULATED_PLACE

inline void __threadfence_block() {
  ::gradus_emulation::thread_fence();
}
inline void __threadfence() {
  ::gradus_emulation::thread_fence();
}
inline void __threadfence_system() {
  ::gradus_emulation::thread_fence();
}
inline void __nanosleep(unsigned) {
  ::gradus_emulation::yield();
}
