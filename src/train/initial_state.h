// The state that a run starts from.
#pragma once

#include <filesystem>
#include <optional>

#include "runtime/runtime.h"
#include "train/programs.h"
#include "train/record/progress.h"

namespace axle {

/// What a new run starts from.
struct InitFrom {
  /// Folder of a run or of an import; empty: none.
  std::filesystem::path folder = {};
  /// The folder holds a dense model, whose feed-forward layers become the experts of the model.
  bool upcycle = false;
};

/// Returns the parameters and the state of layers to start from, and prints where they come from.
/// Returns none without a folder. Of a dense model there are the parameters alone, with the experts
/// made from them and the others drawn from the seed (layers/experts/upcycle.h). Throws ConfigError
/// for parameters that do not fit, and for `upcycle` without a folder.
std::optional<Tree<HostTensor>> given_state(const InitFrom& from, const Model& model, int64_t seed,
                                            Progress& progress);

/// Returns the arrays of `leaves` (train_state). The seed initialises all values that `given` does
/// not hold. `given` holds values by path: all parameters ("model/..."), and either all or none of
/// the layer state ("state/model/...").
Arrays initial_state(const ProgramParts& parts, const std::vector<ProgramValue>& leaves,
                     int64_t seed, const std::optional<Tree<HostTensor>>& given, Runtime& runtime,
                     const CompileOptions& options);

}  // namespace axle
