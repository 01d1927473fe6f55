// Low-rank adaptation: a weight that stays as it is, and a product of two small matrices beside it
// that is trained.
//
// Source: Hu et al. 2021, "LoRA", arXiv 2106.09685, section 4.1.
#pragma once

#include "ir/host_tensor.h"
#include "layers/dropout/dropout.h"
#include "layers/products/product.h"

namespace axle {

/// y = inner(x, weight) + alpha / rank * dropout(x) * lora_down * lora_up.
///
/// lora_up starts with zeros, so that y starts as inner(x, weight). Heads, stacked maps and experts
/// each have parts of their own: a fused weight [3, D, N, H] has lora_down[3, D, R] and
/// lora_up[3, R, N, H].
/// Parameters: lora_down[stacked dims, batch dims, contracted dims, rank] and lora_up[stacked dims,
///   batch dims, rank, output dims], where the dims are the weight's (Product::Dims).
/// Throws ConfigError at construction if the weight has other uses than this product, and if the
/// rank is larger than both sides of the weight: products of the contracted and of the output dims.
class LoraProduct final : public Product {
 public:
  struct Config {
    /// Size R of the vector between the two matrices.
    Positive<int64_t> rank = 8;
    /// The adapter's result is multiplied by alpha / rank.
    Positive<double> alpha = 16;
    /// Dropout of the adapter's input.
    Child<Dropout> dropout = Dropout::Config{};
    /// Initialiser of lora_down; the option @init of slots does not apply.
    Init init = VarianceScaling{.scale = 1.0 / 3, .fan = Fan::kIn};
    /// Multiplies x by the weight.
    Child<Product> inner = PlainProduct::Config{};
    AXLE_CONFIG(LoraProduct, rank, alpha, dropout, init, inner)
  };
  LoraProduct(const Config& cfg, const Dims& dims, const Scope& scope);
  bool can_decode() const override { return true; }

  /// Replaces the weight among `parameters` by weight + alpha / rank * lora_down * lora_up, rounded
  /// once to its dtype, and removes the adapter's own parameters. All may have equal dims in front
  /// of their own: layers of a loop, experts.
  void merge_into(Tree<HostTensor>& parameters) const;
  /// Returns the paths of lora_down and lora_up.
  std::vector<std::string> own_paths() const { return {down_.path(), up_.path()}; }
  /// alpha / rank.
  double scale() const { return scale_; }

 protected:
  Tensor forward(const Tensor& x, const Tensor& weight) override;

 private:
  ProductLetters letters_;
  std::string hidden_;  // letters of dropout(x) * lora_down
  std::string down_letters_, up_letters_;
  std::vector<int64_t> weight_dims_;
  std::string weight_path_;
  double scale_;
  Param down_, up_;
  Handle<Dropout> dropout_;
  Handle<Product> inner_;
};

/// Returns the paths of the parameters that adapters add to `model`.
std::vector<std::string> adapter_paths(const Layer& model);
/// Returns the parameters of `model` with all adapters merged into their weights.
Tree<HostTensor> merged_adapters(const Layer& model, Tree<HostTensor> parameters);

}  // namespace axle
