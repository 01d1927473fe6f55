// A language model layer by layer, in the one form in which models are compared.
#pragma once

#include <string>
#include <vector>

#include "layers/models/decoder.h"
#include "layers/models/model.h"

namespace axle {

/// Sizes are numbers; queries, keys and values have a projection each (SeparateQKV); rotations turn
/// pairs of halves. Weights of another form are those of this one in another order
/// (change_form.h).
struct PlainModel {
  /// All but the layers.
  Decoder::Config decoder;
  /// None is a stack of others.
  std::vector<Child<Block>> layers;
};

/// Returns the model in this form. Throws ConfigError if it is no CausalLM, or has no layers.
PlainModel plain_model(const Child<Model>& model);

/// A field in which two models differ: "model.decoder.model_dim". Layers are those of a Stacked.
struct ModelDifference {
  std::string path, first, second;
};
/// Returns where the two do not compute the same from the same weights. Fields that count only in
/// training, or decide only about numbers of bits, memory or speed, do not matter: losses, dropout,
/// initialisers, dtypes, remat, shardings, caches, classes of products, the longest sequence.
std::vector<ModelDifference> differences(const PlainModel& a, const PlainModel& b);

}  // namespace axle
