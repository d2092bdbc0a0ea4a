// A plugin that links Gradus: the work that host.cpp asks for, on the library's threads.
#include <gradus/gradus.h>
#include <gradus/ops/operator.h>

#include <thread>

// 0 where all went well. `operators`: another plugin brought lifetime::twice and was unloaded since. Threads of the
// library, of OpenBLAS and of oneDNN run; so does one of the plugin's own.
extern "C" __attribute__((visibility("default"))) int plugin_work(int threads, int operators) {
  if (operators) {
    const gradus::Tensor x = gradus::ones({3}).requires_grad_();
    gradus::call("lifetime::twice", {x})[0].toTensor().sum().backward();
    if (x.grad()[2].item<float>() != 2) return 6;
  }
  gradus::set_num_threads(threads);
  const gradus::Tensor a = gradus::ones({512, 700}), b = gradus::full({700, 600}, 0.5).requires_grad_();
  const gradus::Tensor product = a.mm(b);
  product.sum().backward();
  if (product[511][599].item<float>() != 350.0f || b.grad()[699][0].item<float>() != 512.0f) return 1;
  if ((gradus::ones({1 << 21}) + 1).sum().item<float>() != float(1 << 22)) return 2;
  gradus::nn::Conv2d convolution(16, 32, 3);
  if (!convolution(gradus::randn({2, 16, 20, 20})).isfinite().all().item<bool>()) return 3;
  int failed = 1;
  std::thread([&] { failed = std::get<0>(gradus::randn({1000}).sort()).isnan().any().item<bool>(); }).join();
  if (failed) return 4;
  try {
    a.mm(a);
    return 5;
  } catch (const gradus::Error&) {
  }
  return 0;
}
