// The config that `axle eval` evaluates a trained model with.
#pragma once

#include <string>
#include <vector>

#include "infer/model_folder.h"
#include "recipes/resolve.h"

namespace axle {

/// The config of a trained model, its input over all of `data` once, then the edits. Compiler
/// options count as far as the edits set them: those of the run are its device's. Throws
/// ConfigError for an edit that would have no effect: of a field that an evaluation does not read,
/// or that `data` decides.
Resolved resolve_evaluation(const ModelConfig& config, const std::string& data,
                            const std::vector<Edit>& edits);

}  // namespace axle
