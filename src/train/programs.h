// The programs of a training run: initialise, step, evaluate. Traced functions over one flat state.
#pragma once

#include <string>
#include <vector>

#include "layers/models/model.h"
#include "learn/learner.h"
#include "lower/program.h"

namespace axle {

/// What the programs are made of; everything outlives them.
struct ProgramParts {
  Model& model;
  /// None: only eval_program can be made.
  const Learner* learner = nullptr;
  /// Shapes and dtypes of a batch, by name.
  Tree<Type> batch;
  Mesh mesh = {};
  PartitionSpec batch_partition = {};
  /// Parameters and floating-point inputs are cast to it at the top; none: as stored.
  std::optional<DType> compute_dtype = {};
  bool layer_summaries = false;
};

/// Every leaf of the training state with its sharding: "prng_key" u32[2], "model/...",
/// "learner/..." and "state/model/...", what layers keep. Sorted by path; the programs take and
/// give them in this order.
std::vector<ProgramValue> train_state(const Model& model, const Learner& learner);

/// The batch as an input of the programs, sorted by name; an element of fewer dims than
/// batch_partition is divided by those that it has.
std::vector<ProgramValue> batch_inputs(const ProgramParts& parts);

/// What the state of step 0 is given; the rest is drawn by its initialisers.
enum class Given { kNothing, kParameters, kParametersAndLayerState };
/// key u32[2], and what is given by its path, sorted -> state.
Program init_program(const ProgramParts& parts, Given given = Given::kNothing);
/// state, batch -> state, metrics (scalars, sorted by name; layer summaries behind "summary/"). The
/// state is donated. Where the loss, the norm of the gradients or any number of the new state is
/// not finite, all but the key stay as they are: then "skipped" is 1, and "not_finite" the number
/// of the bad part of the state (FiniteState), -1 where there is none. Throws ConfigError where a
/// metric has a name that records have already (metric_names.h), as eval_program does.
Program step_program(const ProgramParts& parts);
/// parameters, state of layers, batch -> metrics: "loss" and the model's own, without dropout and
/// without gradient.
Program eval_program(const ProgramParts& parts);

}  // namespace axle
