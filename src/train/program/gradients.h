// The gradient of a training step and the metrics of an evaluation: of the whole batch at once, or
// of its microbatches one after another.
#pragma once

#include <optional>
#include <utility>

#include "base/tree.h"
#include "layers/models/model.h"
#include "learn/optimizer.h"
#include "nn/invocation.h"
#include "train/program/programs.h"

namespace axle {

/// Runs the forward pass. Casts parameters and batch to the compute dtype first. Returns the output
/// of the model and the values that its layers collected. Throws ConfigError for an auxiliary loss
/// that the model left out, and for metrics under the names of records.
std::pair<ModelOutput, OutputCollection> forward(const ProgramSpec& spec,
                                                 const Tree<Tensor>& parameters,
                                                 const Tree<Tensor>& batch,
                                                 InvocationOptions options);

/// Returns "loss" and the model's own metrics, without dropout, gradients and new state of layers.
/// With Learner::evaluated_microbatches() > 1, they are those of StepObjective.
Tree<Tensor> evaluated_metrics(const ProgramSpec& spec, const Tree<Tensor>& parameters,
                               const Tree<Tensor>& layers, const Tree<Tensor>& batch);

/// The objective at some parameters.
struct Gradients {
  Tensor loss, norm;
  Tree<Tensor> by_parameter;  // trained parameters only
  Tree<Tensor> layers;        // new state of the layers
  Tree<Tensor> metrics;
  Tree<Tensor> measured = {};  // what the learner measured
};

/// What one evaluation of the objective of a step reads.
struct StepInputs {
  Tree<Tensor> parameters;  // all
  Tree<Tensor> layers;      // state of the layers
  Tree<Tensor> batch;
  random::Key key;  // for dropout and the like
};

/// The objective of one step as the learner sees it.
///
/// With Learner::microbatches() = n > 1, microbatch i has the rows i, i + n, i + 2n, ..., so that
/// each device splits its own rows. Loss, gradient and metrics are means over all targets of the
/// batch, whatever microbatch they are in: exactly those of the whole batch, but for auxiliary
/// losses. An auxiliary loss is taken in each, and they count by their number of targets. The state
/// of layers passes through them in order. Microbatch i draws random numbers from fold_in(key, i).
class StepObjective final : public Objective {
 public:
  /// `spec` must outlive the objective. Throws ConfigError if the microbatches would differ in
  /// size.
  StepObjective(const ProgramSpec& spec, StepInputs inputs);

  /// Traced: evaluates the objective at the parameters of the inputs.
  Gradients gradients() const;
  Tree<Tensor> gradient(const Tree<Tensor>& params) const override;
  Sampled sampled_gradient(const Tree<Tensor>& params, const random::Key& key) const override;

 private:
  Gradients evaluate(const StepInputs& inputs, const random::Key& sample) const;
  Gradients of_microbatch(const StepInputs& inputs, const random::Key& sample) const;
  Gradients of_all(const StepInputs& inputs, const random::Key& sample) const;
  StepInputs at(const Tree<Tensor>& trained) const;

  const ProgramSpec& spec_;
  StepInputs inputs_;
  int64_t num_microbatches_;
};

}  // namespace axle
