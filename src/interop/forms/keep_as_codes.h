// Frozen weights that are kept as codes, in the form in which a file has them.
#pragma once

#include <string>

#include "layers/products/quantized_product.h"
#include "modifiers/modifier.h"

namespace axle {

/// Puts a QuantizedProduct wherever a product has a weight of its own, also below an adapter
/// (LoraProduct). Where `from` is a GGUF file, the codes have the scheme of the blocks of each
/// weight, which hold its numbers exactly; of several types in one stack of layers, the scheme that
/// holds all. A table, of which rows are looked up, is kept as codes only so. All other weights get
/// `with`, and products that hold codes already stay.
class KeepAsCodes final : public Modifier {
 public:
  struct Config {
    /// What training starts from: a path as --init-from takes it. Empty: no file says how its
    /// weights are stored.
    std::string from = "";
    /// The product of weights that are not stored as codes.
    Child<Product> with = QuantizedProduct::Config{};
    AXLE_CONFIG(KeepAsCodes, from, with)
  };
  KeepAsCodes(const Config& cfg, const Dims&, const Scope&) : cfg_(cfg) {}
  /// Throws NoMatch if no product can be so, and as read_gguf does.
  std::vector<Rewrite> apply(ConfigRef root) const override;

 private:
  Config cfg_;
};

}  // namespace axle
