// What a run keeps in its folder, so that it goes on without what it began with.
#pragma once

#include <filesystem>

#include "recipes/resolve/recipe_file.h"
#include "recipes/resolve/resolve.h"

namespace axle {

/// Returns the config of the run in a folder as a file of --config: that of its newest checkpoint,
/// or its config.yaml if the checkpoints keep none. Throws ConfigError.
RecipeFile config_of_run(const std::filesystem::path& run);
/// Names the run's own copies of tokenizers and chat templates that are not where the config says
/// (interop/tokenizer_paths.h). Reports those that are not among the warnings already.
void take_kept_tokenizers(Resolved& resolved, const std::filesystem::path& run);

}  // namespace axle
