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

inline constexpr std::string_view kPrefill = "prefill", kExtendStep = "extend_step";

/// True for kPrefill and kExtendStep.
bool is_decoding_method(const std::string& name);

/// Returns the method of `layer` called `name`. For a decoding method, returns the method that it
/// calls: `logits` of a model, else `forward`. Throws ConfigError with the names of all methods.
Method find_method(Layer& layer, const std::string& name);

/// Returns the caches that a decoding method starts from: empty ones for prefill, the given ones
/// for extend_step. `in` holds the inputs of the call. Throws DataError or ConfigError
///   if caches are missing, superfluous or of other shapes
///   if no input has rows of tokens [B, T, ...]
///   if an extend_step does not get the positions of its tokens
///   if positions are outside of the caches or not consecutive within a row
Tree<HostTensor> caches_for(const Layer& layer, const Method& method, const Tree<HostTensor>& in,
                            Tree<HostTensor> given, const EvalLayerOptions& options);

}  // namespace axle
