// Row 26 of the complaints: no input may raise a signal. Every operator is called with arguments of its schema's types
// and no sense: sizes that are zero, negative or overflow, tensors of every dtype, layout and device, undefined ones,
// NaN. What comes back must be a result or a gradus::Error; a signal or a call that takes long ends the program with
// the call's text.
//
//     GRADUS_FUZZ_CALLS=2000 GRADUS_FUZZ_SEED=7 GRADUS_FUZZ_OP=aten::cat ./fuzz_test
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gradus/gradus.h>
#include <gradus/ops/operator.h>

#if defined(__SANITIZE_ADDRESS__)
extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}
#endif

namespace {

using namespace gradus;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// The call that runs, for the signal handler.
char current_call[4096];

void on_signal(int signal) {
  const char* what = signal == SIGALRM ? "\nstill running after 20 s: " : "\na signal was raised by: ";
  ssize_t ignored = write(2, what, std::strlen(what));
  ignored += write(2, current_call, std::strlen(current_call));
  ignored += write(2, "\n", 1);
  (void)ignored;
  _exit(1);
}

long setting(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atol(text) : otherwise;
}

// Arguments without sense, the same ones for the same seed.
class Nonsense {
 public:
  explicit Nonsense(uint64_t seed) : state_(seed * 2654435761u + 1) {}

  int64_t below(int64_t n) {
    state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<int64_t>((state_ >> 33) % static_cast<uint64_t>(n));
  }
  bool one_in(int64_t n) { return below(n) == 0; }
  template <class T>
  T any_of(std::initializer_list<T> list) {
    return list.begin()[below(static_cast<int64_t>(list.size()))];
  }

  /// Chooses what the tensors of one call have in common: half of the calls are to get past the first check.
  void begin_call() {
    alike_ = !one_in(3);
    shape_ = shape();
    dtype_ = dtype();
    differentiable_ = one_in(4);
  }

  IValue value(const SchemaArgument& a) {
    if (a.has_default && one_in(3)) return a.default_value;
    if (a.type.is_optional && one_in(3)) return IValue();
    if (!a.type.is_list) return element(a);
    const int64_t n = a.type.size && !one_in(4) ? a.type.size : below(5);
    switch (a.type.base) {
      case SchemaType::Base::Tensor: {
        if (a.type.optional_element) {
          IValue::OptionalTensors list;
          for (int64_t i = 0; i < n; ++i) list.push_back(one_in(3) ? std::nullopt : std::optional<Tensor>(index()));
          return list;
        }
        std::vector<Tensor> list;
        for (int64_t i = 0; i < n; ++i) list.push_back(tensor());
        return list;
      }
      case SchemaType::Base::Float: {
        std::vector<double> list;
        for (int64_t i = 0; i < n; ++i) list.push_back(number());
        return list;
      }
      case SchemaType::Base::Bool: {
        std::vector<bool> list;
        for (int64_t i = 0; i < n; ++i) list.push_back(one_in(2));
        return list;
      }
      case SchemaType::Base::Scalar: {
        std::vector<Scalar> list;
        for (int64_t i = 0; i < n; ++i) list.emplace_back(number());
        return list;
      }
      default: {
        std::vector<int64_t> list;
        for (int64_t i = 0; i < n; ++i) list.push_back(integer());
        return list;
      }
    }
  }

 private:
  IValue element(const SchemaArgument& a) {
    switch (a.type.base) {
      case SchemaType::Base::Tensor:
        return a.name.find("ind") != std::string::npos || a.name == "target" ? index() : tensor();
      case SchemaType::Base::Scalar:
        return one_in(3)   ? IValue(integer())
               : one_in(8) ? IValue(complex<double>(number(), 1))
               : one_in(8) ? IValue(true)
                           : IValue(number());
      case SchemaType::Base::Int:
        return integer();
      case SchemaType::Base::Float:
        return number();
      case SchemaType::Base::Bool:
        return one_in(2);
      case SchemaType::Base::String:
        return any_of(
            {"mean", "sum", "none", "add", "multiply", "floor", "trunc", "tanh", "left", "constant", "", "x"});
      case SchemaType::Base::ScalarType:
        return one_in(10) ? any_of<int64_t>({-1, 99, 25}) : static_cast<int64_t>(dtype());
      case SchemaType::Base::Layout:
        return below(3);
      case SchemaType::Base::MemoryFormat:
        return one_in(10) ? 9 : below(4);
      case SchemaType::Base::Device:
        return one_in(8) ? Device("cuda:0") : one_in(4) ? Device(kMeta) : Device(kCPU);
      case SchemaType::Base::Generator:
        return IValue();
    }
    return IValue();
  }

  int64_t integer() {
    using Limits = std::numeric_limits<int64_t>;
    if (!one_in(12)) return below(8) - 3;
    return any_of<int64_t>({Limits::min(), Limits::max(), Limits::min() + 1, int64_t{1} << 62,
                            int64_t{1} << (kSanitized ? 62 : 31), -(int64_t{1} << 40),
                            int64_t{1} << (kSanitized ? 62 : 36), 100});
  }
  double number() {
    if (!one_in(8)) return static_cast<double>(below(9) - 4) * 0.5;
    return any_of(
        {double(NAN), double(INFINITY), -double(INFINITY), 1e300, -1e300, 1e-320, kSanitized ? 3e18 : 3e9, -0.0});
  }
  ScalarType dtype() {
    return one_in(2)
               ? any_of({kFloat, kDouble})
               : any_of({kHalf, kBFloat16, kComplexFloat, kComplexDouble, kByte, kChar, kShort, kInt, kLong, kBool});
  }
  std::vector<int64_t> shape() {
    std::vector<int64_t> sizes(static_cast<size_t>(below(6)));
    for (int64_t& n : sizes) n = one_in(10) ? 0 : 1 + below(5);
    return sizes;
  }
  Tensor index() {
    if (one_in(5)) return tensor();
    Tensor t = zeros(alike_ && one_in(2) ? shape_ : shape(), one_in(6) ? kInt : kLong);
    const bool wild = one_in(4);
    for (int64_t i = 0; i < t.numel(); ++i) {
      // As a tensor: what the type cannot hold wraps instead of being refused.
      t.view({-1})[i].fill_(full({}, wild ? integer() : below(2), kLong));
    }
    return t;
  }
  Tensor tensor() {
    if (one_in(40)) return Tensor();
    const std::vector<int64_t> sizes = alike_ && !one_in(8) ? shape_ : shape();
    const ScalarType type = alike_ && !one_in(8) ? dtype_ : dtype();
    if (one_in(25)) return empty(sizes, TensorOptions(type).device(kMeta));
    Tensor t = full(sizes, 1.5, kDouble);
    double* data = t.data_ptr<double>();
    for (int64_t i = 0; i < t.numel(); ++i) data[i] = one_in(30) ? number() : static_cast<double>(below(7) - 2);
    t = t.to(type);
    const int64_t n = t.dim();
    if (n > 1 && one_in(4)) t = t.transpose(0, n - 1).contiguous().transpose(0, n - 1);
    if (n > 0 && t.size(0) > 0 && one_in(10)) t = t.narrow(0, 0, 1).expand(sizes);
    if (n > 0 && one_in(10)) t = cat({t, t}, n - 1).narrow(n - 1, 0, t.size(n - 1));
    if (n == 4 && one_in(4)) t = t.contiguous(MemoryFormat::ChannelsLast);
    if (differentiable_ && isFloatingType(type)) t.set_requires_grad(true);
    return t;
  }

  uint64_t state_;
  bool alike_ = false, differentiable_ = false;
  std::vector<int64_t> shape_;
  ScalarType dtype_ = kFloat;
};

void describe(const OperatorHandle& op, long call, const std::vector<IValue>& arguments) {
  std::string text = op.full_name() + " (call " + std::to_string(call) + ")";
  for (size_t i = 0; i < arguments.size(); ++i) {
    text += ", " + op.schema().arguments[i].name + " = " + arguments[i].str();
    if (!arguments[i].isTensor() || !arguments[i].toTensor().defined()) continue;
    const Tensor& t = arguments[i].toTensor();
    text += str(" strides ", t.strides(), t.device().is_meta() ? " meta" : "", t.requires_grad() ? " grad" : "");
  }
  std::snprintf(current_call, sizeof current_call, "%s", text.c_str());
}

// Results of reasonable size are differentiated, so that gradients meet the same nonsense.
void differentiate(const std::vector<IValue>& results) {
  for (const IValue& r : results) {
    if (!r.isTensor() || !r.toTensor().defined() || !r.toTensor().requires_grad()) continue;
    const Tensor& t = r.toTensor();
    if (t.device().is_meta() || t.numel() > 100000) continue;
    t.backward(ones_like(t));
    return;
  }
}

// What the children tell the parent.
struct Tally {
  long returned, refused;
};

// Runs in a child of the test: the exit status is 0 where all was well.
int fuzz(const OperatorHandle& op, Tally& tally) {
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM}) std::signal(signal, on_signal);
  if (!kSanitized) {
    rlimit limit{};
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = rlim_t{3} << 30;  // what asks for more gets OutOfMemoryError instead of the machine's memory
    setrlimit(RLIMIT_AS, &limit);
  }
  set_num_threads(2);
  set_warning_handler([](const std::string&) {});
  const long calls = setting("GRADUS_FUZZ_CALLS", kSanitized ? 20 : 60);
  // A stream for each operator: a new one does not change what the others get.
  Nonsense nonsense(std::hash<std::string>()(op.full_name()) + static_cast<uint64_t>(setting("GRADUS_FUZZ_SEED", 1)));
  for (long call = 0; call < calls; ++call) {
    std::vector<IValue> arguments;
    nonsense.begin_call();
    for (const SchemaArgument& a : op.schema().arguments) arguments.push_back(nonsense.value(a));
    describe(op, call, arguments);
    alarm(20);
    try {
      differentiate(gradus::call(op, std::move(arguments)));
      ++tally.returned;
    } catch (const Error&) {
      ++tally.refused;
    } catch (const std::exception& e) {
      std::fprintf(stderr, "\nanother library's exception, %s, from: %s\n", e.what(), current_call);
      return 1;
    }
    alarm(0);
  }
  return 0;
}

TEST(Fuzz, NoOperatorRaisesASignal) {
  const char* only = std::getenv("GRADUS_FUZZ_OP");
  void* shared = mmap(nullptr, sizeof(Tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto* tally = new (shared) Tally{0, 0};
  for (const OperatorHandle& op : all_operators()) {
    if (only && op.full_name().find(only) == std::string::npos) continue;
    std::fflush(nullptr);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) _exit(fuzz(op, *tally));
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << op.full_name();
  }
  std::printf("%ld calls returned, %ld were refused\n", tally->returned, tally->refused);
  EXPECT_GT(tally->returned, 0);
}

}  // namespace
