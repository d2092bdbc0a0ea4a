// What oneDNN's users here share: engine, streams, descriptors, the cache of primitives. Only src/backends/onednn
// includes it. Versions 2.6 and 3.x.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include <dnnl.hpp>

#include <gradus/core/error.h>
#include <gradus/core/parallel.h>
#include <gradus/core/scalar_type.h>

#include <kernels/scratch.h>

namespace gradus::inline v0::backends::onednn {

inline const dnnl::engine& engine() {
  static const dnnl::engine& instance = *new dnnl::engine(dnnl::engine::kind::cpu, 0);  // leaked: used until the end
  return instance;
}
inline dnnl::stream& stream() {
  thread_local dnnl::stream instance(engine());
  return instance;
}

inline dnnl::memory::data_type data_type(ScalarType t) {
  switch (t) {
    case ScalarType::BFloat16:
      return dnnl::memory::data_type::bf16;
    case ScalarType::Half:
      return dnnl::memory::data_type::f16;
    default:
      return dnnl::memory::data_type::f32;
  }
}

/// Runs f; what oneDNN throws becomes this library's Error. Everything that others call here is wrapped in it.
template <class F>
void translating_errors(const char* op, const F& f) {
  try {
    f();
  } catch (const dnnl::error& e) {
    throw Error(str(op, ": oneDNN refused: ", e.what(), " (status ", static_cast<int>(e.status), ")"));
  }
}

/// A memory object over memory that the caller keeps; oneDNN does not write through it where it is an input.
inline dnnl::memory wrap(const dnnl::memory::desc& desc, const void* data) {
  return dnnl::memory(desc, engine(), const_cast<void*>(data));
}

/// Prepared primitives by the bytes of their key, for all threads. Creating one takes 20 us to milliseconds.
template <class Value>
class PrimitiveCache {
 public:
  template <class Make>
  std::shared_ptr<const Value> get(std::string_view key, const Make& make) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto it = entries_.find(std::string(key)); it != entries_.end()) return it->second;
    }
    auto made = std::make_shared<const Value>(make());  // outside the lock: two threads may both make it
    const std::lock_guard lock(mutex_);
    if (entries_.size() >= kMost) entries_.clear();
    return entries_.try_emplace(std::string(key), std::move(made)).first->second;
  }

 private:
  static constexpr size_t kMost = 1024;
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const Value>> entries_;
};

}  // namespace gradus::inline v0::backends::onednn
