// Runs any registered layer on given inputs, with its vjp and its caches, so that users can compare
// one layer with another framework.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/tree.h"
#include "ir/host_tensor.h"
#include "nn/layer.h"
#include "runtime/runtime.h"

namespace axle {

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
/// extra or misshapen parameter and input, and every input that no result depends on; DataError if
/// a parameter is missing.
Tree<HostTensor> eval_layer(Layer& layer, const std::optional<Tree<HostTensor>>& params,
                            const Tree<HostTensor>& inputs, const EvalLayerOptions& options,
                            Runtime& runtime);

}  // namespace axle
