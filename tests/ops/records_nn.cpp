// Records of matrix products, layers and losses.
#include "ops/records.h"

namespace gradus::testing {
namespace {

Record of(const char* op, std::function<Samples(Make&)> samples, unsigned dtypes = kFloats, double growth = 64) {
  Record r{op, std::move(samples), dtypes};
  r.growth = growth;
  return r;
}
Record constant(Record r, std::set<size_t> results) {
  r.constant_results = std::move(results);
  return r;
}

}  // namespace

std::vector<Record> nn_records() {
  constexpr int64_t kMean = 1;
  const IValue none;
  return {
      of(
          "mm",
          [](Make& m) -> Samples {
            return {{m.in({2, 3}), m.in({3, 4})}, {m.in({0, 3}), m.in({3, 2})}, {m.in({2, 0}), m.in({0, 3})}};
          },
          kReals),
      of(
          "bmm",
          [](Make& m) -> Samples {
            return {{m.in({2, 2, 3}), m.in({2, 3, 2})}};
          },
          kReals),
      of(
          "matmul",
          [](Make& m) -> Samples {
            return {{m.in({3}), m.in({3})},
                    {m.in({2, 3}), m.in({3})},
                    {m.in({3}), m.in({3, 2})},
                    {m.in({2, 3}), m.in({3, 2})},
                    {m.in({2, 1, 2, 3}), m.in({2, 3, 2})}};
          },
          kReals),
      of(
          "addmm",
          [](Make& m) -> Samples {
            return {{m.in({2, 4}), m.in({2, 3}), m.in({3, 4})}, {m.in({4}), m.in({2, 3}), m.in({3, 4}), 2, 3}};
          },
          kReals),
      of(
          "mv",
          [](Make& m) -> Samples {
            return {{m.in({2, 3}), m.in({3})}};
          },
          kReals),
      of(
          "dot",
          [](Make& m) -> Samples {
            return {{m.in({3}), m.in({3})}};
          },
          kReals),
      of("linear",
         [](Make& m) -> Samples {
           return {{m.in({2, 3}), m.in({4, 3}), m.in({4})}, {m.in({2, 2, 3}), m.in({4, 3})}};
         }),
      of(
          "conv2d",
          [](Make& m) -> Samples {
            return {{m.in({2, 3, 5, 5}), m.in({4, 3, 3, 3}), m.in({4})},
                    {m.in({1, 4, 5, 4}), m.in({2, 2, 2, 2}), IValue(), Ints{2, 1}, Ints{1, 0}, Ints{1, 1}, 2},
                    {m.in({3, 5, 5}), m.in({2, 3, 2, 2})}};
          },
          kFloats, 512),
      of(
          "conv2d.padding",
          [](Make& m) -> Samples {
            return {{m.in({1, 2, 4, 4}), m.in({2, 2, 3, 3}), IValue(), 1, "same"}};
          },
          kFloats, 512),
      of(
          "convolution",
          [](Make& m) -> Samples {
            return {{m.in({1, 2, 4, 4}), m.in({2, 2, 3, 3}), m.in({2}), Ints{1, 1}, Ints{1, 1}, Ints{1, 1}, false,
                     Ints{0, 0}, 1}};
          },
          kFloats, 512),
      of(
          "convolution_backward",
          [](Make& m) -> Samples {
            return {{m.in({1, 2, 4, 4}), m.in({1, 2, 4, 4}), m.in({2, 2, 3, 3}), Ints{2}, Ints{1, 1}, Ints{1, 1},
                     Ints{1, 1}, false, Ints{0, 0}, 1, std::vector<bool>{true, true, true}}};
          },
          kFloats, 512),
      of("max_pool2d",
         [](Make& m) -> Samples {
           return {{m.in({1, 2, 4, 4}), 2}, {m.in({2, 5, 5}), 3, 2, 1}};
         }),
      of("max_pool2d_with_indices",
         [](Make& m) -> Samples {
           return {{m.in({1, 2, 4, 4}), 2}};
         }),
      of("avg_pool2d",
         [](Make& m) -> Samples {
           return {{m.in({1, 2, 4, 4}), 2}, {m.in({1, 2, 5, 5}), 3, 2, 1, false, false}};
         }),
      of("avg_pool2d_backward",
         [none](Make& m) -> Samples {
           return {{m.in({1, 1, 2, 2}), m.other({1, 1, 4, 4}), Ints{2, 2}, Ints{2, 2}, Ints{0, 0}, false, true, none}};
         }),
      of("max_pool2d_with_indices_backward",
         [](Make& m) -> Samples {
           const Tensor image = m.other({1, 1, 4, 4});
           const Tensor at = std::get<1>(max_pool2d_with_indices(image, {2, 2}, {2, 2}));
           return {{m.in({1, 1, 2, 2}), image, Ints{2, 2}, Ints{2, 2}, Ints{0, 0}, Ints{1, 1}, false, at}};
         }),
      of(
          "batch_norm",
          [](Make& m) -> Samples {
            return {{m.in({4, 2, 2, 2}), m.in({2}), m.in({2}), m.other({2}), m.other({2}, 1, 2), true, 0.1, 1e-5, true},
                    {m.in({4, 2}), m.in({2}), m.in({2}), m.other({2}), m.other({2}, 1, 2), false, 0.1, 1e-5, true},
                    {m.in({4, 2, 3}), IValue(), IValue(), IValue(), IValue(), true, 0.1, 1e-5, true}};
          },
          kFloats, 512),
      constant(
          of(
              "native_batch_norm",
              [](Make& m) -> Samples {
                return {{m.in({4, 2, 2, 2}), m.in({2}), m.in({2}), m.other({2}), m.other({2}, 1, 2), true, 0.1, 1e-5}};
              },
              kFloats, 512),
          {1, 2}),
      unchecked(of(
                    "native_batch_norm_backward",
                    [](Make& m) -> Samples {
                      return {{m.in({4, 2}), m.in({4, 2}), m.in({2}), m.other({2}), m.other({2}, 1, 2), m.other({2}),
                               m.other({2}, 1, 2), true, 1e-5, std::vector<bool>{true, true, true}}};
                    },
                    kFloats, 512),
                "its statistics are functions of the input: checked through the forward operator"),
      of(
          "layer_norm",
          [](Make& m) -> Samples {
            return {{m.in({2, 3, 4}), Ints{4}, m.in({4}), m.in({4})},
                    {m.in({2, 3, 4}), Ints{3, 4}},
                    {m.in({0, 4}), Ints{4}, m.in({4}), m.in({4})}};
          },
          kFloats, 512),
      constant(of(
                   "native_layer_norm",
                   [](Make& m) -> Samples {
                     return {{m.in({2, 4}), Ints{4}, m.in({4}), m.in({4}), 1e-5}};
                   },
                   kFloats, 512),
               {1, 2}),
      unchecked(of(
                    "native_layer_norm_backward",
                    [](Make& m) -> Samples {
                      return {{m.in({2, 4}), m.in({2, 4}), Ints{4}, m.other({2, 1}), m.other({2, 1}, 1, 2), m.in({4}),
                               m.in({4}), std::vector<bool>{true, true, true}}};
                    },
                    kFloats, 512),
                "its statistics are functions of the input: checked through the forward operator"),
      of("pad",
         [](Make& m) -> Samples {
           return {{m.in({2, 3}), Ints{1, 2}},
                   {m.in({2, 3}), Ints{1, 0, 0, 2}, "constant", 1.0},
                   {m.in({1, 2, 3}), Ints{1, 2}, "reflect"},
                   {m.in({1, 2, 3}), Ints{1, 2}, "replicate"},
                   {m.in({1, 2, 3}), Ints{1, 2}, "circular"}};
         }),
      of(
          "constant_pad_nd",
          [](Make& m) -> Samples {
            return {{m.in({2, 3}), Ints{1, 2}}, {m.in({4, 3}), Ints{-1, 0, 1, 1}, 2}};
          },
          kReals),
      of("nll_loss",
         [](Make& m) -> Samples {
           return {{m.in({4, 3}), m.index({4}, 3)},
                   {m.in({4, 3}), m.index({4}, 3), m.other({3}, 1, 2)},
                   {m.in({4, 3}), m.index({4}, 3), IValue(), 0},
                   {m.in({4, 3}), m.index({4}, 3), IValue(), 2, 1}};
         }),
      of("nll_loss_nd",
         [](Make& m) -> Samples {
           return {{m.in({3}), m.index({}, 3)},
                   {m.in({4, 3}), m.index({4}, 3)},
                   {m.in({2, 3, 2, 2}), m.index({2, 2, 2}, 3)}};
         }),
      of("nll_loss2d",
         [](Make& m) -> Samples {
           return {{m.in({2, 3, 2, 2}), m.index({2, 2, 2}, 3)}};
         }),
      constant(of("nll_loss_forward",
                  [](Make& m) -> Samples {
                    return {{m.in({4, 3}), m.index({4}, 3), IValue(), kMean, -100}};
                  }),
               {1}),
      of("nll_loss_backward",
         [](Make& m) -> Samples {
           return {{m.in({}), m.other({4, 3}), m.index({4}, 3), IValue(), kMean, -100, full({}, 4, m.dtype())}};
         }),
      of(
          "cross_entropy_loss",
          [](Make& m) -> Samples {
            return {{m.in({4, 3}), m.index({4}, 3)},
                    {m.in({4, 3}), m.index({4}, 3), m.other({3}, 1, 2), 2, 1},
                    {m.in({4, 3}), m.index({4}, 3), IValue(), 1, -100, 0.1},
                    {m.in({4, 3}), m.in({4, 3}, 0.1, 0.9)}};
          },
          kFloats, 128),
      constant(of(
                   "_cross_entropy",
                   [](Make& m) -> Samples {
                     const Tensor weight = m.other({3}, 1, 2);
                     return {{m.in({4, 3}), m.index({4}, 3), IValue(), kMean, -100, 0.0},
                             {m.in({4, 3}), m.index({4}, 3), weight, kMean, 1, 0.2},
                             {m.in({4, 3}), m.index({4}, 3), IValue(), 2, 2, 0.2},
                             {m.in({3}), m.index({}, 3), IValue(), 0, -100, 0.0},
                             {m.in({2, 3, 2, 2}), m.index({2, 2, 2}, 3), IValue(), 0, 0, 0.0},
                             {m.in({2, 3, 5}), m.index({2, 5}, 3), weight, 2, -100, 0.3}};
                   },
                   kFloats, 128),
               {1, 2}),
      of("mse_loss",
         [](Make& m) -> Samples {
           return {{m.in({2, 3}), m.in({2, 3})}, {m.in({2, 3}), m.in({2, 3}), 0}, {m.in({2, 3}), m.in({2, 3}), 2}};
         }),
      of("mse_loss_backward",
         [](Make& m) -> Samples {
           return {{m.in({}), m.in({2, 3}), m.in({2, 3}), kMean}, {m.in({2, 3}), m.in({2, 3}), m.in({2, 3}), 0}};
         }),
      of("binary_cross_entropy_with_logits",
         [](Make& m) -> Samples {
           return {{m.in({2, 3}), m.in({2, 3}, 0.1, 0.9)},
                   {m.in({2, 3}), m.in({2, 3}, 0.1, 0.9), m.other({3}, 1, 2), m.other({3}, 1, 2), 2},
                   {m.in({2, 3}), m.in({2, 3}, 0.1, 0.9), IValue(), IValue(), 0}};
         }),
  };
}

}  // namespace gradus::testing
