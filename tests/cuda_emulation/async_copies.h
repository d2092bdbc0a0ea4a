// Copies that a thread has asked for and not waited for.
#pragma once

#include "arena.h"

namespace gradus_emulation {

struct AsyncCopy {
  void* to;
  const void* from;
  size_t size;
  size_t zeros;
  unsigned group;
};
struct AsyncCopies : InArena {
  Deque<AsyncCopy> open;
  unsigned group = 0;  // the one that copies join now
};

}  // namespace gradus_emulation
