// Training steps on given weights and batches: a trajectory to lay beside another framework's.
#pragma once

#include <optional>

#include "base/tree.h"
#include "inspect/eval_layer/run_named.h"
#include "ir/host_tensor.h"
#include "runtime/runtime.h"
#include "train/trainer.h"

namespace axle {

struct EvalTrainingOptions {
  /// Steps to take; none: as many as there are batches.
  std::optional<int64_t> num_steps = {};
  /// Weights and the PRNG key start as a run of this seed does; none: the config's seed, and the
  /// weights must be given.
  std::optional<int64_t> init_seed = {};
  /// The PRNG key of the first step is that of this number.
  std::optional<int64_t> call_key = {};
  /// Takes the place of the config's compute_dtype.
  std::optional<DType> dtype = {};
};

/// Takes steps on one device, as the config's model, learner, compute_dtype, layer_summaries and
/// seed say; the rest of it plays no part. `params`, or "init/<path>" of `inputs`, are the model's
/// weights by its own paths; "batches/<name>" has the step as its leading dim; "state/<leaf>" is
/// the rest of the training state, where none is given as a run begins. The result has every metric
/// of a step ("loss", "grad_norm", "param_norm", "learning_rate", ...) as f32[steps], layer
/// summaries as "summaries/<path>" f32[steps, ...], "final/<path>" of the weights, "state/<leaf>",
/// and with a seed "init_params/<path>". Throws ConfigError for missing, extra and misshapen
/// tensors and for entries of a batch that nothing reads.
Tree<HostTensor> eval_training(const Trainer::Config& config,
                               const std::optional<Tree<HostTensor>>& params,
                               const Tree<HostTensor>& inputs, const EvalTrainingOptions& options,
                               Runtime& runtime);

}  // namespace axle
