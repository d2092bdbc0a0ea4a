#include <src/backends/blas/blas.h>

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

extern char** environ;

namespace gradus::inline v0::backends::blas {

namespace {

// The Fortran interface, which every BLAS has; arrays are column-major.
template <class T>
using GemmFn = void (*)(const char* ta, const char* tb, const int* m, const int* n, const int* k, const T* alpha,
                        const T* a, const int* lda, const T* b, const int* ldb, const T* beta, T* c, const int* ldc);

struct Library {
  void* handle = nullptr;
  GemmFn<float> s = nullptr;
  GemmFn<double> d = nullptr;
  GemmFn<complex<float>> c = nullptr;
  GemmFn<complex<double>> z = nullptr;
  std::string description;

  explicit operator bool() const { return s && d && c && z; }
};

template <class Fn>
Fn find(void* handle, const char* name) {
  return reinterpret_cast<Fn>(dlsym(handle, name));
}

#if defined(__x86_64__)
#define GRADUS_BLAS_DIRECTORY "/usr/lib/x86_64-linux-gnu/openblas-openmp/"
#elif defined(__aarch64__)
#define GRADUS_BLAS_DIRECTORY "/usr/lib/aarch64-linux-gnu/openblas-openmp/"
#else
#define GRADUS_BLAS_DIRECTORY "/usr/lib/openblas-openmp/"
#endif

// The OpenMP build first: it knows when it is called from one of our threads, and then starts none of its own. The
// plain soname is the pthread build by default.
constexpr std::array<const char*, 4> kCandidates = {GRADUS_BLAS_DIRECTORY "libopenblas.so.0", "libopenblas.so.0",
                                                    "libopenblas.so", "libblas.so.3"};

std::string core_name(void* handle) {
  const auto name = find<const char* (*)()>(handle, "openblas_get_corename");
  return name ? name() : "";
}

Library open_library(const char* path) {
  Library l;
  l.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!l.handle) return l;
  l.s = find<GemmFn<float>>(l.handle, "sgemm_");
  l.d = find<GemmFn<double>>(l.handle, "dgemm_");
  l.c = find<GemmFn<complex<float>>>(l.handle, "cgemm_");
  l.z = find<GemmFn<complex<double>>>(l.handle, "zgemm_");
  l.description = path;
  if (const std::string core = core_name(l.handle); !core.empty()) l.description += " (" + core + ")";
  // 1 is the pthread build, which would serialise our threads' calls; products are split here, not there.
  const auto parallel = find<int (*)()>(l.handle, "openblas_get_parallel");
  const auto set_threads = find<void (*)(int)>(l.handle, "openblas_set_num_threads");
  if (parallel && set_threads && parallel() == 1) set_threads(1);
  return l;
}

void close_library(Library& l) {
  if (l.handle) dlclose(l.handle);
  l = Library();
}

/// The core OpenBLAS should have chosen where it took this CPU for one without its vector units, else nullptr. Releases
/// older than a CPU know neither its model nor, then, its instructions, and run it at a fifth of its speed.
const char* better_core(const std::string& chosen) {
#if defined(__x86_64__)
  if (chosen.empty()) return nullptr;
  __builtin_cpu_init();
  const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
    for (std::string_view n : names) {
      if (chosen.size() >= n.size() && strncasecmp(chosen.c_str(), n.data(), n.size()) == 0) return true;
    }
    return false;
  };
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  if (avx512 && !is_one_of({"SkylakeX", "Cooperlake", "SapphireRapids", "Zen"})) return "SKYLAKEX";
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (!avx512 && avx2 && !is_one_of({"Haswell", "Zen", "Excavator", "SkylakeX", "Cooperlake"})) return "HASWELL";
#else
  (void)chosen;
#endif
  return nullptr;
}

/// The environment with one variable more, for as long as it lives. It is a copy of the array of pointers, so another
/// thread's getenv sees a whole environment at any moment; the copy is never freed for the same reason.
class ExtraVariable {
 public:
  explicit ExtraVariable(std::string text) : text_(new std::string(std::move(text))), before_(environ) {
    auto* copy = new std::vector<char*>;
    for (char** e = environ; e && *e; ++e) copy->push_back(*e);
    copy->push_back(text_->data());
    copy->push_back(nullptr);
    mine_ = copy->data();
    environ = mine_;
  }
  ~ExtraVariable() {
    if (environ == mine_) environ = before_;
  }
  ExtraVariable(const ExtraVariable&) = delete;

 private:
  std::string* text_;
  char** before_;
  char** mine_;
};

// ---- self-test -----------------------------------------------------------------------------------------------------

template <class T>
T test_value(int i, int salt) {
  return static_cast<T>((i * 7 + salt * 3) % 11 - 5);
}
template <class T>
complex<T> test_value(int i, int salt, complex<T>) {
  return {test_value<T>(i, salt), test_value<T>(i, salt + 1)};
}
template <class T>
T test_value(int i, int salt, T) {
  return test_value<T>(i, salt);
}

/// One product of small integers, exact in every type, against plain loops.
template <class T>
bool product_is_right(GemmFn<T> gemm, char ta, char tb, int m, int n, int k) {
  const int lda = (ta == 'N' ? m : k) + 1, ldb = (tb == 'N' ? k : n) + 2, ldc = m + 3;
  std::vector<T> a(static_cast<size_t>(lda) * (ta == 'N' ? k : m)), b(static_cast<size_t>(ldb) * (tb == 'N' ? n : k));
  std::vector<T> c(static_cast<size_t>(ldc) * n), want;
  for (size_t i = 0; i < a.size(); ++i) a[i] = test_value(static_cast<int>(i), 1, T());
  for (size_t i = 0; i < b.size(); ++i) b[i] = test_value(static_cast<int>(i), 2, T());
  for (size_t i = 0; i < c.size(); ++i) c[i] = test_value(static_cast<int>(i), 3, T());
  want = c;
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) {
      T sum = T(0);
      for (int p = 0; p < k; ++p)
        sum += a[ta == 'N' ? i + p * lda : p + i * lda] * b[tb == 'N' ? p + j * ldb : j + p * ldb];
      want[i + j * ldc] = want[i + j * ldc] * T(2) + sum;
    }
  }
  const T one = T(1), two = T(2);
  gemm(&ta, &tb, &m, &n, &k, &one, a.data(), &lda, b.data(), &ldb, &two, c.data(), &ldc);
  for (size_t i = 0; i < c.size(); ++i) {
    if (!(c[i] == want[i])) return false;
  }
  return true;
}

template <class T>
bool products_are_right(GemmFn<T> gemm) {
  constexpr int kShapes[][3] = {{1, 1, 1}, {1, 7, 3}, {5, 1, 9}, {3, 5, 7}, {17, 19, 23}, {33, 31, 5}, {66, 35, 41}};
  for (const auto& s : kShapes) {
    for (char ta : {'N', 'T'}) {
      for (char tb : {'N', 'T'}) {
        if (!product_is_right<T>(gemm, ta, tb, s[0], s[1], s[2])) return false;
      }
    }
  }
  return true;
}

bool self_test(const Library& l) {
  return products_are_right(l.s) && products_are_right(l.d) && products_are_right(l.c) && products_are_right(l.z);
}

/// Opens `path`; where the library takes this CPU for an older one, opens it again with the right core, and keeps that
/// if it passes the self-test.
Library load(const char* path) {
  Library l = open_library(path);
  if (!l) {
    close_library(l);
    return l;
  }
  const char* core = getenv("OPENBLAS_CORETYPE") ? nullptr : better_core(core_name(l.handle));
  if (core) {
    close_library(l);
    {
      ExtraVariable variable(std::string("OPENBLAS_CORETYPE=") + core);
      l = open_library(path);
    }
    if (l && self_test(l)) return l;
    close_library(l);
    l = open_library(path);
  }
  if (!l || !self_test(l)) close_library(l);
  return l;
}

const Library& library() {
  // Leaked: kernels may run until the process ends.
  static const Library& instance = *[] {
    auto* l = new Library;
    for (const char* path : kCandidates) {
      *l = load(path);
      if (*l) break;
    }
    if (!*l) l->description = "none found";
    return l;
  }();
  return instance;
}

/// A row-major product is the column-major one of the transposes in the other order.
template <class T>
void call(GemmFn<T> gemm, Transpose ta, Transpose tb, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda,
          const T* b, int64_t ldb, T beta, T* c, int64_t ldc) {
  const int m32 = static_cast<int>(m), n32 = static_cast<int>(n), k32 = static_cast<int>(k);
  const int lda32 = static_cast<int>(lda), ldb32 = static_cast<int>(ldb), ldc32 = static_cast<int>(ldc);
  const char fa = static_cast<char>(ta), fb = static_cast<char>(tb);
  gemm(&fb, &fa, &n32, &m32, &k32, &alpha, b, &ldb32, a, &lda32, &beta, c, &ldc32);
}

}  // namespace

bool available() {
  return static_cast<bool>(library());
}
const char* description() {
  return library().description.c_str();
}
void* symbol(const char* name) {
  return library().handle ? dlsym(library().handle, name) : nullptr;
}

void gemm(Transpose ta, Transpose tb, int64_t m, int64_t n, int64_t k, float alpha, const float* a, int64_t lda,
          const float* b, int64_t ldb, float beta, float* c, int64_t ldc) {
  call(library().s, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
void gemm(Transpose ta, Transpose tb, int64_t m, int64_t n, int64_t k, double alpha, const double* a, int64_t lda,
          const double* b, int64_t ldb, double beta, double* c, int64_t ldc) {
  call(library().d, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
void gemm(Transpose ta, Transpose tb, int64_t m, int64_t n, int64_t k, complex<float> alpha, const complex<float>* a,
          int64_t lda, const complex<float>* b, int64_t ldb, complex<float> beta, complex<float>* c, int64_t ldc) {
  call(library().c, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
void gemm(Transpose ta, Transpose tb, int64_t m, int64_t n, int64_t k, complex<double> alpha, const complex<double>* a,
          int64_t lda, const complex<double>* b, int64_t ldb, complex<double> beta, complex<double>* c, int64_t ldc) {
  call(library().z, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

}  // namespace gradus::inline v0::backends::blas
