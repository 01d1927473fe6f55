// The state that a run starts from.
#pragma once

#include <filesystem>
#include <optional>

#include "runtime/runtime.h"
#include "train/programs.h"
#include "train/record/progress.h"

namespace axle {

/// Returns the parameters and the state of layers in the folder of a run or an import, and prints
/// where they come from. Returns none if `folder` is empty.
std::optional<Tree<HostTensor>> given_state(const std::filesystem::path& folder, const Model& model,
                                            Progress& progress);

/// Returns the arrays of `leaves` (train_state). The seed initialises all values that `given` does
/// not hold. `given` holds values by path: all parameters ("model/..."), and either all or none of
/// the layer state ("state/model/...").
Arrays initial_state(const ProgramParts& parts, const std::vector<ProgramValue>& leaves,
                     int64_t seed, const std::optional<Tree<HostTensor>>& given, Runtime& runtime,
                     const CompileOptions& options);

}  // namespace axle
