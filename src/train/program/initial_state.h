// The state that a run starts from.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "runtime/runtime.h"
#include "train/program/programs.h"
#include "train/record/progress.h"

namespace axle {

/// What a new run starts from.
struct InitFrom {
  /// A run, an import or a model of another program; empty: none.
  std::filesystem::path folder = {};
  /// Fields of the configs of models of other programs that are left out.
  std::vector<std::string> ignored = {};
  /// The folder holds a dense model with the same layers. Its feed-forward layers become the
  /// experts of the model's mixtures (layers/experts/moe.h).
  bool upcycle = false;
  /// Folders of runs or imports for models inside the model, by their config paths below `model`:
  /// "teacher".
  std::map<std::string, std::filesystem::path> submodels = {};

  bool empty() const { return folder.empty() && submodels.empty(); }
};

/// Returns the parameters and the state of layers to start from, by their names in the training
/// state, and prints where they come from. Empty without a folder. Of a dense model there are the
/// parameters alone, with the experts made from them and the others drawn from the seed
/// (layers/experts/moe.h). The values of a submodel may have another floating-point dtype than
/// the model has, and are cast.
///
/// Throws ConfigError for parameters that do not fit, for `upcycle` without a folder, and if a
/// frozen model (Model::frozen_models) has no folder.
Tree<HostTensor> initial_values(const InitFrom& from, const Model& model, int64_t seed,
                                Progress& progress);

/// Returns the arrays of `leaves` (train_state). The seed initialises all values that `given` does
/// not hold: parameters ("model/...") and layer state ("state/model/...").
Arrays initial_state(const ProgramSpec& spec, const std::vector<ProgramValue>& leaves, int64_t seed,
                     Tree<HostTensor> given, Runtime& runtime, const CompileOptions& options);

}  // namespace axle
