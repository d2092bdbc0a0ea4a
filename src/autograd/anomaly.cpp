#include "anomaly.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>

#include <cstdlib>
#include <sstream>

#include <gradus/autograd/anomaly_mode.h>
#include <gradus/autograd/grad_mode.h>

namespace gradus::inline v0::autograd {

std::atomic<bool> anomaly_on{false};

namespace {

std::atomic<bool> checks_nan{true};
constinit thread_local const WatchedNode* innermost = nullptr;
constexpr int kMaxFrames = 64;

const void* base_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) ? info.dli_fbase : nullptr;
}

// "function(int)+0x1c (program+0x123c)"; without the first part where the function is not exported.
std::string describe_frame(void* address) {
  // The address is that after the call, which may lie in the next function.
  const char* at = static_cast<const char*>(address) - 1;
  Dl_info info{};
  std::ostringstream out;
  if (!dladdr(at, &info) || !info.dli_fname) {
    out << address;
    return out.str();
  }
  if (info.dli_sname) {
    int status = 0;
    char* plain = abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status);
    out << (status == 0 ? plain : info.dli_sname) << "+0x" << std::hex << (at - static_cast<char*>(info.dli_saddr))
        << " ";
    std::free(plain);
  }
  const std::string file = info.dli_fname;
  out << "(" << file.substr(file.rfind('/') + 1) << "+0x" << std::hex << (at - static_cast<char*>(info.dli_fbase))
      << ")";
  return out.str();
}

void append_report(std::ostream& out, const Creation& c) {
  if (c.frames.empty()) {
    out << "\n" << c.name << " was recorded outside anomaly mode; record it under DetectAnomalyGuard to learn where";
    return;
  }
  out << "\n" << c.name << " was recorded here (addr2line -Cfe FILE OFFSET gives lines):";
  // The library's own frames say nothing to its user, unless the program contains it.
  const void* library = base_of(reinterpret_cast<const void*>(&note_creation));
  size_t first = 1;
  while (first < c.frames.size() && base_of(c.frames[first]) == library) ++first;
  if (first == c.frames.size()) first = 1;
  for (size_t i = first; i < c.frames.size(); ++i) out << "\n    " << describe_frame(c.frames[i]);
}

std::string report(const Creation* c) {
  std::ostringstream out;
  append_report(out, *c);
  while ((c = c->parent.get())) {
    out << "\nThat was in the backward of " << c->name << ".";
    append_report(out, *c);
  }
  return out.str();
}

}  // namespace

bool AnomalyMode::is_enabled() {
  return anomaly_enabled();
}
bool AnomalyMode::should_check_nan() {
  return checks_nan.load(std::memory_order_relaxed);
}
void AnomalyMode::set_enabled(bool enabled, bool check_nan) {
  anomaly_on = enabled;
  checks_nan = check_nan;
}

DetectAnomalyGuard::DetectAnomalyGuard(bool check_nan)
    : enabled_before_(AnomalyMode::is_enabled()), check_before_(AnomalyMode::should_check_nan()) {
  AnomalyMode::set_enabled(true, check_nan);
}
DetectAnomalyGuard::~DetectAnomalyGuard() {
  AnomalyMode::set_enabled(enabled_before_, check_before_);
}

void note_creation(Node* n) {
  NodeHooks& hooks = hooks_of(n);
  if (hooks.creation) return;
  auto creation = std::make_shared<Creation>();
  creation->name = n->name_;
  creation->frames.resize(kMaxFrames);
  creation->frames.resize(static_cast<size_t>(backtrace(creation->frames.data(), kMaxFrames)));
  if (innermost) creation->parent = innermost->creation_;
  hooks.creation = std::move(creation);
}

WatchedNode::WatchedNode(Node* n, bool on) {
  if (!on) return;
  if (n->hooks_ && n->hooks_->creation) {
    creation_ = n->hooks_->creation;
  } else {
    creation_ = std::make_shared<const Creation>(Creation{n->name_, {}, nullptr});
  }
  outer_ = innermost;
  innermost = this;
}

WatchedNode::~WatchedNode() {
  if (creation_) innermost = outer_;
}

void WatchedNode::check(const Tensor* grads, size_t count) const {
  if (!creation_ || !AnomalyMode::should_check_nan()) return;
  const NoGradGuard guard;
  for (size_t i = 0; i < count; ++i) {
    if (!grads[i].defined() || !grads[i].isnan().any().item<bool>()) continue;
    throw Error(str("backward: ", creation_->name, " returned nan values in its ", i,
                    "th output, the gradient of shape ", grads[i].sizes(), " for its input ", i,
                    "; expected none in anomaly mode", report(creation_.get())));
  }
}

void WatchedNode::threw() const noexcept {
  if (!creation_) return;
  try {
    warn(str("backward: an error was thrown in ", creation_->name, report(creation_.get())));
  } catch (...) {  // the error that is on its way says more
  }
}

}  // namespace gradus::inline v0::autograd
