// Evaluation of a model on held-out data.
#pragma once

#include <optional>

#include "config/config.h"
#include "data/input.h"
#include "runtime/runtime.h"

namespace axle {

struct EvalResult {
  /// Means over all targets: "loss" (nats per target), the model's other metrics, and
  /// "bits_per_byte" where targets stand for text.
  Tree<double> metrics = {};
  int64_t num_targets = 0, num_bytes = 0;
  /// Of the text itself, order 0; 0 where it is not known.
  double byte_entropy_bits = 0;
};

/// An evaluation that a training run makes now and then.
class Evaler {
 public:
  struct Config {
    /// Ends by itself: `epochs` or `num_batches` is set.
    Child<Input> input = {};
    /// Evaluate after every so many steps and at the end; none: at the end alone.
    std::optional<int64_t> every_steps = {};
    AXLE_CONFIG(Evaler, input, every_steps)
  };
};

/// Runs all batches of `input` through an eval_program. Throws DataError if they hold no target.
EvalResult evaluate_input(Input& input, Executable& program, const Program& signature,
                          Runtime& runtime, const Arrays& parameters);

}  // namespace axle
