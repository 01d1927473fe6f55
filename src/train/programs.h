// The traced programs of a training run: initialise, step and evaluate. The training state is one
// flat list of arrays.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/tree.h"
#include "interop/import_model.h"
#include "ir/devices/mesh.h"
#include "lower/trace_program.h"
#include "transform/taps/collect_taps.h"

namespace axle {

class Learner;
class Model;

/// Inputs of the program builders below. All referenced objects must outlive the programs.
struct ProgramParts {
  Model& model;
  /// Null: only eval_program can be made.
  const Learner* learner = nullptr;
  /// Shapes and dtypes of a batch, by name.
  Tree<Type> batch;
  Mesh mesh = {};
  PartitionSpec batch_partition = {};
  /// Parameters and floating-point inputs are cast to this type at the start; none: not cast.
  std::optional<DType> compute_dtype = {};
  bool layer_summaries = false;
};

/// Returns every leaf of the training state with its sharding: "prng_key" u32[2], "model/...",
/// "learner/..." and the state of layers, "state/model/...". Sorted by path; the programs take and
/// return the leaves in this order.
std::vector<ProgramValue> train_state(const Model& model, const Learner& learner);

/// Returns the tensors of a batch as inputs of the programs, sorted by name. They are sharded by
/// batch_partition; a tensor of fewer dims uses only its leading entries.
std::vector<ProgramValue> batch_inputs(const ProgramParts& parts);

/// (key u32[2], leaves of the state by name) -> state. `given` names the leaves that are inputs:
/// parameters and state of layers. Initialisers draw the others.
Program init_program(const ProgramParts& parts, const std::set<std::string>& given = {});
/// (state, batch) -> (state, metrics). Metrics are scalars sorted by name; layer summaries are
/// below "summary/". The state is donated.
///
/// If the loss or the gradient norm is not finite, the step changes nothing but the key; it then
/// returns "skipped" = 1, and NaN for the learner's metrics. "not_finite" is the index of the first
/// part of the new state that is not finite (FiniteState), -1 if all of it is. Such a state must
/// not be kept; the state before it is gone. Throws ConfigError if a metric has a name that records
/// use themselves (metric_names.h); so does eval_program.
///
/// The last outputs are the values of debug_print; `prints` describes them if it is given.
Program step_program(const ProgramParts& parts, std::vector<CollectedTap>* prints = nullptr);
/// (parameters, state of layers, batch) -> metrics: "loss" and the model's own, without dropout and
/// without gradients. The parameters are the trained ones or, under their names in the training
/// state, their averages. Throws ConfigError for pairs of answers ("is_pair"), unless the model
/// compares them.
Program eval_program(const ProgramParts& parts, Weights weights = Weights::kTrained);

}  // namespace axle
