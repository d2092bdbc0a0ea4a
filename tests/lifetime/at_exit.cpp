// Programs that end with tensors alive: at_exit return | exit | worker | detached | quick. Whatever runs last, static
// destructors must find what they need, and no thread may wait for one that is gone.
#include <gradus/gradus.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

namespace {

gradus::Tensor made_before_main = gradus::arange(10).to(gradus::kFloat);

// Works in its destructor, after main: kernels, threads, allocation, autograd.
struct Last {
  gradus::Tensor weight = gradus::ones({300, 300}).requires_grad_();
  ~Last() {
    gradus::Tensor loss = (weight.mm(weight) + gradus::randn({300, 300}) * 0).sum();
    loss.backward();
    const bool right = loss.item<float>() == 300.0f * 300.0f * 300.0f && weight.grad().defined();
    std::printf("%s\n", right ? "the last destructor worked" : "the last destructor failed");
    std::fflush(stdout);
  }
};
Last last;

thread_local gradus::Tensor of_each_thread;

void work() {
  static gradus::Tensor of_the_function = gradus::randn({1 << 20});
  of_each_thread = (of_the_function * 2).exp();
  made_before_main = made_before_main + of_each_thread.isnan().sum();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  gradus::set_num_threads(2);
  gradus::nn::Sequential net(gradus::nn::Linear(8, 8), gradus::nn::ReLU());
  gradus::optim::Adam optimizer(net->parameters(), 1e-3);
  net->forward(gradus::randn({4, 8})).sum().backward();
  optimizer.step();
  work();
  if (how == "return") return 0;
  if (how == "exit") std::exit(0);
  if (how == "worker") {
    std::thread([] {
      work();
      std::exit(0);
    }).join();
  }
  if (how == "detached") {
    // Another thread is inside an operator, with a team of its own, while this one ends the program.
    std::atomic<bool> begun{false};
    std::thread([&begun] {
      gradus::Tensor x = gradus::randn({1 << 18});
      for (;;) {
        x = x.tanh() + 1;
        begun = true;
      }
    }).detach();
    while (!begun) std::this_thread::yield();
    std::exit(0);
  }
  if (how == "quick") std::quick_exit(0);
  return 2;
}
