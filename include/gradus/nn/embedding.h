// Embedding.
#pragma once

#include <gradus/nn/arg.h>
#include <gradus/nn/module.h>

namespace gradus {
inline namespace v0 {
namespace nn {

/// Options of Embedding. padding_idx is unset by default.
struct GRADUS_API EmbeddingOptions {
  EmbeddingOptions(int64_t num_embeddings, int64_t embedding_dim)
      : num_embeddings_(num_embeddings), embedding_dim_(embedding_dim) {}
  GRADUS_ARG(int64_t, num_embeddings);
  GRADUS_ARG(int64_t, embedding_dim);
  GRADUS_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
  GRADUS_ARG(std::optional<double>, max_norm) = std::nullopt;
  GRADUS_ARG(double, norm_type) = 2.0;
  GRADUS_ARG(bool, scale_grad_by_freq) = false;
  GRADUS_ARG(bool, sparse) = false;
  GRADUS_ARG(Tensor, _weight) = Tensor();
};
/// Options of Embedding::from_pretrained.
struct GRADUS_API EmbeddingFromPretrainedOptions {
  GRADUS_ARG(bool, freeze) = true;
  GRADUS_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
  GRADUS_ARG(bool, scale_grad_by_freq) = false;
  GRADUS_ARG(bool, sparse) = false;
};

/// A row of `weight` for each index. See https://pytorch.org/docs/stable/generated/torch.nn.Embedding.html
class GRADUS_API EmbeddingImpl : public Cloneable<EmbeddingImpl> {
 public:
  EmbeddingImpl(int64_t num_embeddings, int64_t embedding_dim)
      : EmbeddingImpl(EmbeddingOptions(num_embeddings, embedding_dim)) {}
  explicit EmbeddingImpl(EmbeddingOptions options);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& indices);
  EmbeddingOptions options;
  Tensor weight;
};
extern template class Cloneable<EmbeddingImpl>;
class Embedding : public ModuleHolder<EmbeddingImpl> {
 public:
  using ModuleHolder<EmbeddingImpl>::ModuleHolder;
  using Impl [[maybe_unused]] = EmbeddingImpl;
  /// Takes `embeddings` (rows, columns) as they are; frozen unless told otherwise.
  GRADUS_API static Embedding from_pretrained(const Tensor& embeddings,
                                              const EmbeddingFromPretrainedOptions& options = {});
};

}  // namespace nn
}  // namespace v0
}  // namespace gradus
