// The traced programs of a training run: initialise, step and evaluate. The training state is one
// flat list of arrays.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/tree.h"
#include "interop/import_model.h"
#include "ir/devices/mesh.h"
#include "lower/stablehlo.h"
#include "runtime/runtime.h"
#include "transform/taps/taps.h"

namespace axle {

class Learner;
class Model;

/// What programs are traced from. All referenced objects must outlive the programs.
struct ProgramSpec {
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

/// Returns `spec` for batches of these types. Throws ConfigError if nothing is sharded over an axis
/// of the mesh, or if a partition names an unknown axis.
ProgramSpec with_batch(ProgramSpec spec, Tree<Type> batch);

/// Returns how many devices share the rows of batches that are sharded like this.
int64_t num_row_shares(const PartitionSpec& batch_partition, const Mesh& mesh);

/// Returns every leaf of the training state with its sharding: "prng_key" u32[2], "model/...",
/// "learner/..." and the state of layers, "state/model/...". Sorted by path; the programs take and
/// return the leaves in this order.
std::vector<ProgramValue> train_state(const Model& model, const Learner& learner);

/// Returns the tensors of a batch as inputs of the programs, sorted by name. They are sharded by
/// batch_partition; a tensor of fewer dims uses only its leading entries.
std::vector<ProgramValue> batch_inputs(const ProgramSpec& spec);

/// (key u32[2], leaves of the state by name) -> state. `given` names the leaves that are inputs:
/// parameters and state of layers. Initialisers draw the others.
Program init_program(const ProgramSpec& spec, const std::set<std::string>& given = {});

/// (state, batch) -> (state, metrics). Metrics are scalars sorted by name; layer summaries are
/// below "summary/". The state is donated.
///
/// If the loss or the gradient norm is not finite, the step changes nothing but the key; it then
/// returns "skipped" = 1, and NaN for the learner's metrics. "not_finite" is the index of the first
/// group of the new state that is not finite (a parameter with its optimizer state:
/// FiniteState::groups()), -1 if all of it is. Such a state must not be kept; the state before it
/// is gone. Throws ConfigError if a metric has a name that records
/// use themselves (record/metrics.h); so does eval_program.
///
/// The last outputs are the values of debug_print; `prints` describes them if it is given.
Program step_program(const ProgramSpec& spec, std::vector<CollectedTap>* prints = nullptr);
/// (parameters, state of layers, batch) -> metrics: "loss" and the model's own, without dropout and
/// without gradients. The parameters are the trained ones or, under their names in the training
/// state, their averages. Throws ConfigError for pairs of answers ("is_pair"), unless the model
/// compares them.
Program eval_program(const ProgramSpec& spec, Weights weights = Weights::kTrained);

/// The training state on the devices, or a part of it.
struct DeviceState {
  std::vector<ProgramValue> leaves;  // names, types, shardings; sorted by name
  Arrays arrays;                     // one for each leaf

  /// Returns the arrays of the program's leading inputs, matched by name, up to the first input
  /// that is not a leaf of the state.
  Arrays leading(const Program& program) const {
    Arrays out;
    for (const ProgramValue& input : program.inputs) {
      const auto it = std::ranges::lower_bound(leaves, input.name, {}, &ProgramValue::name);
      if (it == leaves.end() || it->name != input.name) break;
      out.push_back(arrays[static_cast<size_t>(it - leaves.begin())]);
    }
    return out;
  }
};

/// Prints what a program delivers for debug_print (ops/annotate.h): its last outputs.
class DebugPrints {
 public:
  DebugPrints() = default;
  /// `prints` describes the outputs of a program with `num_outputs` outputs.
  DebugPrints(std::vector<CollectedTap> prints, size_t num_outputs);
  /// The number of outputs that hold the values.
  size_t size() const { return size_; }
  /// Waits for the values, and returns the lines in the order of the program. `values` are the last
  /// size() outputs.
  std::vector<std::string> lines(std::span<const ArrayPtr> values) const;

 private:
  std::vector<CollectedTap> prints_;
  size_t size_ = 0, first_ = 0;
};

}  // namespace axle
