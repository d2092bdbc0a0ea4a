// Names of fibers: text put together without calls that ThreadSanitizer would see.
#pragma once

#include <cstdint>

namespace gradus_emulation {

/// Each appends at `out`, with a zero behind, and returns the new end.
inline char* append(char* out, const char* text) {
  while (*text != '\0') *out++ = *text++;
  *out = '\0';
  return out;
}
inline char* append(char* out, uint64_t number) {
  char digits[20];
  int n = 0;
  for (; number != 0 || n == 0; number /= 10) digits[n++] = static_cast<char>('0' + number % 10);
  while (n > 0) *out++ = digits[--n];
  *out = '\0';
  return out;
}

}  // namespace gradus_emulation
