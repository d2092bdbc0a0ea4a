// Stacks and going from one to another: a context is what is on a stack that does not run.
#pragma once

#include <cstddef>

// With GRADUS_EMULATION_PORTABLE, or on another processor, by the C library's slow calls.
#if defined(__x86_64__) && !defined(GRADUS_EMULATION_PORTABLE)
#define GRADUS_EMULATION_OWN_SWITCH 1
#else
#include <ucontext.h>
#endif

namespace gradus_emulation {

struct Context {
#ifdef GRADUS_EMULATION_OWN_SWITCH
  void* stack_pointer;
#else
  ucontext_t registers;
#endif
};

/// A stack with a page below it that faults.
struct Fiber {
  Context context;
  char* low;
  size_t size;
  void* fake_stack;  // AddressSanitizer's
  Fiber* next_free;
};

Fiber* make_fiber(int number);
/// The fiber will begin with `entry`, which must not return.
void prepare(Fiber& fiber, void (*entry)());
/// Stores where it is into `from` and goes on in `to`.
extern "C" void gradus_emulation_switch(Context* from, Context* to);

}  // namespace gradus_emulation
