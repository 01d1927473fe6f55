// Low-rank adapters for the weights of any layer.
#pragma once

#include "layers/products/lora_product.h"
#include "modifiers/modifier.h"

namespace axle {

/// Puts a LoraProduct around products, and trains the adapters alone: dense layers, heads, fused
/// and grouped projections, experts. Products that have an adapter keep it: applied twice, the
/// modifier changes nothing more. If the tree has a learner, all other parameters are frozen.
///
/// The report lists the products that got an adapter, those that had one, and those with which the
/// model refuses to be built, since their weights have other uses. A tree without a model is not
/// tried: build it to see.
class Lora final : public Modifier {
 public:
  struct Config {
    /// Pattern of the paths of layers or of their product slots: "**.qkv.**"; "**": everywhere.
    std::string at = "**";
    /// Patterns of paths that are left out, regardless of `at`.
    std::vector<std::string> except = {};
    /// Size of the vector between the two matrices of an adapter.
    Positive<int64_t> rank = 8;
    /// The adapter's result is multiplied by alpha / rank.
    Positive<double> alpha = 16;
    /// Dropout of the adapter's input.
    FractionBelowOne dropout = 0;
    /// Patterns of the paths of other parameters to train: "**.norm.scale".
    std::vector<std::string> also_train = {};
    AXLE_CONFIG(Lora, at, except, rank, alpha, dropout, also_train)
  };
  Lora(const Config& cfg, const Dims&, const Scope& scope)
      : cfg_(cfg), allow_none_(may_find_none(scope)) {}
  /// Throws NoMatch if no product matches, or if a pattern of `except` matches none.
  std::vector<Rewrite> apply(ConfigRef root) const override;

 private:
  Config cfg_;
  bool allow_none_;
};

/// Takes the adapters off the configs of a tree again. Returns the paths of the slots.
std::vector<std::string> remove_adapters(ConfigRef root);

}  // namespace axle
