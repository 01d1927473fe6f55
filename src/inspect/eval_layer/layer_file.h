// Files that name a layer class with its fields and dims.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "nn/layer.h"

namespace axle {

/// A layer class with its fields, the dims that a parent would give it, and the options of its
/// slot.
struct LayerFile {
  AnyConfig config, dims;
  LayerOptions options = {};
};

/// Reads a document: {class: Linear, config: {bias: false}, dims: {input_dim: 32, output_dim: 24},
/// "@init": Zeros}. Throws ConfigError naming `source` for unknown classes, fields, dims and
/// options, for a class that is not a layer, and for missing integer dims.
LayerFile read_layer_file(const nlohmann::ordered_json& document, const std::string& source);
/// Builds the layer as the root of the tree: the paths of its own parameters have no prefix.
std::unique_ptr<Layer> build_layer(const LayerFile& file);

}  // namespace axle
