// Atomic operations of device code: relaxed, as CUDA's are. Those on floats are loops of compare and exchange.
#pragma once

#include <type_traits>

#include "gradus_emulation/execution.h"

namespace gradus_emulation {

// Threads that spin on an atomic must let the others run; with ThreadSanitizer fences go through here, too.
extern GRADUS_EMULATION_API unsigned atomics_until_yield;
inline void did_atomic([[maybe_unused]] const void* address) {
#ifdef GRADUS_EMULATION_TSAN
  after_atomic(address);
#else
  if (--atomics_until_yield == 0) [[unlikely]]
    yield();
#endif
}

template <class T, class Change>
T atomic_change(T* address, Change change) {
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>>;
  using AliasedBits [[gnu::may_alias]] = Bits;
  AliasedBits* bits = reinterpret_cast<AliasedBits*>(address);
  Bits old = __atomic_load_n(bits, __ATOMIC_RELAXED);
  for (;;) {
    const T value = __builtin_bit_cast(T, old);
    const Bits changed = __builtin_bit_cast(Bits, static_cast<T>(change(value)));
    if (__atomic_compare_exchange_n(bits, &old, changed, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      did_atomic(address);
      return value;
    }
  }
}

}  // namespace gradus_emulation

// One operation on one type by a builtin of the compiler, or by a formula.
#define GRADUS_EMULATED_ATOMIC(T, name, builtin)             \
  inline T name(T* address, T value) {                       \
    const T old = builtin(address, value, __ATOMIC_RELAXED); \
    ::gradus_emulation::did_atomic(address);                 \
    return old;                                              \
  }
#define GRADUS_EMULATED_ATOMIC_FORMULA(T, name, formula)                               \
  inline T name(T* address, T value) {                                                 \
    return ::gradus_emulation::atomic_change(address, [&](T old) { return formula; }); \
  }
#define GRADUS_EMULATED_ATOMIC_CAS(T)                                                                 \
  inline T atomicCAS(T* address, T compare, T value) {                                                \
    __atomic_compare_exchange_n(address, &compare, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED); \
    ::gradus_emulation::did_atomic(address);                                                          \
    return compare;                                                                                   \
  }

GRADUS_EMULATED_ATOMIC(int, atomicAdd, __atomic_fetch_add)
GRADUS_EMULATED_ATOMIC(unsigned int, atomicAdd, __atomic_fetch_add)
GRADUS_EMULATED_ATOMIC(unsigned long long, atomicAdd, __atomic_fetch_add)
GRADUS_EMULATED_ATOMIC_FORMULA(float, atomicAdd, old + value)
GRADUS_EMULATED_ATOMIC_FORMULA(double, atomicAdd, old + value)
GRADUS_EMULATED_ATOMIC(int, atomicSub, __atomic_fetch_sub)
GRADUS_EMULATED_ATOMIC(unsigned int, atomicSub, __atomic_fetch_sub)
GRADUS_EMULATED_ATOMIC(int, atomicExch, __atomic_exchange_n)
GRADUS_EMULATED_ATOMIC(unsigned int, atomicExch, __atomic_exchange_n)
GRADUS_EMULATED_ATOMIC(unsigned long long, atomicExch, __atomic_exchange_n)
GRADUS_EMULATED_ATOMIC_FORMULA(float, atomicExch, (static_cast<void>(old), value))
GRADUS_EMULATED_ATOMIC(int, atomicAnd, __atomic_fetch_and)
GRADUS_EMULATED_ATOMIC(unsigned int, atomicAnd, __atomic_fetch_and)
GRADUS_EMULATED_ATOMIC(unsigned long long, atomicAnd, __atomic_fetch_and)
GRADUS_EMULATED_ATOMIC(int, atomicOr, __atomic_fetch_or)
GRADUS_EMULATED_ATOMIC(unsigned int, atomicOr, __atomic_fetch_or)
GRADUS_EMULATED_ATOMIC(unsigned long long, atomicOr, __atomic_fetch_or)
GRADUS_EMULATED_ATOMIC(int, atomicXor, __atomic_fetch_xor)
GRADUS_EMULATED_ATOMIC(unsigned int, atomicXor, __atomic_fetch_xor)
GRADUS_EMULATED_ATOMIC(unsigned long long, atomicXor, __atomic_fetch_xor)
GRADUS_EMULATED_ATOMIC_FORMULA(int, atomicMin, old < value ? old : value)
GRADUS_EMULATED_ATOMIC_FORMULA(unsigned int, atomicMin, old < value ? old : value)
GRADUS_EMULATED_ATOMIC_FORMULA(long long, atomicMin, old < value ? old : value)
GRADUS_EMULATED_ATOMIC_FORMULA(unsigned long long, atomicMin, old < value ? old : value)
GRADUS_EMULATED_ATOMIC_FORMULA(int, atomicMax, old > value ? old : value)
GRADUS_EMULATED_ATOMIC_FORMULA(unsigned int, atomicMax, old > value ? old : value)
GRADUS_EMULATED_ATOMIC_FORMULA(long long, atomicMax, old > value ? old : value)
GRADUS_EMULATED_ATOMIC_FORMULA(unsigned long long, atomicMax, old > value ? old : value)
GRADUS_EMULATED_ATOMIC_FORMULA(unsigned int, atomicInc, old >= value ? 0 : old + 1)
GRADUS_EMULATED_ATOMIC_FORMULA(unsigned int, atomicDec, old == 0 || old > value ? value : old - 1)
GRADUS_EMULATED_ATOMIC_CAS(int)
GRADUS_EMULATED_ATOMIC_CAS(unsigned int)
GRADUS_EMULATED_ATOMIC_CAS(unsigned long long)
GRADUS_EMULATED_ATOMIC_CAS(unsigned short)
#undef GRADUS_EMULATED_ATOMIC
#undef GRADUS_EMULATED_ATOMIC_FORMULA
#undef GRADUS_EMULATED_ATOMIC_CAS
