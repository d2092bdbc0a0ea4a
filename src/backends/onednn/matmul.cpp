#include <src/backends/onednn/matmul.h>

#include <cstring>

#include <src/backends/onednn/onednn.h>

namespace gradus::inline v0::backends::onednn {

namespace {

struct Prepared {
  dnnl::matmul primitive;
  dnnl::memory::desc a, b, bias, c, scratchpad;
};

Prepared prepare(const MatmulShape& s) {
  const auto type = data_type(s.dtype);
  Prepared p;
  p.a = dnnl::memory::desc({s.m, s.k}, type, {s.a_row, s.a_column});
  p.b = dnnl::memory::desc({s.k, s.n}, type, {s.b_row, s.b_column});
  p.c = dnnl::memory::desc({s.m, s.n}, type, {s.c_row, s.c_column});
  if (s.bias) p.bias = dnnl::memory::desc({1, s.n}, type, {s.n, 1});
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
#if DNNL_VERSION_MAJOR >= 3
  const auto pd = s.bias ? dnnl::matmul::primitive_desc(engine(), p.a, p.b, p.bias, p.c, attr)
                         : dnnl::matmul::primitive_desc(engine(), p.a, p.b, p.c, attr);
#else
  const dnnl::matmul::primitive_desc pd({p.a, p.b, p.bias, p.c}, attr, engine());
#endif
  p.primitive = dnnl::matmul(pd);
  p.scratchpad = pd.scratchpad_desc();
  return p;
}

}  // namespace

bool has_matmul(ScalarType dtype) {
#if defined(__x86_64__)
  if (dtype != ScalarType::BFloat16) return false;
  static const bool fast = [] {
    const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
    const auto needed = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
    return (isa & needed) == needed;
  }();
  return fast;
#else
  (void)dtype;
  return false;
#endif
}

void matmul(const MatmulShape& shape, const void* a, const void* b, const void* bias, void* c) {
  translating_errors("matmul", [&] {
    static auto& cache = *new PrimitiveCache<Prepared>;
    const int64_t key[] = {
        shape.m,     shape.n,          shape.k,     shape.a_row,    shape.a_column,
        shape.b_row, shape.b_column,   shape.c_row, shape.c_column, static_cast<int64_t>(shape.dtype),
        shape.bias,  get_num_threads()};
    const auto p =
        cache.get(std::string_view(reinterpret_cast<const char*>(key), sizeof key), [&] { return prepare(shape); });
    const kernels::Scratch scratchpad(p->scratchpad.get_size());
    std::unordered_map<int, dnnl::memory> args{
        {DNNL_ARG_SRC, wrap(p->a, a)}, {DNNL_ARG_WEIGHTS, wrap(p->b, b)}, {DNNL_ARG_DST, wrap(p->c, c)}};
    if (shape.bias) args.emplace(DNNL_ARG_BIAS, wrap(p->bias, bias));
    if (scratchpad.nbytes()) args.emplace(DNNL_ARG_SCRATCHPAD, wrap(p->scratchpad, scratchpad.as<void>()));
    p->primitive.execute(stream(), args);
    stream().wait();
  });
}

}  // namespace gradus::inline v0::backends::onednn
