// The state that a run starts from.
#pragma once

#include "runtime/runtime.h"
#include "train/init_from.h"
#include "train/programs.h"
#include "train/record/progress.h"

namespace axle {

/// Returns the parameters and the state of layers to start from, by their names in the training
/// state, and prints where they come from. Empty without a folder. Of a dense model there are the
/// parameters alone, with the experts made from them and the others drawn from the seed
/// (layers/experts/moe.h). The values of a part may have another floating-point dtype than the
/// model has, and are cast.
///
/// Throws ConfigError for parameters that do not fit, for `upcycle` without a folder, and if a
/// frozen model (Model::frozen_models) has no folder.
Tree<HostTensor> initial_values(const InitFrom& from, const Model& model, int64_t seed,
                                Progress& progress);

/// Returns the arrays of `leaves` (train_state). The seed initialises all values that `given` does
/// not hold: parameters ("model/...") and layer state ("state/model/...").
Arrays initial_state(const ProgramParts& parts, const std::vector<ProgramValue>& leaves,
                     int64_t seed, Tree<HostTensor> given, Runtime& runtime,
                     const CompileOptions& options);

}  // namespace axle
