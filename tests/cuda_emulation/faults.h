// Signals that a kernel raises: an address that it may not touch, a division by zero. They end the launch, not the
// program.
#pragma once

#include <cstdint>

namespace gradus_emulation {

/// Once: catches what nobody else does. Sanitizers report such faults themselves, and are left to it.
void catch_faults();
/// The calling thread runs kernels: gives it a stack for signals.
void prepare_for_faults();
/// Set while the calling thread runs device code.
void set_running_kernel(bool running);
/// In the scheduler: leaves the kernel, whose stack is not to be trusted any more.
[[noreturn]] void fail_fault(int signal, const void* address, uintptr_t instruction);

}  // namespace gradus_emulation
