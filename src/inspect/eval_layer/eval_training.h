// Takes training steps on given weights and batches, to compare the trajectory with that of another
// framework.
#pragma once

#include <optional>
#include <vector>

#include "base/tree.h"
#include "ir/host_tensor.h"
#include "runtime/runtime.h"
#include "train/config/trainer_config.h"

namespace axle {

class StepSeries {
 public:
  /// Adds the metrics of a step. Every step must have the same names and shapes.
  void add(const Tree<HostTensor>& step) {
    for (const auto& [name, value] : step) {
      Series& series = series_[name];
      series.shape = value.shape();
      for (int64_t i = 0; i < value.size(); ++i)
        series.values.push_back(static_cast<float>(value.at(i)));
    }
    ++num_steps_;
  }
  /// Returns f32[steps, ...] for each name.
  Tree<HostTensor> stacked() const {
    Tree<HostTensor> out;
    for (const auto& [name, series] : series_) {
      Shape shape = series.shape;
      shape.insert(shape.begin(), num_steps_);
      out.emplace(name, HostTensor(std::move(shape), std::span<const float>(series.values)));
    }
    return out;
  }

 private:
  struct Series {
    Shape shape = {};  // of one step
    std::vector<float> values = {};
  };
  Tree<Series> series_;
  int64_t num_steps_ = 0;
};

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
///   init/<path>     the initial weights by the model's own paths, unless `params` holds them
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
