// Any registered layer on given inputs, with its vjp and its caches: how a user compares one layer
// with another framework.
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

/// A layer class with its fields, the dims that a parent would tell it, and the options of its
/// slot.
struct LayerFile {
  AnyConfig config, dims;
  LayerOptions options = {};
};

/// Reads YAML: {class: Linear, config: {bias: false}, dims: {input_dim: 32, output_dim: 24},
/// "@init": Zeros}. Throws ConfigError at `source`: unknown class, fields, dims and options; a
/// class that is no layer; numbers of dims that are not named.
LayerFile parse_layer_file(std::string_view text, const std::string& source);
/// The layer at the root: its own parameters have paths of one name.
std::unique_ptr<Layer> build_layer(const LayerFile& file);

struct EvalLayerOptions {
  /// One of Layer::methods(); or "prefill" and "extend_step", which call `forward` (of a model
  /// `logits`) as decoding does: from empty caches, and with the caches in "state/".
  std::string method = "forward";
  /// The key of this number initialises the parameters; needed where none are given.
  std::optional<int64_t> init_seed = {};
  /// The key of this number is the call's.
  std::optional<int64_t> call_key = {};
  bool training = false;
  /// Compute the vjp at the cotangents.
  bool grad = false;
  /// Floating-point parameters, inputs, state and cotangents are cast to it first; none: as they
  /// are.
  std::optional<DType> dtype = {};
  /// Of prefill: positions that its caches have room for; none: those of the input.
  std::optional<int64_t> cache_len = {};
};

/// Runs a method of the layer.
///
/// `params` by the layer's paths; none: drawn from the seed. `inputs` are "in/<name>",
/// "state/<path>" and, for the vjp, "cotangent/<name>" or "cotangent/<i>" of any of the
/// floating-point outputs; the others' are zero. The result has "out" or, of results with parts,
/// "out/<name>"; "init_params/<path>" if there is a seed, "summaries/", "aux_losses/", "outputs/"
/// and "state/" by path, "grad/params/<path>" and "grad/in/<name>". A tensor of one element may be
/// given as [] or [1]. Throws ConfigError naming every missing, extra or misshapen parameter and
/// input, and every input that no result depends on.
Tree<HostTensor> eval_layer(Layer& layer, const std::optional<Tree<HostTensor>>& params,
                            const Tree<HostTensor>& inputs, const EvalLayerOptions& options,
                            Runtime& runtime);

}  // namespace axle
