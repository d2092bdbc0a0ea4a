// Records of elementwise operators, comparisons and activations.
#include "ops/records.h"

namespace gradus::testing {
namespace {

Record unary(const char* op, unsigned dtypes = kFloats, double low = -2, double high = 2) {
  return {op,
          [low, high](Make& m) -> Samples {
            return {{m.in({2, 3}, low, high)},
                    {m.in({}, low, high)},
                    {m.in({0, 3}, low, high)},
                    {m.in({2, 1, 3, 2}, low, high)}};
          },
          dtypes};
}
Record binary(const char* op, unsigned dtypes, double low = -2, double high = 2) {
  return {op,
          [low, high](Make& m) -> Samples {
            return {{m.in({2, 3}, low, high), m.in({2, 3}, low, high)},
                    {m.in({2, 3}, low, high), m.in({3}, low, high)},
                    {m.in({3, 1}, low, high), m.in({1, 2}, low, high)},
                    {m.in({}, low, high), m.in({2}, low, high)},
                    {m.in({0, 2}, low, high), m.in({2}, low, high)}};
          },
          dtypes};
}
// A tensor and a number.
Record scalar(const char* op, unsigned dtypes, IValue number, double low = -2, double high = 2, bool first = false) {
  return {op,
          [=](Make& m) -> Samples {
            Samples s;
            for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{2, 3}, {}, {0, 2}}) {
              const Tensor t = m.in(sizes, low, high);
              s.push_back(first ? Args{number, t} : Args{t, number});
            }
            return s;
          },
          dtypes};
}
// An activation's backward operator: gradient, then the value it is taken at, then numbers.
Record backward(const char* op, Args numbers, double low = -2, double high = 2) {
  return {op, [=](Make& m) -> Samples {
            Samples s;
            for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{2, 3}, {}, {0, 2}}) {
              Args a{m.in(sizes), m.in(sizes, low, high)};
              a.insert(a.end(), numbers.begin(), numbers.end());
              s.push_back(std::move(a));
            }
            return s;
          }};
}
Record loose(Record r) {
  r.values_by_dtype = false;
  return r;
}

}  // namespace

std::vector<Record> pointwise_records() {
  std::vector<Record> r = {
      unary("abs", kReals),
      unary("neg", kReals),
      unary("exp", kEvery),
      unary("exp2", kEvery),
      unary("log", kEvery, 0.3, 3),
      unary("log2", kEvery, 0.3, 3),
      unary("log10", kEvery, 0.3, 3),
      unary("log1p", kEvery, 0.1, 3),
      unary("expm1", kEvery),
      unary("sqrt", kEvery, 0.3, 3),
      unary("rsqrt", kEvery, 0.3, 3),
      unary("square", kReals),
      unary("reciprocal", kEvery, 1, 3),
      unary("erf", kEvery),
      unary("erfc", kEvery),
      unary("sin", kEvery),
      unary("cos", kEvery),
      unary("tan", kEvery, -1, 1),
      unary("tanh", kEvery),
      unary("sigmoid", kEvery),
      unary("sign", kEvery),
      unary("floor", kReals),
      unary("ceil", kReals),
      unary("round", kReals),
      unary("trunc", kReals),
      unary("relu", kReals),
      unary("silu"),
      unary("bitwise_not", kInts | kBools),
      binary("add.Tensor", kEvery),
      binary("sub.Tensor", kReals),
      binary("rsub.Tensor", kReals),
      binary("mul.Tensor", kEvery),
      binary("div.Tensor", kEvery, 1, 3),
      binary("pow.Tensor_Tensor", kReals, 0.5, 2),
      binary("hypot", kFloats),
      binary("maximum", kEvery),
      binary("minimum", kEvery),
      binary("floor_divide", kReals, 1, 9),
      binary("remainder.Tensor", kReals, 1, 9),
      binary("fmod.Tensor", kReals, 1, 9),
      binary("clamp_min.Tensor", kReals),
      binary("clamp_max.Tensor", kReals),
      scalar("add.Scalar", kEvery, 2),
      scalar("sub.Scalar", kReals, 2),
      scalar("rsub.Scalar", kReals, 2),
      scalar("mul.Scalar", kEvery, 3),
      scalar("div.Scalar", kEvery, 2),
      scalar("pow.Tensor_Scalar", kReals, 3),
      scalar("pow.Scalar", kReals, 2, 0.5, 2, true),
      scalar("floor_divide.Scalar", kReals, 2),
      scalar("remainder.Scalar", kReals, 2),
      scalar("fmod.Scalar", kReals, 2, 1, 9),
      scalar("remainder.Scalar_Tensor", kReals, 7, 1, 5, true),
      scalar("clamp_min", kReals, 1),
      scalar("clamp_max", kReals, 1),
      scalar("bitwise_and.Scalar", kInts, 3, 0, 9),
      scalar("bitwise_or.Scalar", kInts, 3, 0, 9),
      scalar("bitwise_xor.Scalar", kInts, 3, 0, 9),
      scalar("bitwise_and.Scalar_Tensor", kInts, 3, 0, 9, true),
      scalar("bitwise_or.Scalar_Tensor", kInts, 3, 0, 9, true),
      scalar("bitwise_xor.Scalar_Tensor", kInts, 3, 0, 9, true),
      backward("sigmoid_backward", {}, 0.1, 0.9),
      backward("tanh_backward", {}, -0.9, 0.9),
      backward("threshold_backward", {0.5}),
      backward("leaky_relu_backward", {0.2, false}),
      backward("gelu_backward", {"none"}),
      backward("silu_backward", {}),
  };
  for (const char* op : {"bitwise_and.Tensor", "bitwise_or.Tensor", "bitwise_xor.Tensor"}) {
    r.push_back(nondiff(binary(op, kInts | kBools, 0, 9)));
  }
  for (const char* op : {"eq", "ne", "lt", "le", "gt", "ge"}) {
    r.push_back(nondiff(binary((std::string(op) + ".Tensor").c_str(), kEvery)));
    r.push_back(nondiff(scalar((std::string(op) + ".Scalar").c_str(), kEvery, 1)));
  }
  for (const char* op : {"logical_and", "logical_or", "logical_xor", "isclose"})
    r.push_back(nondiff(binary(op, kEvery)));
  for (const char* op : {"logical_not", "isnan", "isinf", "isfinite"}) r.push_back(nondiff(unary(op, kEvery)));
  for (const char* op : {"equal", "allclose"}) {
    r.push_back(nondiff({op,
                         [](Make& m) -> Samples {
                           const Tensor a = m.in({2, 3});
                           return {{a, a.clone()}, {a, m.in({2, 3})}};
                         },
                         kReals}));
  }
  r.push_back({"round.decimals", [](Make& m) -> Samples { return {{m.in({2, 3}), 1}}; }});
  r.push_back({"gelu", [](Make& m) -> Samples {
                 return {{m.in({2, 3})}, {m.in({2, 3}), "tanh"}, {m.in({})}, {m.in({0})}};
               }});
  r.push_back(scalar("leaky_relu", kFloats, 0.2));
  r.push_back({"hardtanh",
               [](Make& m) -> Samples {
                 return {{m.in({2, 3})}, {m.in({2, 3}), -0.5, 0.7}};
               },
               kReals, true, false});
  r.push_back({"threshold", [](Make& m) -> Samples { return {{m.in({2, 3}), 1, 5}, {m.in({}), 1, 5}}; }, kReals});
  r.push_back({"clamp",
               [](Make& m) -> Samples {
                 return {{m.in({2, 3}), -1, 1}, {m.in({2, 3}), IValue(), 1}, {m.in({}), 0}, {m.in({0}), 0, 1}};
               },
               kReals, true, false});  // bounds wrap in unsigned types
  r.push_back({"clamp.Tensor",
               [](Make& m) -> Samples {
                 return {{m.in({2, 3}), m.in({3}, -2, -1), m.in({2, 1}, 1, 2)},
                         {m.in({2, 3}), m.in({2, 3})},
                         {m.in({2, 3}), IValue(), m.in({3})}};
               },
               kReals});
  r.push_back({"div.Tensor_mode",
               [](Make& m) -> Samples {
                 return {{m.in({2, 3}, 1, 9), m.in({3}, 1, 4), "floor"},
                         {m.in({2}, 1, 9), m.in({2}, 1, 4), "trunc"},
                         {m.in({2}, 1, 9), m.in({2}, 1, 4), IValue()}};
               },
               kReals});
  r.push_back({"div.Scalar_mode",
               [](Make& m) -> Samples {
                 return {{m.in({2, 3}, 1, 9), 2, "floor"}, {m.in({2}, 1, 9), 2, "trunc"}};
               },
               kReals});
  r.push_back({"lerp.Scalar", [](Make& m) -> Samples {
                 return {{m.in({2, 3}), m.in({3}), 0.3}, {m.in({2}), m.in({2}), 0.7}};
               }});
  r.push_back({"lerp.Tensor", [](Make& m) -> Samples { return {{m.in({2, 3}), m.in({3}), m.in({2, 1}, 0.1, 0.9)}}; }});
  for (const char* op : {"addcmul", "addcdiv"}) {
    r.push_back({op,
                 [](Make& m) -> Samples {
                   return {{m.in({2, 3}), m.in({3}), m.in({2, 1}, 1, 3)}, {m.in({2}), m.in({2}), m.in({2}, 1, 3), 3}};
                 },
                 op[3] == 'c' && op[4] == 'm' ? unsigned{kReals} : unsigned{kFloats}});
  }
  r.push_back({"where.self",
               [](Make& m) -> Samples {
                 return {{m.mask({2, 3}), m.in({2, 3}), m.in({3})},
                         {m.mask({2, 1}), m.in({}), m.in({1, 3})},
                         {m.mask({0}), m.in({0}), m.in({0})}};
               },
               kEvery});
  r.push_back(loose({"where.ScalarOther",
                     [](Make& m) -> Samples {
                       return {{m.mask({2, 3}), m.in({3}), 2}};
                     },
                     kEvery}));
  r.push_back(loose({"where.ScalarSelf", [](Make& m) -> Samples { return {{m.mask({2, 3}), 2, m.in({3})}}; }, kEvery}));
  r.push_back(nondiff({"where.Scalar", [](Make& m) -> Samples { return {{m.mask({2, 3}), 1, 2}}; }}));
  r.push_back(nondiff({"where", [](Make& m) -> Samples { return {{m.mask({2, 3})}, {m.mask({0, 2})}}; }}));
  return r;
}

}  // namespace gradus::testing
