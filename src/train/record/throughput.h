// The speed of training, and how much of the machine it uses.
#pragma once

#include "base/tree.h"
#include "train/record/step_clock.h"

namespace axle {

/// Speed and cost of training, measured over the latest steps.
struct Throughput {
  double tokens_per_sec = 0;
  /// MFU: the model's FLOP/s as a share of the machine's peak for the dtype of the products
  /// (model_flops.h), 0..1; 0 if the peak is unknown.
  double mfu = 0;
  /// HFU: like `mfu`, but for all operations of the program, including recomputation, elementwise
  /// work and the optimizer.
  double hfu = 0;
  double step_secs = 0;
};

/// What a step costs, and what the machine can do.
struct StepCost {
  /// Floating-point operations of the model and of the whole program.
  double model_flops = 0, program_flops = 0;
  /// The machine's peak in FLOP/s for the dtype of the products; 0: unknown.
  double peak_flops = 0;
  /// Returns the least seconds of a step, at the peak; 0: not known.
  double least_step_secs() const { return peak_flops > 0 ? model_flops / peak_flops : 0; }
};
Throughput throughput_of(const Lap& lap, const StepCost& cost);

/// Adds "tokens_per_sec", "mfu" and "hfu" to the values of a record.
void add_throughput(Tree<double>& values, const Throughput& speed);

}  // namespace axle
