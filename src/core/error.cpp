#include <gradus/core/error.h>

#include <atomic>
#include <cmath>
#include <cstdio>

#include <gradus/core/scalar.h>

namespace gradus::inline v0 {

Error::~Error() = default;
IndexError::~IndexError() = default;
ValueError::~ValueError() = default;
TypeError::~TypeError() = default;
NotImplementedError::~NotImplementedError() = default;
OutOfMemoryError::~OutOfMemoryError() = default;
LinAlgError::~LinAlgError() = default;

namespace {
void warn_on_stderr(const std::string& message) {
  std::fprintf(stderr, "gradus: warning: %s\n", message.c_str());
}
std::atomic<WarningHandler> warning_handler{&warn_on_stderr};
}  // namespace

WarningHandler set_warning_handler(WarningHandler handler) {
  return warning_handler.exchange(handler ? handler : &warn_on_stderr);
}
void warn(const std::string& message) {
  warning_handler.load()(message);
}

namespace detail {

std::string join(const TextPiece* pieces, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) pieces[i].append(text, pieces[i].value);
  return text;
}

void append_text(std::string& s, long v) {
  s.append(std::to_string(v));
}
void append_text(std::string& s, long long v) {
  s.append(std::to_string(v));
}
void append_text(std::string& s, unsigned long v) {
  s.append(std::to_string(v));
}
void append_text(std::string& s, unsigned long long v) {
  s.append(std::to_string(v));
}
void append_text(std::string& s, double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", v);
  s.append(text);
}
void scalar_does_not_fit(const Scalar& v, ScalarType t) {
  throw ValueError(str("Scalar: the value ", v, " cannot be represented as ", t));
}

}  // namespace detail

void append_text(std::string& s, const Scalar& v) {
  using detail::append_text;
  if (v.isBoolean()) {
    append_text(s, v.as_int() != 0);
  } else if (v.isIntegral(false)) {
    append_text(s, static_cast<long long>(v.as_int()));
  } else if (v.isComplex()) {
    append_text(s, '(');
    append_text(s, v.as_complex().re);
    append_text(s, ", ");
    append_text(s, v.as_complex().im);
    append_text(s, ')');
  } else {
    append_text(s, v.as_double());
  }
}

}  // namespace gradus::inline v0
