// MNIST and what shares its files: Fashion-MNIST, KMNIST, EMNIST.
#pragma once

#include <optional>
#include <string>

#include <gradus/data/datasets/base.h>

namespace gradus {
inline namespace v0 {
namespace data {
namespace datasets {

/// Images [N, 1, rows, columns] in 0..1 (float) and targets [N] (int64), read whole from IDX files, plain or gzip.
class GRADUS_API MNIST : public Dataset<MNIST> {
 public:
  enum class Mode { kTrain, kTest };

  /// Reads train-images-idx3-ubyte[.gz] and train-labels-idx1-ubyte[.gz], or the t10k ones, from the folder `root`.
  /// Throws Error where a file is missing, damaged or does not fit the other.
  explicit MNIST(const std::string& root, Mode mode = Mode::kTrain);

  Example<> get(size_t index) override;
  std::optional<size_t> size() const override;
  bool is_train() const noexcept { return train_; }
  const Tensor& images() const { return images_; }
  const Tensor& targets() const { return targets_; }

 private:
  Tensor images_, targets_;
  bool train_;
};

}  // namespace datasets
}  // namespace data
}  // namespace v0
}  // namespace gradus
