// A plugin that brings an operator with a gradient.
#include <gradus/gradus.h>
#include <gradus/ops/library.h>

GRADUS_LIBRARY(lifetime, m) {
  m.def("twice(Tensor x) -> Tensor", [](const gradus::Tensor& x) { return x * 2; });
  m.gradient("twice", [](const gradus::GradientCall& call) { return std::vector<gradus::Tensor>{call.grad() * 2}; });
}

extern "C" __attribute__((visibility("default"))) int plugin_work(int, int) {
  return gradus::call("lifetime::twice", {gradus::ones({3})})[0].toTensor()[2].item<float>() == 2 ? 0 : 1;
}
