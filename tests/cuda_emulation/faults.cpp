#include "faults.h"

#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "arena.h"
#include "block.h"
#include "machine.h"
#include "sanitizers.h"

namespace gradus_emulation {

#if defined(__linux__) && defined(__x86_64__)
namespace {

thread_local bool running_kernel = false;
thread_local bool has_signal_stack = false;
constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE};
struct sigaction previous[3];
int fault_signal;
const void* fault_address;
uintptr_t fault_instruction;

void leave_kernel() {
  fail_fault(fault_signal, fault_address, fault_instruction);
}

void say(const char* text) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
}

void on_fault(int signal, siginfo_t* info, void* context) {
  if (running_kernel) {
    // Goes on in leave_kernel, at the top of the thread's own stack: what was on it is given up.
    running_kernel = false;
    fault_signal = signal;
    fault_address = info->si_addr;
    const Fiber& fiber = *block.thread[block.current].fiber;
    greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    const uintptr_t top = reinterpret_cast<uintptr_t>(fiber.low + fiber.size) & ~uintptr_t{15};
    fault_instruction = static_cast<uintptr_t>(registers[REG_RIP]);
    registers[REG_RSP] = static_cast<greg_t>(top - 8);
    registers[REG_RIP] = static_cast<greg_t>(reinterpret_cast<uintptr_t>(&leave_kernel));
    return;
  }
  // Memory of the emulation may be read here: where it is changed, this thread does not touch device memory.
  const Allocation* allocation = find_allocation(info->si_addr);
  if (allocation != nullptr && allocation->place == Place::Device) {
    say("CUDA emulation: host code touched the memory of a device, which a host cannot\n");
  }
  for (int i = 0; i < 3; ++i) {
    if (kSignals[i] == signal) sigaction(signal, &previous[i], nullptr);  // on return the fault happens again
  }
}

}  // namespace

void catch_faults() {
  if (has_asan() || has_tsan()) return;
  for (int i = 0; i < 3; ++i) {
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(kSignals[i], &action, &previous[i]);
  }
}

void prepare_for_faults() {
  if (has_signal_stack || has_asan() || has_tsan()) return;
  has_signal_stack = true;
  stack_t now = {};
  if (sigaltstack(nullptr, &now) != 0 || !(now.ss_flags & SS_DISABLE)) return;
  const size_t size = 64 * 1024;  // lasts as long as the program
  now.ss_sp = map_pages(size);
  now.ss_size = size;
  now.ss_flags = 0;
  if (now.ss_sp != nullptr) sigaltstack(&now, nullptr);
}

void set_running_kernel(bool running) {
  running_kernel = running;
}

#else

void catch_faults() {}
void prepare_for_faults() {}
void set_running_kernel(bool) {}

#endif

}  // namespace gradus_emulation
