// Exceptions and checks. Texts read "op: what was given; what was expected".
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include <gradus/core/macros.h>

namespace gradus {
inline namespace v0 {

/// Base of everything Gradus throws. libtorch's name for it is c10::Error.
class GRADUS_API Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
  /// libtorch's form; Gradus glues no backtrace to a message.
  Error(const std::string& message, const std::string& /*backtrace*/) : Error(message) {}
  ~Error() override;
  /// The message, as libtorch spells it.
  const char* what_without_backtrace() const noexcept { return what(); }
  /// The message, as libtorch spells it.
  std::string msg() const { return what(); }
};

/// An index or dimension lies outside of its range.
class GRADUS_API IndexError : public Error {
 public:
  using Error::Error;
  ~IndexError() override;
};
/// An argument has the right type and a value that cannot be.
class GRADUS_API ValueError : public Error {
 public:
  using Error::Error;
  ~ValueError() override;
};
/// An argument has the wrong type (dtype, layout, kind of value).
class GRADUS_API TypeError : public Error {
 public:
  using Error::Error;
  ~TypeError() override;
};
/// The operation exists, but not for these arguments or this backend.
class GRADUS_API NotImplementedError : public Error {
 public:
  using Error::Error;
  ~NotImplementedError() override;
};
/// Memory could not be had.
class GRADUS_API OutOfMemoryError : public Error {
 public:
  using Error::Error;
  ~OutOfMemoryError() override;
};
/// A matrix is singular or a decomposition did not converge.
class GRADUS_API LinAlgError : public Error {
 public:
  using Error::Error;
  ~LinAlgError() override;
};

/// Receives every warning. The default one writes to stderr.
using WarningHandler = void (*)(const std::string& message);
/// Replaces the process's warning handler; nullptr restores the default. Returns the one before.
GRADUS_API WarningHandler set_warning_handler(WarningHandler handler);
/// Hands `message` to the warning handler.
GRADUS_API void warn(const std::string& message);

namespace detail {
// Messages are built without iostreams: this header is in every user's program.
inline void append_text(std::string& s, std::string_view v) {
  s.append(v);
}
inline void append_text(std::string& s, const char* v) {
  s.append(v);
}
inline void append_text(std::string& s, const std::string& v) {
  s.append(v);
}
inline void append_text(std::string& s, char v) {
  s.push_back(v);
}
inline void append_text(std::string& s, bool v) {
  s.append(v ? "true" : "false");
}
GRADUS_API void append_text(std::string& s, long v);
GRADUS_API void append_text(std::string& s, long long v);
GRADUS_API void append_text(std::string& s, unsigned long v);
GRADUS_API void append_text(std::string& s, unsigned long long v);
GRADUS_API void append_text(std::string& s, double v);
inline void append_text(std::string& s, int v) {
  append_text(s, static_cast<long>(v));
}
inline void append_text(std::string& s, unsigned v) {
  append_text(s, static_cast<unsigned long>(v));
}
inline void append_text(std::string& s, short v) {
  append_text(s, static_cast<long>(v));
}
inline void append_text(std::string& s, unsigned char v) {
  append_text(s, static_cast<unsigned long>(v));
}
inline void append_text(std::string& s, signed char v) {
  append_text(s, static_cast<long>(v));
}
inline void append_text(std::string& s, float v) {
  append_text(s, static_cast<double>(v));
}
}  // namespace detail

/// The arguments' texts, one after the other: str("dim ", 5, " of ", x.sizes()).
template <class... Args>
std::string str(const Args&... args) {
  std::string s;
  using detail::append_text;
  (append_text(s, args), ...);
  return s;
}

namespace detail {
// One piece of a message. Pieces are values and functions, so that the code which builds a message exists once and not
// once per check.
struct TextPiece {
  void (*append)(std::string& text, const void* value);
  const void* value;
};
template <class T>
void append_piece(std::string& text, const void* value) {
  append_text(text, *static_cast<const T*>(value));
}
inline void append_literal(std::string& text, const void* value) {
  text.append(static_cast<const char*>(value));
}
template <class T>
TextPiece piece_of(const T& value) {
  return {&append_piece<T>, &value};
}
template <size_t N>
TextPiece piece_of(const char (&literal)[N]) {
  return {&append_literal, literal};
}
inline TextPiece piece_of(const char* const& literal) {
  return {&append_literal, literal};
}
GRADUS_API std::string join(const TextPiece* pieces, size_t count);
template <class E>
[[noreturn]] __attribute__((noinline, cold)) void throw_joined(const TextPiece* pieces, size_t count) {
  throw E(join(pieces, count));
}
// Small values are copied on the failing path: a reference would force the caller to keep them in memory on every path.
template <class T>
using Given = std::conditional_t<std::is_trivially_copyable<T>::value && !std::is_array<T>::value && sizeof(T) <= 32,
                                 const T, const T&>;
template <class E, class... Args>
[[noreturn]] __attribute__((always_inline)) inline void fail_with(Given<Args>... args) {
  const TextPiece pieces[] = {piece_of(args)...};
  throw_joined<E>(pieces, sizeof...(Args));
}
template <class E, class... Args>
[[noreturn]] __attribute__((always_inline)) inline void fail(const Args&... args) {
  fail_with<E, Args...>(args...);
}
}  // namespace detail

#define GRADUS_CHECK_AS(ErrorType, condition, ...)              \
  do {                                                          \
    if (GRADUS_UNLIKELY(!(condition))) {                        \
      ::gradus::detail::fail<::gradus::ErrorType>(__VA_ARGS__); \
    }                                                           \
  } while (false)
#define GRADUS_CHECK(condition, ...) GRADUS_CHECK_AS(Error, condition, __VA_ARGS__)

}  // namespace v0
}  // namespace gradus
