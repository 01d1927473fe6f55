// Evaluation of a model on held-out data.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "config/config_type.h"
#include "config/fields.h"
#include "data/input.h"
#include "interop/import_model.h"
#include "lower/stablehlo.h"
#include "runtime/runtime.h"
#include "train/evaluation/evaluation.h"

namespace axle {

class LongWait;

struct EvalResult {
  /// Means over all targets, or over what the model counts in "num_targets": "loss" and the model's
  /// other metrics. Also "perplexity", if the model reports "cross_entropy", and "bits_per_byte",
  /// if the targets are text.
  Tree<double> metrics = {};
  int64_t num_targets = 0, num_bytes = 0;
  /// Entropy of the text's own bytes (order 0), in bits per byte; 0 if unknown.
  double byte_entropy_bits = 0;
};

/// Returns "loss 2.5012, 3.608 bits per byte (entropy of the text's own bytes: 4.810)". Without a
/// cross entropy it names the model's other metrics: "loss 0.5012, margin 0.4211, preferred 0.75".
std::string to_text(const EvalResult& result);

/// Throws ConfigError if `input` reports that it is endless.
void check_not_endless(const Input& input, std::string_view where);

/// The loss on held-out data.
class Evaler final : public RepeatedEvaluation {
 public:
  struct Config {
    /// Held-out data. The input must end by itself: set `epochs` or `num_batches`.
    Child<Input> input = {};
    /// Steps between evaluations; there is also one at the end. None: only at the end.
    std::optional<Positive<int64_t>> every_steps = {};
    /// Which parameters are evaluated: the trained ones, or their average (learner.ema).
    Weights weights = Weights::kTrained;
    AXLE_CONFIG(Evaler, input, every_steps, weights)
  };
  /// Builds the input and traces the program. Throws ConfigError naming the evaler if its batches
  /// do not fit the mesh or never end, or if there is no average to evaluate; DataError if its data
  /// can't be read.
  Evaler(const Config& cfg, std::string name, const EvaluatedRun& run);

  const Program& program() const { return program_; }
  InputFacts facts() const { return input_->facts(); }
  /// Returns the state of the input at its beginning.
  const std::string& data_state() const override { return start_; }
  /// Sets the executable that run() executes: the compiled `program`.
  void set_executable(std::shared_ptr<Executable> executable) {
    executable_ = std::move(executable);
  }
  /// Null before set_executable().
  const Executable* executable() const { return executable_.get(); }
  /// Evaluates the whole input from its beginning. Returns none if `stop` asked to end before the
  /// last batch. Throws DataError, DeviceError.
  /// Tells `progress` how long it takes.
  std::optional<EvalResult> run(Runtime& runtime, const DeviceState& state,
                                const StopCondition& stop, Progress& progress);
  std::optional<Evaluated> evaluate(Runtime& runtime, const DeviceState& state,
                                    const StopCondition& stop, Progress& progress) override;

 private:
  std::unique_ptr<Input> input_;
  std::string start_;  // state of the input at its beginning
  Program program_;
  std::shared_ptr<Executable> executable_;
};

/// Runs all batches of `input` through an eval_program. Returns none if `stop` asked to end before
/// the last batch. Tells `wait` how much is done. Throws DataError if the batches hold no target,
/// ShapeError if a batch does not have the shapes that the program takes.
std::optional<EvalResult> evaluate_input(Input& input, Executable& executable,
                                         const Program& program, Runtime& runtime,
                                         const Arrays& parameters, LongWait& wait,
                                         const StopCondition& stop = {});

}  // namespace axle
