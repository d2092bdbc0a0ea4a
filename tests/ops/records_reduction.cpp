// Records of reductions, softmax and running sums.
#include "ops/records.h"

namespace gradus::testing {
namespace {

Record whole(const char* op, unsigned dtypes, double low = -2, double high = 2) {
  return {op,
          [=](Make& m) -> Samples {
            return {{m.in({2, 3}, low, high)}, {m.in({}, low, high)}, {m.in({4, 1, 3}, low, high)}};
          },
          dtypes};
}
Record over_dims(const char* op, unsigned dtypes, double low = -2, double high = 2) {
  return {op,
          [=](Make& m) -> Samples {
            return {{m.in({2, 3}, low, high), Ints{1}},
                    {m.in({2, 3, 2}, low, high), Ints{0, -1}},
                    {m.in({2, 3}, low, high), Ints{0}, true},
                    {m.in({4}, low, high), Ints{0}}};
          },
          dtypes};
}
Record over_dim(const char* op, unsigned dtypes, double low = -2, double high = 2) {
  return {op,
          [=](Make& m) -> Samples {
            return {{m.in({2, 3}, low, high), 1},
                    {m.in({2, 3, 2}, low, high), 0},
                    {m.in({2, 3}, low, high), -1, true},
                    {m.in({}, low, high), 0}};
          },
          dtypes};
}
// A record with further samples.
Record also(Record r, std::function<Samples(Make&)> more) {
  r.samples = [first = r.samples, more](Make& m) {
    Samples all = first(m);
    for (Args& a : more(m)) all.push_back(std::move(a));
    return all;
  };
  return r;
}
Record grows(Record r, double growth) {
  r.growth = growth;
  return r;
}

}  // namespace

std::vector<Record> reduction_records() {
  const auto correction = [](Make& m) -> Samples {
    return {{m.in({2, 3})}, {m.in({2, 3}), Ints{1}}, {m.in({2, 3}), Ints{1}, 0}, {m.in({2, 4}), Ints{0, 1}, 2, true}};
  };
  const auto unbiased = [](Make& m) -> Samples { return {{m.in({2, 3})}, {m.in({5}), false}}; };
  const auto var_dims = [](Make& m) -> Samples {
    return {{m.in({2, 3}), Ints{1}}, {m.in({2, 3}), Ints{0}, false, true}};
  };
  const auto p_dims = [](Make& m) -> Samples {
    return {{m.in({2, 3}), 2, Ints{1}}, {m.in({2, 3}), 1, Ints{0}, true}, {m.in({2, 3}), 3, Ints{0, 1}}};
  };
  std::vector<Record> r = {
      whole("sum", kEvery),
      over_dims("sum.dim_IntList", kEvery),
      whole("mean", kFloats),
      over_dims("mean.dim", kFloats),
      also(whole("prod", kReals, 0.5, 2),
           [](Make& m) -> Samples {
             return {{m.with_zeros({5}, {2}, 0.5, 2)},
                     {m.with_zeros({2, 3}, {1, 4}, 0.5, 2)},
                     {m.with_zeros({2, 2}, {0, 1, 3}, 0.5, 2)}};
           }),
      also(over_dim("prod.dim_int", kReals, 0.5, 2),
           [](Make& m) -> Samples {
             return {{m.with_zeros({4, 3}, {0, 4, 7}, 0.5, 2), 0},
                     {m.with_zeros({2, 5, 2}, {3, 7}, 0.5, 2), 1, true},
                     {m.with_zeros({3}, {0, 1, 2}, 0.5, 2), 0}};
           }),
      over_dims("amin", kReals),
      over_dims("amax", kReals),
      whole("min", kReals),
      whole("max", kReals),
      over_dim("min.dim", kReals),
      over_dim("max.dim", kReals),
      nondiff(over_dim("argmin", kReals)),
      nondiff(over_dim("argmax", kReals)),
      nondiff(whole("any", kEvery)),
      nondiff(whole("all", kEvery)),
      nondiff(over_dim("any.dim", kEvery)),
      nondiff(over_dim("all.dim", kEvery)),
      nondiff(over_dims("any.dims", kEvery)),
      nondiff(over_dims("all.dims", kEvery)),
      over_dims("logsumexp", kFloats),
      nondiff(whole("count_nonzero", kEvery)),
      grows({"var", unbiased}, 64),
      grows({"std", unbiased}, 64),
      grows({"var_mean", unbiased}, 64),
      grows({"std_mean", unbiased}, 64),
      grows({"var.dim", var_dims}, 64),
      grows({"std.dim", var_dims}, 64),
      grows({"var_mean.dim", var_dims}, 64),
      grows({"std_mean.dim", var_dims}, 64),
      grows({"var.correction", correction}, 64),
      grows({"std.correction", correction}, 64),
      grows({"var_mean.correction", correction}, 64),
      grows({"std_mean.correction", correction}, 64),
      {"norm.Scalar",
       [](Make& m) -> Samples {
         return {{m.in({2, 3})}, {m.in({4}), 1}, {m.in({4}), 3}};
       }},
      {"norm.ScalarOpt_dim", p_dims},
      {"linalg_vector_norm", p_dims},
  };
  for (const char* op : {"min.other", "max.other"}) {
    r.push_back({op, [](Make& m) -> Samples { return {{m.in({2, 3}), m.in({3})}, {m.in({}), m.in({2})}}; }, kReals});
  }
  for (const char* op : {"softmax.int", "log_softmax.int"}) {
    r.push_back(
        {op, [](Make& m) -> Samples {
           return {{m.in({2, 3}), 1}, {m.in({2, 3, 2}), 0}, {m.in({2, 3, 2}), 1}, {m.in({}), 0}, {m.in({0, 2}), 1}};
         }});
  }
  r.push_back({"cumsum",
               [](Make& m) -> Samples {
                 return {{m.in({2, 3}), 1}, {m.in({2, 3}), 0}, {m.in({}), 0}, {m.in({0, 2}), 1}};
               },
               kReals});
  r.push_back({"sum_to_size",
               [](Make& m) -> Samples {
                 return {{m.in({2, 3}), Ints{1, 3}}, {m.in({2, 3}), Ints{3}}, {m.in({2, 3}), Ints{}}};
               },
               kReals});
  r.push_back(nondiff({"count_nonzero.dim_IntList",
                       [](Make& m) -> Samples {
                         return {{m.in({2, 3}), Ints{1}}, {m.in({2, 3}), Ints{0, 1}}};
                       },
                       kEvery}));
  r.push_back({"norm.ScalarOpt_dtype", [](Make& m) -> Samples { return {{m.in({2, 3}), 2, kDouble}}; }});
  r.push_back({"norm.ScalarOpt_dim_dtype", [](Make& m) -> Samples {
                 return {{m.in({2, 3}), 2, Ints{1}, false, kDouble}};
               }});
  r.push_back({"value_selecting_reduction_backward", [](Make& m) -> Samples {
                 return {{m.in({2}), 1, m.index({2}, 3), Ints{2, 3}, false},
                         {m.in({2, 1}), 1, m.index({2, 1}, 3), Ints{2, 3}, true}};
               }});
  return r;
}

}  // namespace gradus::testing
