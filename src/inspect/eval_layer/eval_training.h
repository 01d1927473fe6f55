// Takes training steps on given weights and batches, to compare the trajectory with that of another
// framework.
#pragma once

#include <optional>

#include "base/tree.h"
#include "ir/host_tensor.h"
#include "runtime/runtime.h"
#include "train/config/trainer_config.h"

namespace axle {

struct EvalTrainingOptions {
  /// Number of steps; none: as many as there are batches.
  std::optional<int64_t> num_steps = {};
  /// Initialises the weights and the PRNG key as a run with this seed does. None: the PRNG key
  /// starts from the config's seed, and the weights must be given.
  std::optional<int64_t> init_seed = {};
  /// Seed of the PRNG key of the first step; none: the key of the initial state.
  std::optional<int64_t> call_key = {};
  /// Replaces the config's compute_dtype; none: the config's.
  std::optional<DType> dtype = {};
};

/// Takes steps on one device. Uses only model, learner, compute_dtype, layer_summaries, seed and
/// max_steps of the config. `inputs` holds
///   init/<path>     the initial weights by the model's own paths, unless `params` gives them
///   batches/<name>  the batches of all steps; the leading dim is the step
///   state/<leaf>    the rest of the training state; if none is given, as a new run begins
/// The result holds
///   <metric>            f32[steps]: "loss", "grad_norm", "param_norm", "learning_rate", ...
///   summaries/<path>    layer summaries, f32[steps, ...]
///   final/<path>        the final weights
///   state/<leaf>        the rest of the final training state
///   init_params/<path>  the initial weights drawn from a seed, if there is one
/// Throws DataError for missing tensors, ConfigError for extra and misshapen ones, and for entries
/// of a batch that nothing reads.
Tree<HostTensor> eval_training(const Trainer::Config& config,
                               const std::optional<Tree<HostTensor>>& params,
                               const Tree<HostTensor>& inputs, const EvalTrainingOptions& options,
                               Runtime& runtime);

}  // namespace axle
