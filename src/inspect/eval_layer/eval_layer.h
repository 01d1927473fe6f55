// Runs any registered layer on given inputs, with its vjp and its caches, so that users can compare
// one layer with another framework.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/tree.h"
#include "config/fields/any_config.h"
#include "ir/host_tensor.h"
#include "nn/layer.h"
#include "runtime/runtime.h"

namespace axle {

/// A layer class with its fields, the dims that a parent would give it, and the options of its
/// slot.
struct LayerFile {
  AnyConfig config, dims;
  LayerOptions options = {};
};

/// Reads YAML: {class: Linear, config: {bias: false}, dims: {input_dim: 32, output_dim: 24},
/// "@init": Zeros}. Throws ConfigError naming `source` for unknown classes, fields, dims and
/// options, for a class that is not a layer, and for missing integer dims.
LayerFile parse_layer_file(std::string_view text, const std::string& source);
/// Builds the layer as the root of the tree: the paths of its own parameters have no prefix.
std::unique_ptr<Layer> build_layer(const LayerFile& file);

struct EvalLayerOptions {
  /// One of Layer::methods(), or "prefill" or "extend_step". These two call `forward` (of a model,
  /// `logits`) as decoding does: prefill with empty caches, extend_step with the caches in
  /// "state/".
  std::string method = "forward";
  /// Seed of the key that initialises the parameters; required if no parameters are given.
  std::optional<int64_t> init_seed = {};
  /// Seed of the call's own key; none: no key.
  std::optional<int64_t> call_key = {};
  bool training = false;
  /// Also compute the vjp at the given cotangents.
  bool grad = false;
  /// Floating-point parameters, inputs, state and cotangents are cast to this dtype first; none:
  /// not cast.
  std::optional<DType> dtype = {};
  /// Prefill: number of positions of the caches; none: as many as the input has.
  std::optional<int64_t> cache_len = {};
};

/// Runs a method of the layer.
///
/// `params` is by the layer's paths; none: drawn from the seed. `inputs` holds
///   in/<name>
///   state/<path>
///   cotangent/<name> or cotangent/<i>, for the vjp, of floating-point outputs; others are zero
/// The result holds
///   out, or out/<name> if the result has parts
///   init_params/<path>, if there is a seed
///   summaries/<path>, aux_losses/<path>, outputs/<path> and state/<path>
///   grad/params/<path> and grad/in/<name>
/// A tensor of one element may be given as [] or [1]. Throws ConfigError naming every missing,
/// extra or misshapen parameter and input, and every input that no result depends on.
Tree<HostTensor> eval_layer(Layer& layer, const std::optional<Tree<HostTensor>>& params,
                            const Tree<HostTensor>& inputs, const EvalLayerOptions& options,
                            Runtime& runtime);

}  // namespace axle
