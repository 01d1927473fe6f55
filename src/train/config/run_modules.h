// The modules of a run: what is built from its config alone, without devices.
#pragma once

#include <memory>

#include "train/config/trainer_config.h"
#include "train/program/programs.h"

namespace axle {

/// Returns the parameters of a model, also of one that has mistakes but can be built in spite of
/// them; empty if it cannot be built at all. For checks of patterns of paths.
Tree<ParamSpec> declared_params(const Child<Model>& model);

struct RunModules {
  /// Throws ConfigError for an incomplete config or one that cannot be built. The error has the
  /// mistakes of all modules.
  explicit RunModules(const Trainer::Config& config);
  /// Throws DataError if the training data can't be read.
  std::unique_ptr<Input> make_input() const;
  /// Returns what the programs are traced from, for batches of these types on `mesh`, whose sizes
  /// are all known. Throws as with_batch() does.
  ProgramSpec program_spec(const Mesh& mesh, const Tree<Type>& batch) const;
  /// Returns what the evaluations of a run on `mesh` read of it.
  EvaluatedRun evaluated_on(const Mesh& mesh) const;

  Trainer::Config config;
  std::unique_ptr<Model> model;
  std::unique_ptr<Learner> learner;
  Input::Dims input_dims;
};

}  // namespace axle
