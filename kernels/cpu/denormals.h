// Denormals are flushed inside matrix products and convolutions: an operand full of them, as a cross-entropy's gradient
// over a large vocabulary is, would make those 40 times slower.
#pragma once

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace gradus::inline v0::kernels {

/// Flushes denormal operands and results on this thread for its lifetime; the mode before is restored.
class FlushDenormals {
 public:
#if defined(__SSE__)
  FlushDenormals() : mode_(_mm_getcsr()) {
    if ((mode_ & kFlush) != kFlush) _mm_setcsr(mode_ | kFlush);
  }
  ~FlushDenormals() {
    if ((mode_ & kFlush) != kFlush) _mm_setcsr(mode_);
  }

 private:
  static constexpr unsigned kFlush = 0x8040;  // results to zero, operands as zero
  unsigned mode_;
#else
  FlushDenormals() {}
  ~FlushDenormals() {}
#endif

 public:
  FlushDenormals(const FlushDenormals&) = delete;
};

}  // namespace gradus::inline v0::kernels
