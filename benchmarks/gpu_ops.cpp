// What takes time on a GPU, through the public API: one line of JSON for each row, microseconds a call (the median of
// the repetitions). gpu_ops.py times the same in PyTorch; gpu_check.sh runs both and prints how they compare.
//
//   gpu_ops [--small] [row ...]     --small: sizes for a rehearsal without a GPU
//   gpu_ops [--small] --serve       rows named on the standard input, one a line, each answered when it is done
//   gpu_ops --list | --about        the rows' names; the device and the libraries
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include <gradus/gradus.h>

namespace {

using gradus::Tensor;
namespace nn = gradus::nn;
namespace F = gradus::nn::functional;

bool small = false;

int64_t size(int64_t full, int64_t rehearsal) {
  return small ? rehearsal : full;
}
gradus::TensorOptions on_gpu(gradus::ScalarType dtype = gradus::kFloat) {
  return gradus::TensorOptions(dtype).device(gradus::kCUDA);
}

// Microseconds of one call: the median over repetitions of several calls, enqueued without waiting in between.
double time_of(const std::function<void()>& call) {
  using Clock = std::chrono::steady_clock;
  const auto run = [&](int calls) {
    gradus::cuda::synchronize();
    const auto begin = Clock::now();
    for (int i = 0; i < calls; ++i) call();
    gradus::cuda::synchronize();
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / calls;
  };
  run(2);
  const double one = run(1);
  const int calls = small ? 1 : std::clamp(static_cast<int>(100000 / std::max(one, 1.0)), 1, 1000);
  std::vector<double> times;
  for (int r = 0; r < (small ? 1 : 7); ++r) times.push_back(run(calls));
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

// What the host does for one call, in microseconds, while the device is given no more than it takes without waiting.
double host_time_of(const std::function<void()>& call) {
  using Clock = std::chrono::steady_clock;
  constexpr int kCalls = 256;
  std::vector<double> times;
  for (int r = 0; r < (small ? 20 : 400); ++r) {
    gradus::cuda::synchronize();
    const auto begin = Clock::now();
    for (int i = 0; i < kCalls; ++i) call();
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / kCalls);
  }
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

Tensor leaf(std::vector<int64_t> sizes, gradus::ScalarType dtype = gradus::kFloat) {
  return gradus::randn(sizes, on_gpu(dtype)).requires_grad_();
}

double add_64mb() {
  const int64_t n = size(16 << 20, 1 << 10);
  gradus::NoGradGuard no_grad;
  const Tensor a = gradus::randn({n}, on_gpu()), b = gradus::randn({n}, on_gpu());
  Tensor c = gradus::empty({n}, on_gpu());
  return time_of([&] { gradus::add_out(c, a, b); });
}

double softmax_step() {
  const Tensor x = leaf({size(8192, 8), size(4096, 64)}), g = gradus::randn(x.sizes(), on_gpu());
  return time_of([&] {
    gradus::softmax(x, 1).backward(g);
    x.mutable_grad().reset();
  });
}

double layer_norm_step() {
  const int64_t width = size(4096, 64);
  const Tensor x = leaf({size(8192, 8), width}), w = leaf({width}), b = leaf({width});
  const Tensor g = gradus::randn(x.sizes(), on_gpu());
  return time_of([&] {
    gradus::layer_norm(x, {width}, w, b).backward(g);
    for (const Tensor* t : {&x, &w, &b}) t->mutable_grad().reset();
  });
}

double adamw_step() {
  std::vector<Tensor> parameters;
  const int64_t each = size(4096 * 4096, 64), count = size(60, 3);  // 1.0e9 in all
  for (int64_t i = 0; i < count; ++i) {
    parameters.push_back(leaf({each}));
    parameters.back().mutable_grad() = gradus::randn({each}, on_gpu());
  }
  gradus::optim::AdamW optimizer(parameters, gradus::optim::AdamWOptions(1e-3));
  return time_of([&] { optimizer.step(); });
}

double matmul_of(gradus::ScalarType dtype) {
  gradus::NoGradGuard no_grad;
  const int64_t n = size(8192, 32);
  const Tensor a = gradus::randn({n, n}, on_gpu(dtype)), b = gradus::randn({n, n}, on_gpu(dtype));
  Tensor c = gradus::empty({n, n}, on_gpu(dtype));
  return time_of([&] { gradus::mm_out(c, a, b); });
}

double cross_entropy_step() {
  const int64_t rows = size(8192, 4), classes = size(50000, 50);
  const Tensor x = leaf({rows, classes});
  const Tensor target = gradus::randint(classes, {rows}, on_gpu(gradus::kLong));
  return time_of([&] {
    F::cross_entropy(x, target).backward();
    x.mutable_grad().reset();
  });
}

// ResNet-50 (He et al., "Deep residual learning for image recognition", 2015), the stride in the 3x3 convolution as in
// torchvision.
struct BottleneckImpl : nn::Module {
  BottleneckImpl(int64_t in, int64_t width, int64_t stride) {
    const int64_t out = 4 * width;
    c1 = register_module("c1", nn::Conv2d(nn::Conv2dOptions(in, width, 1).bias(false)));
    b1 = register_module("b1", nn::BatchNorm2d(width));
    c2 = register_module("c2", nn::Conv2d(nn::Conv2dOptions(width, width, 3).stride(stride).padding(1).bias(false)));
    b2 = register_module("b2", nn::BatchNorm2d(width));
    c3 = register_module("c3", nn::Conv2d(nn::Conv2dOptions(width, out, 1).bias(false)));
    b3 = register_module("b3", nn::BatchNorm2d(out));
    if (stride != 1 || in != out) {
      cs = register_module("cs", nn::Conv2d(nn::Conv2dOptions(in, out, 1).stride(stride).bias(false)));
      bs = register_module("bs", nn::BatchNorm2d(out));
    }
  }
  Tensor forward(const Tensor& x) {
    Tensor y = b1(c1(x)).relu_();
    y = b2(c2(y)).relu_();
    y = b3(c3(y));
    return y.add_(cs ? bs(cs(x)) : x).relu_();
  }
  nn::Conv2d c1{nullptr}, c2{nullptr}, c3{nullptr}, cs{nullptr};
  nn::BatchNorm2d b1{nullptr}, b2{nullptr}, b3{nullptr}, bs{nullptr};
};
GRADUS_MODULE(Bottleneck);

struct ResNet50 : nn::Module {
  ResNet50() {
    const int64_t first = size(64, 8);
    stem = register_module("stem", nn::Conv2d(nn::Conv2dOptions(3, first, 7).stride(2).padding(3).bias(false)));
    norm = register_module("norm", nn::BatchNorm2d(first));
    int64_t in = first, stage = 0;
    for (const int64_t blocks : {3, 4, 6, 3}) {
      const int64_t width = first << stage;
      for (int64_t i = 0; i < (small ? 1 : blocks); ++i) {
        layers->push_back(Bottleneck(in, width, i == 0 && stage > 0 ? 2 : 1));
        in = 4 * width;
      }
      ++stage;
    }
    register_module("layers", layers);
    head = register_module("head", nn::Linear(in, 1000));
  }
  Tensor forward(const Tensor& images) {
    Tensor x = norm(stem(images)).relu_();
    x = F::max_pool2d(x, F::MaxPool2dFuncOptions(3).stride(2).padding(1));
    x = layers->forward(x);
    return head(x.mean({2, 3}));
  }
  nn::Conv2d stem{nullptr};
  nn::BatchNorm2d norm{nullptr};
  nn::Sequential layers;
  nn::Linear head{nullptr};
};

double resnet50_step() {
  const int64_t batch = size(64, 2), side = size(224, 32);
  ResNet50 net;
  net.to(gradus::kCUDA);
  for (const Tensor& p : net.parameters()) {
    if (p.dim() == 4) p.set_data(p.detach().contiguous(gradus::MemoryFormat::ChannelsLast));
  }
  gradus::optim::SGD optimizer(net.parameters(), gradus::optim::SGDOptions(0.1).momentum(0.9));
  const Tensor images = gradus::randn({batch, 3, side, side}, on_gpu()).contiguous(gradus::MemoryFormat::ChannelsLast);
  const Tensor target = gradus::randint(1000, {batch}, on_gpu(gradus::kLong));
  return time_of([&] {
    optimizer.zero_grad();
    F::cross_entropy(net.forward(images), target).backward();
    optimizer.step();
  });
}

// So small that only launches cost.
struct Mlp {
  nn::Sequential net{nn::Linear(16, 32), nn::ReLU(), nn::Linear(32, 32), nn::ReLU(), nn::Linear(32, 4)};
  Tensor x, y;
  Mlp() {
    net->to(gradus::kCUDA);
    x = gradus::randn({32, 16}, on_gpu());
    y = gradus::randn({32, 4}, on_gpu());
  }
};

double mlp_step() {
  Mlp mlp;
  gradus::optim::Adam optimizer(mlp.net->parameters(), gradus::optim::AdamOptions(1e-3));
  return time_of([&] {
    optimizer.zero_grad();
    F::mse_loss(mlp.net->forward(mlp.x), mlp.y).backward();
    optimizer.step();
  });
}

// The same, recorded once and repeated; by an optimizer whose steps do not depend on their number.
double mlp_graph_step() {
  Mlp mlp;
  gradus::optim::SGD optimizer(mlp.net->parameters(), gradus::optim::SGDOptions(1e-3).momentum(0.9));
  const auto step = [&] {
    F::mse_loss(mlp.net->forward(mlp.x), mlp.y).backward();
    optimizer.step();
  };
  gradus::cuda::synchronize();
  const gradus::cuda::CUDAStreamGuard guard(gradus::cuda::getStreamFromPool());
  for (int i = 0; i < 3; ++i) {
    optimizer.zero_grad();
    step();
  }
  optimizer.zero_grad();
  gradus::cuda::CUDAGraph graph;
  graph.capture_begin();
  step();
  graph.capture_end();
  return time_of([&] { graph.replay(); });
}

double add_overhead(bool recording) {
  const Tensor a = gradus::randn({64}, on_gpu()).requires_grad_(recording), b = gradus::randn({64}, on_gpu());
  return host_time_of([&] { gradus::add(a, b); });
}

struct Row {
  const char* name;
  double (*time)();
};
const Row kRows[] = {
    {"add_64mb", &add_64mb},
    {"softmax_8192x4096", &softmax_step},
    {"layer_norm_8192x4096", &layer_norm_step},
    {"adamw_1e9", &adamw_step},
    {"matmul_8192_f32", [] { return matmul_of(gradus::kFloat); }},
    {"matmul_8192_bf16", [] { return matmul_of(gradus::kBFloat16); }},
    {"cross_entropy_8192x50000", &cross_entropy_step},
    {"resnet50_step", &resnet50_step},
    {"mlp_step", &mlp_step},
    {"mlp_graph_step", &mlp_graph_step},
    {"overhead_add", [] { return add_overhead(false); }},
    {"overhead_add_recording", [] { return add_overhead(true); }},
};

std::string quoted(const std::string& text) {
  std::string r = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') r += '\\';
    r += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return r + '"';
}

// Prints the row's line; false if it failed.
bool answer(const std::string& name) {
  std::string error = "there is no such row";
  double us = -1;
  for (const Row& row : kRows) {
    if (name != row.name) continue;
    try {
      gradus::manual_seed(0);
      us = row.time();
      gradus::cuda::synchronize();
    } catch (const std::exception& e) {
      us = -1;
      error = e.what();
    }
    try {
      gradus::cuda::empty_cache();
    } catch (const std::exception&) {  // a lost device: the next row says so
    }
  }
  if (us >= 0) {
    std::printf("{\"row\": %s, \"us\": %.3f}\n", quoted(name).c_str(), us);
  } else {
    std::printf("{\"row\": %s, \"error\": %s}\n", quoted(name).c_str(), quoted(error).c_str());
  }
  std::fflush(stdout);
  return us >= 0;
}

void print_about() {
  const auto& p = gradus::cuda::get_device_properties();
  std::printf("{\"device\": %s, \"devices\": %zu, \"capability\": \"%d.%d\", \"memory_mb\": %zu, ",
              quoted(p.name).c_str(), gradus::cuda::device_count(), p.major, p.minor, p.totalGlobalMem >> 20);
  std::printf(
      "\"multiprocessors\": %d, \"l2_mb\": %d, \"driver\": %d, \"runtime\": %d, \"cudnn\": %s, \"libraries\": [",
      p.multiProcessorCount, p.l2CacheSize >> 20, gradus::cuda::driver_version(), gradus::cuda::runtime_version(),
      gradus::cuda::cudnn_is_available() ? "true" : "false");
  std::set<std::string> libraries;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const size_t path = line.find('/');
    if (path != std::string::npos && line.find(".so", path) != std::string::npos) libraries.insert(line.substr(path));
  }
  const char* separator = "";
  for (const std::string& path : libraries) {
    std::printf("%s%s", separator, quoted(path).c_str());
    separator = ", ";
  }
  std::printf("]}\n");
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> wanted;
  bool serve = false, about = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--small") {
      small = true;
    } else if (argument == "--serve") {
      serve = true;
    } else if (argument == "--about") {
      about = true;
    } else if (argument == "--list") {
      for (const Row& row : kRows) std::printf("%s\n", row.name);
      return 0;
    } else {
      wanted.push_back(argument);
    }
  }
  if (!gradus::cuda::is_available()) {
    std::fprintf(stderr, "gpu_ops: %s\n", gradus::cuda::why_unavailable().c_str());
    return 3;
  }
  if (about) {
    print_about();
    return 0;
  }
  if (serve) {
    for (std::string name; std::getline(std::cin, name);) answer(name);
    return 0;
  }
  if (wanted.empty()) {
    for (const Row& row : kRows) wanted.emplace_back(row.name);
  }
  bool good = true;
  for (const std::string& name : wanted) good = answer(name) && good;
  return good ? 0 : 1;
}
