// A model without what only training needs.
#pragma once

#include <string>
#include <vector>

#include "layers/mixer.h"
#include "layers/models/decoder.h"
#include "layers/models/model.h"
#include "layers/products/quantized_product.h"
#include "modifiers/modifier.h"

namespace axle {

/// A layer that is no stack of others.
struct UnstackedLayer {
  /// The path of its parameters: "decoder/layers/layer".
  std::string path;
  /// The layers that lie stacked there, along the leading dims of each parameter, and which of them
  /// this one is.
  int64_t count = 1, index = 0;
  Child<Block> layer;
};

/// Returns the layers of a stack in the order in which they run, including layers of nested stacks:
/// Repeat, Stacked, Pattern, Pipeline. `path` is that of the stack.
std::vector<UnstackedLayer> unstacked_layers(const Child<Block>& stack, const std::string& path);

/// Sizes are numbers; queries, keys and values have a projection each (SeparateQKV); rotations use
/// pairs of halves. Weights of another form are the same numbers in another order
/// (change_form.h).
struct PlainModel {
  /// All but the layers.
  Decoder::Config decoder;
  /// None is a stack of others.
  std::vector<Child<Block>> layers;
};

/// Returns the model in this form. Throws ConfigError if it is no CausalLM, or has no layers.
PlainModel plain_model(const Child<Model>& model);

/// A field in which two models differ: "model.decoder.model_dim". Layers are named as in a Stacked.
struct ModelDifference {
  std::string path, first, second;
};
/// Returns where the two do not compute the same from the same weights. Fields that count only in
/// training, or decide only about numbers of bits, memory or speed, do not matter: losses, dropout,
/// initialisers, dtypes, remat, shardings, caches, classes of products, the longest sequence.
std::vector<ModelDifference> differences(const PlainModel& a, const PlainModel& b);

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
