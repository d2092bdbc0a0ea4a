// The three functions of Highway that are not in its headers: which of the compiled targets this processor has. The
// library's own copy of them also carries a timer that is measured when a program starts, for 4 ms; this one costs
// nothing.
#include <atomic>

#include <hwy/targets.h>

namespace hwy {

namespace {

std::atomic<int64_t> targets_for_test{0};

int64_t detect() {
  int64_t targets = HWY_SCALAR | HWY_EMU128;
#if HWY_ARCH_X86
  __builtin_cpu_init();  // may run before the compiler's own constructor
  // All that the compiler may use in code for the target; that the system saves the registers is part of the answer.
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c") && __builtin_cpu_supports("aes") &&
                    __builtin_cpu_supports("pclmul");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512bw");
  if (avx2) targets |= HWY_AVX2;
  if (avx512) targets |= HWY_AVX3;
#else
  targets |= HWY_TARGETS;
#endif
  return targets;
}

}  // namespace

int64_t SupportedTargets() {
  static const int64_t detected = detect();
  const int64_t for_test = targets_for_test.load(std::memory_order_relaxed);
  return for_test ? for_test : detected;
}

void SetSupportedTargetsForTest(int64_t targets) {
  targets_for_test.store(targets, std::memory_order_relaxed);
}

ChosenTarget& GetChosenTarget() {
  static constinit ChosenTarget chosen;
  return chosen;
}

}  // namespace hwy
