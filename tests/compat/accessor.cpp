// Element access: accessor, packed_accessor, data_ptr, item, and views over foreign memory.
#include <torch/torch.h>

#include <iostream>
#include <numeric>
#include <vector>

template <typename T>
static T trace(const torch::Tensor& matrix) {
  auto m = matrix.accessor<T, 2>();
  T sum = 0;
  for (int64_t i = 0; i < std::min(m.size(0), m.size(1)); ++i) sum += m[i][i];
  return sum;
}

static float sum_of_row(torch::TensorAccessor<float, 1> row) {
  float sum = 0;
  for (int i = 0; i < row.size(0); ++i) sum += row[i];
  return sum;
}

int main() {
  auto a = torch::arange(12, torch::kFloat).view({3, 4});
  auto acc = a.accessor<float, 2>();
  std::cout << acc.size(0) << " " << acc.size(1) << " " << acc.stride(0) << " " << acc.stride(1) << "\n";
  for (int64_t i = 0; i < acc.size(0); ++i)
    for (int64_t j = 0; j < acc.size(1); ++j) acc[i][j] = acc[i][j] * 10 + static_cast<float>(i);
  std::cout << a << "\n";
  std::cout << sum_of_row(acc[1]) << " " << acc.sizes() << " " << acc.strides() << "\n";

  // A transposed tensor: the accessor follows the strides.
  auto t = a.t();
  auto tacc = t.accessor<float, 2>();
  std::cout << tacc.size(0) << " " << tacc[3][0] << " " << tacc[0][2] << " " << t.is_contiguous() << "\n";
  std::cout << trace<float>(a) << " " << trace<int64_t>(torch::ones({5, 3}, torch::kLong)) << " "
            << trace<double>(torch::eye(3, torch::kDouble) * 1.5) << "\n";

  auto b = torch::tensor({{true, false}, {true, true}});
  auto bacc = b.accessor<bool, 2>();
  int set = 0;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) set += bacc[i][j];
  std::cout << set << "\n";

  auto packed = a.packed_accessor64<float, 2>();
  std::cout << packed[2][3] << " " << packed.size(1) << "\n";
  auto packed32 = a.packed_accessor32<float, 2>();
  packed32[0][0] = -1;
  std::cout << a[0][0].item<float>() << "\n";

  // Raw pointers.
  float* data = a.data_ptr<float>();
  std::cout << data[1] << " " << *(a[2].data_ptr<float>()) << " " << a.numel() << " " << a.element_size() << "\n";
  std::vector<float> copied(a.data_ptr<float>(), a.data_ptr<float>() + a.numel());
  std::cout << std::accumulate(copied.begin(), copied.end(), 0.0f) << "\n";

  // item converts, scalar tensors too.
  std::cout << torch::tensor(7).item<double>() << " " << torch::tensor(2.75).item<int>() << " "
            << torch::tensor(true).item<bool>() << " " << torch::tensor(1.5f).item().toDouble() << "\n";
  std::cout << torch::tensor(3).item().isIntegral(false) << torch::tensor(3.0).item().isFloatingPoint() << "\n";

  // Memory of the caller, with and without a deleter.
  std::vector<int64_t> owned{1, 2, 3, 4, 5, 6};
  auto blob = torch::from_blob(owned.data(), {2, 3}, torch::kLong);
  blob.mul_(2);
  std::cout << owned[5] << " " << blob.sum().item<int64_t>() << "\n";
  bool freed = false;
  {
    auto* raw = new double[4]{1, 2, 3, 4};
    auto with_deleter = torch::from_blob(
        raw, {2, 2},
        [&freed](void* p) {
          delete[] static_cast<double*>(p);
          freed = true;
        },
        torch::kDouble);
    auto view = with_deleter[1];
    with_deleter.reset();
    std::cout << freed << " " << view << "\n";
  }
  std::cout << freed << "\n";
  auto strided = torch::from_blob(owned.data(), {2, 2}, {3, 2}, torch::kLong);
  std::cout << strided << "\n";

  // Access that does not fit throws.
  try {
    (void)a.accessor<double, 2>();
  } catch (const c10::Error&) {
    std::cout << "wrong dtype refused\n";
  }
  try {
    (void)a.accessor<float, 3>();
  } catch (const c10::Error&) {
    std::cout << "wrong dim refused\n";
  }
  try {
    (void)a.item<float>();
  } catch (const std::exception&) {
    std::cout << "item of twelve elements refused\n";
  }
  return 0;
}
