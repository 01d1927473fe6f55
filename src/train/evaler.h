// Evaluation of a model on held-out data.
#pragma once

#include <optional>

#include "config/child.h"
#include "config/describe.h"
#include "data/input.h"
#include "layers/causal_lm.h"
#include "nn/param.h"
#include "runtime/runtime.h"

namespace axle {

struct EvalResult {
  /// Means over all targets: "loss" (nats per target), "bits_per_byte" where targets stand for text, and the model's
  /// other metrics.
  Tree<double> metrics = {};
  int64_t num_targets = 0, num_bytes = 0;
  /// Of the text itself, order 0; 0 where it is not known.
  double byte_entropy_bits = 0;
};

/// Runs the whole evaluation input through the model's forward pass, without dropout.
class Evaler {
 public:
  struct Config {
    Child<Input> input = {};
    /// Evaluate after every so many steps, and at the end; none: at the end alone.
    std::optional<int64_t> every_steps = {};
    AXLE_CONFIG(Evaler, input, every_steps)
  };
};

}  // namespace axle
