// Device strings, dtype names, TensorOptions and what printing them gives.
#include <torch/torch.h>

#include <iostream>
#include <sstream>

static void parse(const std::string& text) {
  std::cout << "'" << text << "': ";
  try {
    torch::Device device(text);
    std::cout << device << " type " << device.type() << " index " << static_cast<int>(device.index()) << " has_index "
              << device.has_index() << " cpu " << device.is_cpu() << " cuda " << device.is_cuda() << "\n";
  } catch (const c10::Error&) {
    std::cout << "refused\n";
  }
}

int main() {
  for (const char* text : {"cpu", "cuda", "cuda:0", "cuda:3", "cuda:12", "cpu:0", "meta", "", "cuda:", "cuda:-1",
                           "cuda:x", "cuda:01", "CPU", "gpu", "cuda:0:0", " cpu"})
    parse(text);

  torch::Device a(torch::kCPU), b("cpu"), c(torch::kCUDA, 1), d(at::kCUDA);
  std::cout << std::boolalpha << (a == b) << (c == d) << (c != d) << (c == torch::Device("cuda:1")) << "\n";
  std::cout << a << " " << c << " " << d << " " << c.str() << " " << d.str() << "\n";
  std::cout << torch::kCPU << " " << torch::DeviceType::CUDA << "\n";

  torch::Tensor t = torch::zeros({2, 3}, torch::Device("cpu"));
  std::cout << t.device() << " " << t.device().is_cpu() << " " << t.is_cuda() << " " << torch::cuda::is_available()
            << "\n";
  torch::Device chosen = torch::cuda::is_available() ? torch::kCUDA : torch::kCPU;
  std::cout << t.to(chosen).device() << " " << t.cpu().device() << "\n";

  for (auto type : {torch::kUInt8, torch::kInt8, torch::kInt16, torch::kInt32, torch::kInt64, torch::kFloat16,
                    torch::kFloat32, torch::kFloat64, torch::kBool, torch::kBFloat16, torch::kComplexFloat})
    std::cout << type << " " << torch::toString(type) << " " << torch::elementSize(type) << " "
              << torch::isFloatingType(type) << "\n";
  std::cout << t.dtype() << " " << t.scalar_type() << " " << t.to(torch::kLong).dtype() << " " << t.layout() << "\n";
  std::cout << (t.dtype() == torch::kFloat) << (t.dtype() == torch::kFloat32) << (t.dtype() != torch::kInt) << "\n";
  std::cout << torch::promote_types(torch::kInt, torch::kFloat) << " " << (t.to(torch::kInt) + 1.5).dtype() << " "
            << (t.to(torch::kByte) + t.to(torch::kChar)).dtype() << " " << torch::can_cast(torch::kFloat, torch::kInt)
            << "\n";

  auto options = torch::TensorOptions().dtype(torch::kFloat64).device(torch::kCPU).requires_grad(true);
  std::cout << options.dtype() << " " << options.device() << " " << options.requires_grad() << " "
            << options.has_layout() << "\n";
  auto u = torch::ones({2}, options);
  std::cout << u.dtype() << " " << u.requires_grad() << " " << u.options().requires_grad(false).requires_grad() << "\n";
  std::cout << torch::full({2}, 7, torch::dtype(torch::kInt)).dtype() << " " << torch::ones_like(u).dtype() << " "
            << torch::zeros({1}, u.options().dtype(torch::kByte)).dtype() << " "
            << u.to(torch::TensorOptions(torch::kHalf)).dtype() << " " << u.to(t.options()).dtype() << " "
            << u.type_as(t).dtype() << "\n";

  // Shapes.
  std::cout << t.sizes() << " " << t.strides() << " " << t.dim() << " " << t.size(-1) << " " << torch::tensor(1).sizes()
            << " " << torch::zeros({0, 4}).sizes() << " " << t.is_contiguous() << "\n";
  std::cout << torch::IntArrayRef({1, 2, 3}) << " " << (t.sizes() == torch::IntArrayRef{2, 3}) << " "
            << t.sizes().vec().size() << " " << (t.sizes() == std::vector<int64_t>{3, 2}) << "\n";
  std::cout << torch::kStrided << " " << t.suggest_memory_format() << " "
            << torch::zeros({1, 2, 3, 4}).contiguous(torch::MemoryFormat::ChannelsLast).suggest_memory_format() << " "
            << torch::zeros({1, 2, 3, 4}).contiguous(at::MemoryFormat::ChannelsLast).strides() << "\n";
  std::ostringstream scalars;
  scalars << torch::Scalar(3) << " " << torch::Scalar(2.5) << " " << at::Scalar(true) << " " << torch::Scalar(-1.0);
  std::cout << scalars.str() << "\n";
  return 0;
}
