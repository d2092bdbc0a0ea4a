// Small vectors of doubles, and reading them back.
#pragma once

#include <gtest/gtest.h>

#include <gradus/gradus.h>

namespace support {

inline gradus::Tensor vec(std::vector<double> v) {
  gradus::Tensor t = gradus::empty({static_cast<int64_t>(v.size())}, gradus::kDouble);
  std::copy(v.begin(), v.end(), t.data_ptr<double>());
  return t;
}
inline gradus::Tensor leaf(std::vector<double> v) {
  return vec(std::move(v)).requires_grad_();
}
inline std::vector<double> values(const gradus::Tensor& t) {
  if (!t.defined()) return {};
  gradus::Tensor c = t.detach().to(gradus::kDouble).contiguous();
  return std::vector<double>(c.data_ptr<double>(), c.data_ptr<double>() + c.numel());
}
using V = std::vector<double>;

// The text of what `f` throws; "nothing was thrown" otherwise.
template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const gradus::Error& e) {
    return e.what();
  }
  return "nothing was thrown";
}
inline bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}
#define EXPECT_ERROR(statement, part)                        \
  do {                                                       \
    const std::string text = error_of([&] { statement; });   \
    EXPECT_TRUE(has(text, part)) << "the text is: " << text; \
  } while (false)

}  // namespace support
