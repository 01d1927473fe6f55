// Methods of a layer by name, those of decoding among them, and the caches that these need.
#pragma once

#include <string>

#include "base/tree.h"
#include "inspect/eval_layer/eval_layer.h"
#include "ir/host_tensor.h"
#include "nn/layer.h"

namespace axle {

inline constexpr std::string_view kPrefill = "prefill", kExtendStep = "extend_step";

/// kPrefill and kExtendStep.
bool is_decoding_method(const std::string& name);

/// One of Layer::methods(); of those of decoding, what they call. Throws ConfigError naming all.
Method find_method(Layer& layer, const std::string& name);

/// The caches that a decoding method starts from: empty ones for prefill, for extend_step the given
/// ones. `in` are the call's inputs. Throws ConfigError for caches that are missing, of other
/// shapes or of no use, for a prefill whose inputs have no positions, for an extend_step that does
/// not say where its tokens stand, and for places that the caches do not have or that do not follow
/// each other in a row.
Tree<HostTensor> caches_for(const Layer& layer, const Method& method, const Tree<HostTensor>& in,
                            Tree<HostTensor> given, const EvalLayerOptions& options);

}  // namespace axle
