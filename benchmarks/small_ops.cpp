// What small operations cost: libtorch's API, compiled once per library by compare.sh. One thread. Prints JSON,
// microseconds per operation.
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

// The compiler must believe that the result is read.
void consume(const torch::Tensor& t) {
  asm volatile("" : : "r"(t.unsafeGetTensorImpl()) : "memory");
}

template <class F>
double seconds(int64_t repeats, F& body) {
  const auto start = Clock::now();
  for (int64_t i = 0; i < repeats; ++i) body();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Median of nine batches of about 10 ms each, after a warm-up.
template <class F>
double microseconds(F body) {
  int64_t repeats = 1;
  double once = 0;
  while ((once = seconds(repeats, body)) < 5e-3) repeats *= 2;
  repeats = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(repeats) * 10e-3 / once));
  std::vector<double> batches;
  for (int i = 0; i < 9; ++i) batches.push_back(seconds(repeats, body));
  std::nth_element(batches.begin(), batches.begin() + 4, batches.end());
  return batches[4] / static_cast<double>(repeats) * 1e6;
}

void row(const char* name, double us) {
  static bool first = true;
  std::printf("%s\n  \"%s\": %.5f", first ? "{" : ",", name, us);
  first = false;
}

void without_recording() {
  torch::NoGradGuard no_grad;
  const auto a = torch::rand({8}), b = torch::rand({8}) * 1e-9;
  row("add_8", microseconds([&] { consume(a + b); }));
  row("empty_8", microseconds([&] { consume(torch::empty({8})); }));
  row("add_inplace_8", microseconds([&] { consume(a.add_(b)); }));
  row("sum_8", microseconds([&] { consume(a.sum()); }));
  row("view_8", microseconds([&] { consume(a.view({2, 4})); }));
  const auto m = torch::rand({8, 8}), n = torch::rand({8, 8});
  row("mm_8x8", microseconds([&] { consume(torch::mm(m, n)); }));
}

void with_recording() {
  auto a = torch::rand({8}, torch::requires_grad()), b = torch::rand({8}, torch::requires_grad());
  row("add_8_recording", microseconds([&] { consume(a + b); }));
  row("mul_sum_backward", microseconds([&] {
        (a * b).sum().backward();
        consume(a.grad());
        a.mutable_grad().reset();
        b.mutable_grad().reset();
      }));
  // Factors around 1, so that neither the product nor the gradients leave the normal range.
  auto w = (torch::rand({8}) * 2e-4 + 0.9999).requires_grad_();
  row("chain_1000", microseconds([&] {
        auto x = w;
        for (int i = 0; i < 1000; ++i) x = x * w;
        x.sum().backward();
        consume(w.grad());
        w.mutable_grad().reset();
      }));
}

// Random targets and eight batches in turn: the loss stays away from zero, and Adam's squares away from subnormals.
void training_step() {
  torch::nn::Sequential net(torch::nn::Linear(16, 32), torch::nn::ReLU(), torch::nn::Linear(32, 32), torch::nn::ReLU(),
                            torch::nn::Linear(32, 4));
  torch::optim::Adam optimizer(net->parameters(), torch::optim::AdamOptions(1e-3));
  std::vector<torch::Tensor> inputs, targets;
  for (int i = 0; i < 8; ++i) {
    inputs.push_back(torch::randn({32, 16}));
    targets.push_back(torch::randn({32, 4}));
  }
  size_t step = 0;
  row("mlp_step", microseconds([&] {
        optimizer.zero_grad();
        auto loss = torch::mse_loss(net->forward(inputs[step % 8]), targets[step % 8]);
        loss.backward();
        optimizer.step();
        consume(loss);
        ++step;
      }));
}

}  // namespace

int main() {
  torch::set_num_threads(1);
  torch::manual_seed(0);
  without_recording();
  with_recording();
  training_step();
  std::printf("\n}\n");
  return 0;
}
