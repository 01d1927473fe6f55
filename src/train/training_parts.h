// The parts of a training run that can be built from a config alone, without devices.
#pragma once

#include <memory>

#include "train/config/trainer_config.h"
#include "train/programs.h"

namespace axle {

/// Returns the parameters of a model, also of one that has mistakes but can be built in spite of
/// them; empty if it cannot be built at all. For checks of patterns of paths.
Tree<ParamSpec> declared_params(const Child<Model>& model);

struct TrainingParts {
  /// Throws ConfigError for an incomplete config or one that cannot be built. The error has the
  /// mistakes of all modules.
  explicit TrainingParts(const Trainer::Config& config);
  /// Throws DataError if the training data can't be read.
  std::unique_ptr<Input> make_input() const;
  /// Returns the inputs of the program builders for batches of these types on `mesh`, whose sizes
  /// are all known. Throws ConfigError if nothing is sharded over an axis of the mesh, or if a
  /// partition names an unknown axis.
  ProgramParts program_parts(const Mesh& mesh, const Tree<Type>& batch) const;

  Trainer::Config config;
  std::unique_ptr<Model> model;
  std::unique_ptr<Learner> learner;
  Input::Dims input_dims;
};

}  // namespace axle
