// Modifiers that change how weights are multiplied: low-rank adapters and quantized products.
#pragma once

#include <string>
#include <vector>

#include "config/replace.h"
#include "layers/products/int8_product.h"
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
    /// Patterns of paths that are left as they are, regardless of `at`: "**.lm_head".
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

/// A slot that holds a Product. A product inside of another one (LoraProduct.inner) has a slot of
/// its own.
struct ProductSlot {
  std::string path;
  Slot slot;
  std::string layer_path;            // without the names of products at its end
  const AnyConfig* owner = nullptr;  // the config whose slot it is
  bool is_inner = false;             // the owner is a product as well
};

/// Returns the slots in the order of the tree. They are valid until the tree changes its classes
/// elsewhere.
std::vector<ProductSlot> product_slots(ConfigRef root);

/// True if the pattern, or one of the patterns, matches the path of the slot or of its layer.
bool matches_layer(std::string_view pattern, const ProductSlot& product);
bool matches_layer(const std::vector<std::string>& patterns, const ProductSlot& product);

/// Throws NoMatch "<field>: expected the path of a layer with a product, got ...".
[[noreturn]] void fail_no_product(std::string_view field, std::string_view pattern);
/// The same for a modifier with the fields `at` and `except`: says which of them leaves none.
[[noreturn]] void fail_no_product(std::string_view modifier, std::string_view at,
                                  const std::vector<std::string>& except,
                                  const std::vector<ProductSlot>& products);
/// Throws NoMatch if one of the patterns matches no product. `field` holds them: "Lora.except".
void check_patterns(std::string_view field, const std::vector<std::string>& patterns,
                    const std::vector<ProductSlot>& products);

}  // namespace axle
