// A program that knows nothing of Gradus: host PLUGIN LIBRARY loads both, has the plugin work, unloads them, many
// times, and ends. Nothing may crash or hang, neither then nor at the end, and no round may leave much behind.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

void* open(const char* path) {
  void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(1);
  }
  return handle;
}

// Who works: a thread that is gone when the library is unloaded, or the one that unloads it, which has the library's
// thread-local objects alive.
enum class Where { kThread, kHere };

void work(void* plugin, int threads, bool operators, Where where) {
  const auto function = reinterpret_cast<int (*)(int, int)>(dlsym(plugin, "plugin_work"));
  int failed = -1;
  if (function && where == Where::kThread) {
    std::thread([&] { failed = function(threads, operators); }).join();
  } else if (function) {
    failed = function(threads, operators);
  }
  if (failed) {
    std::fprintf(stderr, "plugin_work: %d\n", failed);
    std::exit(1);
  }
}

void round(char** paths, int threads, Where where) {
  void* library = open(paths[0]);
  if (paths[2]) {
    void* operators = open(paths[2]);
    work(operators, threads, false, where);
    dlclose(operators);
  }
  void* plugin = open(paths[1]);
  work(plugin, threads, paths[2] != nullptr, where);
  dlclose(library);
  dlclose(plugin);
}

long resident_kilobytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  long pages = 0, resident = 0;
  if (!file || std::fscanf(file, "%ld %ld", &pages, &resident) != 2) std::exit(1);
  std::fclose(file);
  return resident * 4;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) return 2;
  const auto rounds = [&](int count, Where where) {
    for (int i = 0; i < count; ++i) round(argv + 1, 1 + i % 3, where);
  };
  rounds(4, Where::kThread);
  const long before = resident_kilobytes();
  rounds(20, Where::kThread);
  rounds(10, Where::kHere);
  rounds(4, Where::kThread);
  std::thread([&] { rounds(4, Where::kHere); }).join();
  const long grown = resident_kilobytes() - before;
  std::printf("38 rounds left %ld kB\n", grown);
  return grown < 16 * 1024 ? 0 : 1;
}
