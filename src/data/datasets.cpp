#include <gradus/data/datasets/mnist.h>
#include <gradus/data/datasets/tensor.h>
#include <gradus/ops/ops.h>

#include "core/make_tensor.h"
#include "data/idx.h"

namespace gradus::inline v0::data::datasets {
namespace {

void check_rows(const Tensor& tensor) {
  GRADUS_CHECK_AS(ValueError, tensor.defined() && tensor.dim() > 0,
                  "TensorDataset: ", tensor.defined() ? "a 0-dimensional" : "an undefined",
                  " tensor was given; expected one whose rows are the samples");
}

Tensor stacked(const std::vector<Tensor>& tensors) {
  GRADUS_CHECK_AS(ValueError, !tensors.empty(), "TensorDataset: no tensors were given; expected at least one");
  return stack(tensors);
}

}  // namespace

TensorDataset::TensorDataset(const std::vector<Tensor>& tensors) : TensorDataset(stacked(tensors)) {}

TensorDataset::TensorDataset(Tensor tensor) : tensor(std::move(tensor)) {
  check_rows(this->tensor);
}

TensorExample TensorDataset::get(size_t index) {
  return tensor[static_cast<int64_t>(index)];
}

std::optional<size_t> TensorDataset::size() const {
  return static_cast<size_t>(tensor.size(0));
}

MNIST::MNIST(const std::string& root, Mode mode) : train_(mode == Mode::kTrain) {
  const std::string op = "MNIST", stem = train_ ? "train" : "t10k";
  const std::string image_path = find_idx(op, root, stem + "-images-idx3-ubyte");
  const std::string label_path = find_idx(op, root, stem + "-labels-idx1-ubyte");
  const Idx images = read_idx(op, image_path, 3), labels = read_idx(op, label_path, 1);
  GRADUS_CHECK(images.shape[0] == labels.shape[0], op, ": ", image_path, " has ", images.shape[0], " images and ",
               label_path, " has ", labels.shape[0], " labels; expected the same number: do both belong together?");

  images_ = core::empty({images.shape[0], 1, images.shape[1], images.shape[2]}, kFloat, Device(kCPU));
  auto* pixel = images_.data_ptr<float>();
  for (size_t i = 0; i < images.bytes.size(); ++i) pixel[i] = static_cast<float>(images.bytes[i]) / 255.0f;
  targets_ = core::empty({labels.shape[0]}, kLong, Device(kCPU));
  auto* target = targets_.data_ptr<int64_t>();
  for (size_t i = 0; i < labels.bytes.size(); ++i) target[i] = labels.bytes[i];
}

Example<> MNIST::get(size_t index) {
  const auto i = static_cast<int64_t>(index);
  return {images_[i], targets_[i]};
}

std::optional<size_t> MNIST::size() const {
  return static_cast<size_t>(targets_.numel());
}

}  // namespace gradus::inline v0::data::datasets
