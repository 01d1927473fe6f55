// The config that `axle eval` evaluates a trained model with.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "interop/model_folder.h"
#include "recipes/resolve/resolve.h"

namespace axle {

/// Returns the config of a trained model with its input over all of `data` once, then the edits.
/// The run's compiler options are dropped, because they belong to its device; options that the
/// edits set are kept. Throws ConfigError for an edit without effect: of a field that an evaluation
/// does not read, or that `data` decides.
Resolved resolve_evaluation(const ModelConfig& config, const UseData& data,
                            const std::vector<Edit>& edits);

/// True if an evaluation reads the field of a config at this path, or below it.
bool is_read_by_evaluation(std::string_view path);

}  // namespace axle
