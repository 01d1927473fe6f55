// What language models read from a batch.
#pragma once

#include <string>

#include "layers/blocks/mixer.h"

namespace axle {

/// Returns the tensor of the batch. Throws ConfigError naming the model if the batch lacks it.
Tensor batch_tensor(const Tree<Tensor>& batch, const std::string& name, const Layer& model);

/// Returns what the batch tells about its tokens. Its segment ids become those of the current call,
/// and its streams of positions are published.
MixerContext context_of(const Tree<Tensor>& batch);

}  // namespace axle
