#include "protection.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

namespace gradus_emulation {

#if defined(__x86_64__) && defined(PKEY_DISABLE_ACCESS)
namespace {

constexpr int kMostKeys = 8;  // devices share keys beyond that
int keys[kMostKeys];
int key_count = -1;  // not asked for yet

int count_keys() {
  if (key_count >= 0) return key_count;
  key_count = 0;
  const char* wanted = std::getenv("GRADUS_EMULATION_GUARD");
  if (wanted != nullptr && std::strcmp(wanted, "0") == 0) return 0;
  while (key_count < kMostKeys) {
    const int key = pkey_alloc(0, PKEY_DISABLE_ACCESS);
    if (key < 0) break;
    keys[key_count++] = key;
  }
  return key_count;
}

unsigned read_rights() {
  unsigned rights, high;
  asm volatile("rdpkru" : "=a"(rights), "=d"(high) : "c"(0));
  return rights;
}
void write_rights(unsigned rights) {
  asm volatile("wrpkru" : : "a"(rights), "c"(0), "d"(0) : "memory");
}

}  // namespace

void protect(void* pages, size_t size, int device) {
  if (count_keys() > 0) pkey_mprotect(pages, size, PROT_READ | PROT_WRITE, keys[device % key_count]);
}

DeviceAccess::DeviceAccess(int device, uint64_t peers) : before_(0) {
  if (count_keys() == 0) return;
  before_ = read_rights();
  unsigned rights = before_;
  for (int d = 0; d < 64; ++d) {
    if (d == device || (peers >> d & 1)) rights &= ~(3u << (2 * keys[d % key_count]));
  }
  write_rights(rights);
}
DeviceAccess::~DeviceAccess() {
  if (key_count > 0) write_rights(before_);
}

#else

void protect(void*, size_t, int) {}
DeviceAccess::DeviceAccess(int, uint64_t) : before_(0) {}
DeviceAccess::~DeviceAccess() {}

#endif

}  // namespace gradus_emulation
