// Between C++ calls and boxed ones, by templates on the signature: operators of one signature share the code.
#pragma once

#include <array>
#include <tuple>
#include <type_traits>

#include <gradus/ops/operator.h>

namespace gradus {
inline namespace v0 {
namespace boxing {

using AnyFunction = void (*)();
/// Calls a function of a known signature with the values on the stack and leaves its results there.
using Unboxer = void (*)(AnyFunction function, Stack& stack);

// --- arguments to values ---

/// Appends arguments. TensorOptions become the schema's four (dtype, layout, device, pin_memory); a memory format in
/// them goes to the schema's own memory_format argument where that was left out.
struct Boxer {
  Stack& stack;
  std::optional<MemoryFormat> format;

  void add(const TensorOptions& v) {
    stack.emplace_back(v.dtype_opt());
    stack.emplace_back(v.layout_opt());
    stack.emplace_back(v.device_opt());
    stack.emplace_back(v.pinned_memory_opt());
    format = v.memory_format_opt();
  }
  void add(const std::optional<MemoryFormat>& v) { stack.emplace_back(v ? v : format); }
  void add(ArrayRef<std::optional<Tensor>> v) { stack.emplace_back(v.vec()); }
  void add(ArrayRef<Scalar> v) { stack.emplace_back(v.vec()); }
  template <size_t N>
  void add(const std::array<bool, N>& v) {
    stack.emplace_back(std::vector<bool>(v.begin(), v.end()));
  }
  template <class T>
  void add(const T& v) {
    stack.emplace_back(v);
  }
};

template <class... A>
Stack box(const A&... args) {
  Stack stack;
  stack.reserve(sizeof...(A) + 4);
  Boxer boxer{stack, std::nullopt};
  (boxer.add(args), ...);
  return stack;
}

// --- values to arguments ---

/// Reads an argument of type T from its slot; `name` is the schema's spelling of the type.
template <class T>
struct Unbox;

/// The undefined tensor that stands for an absent optional one.
inline const Tensor& undefined() {
  static const Tensor none;
  return none;
}

// Borrowed results (references, ranges) stay valid while the stack does.
#define GRADUS_UNBOX(T, schema_name, Result, expression) \
  template <>                                            \
  struct Unbox<T> {                                      \
    static constexpr size_t width = 1;                   \
    static constexpr const char* name = schema_name;     \
    static Result get(IValue* v) { return expression; }  \
  }

GRADUS_UNBOX(Tensor, "Tensor", const Tensor&, v->isNone() ? undefined() : v->toTensor());
GRADUS_UNBOX(Scalar, "Scalar", Scalar, v->toScalar());
GRADUS_UNBOX(int64_t, "int", int64_t, v->toInt());
GRADUS_UNBOX(double, "float", double, v->toDouble());
GRADUS_UNBOX(bool, "bool", bool, v->toBool());
GRADUS_UNBOX(std::string_view, "str", std::string_view, v->toStringView());
GRADUS_UNBOX(std::string, "str", const std::string&, v->toStringRef());
GRADUS_UNBOX(ScalarType, "ScalarType", ScalarType, v->toScalarType());
GRADUS_UNBOX(Layout, "Layout", Layout, v->toLayout());
GRADUS_UNBOX(MemoryFormat, "MemoryFormat", MemoryFormat, v->toMemoryFormat());
GRADUS_UNBOX(Device, "Device", Device, v->toDevice());
GRADUS_UNBOX(Generator, "Generator", const Generator&, v->toGenerator());
GRADUS_UNBOX(IntArrayRef, "int[]", IntArrayRef, IntArrayRef(v->toIntVector()));
GRADUS_UNBOX(std::vector<int64_t>, "int[]", const std::vector<int64_t>&, v->toIntVector());
GRADUS_UNBOX(ArrayRef<double>, "float[]", ArrayRef<double>, ArrayRef<double>(v->toDoubleVector()));
GRADUS_UNBOX(std::vector<double>, "float[]", const std::vector<double>&, v->toDoubleVector());
GRADUS_UNBOX(ArrayRef<Scalar>, "Scalar[]", ArrayRef<Scalar>, ArrayRef<Scalar>(v->toScalarVector()));
GRADUS_UNBOX(TensorList, "Tensor[]", TensorList, TensorList(v->toTensorVector()));
GRADUS_UNBOX(std::vector<Tensor>, "Tensor[]", const std::vector<Tensor>&, v->toTensorVector());
GRADUS_UNBOX(ArrayRef<std::optional<Tensor>>, "Tensor?[]", ArrayRef<std::optional<Tensor>>,
             ArrayRef<std::optional<Tensor>>(v->toOptionalTensorVector()));
#undef GRADUS_UNBOX

template <>
struct Unbox<OptionalIntArrayRef> {
  static constexpr size_t width = 1;
  static constexpr const char* name = "int[]?";
  static OptionalIntArrayRef get(IValue* v) {
    return v->isNone() ? OptionalIntArrayRef() : OptionalIntArrayRef(v->toIntVector());
  }
};
template <class T>
struct Unbox<std::optional<T>> {
  static constexpr size_t width = 1;
  static constexpr const char* name = nullptr;  // that of T with a question mark
  static std::optional<T> get(IValue* v) {
    if (v->isNone()) return std::nullopt;
    return std::optional<T>(Unbox<T>::get(v));
  }
};
template <size_t N>
struct Unbox<std::array<bool, N>> {
  static constexpr size_t width = 1;
  static constexpr const char* name = "bool[]";
  static std::array<bool, N> get(IValue* v) {
    std::array<bool, N> a{};
    const std::vector<bool>& list = v->toBoolVector();
    GRADUS_CHECK_AS(TypeError, list.size() == N, "expected a list of ", N, " bools, got ", list.size());
    for (size_t i = 0; i < N; ++i) a[i] = list[i];
    return a;
  }
};
template <>
struct Unbox<TensorOptions> {
  static constexpr size_t width = 4;
  static constexpr const char* name = "ScalarType?";
  static TensorOptions get(IValue* v) {
    return TensorOptions()
        .dtype(Unbox<std::optional<ScalarType>>::get(v))
        .layout(Unbox<std::optional<Layout>>::get(v + 1))
        .device(Unbox<std::optional<Device>>::get(v + 2))
        .pinned_memory(Unbox<std::optional<bool>>::get(v + 3));
  }
};

template <class A>
using Bare = std::remove_cv_t<std::remove_reference_t<A>>;

template <class A>
decltype(auto) argument(IValue* v) {
  // An argument that is written to is a Tensor&: the handle on the stack itself.
  if constexpr (std::is_same<A, Tensor&>::value) {
    return v->toTensor();
  } else {
    return Unbox<Bare<A>>::get(v);
  }
}

// --- results ---

template <class T>
void push(Stack& stack, T&& value) {
  stack.emplace_back(std::forward<T>(value));
}
template <class... T>
void push(Stack& stack, std::tuple<T...>&& values) {
  std::apply([&](auto&&... v) { (push(stack, std::move(v)), ...); }, std::move(values));
}

[[noreturn]] GRADUS_API void wrong_result_count(size_t is, size_t expected);

template <class R>
struct Result {
  static R take(Stack& stack) {
    if (stack.size() != 1) wrong_result_count(stack.size(), 1);
    if constexpr (std::is_same<R, Tensor>::value) {
      return std::move(stack[0].toTensor());
    } else {
      return R(Unbox<R>::get(&stack[0]));
    }
  }
};
template <>
struct Result<void> {
  static void take(Stack&) {}
};
template <class... T>
struct Result<std::tuple<T...>> {
  static std::tuple<T...> take(Stack& stack) {
    if (stack.size() != sizeof...(T)) wrong_result_count(stack.size(), sizeof...(T));
    return take(stack, std::index_sequence_for<T...>());
  }
  template <size_t... I>
  static std::tuple<T...> take(Stack& stack, std::index_sequence<I...>) {
    return std::tuple<T...>(T(Unbox<T>::get(&stack[I]))...);
  }
};

// --- calls ---

template <class... A>
constexpr size_t slots() {
  return (size_t{0} + ... + Unbox<Bare<A>>::width);
}

/// Where argument number `n` starts on the stack.
template <class... A>
constexpr size_t offset(size_t n) {
  constexpr size_t widths[] = {Unbox<Bare<A>>::width..., 0};
  size_t at = 0;
  for (size_t i = 0; i < n; ++i) at += widths[i];
  return at;
}

template <class R, class... A, class F, size_t... I>
void invoke(F&& function, Stack& stack, std::index_sequence<I...>) {
  IValue* v = stack.data();
  (void)v;
  if constexpr (std::is_void<R>::value) {
    function(argument<A>(v + offset<A...>(I))...);
  } else {
    // The results are made before the arguments go: a result may be one of them.
    Stack results;
    push(results, function(argument<A>(v + offset<A...>(I))...));
    stack = std::move(results);
  }
}

/// After a function that returns nothing (it wrote into its arguments) the stack keeps the arguments.
template <class R, class... A>
void unbox(AnyFunction function, Stack& stack) {
  invoke<R, A...>(reinterpret_cast<R (*)(A...)>(function), stack, std::index_sequence_for<A...>());
}
template <class R, class... A>
constexpr Unboxer unboxer(R (*)(A...)) {
  return &unbox<R, A...>;
}

/// The schema's spelling of a C++ type, "Tensor?" for std::optional<Tensor>.
template <class T>
struct TypeName {
  static void append(std::vector<std::string>& names) {
    if constexpr (std::is_same<T, TensorOptions>::value) {
      for (const char* n : {"ScalarType?", "Layout?", "Device?", "bool?"}) names.emplace_back(n);
    } else {
      names.emplace_back(Unbox<T>::name);
    }
  }
};
template <class T>
struct TypeName<std::optional<T>> {
  static void append(std::vector<std::string>& names) { names.push_back(std::string(Unbox<T>::name) + "?"); }
};
template <class T>
void append_type_names(std::vector<std::string>& names) {
  if constexpr (!std::is_void<T>::value) TypeName<T>::append(names);
}
template <class T, class Tuple>
struct ResultNames {
  static void append(std::vector<std::string>& names) { append_type_names<T>(names); }
};
template <class T, class... E>
struct ResultNames<T, std::tuple<E...>> {
  static void append(std::vector<std::string>& names) { (append_type_names<E>(names), ...); }
};

/// The C++ signature as schema types.
template <class R, class... A>
void describe(std::vector<std::string>& arguments, std::vector<std::string>& results) {
  (append_type_names<Bare<A>>(arguments), ...);
  ResultNames<Bare<R>, Bare<R>>::append(results);
}

/// Throws TypeError where a C++ signature is not the schema's.
GRADUS_API void check_signature(const FunctionSchema& schema, const std::vector<std::string>& arguments,
                                const std::vector<std::string>& results);
/// The function behind an operator if `unboxer` is its own one, else nullptr.
GRADUS_API AnyFunction function_behind(const Operator* op, Unboxer unboxer);

}  // namespace boxing

/// An operator as a C++ function; made by OperatorHandle::typed.
template <class Signature>
class TypedOperator;
template <class R, class... A>
class TypedOperator<R(A...)> {
 public:
  explicit TypedOperator(const OperatorHandle& op) : op_(op) {
    std::vector<std::string> arguments, results;
    boxing::describe<R, A...>(arguments, results);
    boxing::check_signature(op.schema(), arguments, results);
    direct_ = reinterpret_cast<R (*)(A...)>(boxing::function_behind(op.entry(), &boxing::unbox<R, A...>));
  }
  R operator()(A... args) const {
    if (direct_ != nullptr) return direct_(std::forward<A>(args)...);
    Stack stack = boxing::box(args...);
    op_.call(stack);
    return boxing::Result<R>::take(stack);
  }
  R call(A... args) const { return (*this)(std::forward<A>(args)...); }

 private:
  OperatorHandle op_;
  R (*direct_)(A...) = nullptr;
};

template <class Signature>
auto OperatorHandle::typed() const {
  return TypedOperator<Signature>(*this);
}

}  // namespace v0
}  // namespace gradus
