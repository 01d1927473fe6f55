// Finds methods of a layer by name, including those of decoding, and the caches that these need.
#pragma once

#include <string>

#include "base/tree.h"
#include "inspect/eval_layer/eval_layer.h"
#include "ir/host_tensor.h"
#include "nn/layer.h"

namespace axle {

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
