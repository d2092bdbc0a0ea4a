#include "machine.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "faults.h"

namespace gradus_emulation {
namespace {

uint64_t number_from(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr && *text != '\0' ? std::strtoull(text, nullptr, 10) : otherwise;
}

// `name` or `name:SEED`.
bool chosen(const char* text, const char* name, uint64_t* seed) {
  const size_t n = std::strlen(name);
  if (std::strncmp(text, name, n) != 0) return false;
  if (text[n] == ':') {
    *seed = std::strtoull(text + n + 1, nullptr, 10);
    return true;
  }
  return text[n] == '\0';
}
[[noreturn]] void bad_value(const char* variable, const char* text) {
  std::fprintf(stderr, "CUDA emulation: %s=%s is not understood\n", variable, text);
  std::abort();
}

void read_orders(Machine& m) {
  uint64_t seed = 1;
  if (const char* text = std::getenv("GRADUS_EMULATION_ORDER")) {
    if (chosen(text, "eager", &seed)) {
      m.order = StreamOrder::Eager;
    } else if (chosen(text, "lazy", &seed)) {
      m.order = StreamOrder::Lazy;
    } else if (chosen(text, "random", &seed)) {
      m.order = StreamOrder::Random;
    } else {
      bad_value("GRADUS_EMULATION_ORDER", text);
    }
    m.random = seed;
  }
  if (const char* text = std::getenv("GRADUS_EMULATION_BLOCKS")) {
    if (chosen(text, "forward", &seed)) {
      set_block_order(BlockOrder::Forward);
    } else if (chosen(text, "backward", &seed)) {
      set_block_order(BlockOrder::Backward);
    } else if (chosen(text, "random", &seed)) {
      set_block_order(BlockOrder::Random, seed);
    } else {
      bad_value("GRADUS_EMULATION_BLOCKS", text);
    }
  }
}

}  // namespace

Machine& machine() {
  static Machine* made = nullptr;
  if (made != nullptr) [[likely]]
    return *made;
  made = new (arena_allocate(sizeof(Machine))) Machine;
  made->memory = number_from("GRADUS_EMULATED_MEMORY", uint64_t{8} << 30);
  made->devices.resize(number_from("GRADUS_EMULATED_DEVICES", 2) % 65);  // 64 at most: peers are bits
  read_orders(*made);
  catch_faults();
  for (int d = 0; d < static_cast<int>(made->devices.size()); ++d) {
    made->devices[d].legacy = make_stream(d, cudaStreamDefault, 0);
    made->devices[d].per_thread = make_stream(d, cudaStreamDefault, 0);
  }
  return *made;
}

uint64_t next_random() {
  uint64_t v = machine().random += 0x9e3779b97f4a7c15u;
  v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9u;
  v = (v ^ (v >> 27)) * 0x94d049bb133111ebu;
  return v ^ (v >> 31);
}

ThreadState& thread_state() {
  static thread_local ThreadState state;
  return state;
}

cudaError_t result(cudaError_t error) {
  if (error != cudaSuccess) thread_state().last_error = error;
  return error;
}

cudaError_t device_error() {
  Machine& m = machine();
  if (m.devices.empty()) return cudaErrorNoDevice;
  return m.devices[thread_state().device].sticky;
}

void set_stream_order(StreamOrder order, uint64_t seed) {
  Guard guard;
  machine().order = order;
  machine().random = seed;
}
void clear_errors() {
  Guard guard;
  for (Device& device : machine().devices) device.sticky = cudaSuccess;
  thread_state().last_error = cudaSuccess;
}
Counters counters() {
  Guard guard;
  return machine().counters;
}

}  // namespace gradus_emulation
