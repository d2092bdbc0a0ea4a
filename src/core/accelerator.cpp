#include "accelerator.h"

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string>

#include <dlfcn.h>
#include <unistd.h>

namespace gradus::inline v0::core {

namespace {

constexpr const char* kLibrary = "libgradus_cuda.so";
constexpr const char* kLibraryOfRelease = "libgradus_cuda.so.0";  // all that is there without the files for development

std::atomic<Accelerator*> accelerators[32];

// Nothing here is ever destroyed: a program's own last destructors may still free tensors.
constinit std::mutex load_mutex;
constinit std::atomic<bool> load_done{false};
constinit std::string* why_not = nullptr;  // written before load_done

constinit std::atomic<bool> seed_given{false};
constinit std::atomic<uint64_t> seed_of_all{0};

std::string own_folder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&set_accelerator), &info) == 0 || info.dli_fname == nullptr) return std::string();
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string(".") : path.substr(0, slash);
}

std::string last_dl_error() {
  const char* text = dlerror();
  return text ? text : "no reason was given";
}

struct Opened {
  void* handle = nullptr;
  std::string why;
};

Opened open_at(const std::string& path) {
  Opened o;
  o.handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!o.handle) o.why = str("CUDA cannot be used: ", last_dl_error());
  return o;
}

Opened open_library() {
  const char* named = std::getenv("GRADUS_CUDA_LIBRARY");
  if (named != nullptr && *named != '\0') {
    Opened o = open_at(named);
    if (!o.handle) o.why += " (named by GRADUS_CUDA_LIBRARY)";
    return o;
  }
  const std::string folder = own_folder();
  for (const char* name : {kLibrary, kLibraryOfRelease}) {
    const std::string beside = folder + "/" + name;
    if (!folder.empty() && access(beside.c_str(), F_OK) == 0) return open_at(beside);
  }
  Opened o;
  for (const char* name : {kLibrary, kLibraryOfRelease}) {
    o = open_at(name);
    // The loader's text begins with the file it could not open: another name is a library that ours needs.
    if (o.handle || o.why.find(str(": ", name, ": cannot open")) == std::string::npos) return o;
  }
  o.why = str("Gradus was built without CUDA: there is no ", kLibrary, " in ", folder.empty() ? "." : folder,
              " or on the library path; build Gradus with -DGRADUS_CUDA=ON, or name the library in the environment "
              "variable GRADUS_CUDA_LIBRARY");
  return o;
}

// Empty, or why CUDA cannot be used.
std::string try_to_load() {
  const Opened library = open_library();
  if (!library.handle) return library.why;
  const auto initialize = reinterpret_cast<InitializeFunction>(dlsym(library.handle, kInitializeSymbol));
  if (!initialize) return str("CUDA cannot be used: ", last_dl_error());
  char message[1024] = "";
  const Handshake ours;
  if (initialize(&ours, message, sizeof message) == 0) return std::string();
  return str("CUDA cannot be used: ", static_cast<const char*>(message));
}

void seed_devices(Accelerator& a, uint64_t seed) {
  const DeviceIndex count = a.device_count();
  for (DeviceIndex d = 0; d < count; ++d) {
    Generator generator = a.default_generator(d);
    const std::lock_guard lock(generator.mutex());
    generator.set_current_seed(seed);
  }
}

void load_cuda() noexcept {
  if (load_done.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(load_mutex);
  if (load_done.load(std::memory_order_relaxed)) return;
  try {
    std::string why = try_to_load();
    Accelerator* a = accelerators[static_cast<int>(DeviceType::CUDA)].load(std::memory_order_acquire);
    if (why.empty() && a != nullptr && seed_given.load()) seed_devices(*a, seed_of_all.load());
    why_not = new std::string(std::move(why));
  } catch (...) {
    why_not = new std::string("CUDA cannot be used: out of memory while its library was loaded");
  }
  load_done.store(true, std::memory_order_release);
}

bool in_range(DeviceType type) {
  return static_cast<int>(type) >= 0 && static_cast<int>(type) < 32;
}

}  // namespace

Handshake::Handshake() : version(kAcceleratorVersion), size(sizeof(Handshake)), library(&set_accelerator) {}

Accelerator* loaded_accelerator(DeviceType type) noexcept {
  return in_range(type) ? accelerators[static_cast<int>(type)].load(std::memory_order_acquire) : nullptr;
}

Accelerator* find_accelerator(DeviceType type) noexcept {
  Accelerator* a = loaded_accelerator(type);
  if (a != nullptr || type != DeviceType::CUDA) return a;
  load_cuda();
  return loaded_accelerator(type);
}

Accelerator& accelerator(DeviceType type, const char* op) {
  Accelerator* a = find_accelerator(type);
  if (a != nullptr) [[likely]]
    return *a;
  throw NotImplementedError(str(op, ": ", why_no_accelerator(type)));
}

std::string why_no_accelerator(DeviceType type) {
  if (find_accelerator(type) != nullptr) return std::string();
  if (type == DeviceType::CUDA) return *why_not;
  return str("there is no library for devices of type ", Device(type).str(), "; expected cpu or cuda");
}

void set_accelerator(DeviceType type, Accelerator* accelerator) {
  GRADUS_CHECK_AS(ValueError, type != DeviceType::CPU && type != DeviceType::Meta && in_range(type),
                  "set_accelerator: devices of type ", Device(type).str(), " have none");
  accelerators[static_cast<int>(type)].store(accelerator);
}

void seed_accelerators(uint64_t seed) {
  // In this order: a library that is being loaded now sees the seed, or is seen here.
  seed_of_all.store(seed);
  seed_given.store(true);
  if (Accelerator* a = accelerators[static_cast<int>(DeviceType::CUDA)].load()) seed_devices(*a, seed);
}

}  // namespace gradus::inline v0::core
