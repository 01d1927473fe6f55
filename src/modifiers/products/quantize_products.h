// Quantized products in every layer with a weight.
#pragma once

#include "layers/products/int8_product.h"
#include "modifiers/modifier.h"

namespace axle {

/// Replaces the products of layers by quantized ones: dense layers, heads, fused and grouped
/// projections, experts, recurrent cells, tied and untied logits. Below an adapter (LoraProduct)
/// the product with the frozen weight is replaced. Applied twice, it changes nothing more.
///
/// The report lists the products that it replaced, and with the reason those that it left. If the
/// tree has a model, a training call of it is traced, and the report also lists every parameter
/// that a layer multiplies without a product: those of routers, convolutions, and of any layer that
/// calls einsum itself.
class QuantizeProducts final : public Modifier {
 public:
  struct Config {
    /// Pattern of the paths of layers or of their product slots; "**": everywhere.
    std::string at = "**";
    /// Patterns of paths that are left as they are, whatever `at` says: "**.lm_head".
    std::vector<std::string> except = {};
    /// The product to put there: Int8Product, Fp8Product, DelayedFp8Product or another one.
    Child<Product> with = Int8Product::Config{};
    AXLE_CONFIG(QuantizeProducts, at, except, with)
  };
  QuantizeProducts(const Config& cfg, const Dims&, const Scope& scope);
  /// Throws NoMatch if no product matches, or if a pattern of `except` matches none.
  std::vector<Rewrite> apply(ConfigRef root) const override;

 private:
  Config cfg_;
  bool allow_none_;
};

}  // namespace axle
