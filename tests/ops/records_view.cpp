// Records of views, copies, factories and indexing.
#include "ops/records.h"

namespace gradus::testing {
namespace {

Record of(const char* op, std::function<Samples(Make&)> samples, unsigned dtypes = kEvery) {
  return {op, std::move(samples), dtypes};
}
Record unset(Record r) {
  r.gradient = false;
  r.values = false;
  return r;
}
// Without arguments but the first tensor.
Record plain(const char* op) {
  return of(op, [](Make& m) -> Samples { return {{m.in({2, 3})}, {m.in({})}, {m.in({0, 2})}}; });
}

Tensor floats_of_double() {
  return empty({1}, kDouble);
}

std::vector<Record> views() {
  return {
      of("view",
         [](Make& m) -> Samples {
           return {{m.dense({2, 3}), Ints{3, 2}}, {m.dense({4}), Ints{2, -1}}};
         }),
      of("reshape",
         [](Make& m) -> Samples {
           return {
               {m.in({2, 3}), Ints{3, 2}}, {m.in({2, 3}), Ints{-1}}, {m.in({}), Ints{1}}, {m.in({0, 2}), Ints{2, 0}}};
         }),
      of("view_as",
         [](Make& m) -> Samples {
           return {{m.dense({2, 3}), m.other({6})}};
         }),
      of("reshape_as",
         [](Make& m) -> Samples {
           return {{m.in({2, 3}), m.other({3, 2})}};
         }),
      of("permute",
         [](Make& m) -> Samples {
           return {{m.in({2, 3, 4}), Ints{2, 0, 1}}, {m.in({2, 3}), Ints{-1, 0}}};
         }),
      of("transpose.int",
         [](Make& m) -> Samples {
           return {{m.in({2, 3}), 0, 1}, {m.in({2, 3, 4}), 0, -1}};
         }),
      of("swapaxes",
         [](Make& m) -> Samples {
           return {{m.in({2, 3}), 0, 1}};
         }),
      of("t",
         [](Make& m) -> Samples {
           return {{m.in({2, 3})}, {m.in({3})}, {m.in({})}};
         }),
      plain("numpy_T"),
      plain("alias"),
      plain("ravel"),
      plain("squeeze"),
      unchecked(plain("detach"), "its result is a constant"),
      of("mT",
         [](Make& m) -> Samples {
           return {{m.in({2, 3})}, {m.in({2, 3, 4})}};
         }),
      of("expand",
         [](Make& m) -> Samples {
           return {{m.in({3}), Ints{2, 3}}, {m.in({2, 1}), Ints{-1, 4}}, {m.in({}), Ints{2}}};
         }),
      of("expand_as",
         [](Make& m) -> Samples {
           return {{m.in({3}), m.other({2, 3})}};
         }),
      of("broadcast_to",
         [](Make& m) -> Samples {
           return {{m.in({3}), Ints{2, 3}}};
         }),
      of("squeeze.dim",
         [](Make& m) -> Samples {
           return {{m.in({2, 1, 3}), 1}, {m.in({2, 3}), 0}};
         }),
      of("squeeze.dims",
         [](Make& m) -> Samples {
           return {{m.in({1, 2, 1}), Ints{0, 2}}};
         }),
      of("unsqueeze",
         [](Make& m) -> Samples {
           return {{m.in({2, 3}), 1}, {m.in({}), 0}, {m.in({2}), -1}};
         }),
      of("flatten.using_ints",
         [](Make& m) -> Samples {
           return {{m.in({2, 3, 2}), 1}, {m.in({})}, {m.in({2, 3, 2}), 0, 1}};
         }),
      of("unflatten.int",
         [](Make& m) -> Samples {
           return {{m.in({2, 6}), 1, Ints{2, 3}}};
         }),
      of("select.int",
         [](Make& m) -> Samples {
           return {{m.in({2, 3}), 0, 1}, {m.in({2, 3}), -1, -2}};
         }),
      of("slice.Tensor",
         [](Make& m) -> Samples {
           return {{m.in({5, 2}), 0, 1, 4, 2}, {m.in({2, 3}), 1, 1}, {m.in({3}), 0, -2, 100}, {m.in({3}), 0, 3, 1}};
         }),
      of("narrow",
         [](Make& m) -> Samples {
           return {{m.in({5, 2}), 0, 1, 3}};
         }),
      of("split.Tensor",
         [](Make& m) -> Samples {
           return {{m.in({5, 2}), 2}, {m.in({2, 3}), 1, 1}};
         }),
      of("split.sizes",
         [](Make& m) -> Samples {
           return {{m.in({5, 2}), Ints{2, 3}}};
         }),
      of("split_with_sizes",
         [](Make& m) -> Samples {
           return {{m.in({5, 2}), Ints{1, 4}}};
         }),
      of("chunk",
         [](Make& m) -> Samples {
           return {{m.in({5, 2}), 2}, {m.in({2, 3}), 3, 1}};
         }),
      of("tensor_split.sections",
         [](Make& m) -> Samples {
           return {{m.in({5, 2}), 2}, {m.in({2, 3}), 4, 1}};
         }),
      of("tensor_split.indices",
         [](Make& m) -> Samples {
           return {{m.in({5, 2}), Ints{1, 3}}, {m.in({2, 4}), Ints{-1, 9}, 1}, {m.in({3}), Ints{}}};
         }),
      of("tensor_split.tensor_indices_or_sections",
         [](Make& m) -> Samples {
           return {{m.in({5, 2}), full({}, 2, kLong)}, {m.in({5, 2}), full({1}, 3, kLong)}};
         }),
      of("unbind.int",
         [](Make& m) -> Samples {
           return {{m.in({2, 3})}, {m.in({2, 3}), 1}};
         }),
      of("flip",
         [](Make& m) -> Samples {
           return {
               {m.in({2, 3}), Ints{1}}, {m.in({2, 3, 2}), Ints{0, -1}}, {m.in({0, 2}), Ints{0}}, {m.in({}), Ints{}}};
         }),
      of("roll",
         [](Make& m) -> Samples {
           return {{m.in({2, 3}), Ints{1}}, {m.in({2, 3}), Ints{1, -2}, Ints{0, 1}}};
         }),
      of("repeat",
         [](Make& m) -> Samples {
           return {{m.in({2, 3}), Ints{2, 1, 2}}, {m.in({}), Ints{3}}, {m.in({2}), Ints{0}}};
         }),
      of("movedim.int",
         [](Make& m) -> Samples {
           return {{m.in({2, 3, 4}), 0, 2}};
         }),
      of("movedim.intlist",
         [](Make& m) -> Samples {
           return {{m.in({2, 3, 4}), Ints{0, 1}, Ints{2, 0}}};
         }),
      of("diagonal",
         [](Make& m) -> Samples {
           return {{m.in({3, 3})}, {m.in({3, 4}), 1}};
         }),
      of("unfold",
         [](Make& m) -> Samples {
           return {{m.in({6}), 0, 3, 2}};
         }),
      of("as_strided",
         [](Make& m) -> Samples {
           return {{m.dense({6}), Ints{2, 2}, Ints{3, 1}, 1}};
         }),
      of("select_backward",
         [](Make& m) -> Samples {
           return {{m.in({3}), Ints{2, 3}, 0, 1}};
         }),
      of("slice_backward",
         [](Make& m) -> Samples {
           return {{m.in({2, 2}), Ints{5, 2}, 0, 1, 4, 2}};
         }),
      of("transpose_",
         [](Make& m) -> Samples {
           return {{m.in({2, 3}), 0, 1}};
         }),
      of("t_",
         [](Make& m) -> Samples {
           return {{m.in({2, 3})}};
         }),
      of("squeeze_",
         [](Make& m) -> Samples {
           return {{m.in({2, 1})}};
         }),
      of("squeeze_.dim",
         [](Make& m) -> Samples {
           return {{m.in({2, 1}), 1}};
         }),
      of("squeeze_.dims",
         [](Make& m) -> Samples {
           return {{m.in({2, 1, 1}), Ints{1, 2}}};
         }),
      of("unsqueeze_",
         [](Make& m) -> Samples {
           return {{m.in({2, 3}), 1}};
         }),
      (of("as_strided_",
          [](Make& m) -> Samples {
            return {{m.dense({6}), Ints{2, 2}, Ints{3, 1}, 1}};
          })),
      unchecked(of("detach_",
                   [](Make& m) -> Samples {
                     return {{m.in({2, 3})}};
                   }),
                "its result is a constant"),
  };
}

std::vector<Record> copies() {
  return {
      plain("clone"),
      plain("contiguous"),
      of("copy_",
         [](Make& m) -> Samples {
           return {{m.in({2, 3}), m.in({3})}, {m.in({2, 3}), m.in({2, 3})}};
         }),
      (of("zero_",
          [](Make& m) -> Samples {
            return {{m.in({2, 3})}};
          })),
      of("fill.Scalar",
         [](Make& m) -> Samples {
           return {{m.in({2, 3}), 1}, {m.in({}), 1}, {m.in({0}), 1}};
         }),
      of("fill.Tensor",
         [](Make& m) -> Samples {
           return {{m.in({2, 3}), m.in({})}};
         }),
      of("to.dtype",
         [](Make& m) -> Samples {
           return {{m.in({2, 3}), kDouble}, {m.in({2, 3}), kDouble, false, true}};
         }),
      of("to.device",
         [](Make& m) -> Samples {
           return {{m.in({2, 3}), Device(kCPU), kDouble}};
         }),
      of("_to_copy",
         [](Make& m) -> Samples {
           return {{m.in({2, 3}), kDouble}};
         }),
      of("to.dtype_layout",
         [](Make& m) -> Samples {
           return {{m.in({2, 3}), kDouble}};
         }),
      of("to.other",
         [](Make& m) -> Samples {
           return {{m.in({2, 3}), floats_of_double()}};
         }),
      of("type_as",
         [](Make& m) -> Samples {
           return {{m.in({2, 3}), floats_of_double()}};
         }),
      unchecked(of("item",
                   [](Make& m) -> Samples {
                     return {{m.in({1})}, {m.in({})}};
                   }),
                "its result is a number"),
  };
}

std::vector<Record> factories() {
  // The dtype under test as the options' first value.
  const auto sized = [](Make& m) -> Samples {
    return {{Ints{2, 3}, m.dtype()}, {Ints{}, m.dtype()}, {Ints{0, 2}, m.dtype()}};
  };
  const auto like = [](Make& m) -> Samples { return {{m.other({2, 3})}, {m.other({2, 3}), m.dtype()}}; };
  const auto from = [](Make& m) -> Samples { return {{m.other({2}), Ints{2, 3}}}; };
  return {
      unset(of("empty.memory_format", sized)),
      unset(of("empty_like", like)),
      unset(of("new_empty", from)),
      unset(of("empty_strided",
               [](Make& m) -> Samples {
                 return {{Ints{2, 3}, Ints{1, 2}, m.dtype()}};
               })),
      unset(of("new_empty_strided",
               [](Make& m) -> Samples {
                 return {{m.other({2}), Ints{2, 3}, Ints{1, 2}}};
               })),
      nondiff(of("zeros", sized)),
      nondiff(of("ones", sized)),
      nondiff(of("zeros_like", like)),
      nondiff(of("ones_like", like)),
      nondiff(of("new_zeros", from)),
      nondiff(of("new_ones", from)),
      nondiff(of("full",
                 [](Make& m) -> Samples {
                   return {{Ints{2, 3}, 1, m.dtype()}, {Ints{}, 1, m.dtype()}};
                 })),
      nondiff(of("full_like",
                 [](Make& m) -> Samples {
                   return {{m.other({2, 3}), 1}};
                 })),
      nondiff(of("new_full",
                 [](Make& m) -> Samples {
                   return {{m.other({2}), Ints{2, 3}, 1}};
                 })),
      nondiff(of("scalar_tensor",
                 [](Make& m) -> Samples {
                   return {{1, m.dtype()}};
                 })),
      nondiff(of(
          "arange",
          [](Make& m) -> Samples {
            return {{5, m.dtype()}, {0, m.dtype()}};
          },
          kReals)),
      nondiff(of(
          "arange.start",
          [](Make& m) -> Samples {
            return {{1, 5, m.dtype()}};
          },
          kReals)),
      nondiff(of(
          "arange.start_step",
          [](Make& m) -> Samples {
            return {{1, 8, 3, m.dtype()}};
          },
          kReals)),
      nondiff(of(
          "linspace",
          [](Make& m) -> Samples {
            return {{0, 8, 5, m.dtype()}, {1, 2, 1, m.dtype()}, {1, 2, 0, m.dtype()}};
          },
          kReals)),
      nondiff(of("eye",
                 [](Make& m) -> Samples {
                   return {{3, m.dtype()}, {0, m.dtype()}};
                 })),
      nondiff(of("eye.m",
                 [](Make& m) -> Samples {
                   return {{2, 3, m.dtype()}};
                 })),
      nondiff(of(
          "one_hot",
          [](Make& m) -> Samples {
            return {{m.index({3}, 4), 4}, {m.index({2, 3}, 4)}};
          },
          kFloats)),
      of("tril",
         [](Make& m) -> Samples {
           return {{m.in({3, 4})}, {m.in({2, 3, 3}), 1}};
         }),
      of("triu",
         [](Make& m) -> Samples {
           return {{m.in({3, 4})}, {m.in({2, 3, 3}), -1}};
         }),
  };
}

Record joined(const char* op) {
  return of(op, [](Make& m) -> Samples {
    return {{std::vector<Tensor>{m.in({2, 3}), m.in({1, 3})}},
            {std::vector<Tensor>{m.in({2, 1}), m.in({2, 3})}, -1},
            {std::vector<Tensor>{m.in({0}), m.in({2, 3})}}};
  });
}

std::vector<Record> indexing() {
  using Optional = IValue::OptionalTensors;
  return {
      of("index.Tensor",
         [](Make& m) -> Samples {
           return {{m.in({3, 4}), Optional{m.index({2}, 3)}},
                   {m.in({3, 4}), Optional{std::nullopt, m.index({2, 2}, 4)}},
                   {m.in({3, 4}), Optional{m.mask({3})}},
                   {m.in({3, 4}), Optional{m.index({2}, 3), m.index({2}, 4)}}};
         }),
      of(
          "index_put",
          [](Make& m) -> Samples {
            return {{m.in({3, 4}), Optional{m.index({1}, 3)}, m.in({4})},
                    {m.in({3, 4}), Optional{m.index({3}, 3)}, m.in({3, 4}), true}};
          },
          kReals),
      of("index_select",
         [](Make& m) -> Samples {
           return {{m.in({3, 4}), 1, m.index({5}, 4)}, {m.in({3, 4}), 0, m.index({0}, 3)}};
         }),
      of(
          "index_add",
          [](Make& m) -> Samples {
            return {{m.in({3, 4}), 0, m.index({5}, 3), m.in({5, 4})}};
          },
          kReals),
      of("index_copy",
         [](Make& m) -> Samples {
           return {{m.in({3, 4}), 0, m.index({1}, 3), m.in({1, 4})}};
         }),
      of("index_fill.int_Scalar",
         [](Make& m) -> Samples {
           return {{m.in({3, 4}), 0, m.index({2}, 3), 1}};
         }),
      of("index_fill.int_Tensor",
         [](Make& m) -> Samples {
           return {{m.in({3, 4}), 0, m.index({2}, 3), m.in({})}};
         }),
      of("gather",
         [](Make& m) -> Samples {
           return {{m.in({3, 4}), 1, m.index({3, 2}, 4)}, {m.in({3, 4}), 0, m.index({2, 4}, 3)}};
         }),
      of(
          "scatter_add",
          [](Make& m) -> Samples {
            return {{m.in({3, 4}), 1, m.index({3, 2}, 4), m.in({3, 2})}};
          },
          kReals),
      of("scatter.src",
         [](Make& m) -> Samples {
           return {{m.in({3, 4}), 1, m.index({3, 1}, 4), m.in({3, 1})}};
         }),
      of("scatter.value",
         [](Make& m) -> Samples {
           return {{m.in({3, 4}), 1, m.index({3, 2}, 4), 1}};
         }),
      of(
          "scatter.reduce",  // multiplying by a tensor has no gradient, as in PyTorch
          [](Make& m) -> Samples {
            return {{m.in({3, 4}), 1, m.index({3, 1}, 4), m.in({3, 1}), "add"},
                    {m.in({3, 4}), 0, m.index({4, 3}, 3), m.in({5, 4}), "add"}};
          },
          kReals),
      of(
          "scatter.value_reduce",
          [](Make& m) -> Samples {
            return {{m.in({3, 4}), 1, m.index({3, 1}, 4), 2, "multiply"},
                    {m.in({3, 4}), 0, m.index({4, 3}, 3), 3, "multiply"},
                    {m.in({3, 4}), 0, m.index({4, 3}, 3), 2, "add"}};
          },
          kReals),
      of("masked_fill.Scalar",
         [](Make& m) -> Samples {
           return {{m.in({2, 3}), m.mask({3}), 1}, {m.in({0}), m.mask({0}), 1}};
         }),
      of("masked_fill.Tensor",
         [](Make& m) -> Samples {
           return {{m.in({2, 3}), m.mask({2, 3}), m.in({})}};
         }),
      of("masked_select",
         [](Make& m) -> Samples {
           return {{m.in({2, 3}), m.mask({3})}};
         }),
      of("take",
         [](Make& m) -> Samples {
           return {{m.in({3, 4}), m.index({2, 2}, 12)}};
         }),
      nondiff(of("nonzero",
                 [](Make& m) -> Samples {
                   return {{m.in({2, 3})}, {m.in({0, 2})}};
                 })),
      nondiff(of("nonzero_numpy",
                 [](Make& m) -> Samples {
                   return {{m.in({2, 3})}};
                 })),
      joined("cat"),
      of("stack",
         [](Make& m) -> Samples {
           return {{std::vector<Tensor>{m.in({2, 3}), m.in({2, 3})}}, {std::vector<Tensor>{m.in({2}), m.in({2})}, -1}};
         }),
      joined("concat"),
      joined("concatenate"),
      of("hstack",
         [](Make& m) -> Samples {
           return {{std::vector<Tensor>{m.in({2, 3}), m.in({2, 1})}},
                   {std::vector<Tensor>{m.in({2}), m.in({3})}},
                   {std::vector<Tensor>{m.in({}), m.in({2})}}};
         }),
      of("vstack",
         [](Make& m) -> Samples {
           return {{std::vector<Tensor>{m.in({2, 3}), m.in({1, 3})}},
                   {std::vector<Tensor>{m.in({3}), m.in({2, 3})}},
                   {std::vector<Tensor>{m.in({}), m.in({})}}};
         }),
      of(
          "embedding",
          [](Make& m) -> Samples {
            return {{m.in({5, 3}), m.index({2, 2}, 5)}, {m.in({5, 3}), m.index({4}, 5)}};
          },
          kFloats),
      of(
          "embedding_dense_backward",
          [](Make& m) -> Samples {
            return {{m.in({2, 3}), m.index({2}, 5), 5, -1, false}};
          },
          kFloats),
      of(
          "sort",
          [](Make& m) -> Samples {
            return {{m.in({2, 5})}, {m.in({2, 5}), 0, true}};
          },
          kReals),
      of(
          "sort.stable",
          [](Make& m) -> Samples {
            return {{m.in({2, 5}), true}};
          },
          kReals),
      nondiff(of(
          "argsort",
          [](Make& m) -> Samples {
            return {{m.in({2, 5})}};
          },
          kFloats)),
      nondiff(of(
          "argsort.stable",
          [](Make& m) -> Samples {
            return {{m.in({2, 5}), true}};
          },
          kFloats)),
      of(
          "topk",
          [](Make& m) -> Samples {
            return {{m.in({2, 5}), 2}, {m.in({2, 5}), 1, 0, false}};
          },
          kFloats),
  };
}

}  // namespace

std::vector<Record> view_records() {
  std::vector<Record> all;
  for (auto* part : {&views, &copies, &factories, &indexing}) {
    for (Record& r : part()) all.push_back(std::move(r));
  }
  return all;
}

}  // namespace gradus::testing
