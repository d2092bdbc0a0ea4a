// Errors are c10::Error and std::exception; TORCH_CHECK throws them with the text it is given.
#include <torch/torch.h>

#include <functional>
#include <iostream>
#include <string>

static int checked_divide(int a, int b) {
  TORCH_CHECK(b != 0, "cannot divide ", a, " by zero");
  return a / b;
}

static void expect_error(const char* what, const std::function<void()>& body) {
  std::cout << what << ": ";
  try {
    body();
    std::cout << "no error\n";
  } catch (const c10::Error& error) {
    std::cout << "c10::Error, text " << (std::string(error.what()).empty() ? "missing" : "present") << "\n";
  } catch (const std::exception&) {
    std::cout << "std::exception\n";
  }
}

struct Guarded {
  explicit Guarded(int& counter) : counter_(counter) { ++counter_; }
  ~Guarded() { --counter_; }
  int& counter_;
};

int main() {
  try {
    checked_divide(7, 0);
  } catch (const c10::Error& error) {
    std::cout << error.what_without_backtrace() << "\n";
    std::cout << error.msg() << "\n";
  }
  std::cout << checked_divide(7, 2) << "\n";
  try {
    TORCH_CHECK(false, "shape ", torch::ones({2, 3}).sizes(), " dtype ", torch::kFloat, " device ",
                torch::Device("cpu"));
  } catch (const std::exception& error) {
    const std::string text = error.what();
    std::cout << text.substr(0, text.find('\n')) << "\n";
  }
  try {
    TORCH_CHECK_INDEX(1 > 2, "index ", 5);
  } catch (const c10::IndexError& error) {
    std::cout << "IndexError " << error.what_without_backtrace() << "\n";
  }
  try {
    TORCH_CHECK_VALUE(false, "value ", 1.5);
  } catch (const c10::ValueError& error) {
    std::cout << "ValueError " << error.what_without_backtrace() << "\n";
  }
  try {
    TORCH_CHECK_NOT_IMPLEMENTED(false, "not yet");
  } catch (const c10::Error& error) {
    std::cout << error.what_without_backtrace() << "\n";
  }
  try {
    throw c10::Error("thrown by hand", "");
  } catch (const c10::Error& error) {
    std::cout << error.msg() << "\n";
  }

  const auto a = torch::ones({2, 3}), b = torch::ones({4, 5});
  expect_error("add", [&] { a + b; });
  expect_error("mm", [&] { torch::mm(a, b); });
  expect_error("matmul of vectors", [&] { torch::matmul(torch::ones({3}), torch::ones({4})); });
  expect_error("view of a transpose", [&] { torch::ones({2, 3}).t().view({6}); });
  expect_error("select", [&] { a.select(0, 2); });
  expect_error("operator[]", [&] { a[5]; });
  expect_error("dim out of range", [&] { a.sum(7); });
  expect_error("softmax", [&] { torch::softmax(a, 2); });
  expect_error("cat", [&] { torch::cat({a, b}); });
  expect_error("cat of nothing", [&] { torch::cat({}); });
  expect_error("stack", [&] { torch::stack({a, b}); });
  expect_error("item", [&] { a.item<float>(); });
  expect_error("index", [&] { a.index({torch::tensor({0, 9})}); });
  expect_error("in-place broadcast", [&] { torch::ones({3}).add_(torch::ones({2, 3})); });
  expect_error("float into int in place", [&] { torch::ones({3}, torch::kInt).add_(1.5); });
  expect_error("in-place on a leaf", [&] { torch::ones({3}, torch::requires_grad()).add_(1); });
  expect_error("requires_grad of an int", [&] { torch::ones({3}, torch::kLong).requires_grad_(); });
  expect_error("backward of a vector", [&] { (torch::ones({3}, torch::requires_grad()) * 2).backward(); });
  expect_error("backward of a constant", [&] { torch::ones({}).backward(); });
  expect_error("backward twice", [] {
    auto x = torch::ones({3}, torch::requires_grad());
    auto y = (x * x).sum();
    y.backward();
    y.backward();
  });
  expect_error("saved value overwritten", [] {
    auto x = torch::ones({3}, torch::requires_grad());
    auto y = x.exp();
    auto z = y.sum();
    y.add_(1);
    z.backward();
  });
  expect_error("negative size", [] { torch::zeros({-1, 2}); });
  expect_error("arange", [] { torch::arange(0, 5, -1); });
  expect_error("undefined operand", [&] { a + torch::Tensor(); });
  expect_error("gather", [&] { a.gather(1, torch::tensor({{5}})); });
  expect_error("expand", [&] { a.expand({3, 3}); });
  expect_error("split", [&] { a.split(-1, 0); });
  expect_error("conv2d", [] { torch::conv2d(torch::ones({1, 3, 8, 8}), torch::ones({4, 2, 3, 3})); });
  expect_error("linear", [&] { torch::nn::Linear(7, 2)->forward(torch::ones({2, 3})); });
  expect_error("cross entropy", [&] {
    torch::nn::functional::cross_entropy(torch::ones({2, 3}), torch::tensor({0, 3}));
  });
  expect_error("embedding", [] { torch::nn::Embedding(3, 2)->forward(torch::tensor({0, 3})); });
  expect_error("module name with a dot", [] {
    torch::nn::Module module;
    module.register_parameter("a.b", torch::ones({1}));
  });
  expect_error("module name twice", [] {
    torch::nn::Module module;
    module.register_buffer("a", torch::ones({1}));
    module.register_buffer("a", torch::ones({1}));
  });
  expect_error("negative learning rate", [] { torch::optim::Adam({torch::ones({1})}, -1.0); });
  expect_error("device", [] { torch::Device("quantum:0"); });
  expect_error("load", [] {
    torch::Tensor t;
    torch::load(t, "/no/such/file.pt");
  });

  // libtorch throws a plain std::runtime_error here.
  try {
    a.view({4, 2});
    std::cout << "no error\n";
  } catch (const std::exception&) {
    std::cout << "view refused\n";
  }

  // The library stays usable after an exception, and scopes are unwound.
  int live = 0;
  try {
    Guarded guard(live);
    torch::NoGradGuard no_grad;
    torch::mm(a, b);
  } catch (const c10::Error&) {
  }
  std::cout << live << " " << torch::GradMode::is_enabled() << " " << (a + a).sum().item<float>() << "\n";
  return 0;
}
