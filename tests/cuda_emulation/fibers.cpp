#include "fibers.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

#include "arena.h"
#include "sanitizers.h"

namespace gradus_emulation {
namespace {

size_t stack_size() {
  return has_asan() || has_tsan() ? 256 * 1024 : 64 * 1024;
}

}  // namespace

Fiber* make_fiber(int number) {
  const size_t guard = page_size();
  char* pages = static_cast<char*>(map_pages(stack_size() + guard));
  if (pages == nullptr || mprotect(pages, guard, PROT_NONE) != 0) std::abort();
  Fiber* fiber = static_cast<Fiber*>(arena_allocate(sizeof(Fiber)));
  *fiber = Fiber{};
  fiber->low = pages + guard;
  // Tops of stacks that differ in their low bits do not compete for the same lines of the cache.
  fiber->size = stack_size() - static_cast<size_t>(number % 32) * 192;
  return fiber;
}

#ifdef GRADUS_EMULATION_OWN_SWITCH

// What a function must preserve goes onto the stack that is left, and comes back from the one that is entered.
asm(R"(
.text
.globl gradus_emulation_switch
.hidden gradus_emulation_switch
.type gradus_emulation_switch, @function
gradus_emulation_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq (%rsi), %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size gradus_emulation_switch, .-gradus_emulation_switch
)");

void prepare(Fiber& fiber, void (*entry)()) {
  void** top = reinterpret_cast<void**>(reinterpret_cast<uintptr_t>(fiber.low + fiber.size) & ~uintptr_t{15});
  *--top = nullptr;  // where `entry` would return to, and the alignment it expects
  *--top = reinterpret_cast<void*>(entry);
  for (int i = 0; i < 6; ++i) *--top = nullptr;
  fiber.context.stack_pointer = top;
  fiber.fake_stack = nullptr;
}

#else

extern "C" void gradus_emulation_switch(Context* from, Context* to) {
  swapcontext(&from->registers, &to->registers);
}

void prepare(Fiber& fiber, void (*entry)()) {
  getcontext(&fiber.context.registers);
  fiber.context.registers.uc_stack.ss_sp = fiber.low;
  fiber.context.registers.uc_stack.ss_size = fiber.size;
  fiber.context.registers.uc_link = nullptr;
  makecontext(&fiber.context.registers, entry, 0);
  fiber.fake_stack = nullptr;
}

#endif

}  // namespace gradus_emulation
