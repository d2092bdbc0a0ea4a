// What the detectors say.
#include <dlfcn.h>
#include <unistd.h>

#include <cstring>

#include "block.h"
#include "machine.h"

namespace gradus_emulation {
namespace {

// The text is put together by hand: accesses of printf would look to ThreadSanitizer like the stream's.
char text[8192];
size_t length = 0;

void add(char c) {
  if (length + 1 < sizeof text) text[length++] = c;
}
void add_digits(size_t number, unsigned base, int least) {
  char digits[24];
  int n = 0;
  for (; number != 0 || n < least; number /= base) digits[n++] = "0123456789abcdef"[number % base];
  while (n > 0) add(digits[--n]);
}

struct Hex {
  size_t number;
  int digits = 1;
};
void add_part(const char* part) {
  while (*part != '\0') add(*part++);
}
void add_part(size_t part) {
  add_digits(part, 10, 1);
}
void add_part(unsigned part) {
  add_part(size_t{part});
}
void add_part(int part) {
  add_part(static_cast<size_t>(part));
}
void add_part(Hex part) {
  add_part("0x");
  add_digits(part.number, 16, part.digits);
}
void add_part(dim3 part) {
  add('(');
  add_part(part.x);
  add(',');
  add_part(part.y);
  add(',');
  add_part(part.z);
  add(')');
}
void add_part(const Site& part);
template <class... Parts>
void say(const Parts&... parts) {
  (add_part(parts), ...);
}
void add_part(const Site& part) {
  say(part.what, " at ", part.file, ":", part.line);
}

struct State {
  enum Kind { Gone, Waits, Runs } kind;
  Site site;
  unsigned mask;
};
State state_of(int thread) {
  const Warp& warp = block.warp[thread / kLanes];
  const unsigned bit = 1u << (thread % kLanes);
  const Thread& t = block.thread[thread];
  if (warp.gone & bit) return {State::Gone, {}, 0};
  if ((warp.ready & bit) || t.waiting == Waiting::Nothing) return {State::Runs, {}, 0};
  return {State::Waits, t.site, t.waiting == Waiting::Warp ? t.mask : 0};
}
bool same_state(const State& a, const State& b) {
  return a.kind == b.kind && a.mask == b.mask && (a.kind != State::Waits || same_site(a.site, b.site));
}

// All threads in the state that the thread `first` has, as ranges.
void say_group(int first) {
  const State state = state_of(first);
  say("  threads");
  for (int t = first; t < block.threads;) {
    int end = t;
    while (end < block.threads && same_state(state_of(end), state)) ++end;
    if (end == t + 1) say(" ", t);
    if (end > t + 1) say(" ", t, "-", end - 1);
    t = end > t ? end : t + 1;
  }
  if (state.kind == State::Gone) {
    say(" have left the kernel\n");
  } else if (state.kind == State::Runs) {
    say(" could run\n");
  } else if (state.mask == 0) {
    say(" wait in ", state.site, "\n");
  } else {
    say(" wait with mask ", Hex{state.mask, 8}, " in ", state.site, "\n");
  }
}
void say_groups() {
  for (int t = 0; t < block.threads; ++t) {
    bool seen = false;
    for (int u = 0; u < t && !seen; ++u) seen = same_state(state_of(t), state_of(u));
    if (!seen) say_group(t);
  }
}

const char* what_lies_at(size_t address) {
  if (address < 65536) return "a null pointer";
  for (int t = 0; t < block.threads; ++t) {
    const Fiber* fiber = block.thread[t].fiber;
    const size_t low = fiber != nullptr ? reinterpret_cast<size_t>(fiber->low) : 0;
    if (address < low && address >= low - page_size()) return "below its stack, which was too small";
  }
  const Allocation* allocation = find_allocation(reinterpret_cast<void*>(address));
  if (allocation != nullptr) return "memory of a device that is not its own and no peer";
  return "which is no memory: out of bounds, or freed";
}

// Where the code lies that did it.
void say_instruction(size_t address) {
  Dl_info where;
  if (dladdr(reinterpret_cast<void*>(address), &where) == 0 || where.dli_fname == nullptr) return;
  say("  addr2line -Cfie ", where.dli_fname, " ", Hex{address - reinterpret_cast<size_t>(where.dli_fbase)}, "\n");
}

void say_reason() {
  const Failure& f = block.failure;
  switch (f.kind) {
    case Failure::None:
      return;
    case Failure::Stuck:
      if (block.mixed) return say("threads of the block wait at different barriers\n");
      if (block.arrived != 0 && block.arrived + (block.threads - block.alive) == block.threads) {
        return say("threads have left the kernel before a barrier that others wait at\n");
      }
      return say("no thread of the block can go on\n");
    case Failure::NotInMask:
      return say("thread ", f.thread, " (lane ", f.lane, ") is not in the mask ", Hex{f.mask, 8}, " of its ", f.site,
                 "\n");
    case Failure::OtherOperation:
      return say("thread ", f.thread, " is in ", f.site, ", while lane ", f.lane, " of its warp, with the same mask ",
                 Hex{f.mask, 8}, ", is in ", f.other, "\n");
    case Failure::InactiveLane:
      return say(
          "thread ", f.thread, " (lane ", f.thread % kLanes, ") reads lane ", f.lane, ", which ",
          !(f.mask & (1u << f.lane)) ? "is not in the mask " : "has left the kernel or is not in the block, mask ",
          Hex{f.mask, 8}, ", by ", f.site, "\n");
    case Failure::BadWidth:
      return say("the width is not a power of two up to 32 in ", f.site, "\n");
    case Failure::TooMuchShared:
      return say("too much shared memory: ", f.bytes, " bytes with ", f.site, ", and ", block.launch->shared,
                 " of the launch; a block has ", kMaxStaticShared, " by declarations and ", kMaxShared, " in all\n");
    case Failure::Misaligned:
      return say("thread ", f.thread, " copies ", f.bytes, " bytes, which are not 4, 8 or 16 or not aligned so, by ",
                 f.site, "\n");
    case Failure::Spinning:
      return say("thread ", f.thread, " waits for ever in a loop over an atomic\n");
    case Failure::Trap:
      return say("thread ", f.thread, " reached ", f.site, "\n");
    case Failure::Fault:
      say("thread ", f.thread, " touched the address ", Hex{f.bytes}, ", ", what_lies_at(f.bytes), "\n");
      return say_instruction(f.instruction);
    case Failure::Division:
      say("thread ", f.thread, " divided an integer by zero\n");
      return say_instruction(f.instruction);
  }
}

bool is_about_waiting(Failure::Kind kind) {
  return kind == Failure::Stuck || kind == Failure::NotInMask || kind == Failure::OtherOperation ||
         kind == Failure::InactiveLane || kind == Failure::Spinning;
}

}  // namespace

bool same_site(const Site& a, const Site& b) {
  return a.line == b.line && (a.what == b.what || strcmp(a.what, b.what) == 0) &&
         (a.file == b.file || strcmp(a.file, b.file) == 0);
}

void report_failure() {
  length = 0;
  say("CUDA emulation: block ", dim3(blockIdx), " of ", gridDim, ", ", block.threads, " threads: ");
  say_reason();
  if (is_about_waiting(block.failure.kind)) say_groups();
  text[length] = '\0';
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, length);
}

const char* last_report() {
  return text;
}

}  // namespace gradus_emulation
