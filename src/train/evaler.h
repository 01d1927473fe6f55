// Evaluation of a model on held-out data.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "config/config.h"
#include "data/input.h"
#include "runtime/runtime.h"
#include "train/device_state.h"

namespace axle {

struct TrainingParts;

struct EvalResult {
  /// Means over all targets: "loss" (nats per target), the model's other metrics, and
  /// "bits_per_byte" where targets stand for text.
  Tree<double> metrics = {};
  int64_t num_targets = 0, num_bytes = 0;
  /// Of the text itself, order 0; 0 where it is not known.
  double byte_entropy_bits = 0;
};

/// "loss 2.5012, 3.608 bits per byte (entropy of the text's bytes: 4.810)".
std::string to_text(const EvalResult& result);

/// The name of the first metric that is NaN or infinite; empty where all are finite.
std::string not_finite(const EvalResult& result);

/// Throws ConfigError for an input that says that it never ends.
void check_ends(const Input& input, std::string_view where);

/// Whether an evaluation shall end before its last batch.
using StopWish = std::function<bool()>;

/// An evaluation that a training run makes now and then.
class Evaler {
 public:
  struct Config {
    /// Ends by itself: `epochs` or `num_batches` is set.
    Child<Input> input = {};
    /// Evaluate after every so many steps and at the end; none: at the end alone.
    std::optional<Positive<int64_t>> every_steps = {};
    AXLE_CONFIG(Evaler, input, every_steps)
  };
  /// Builds the input and traces the program. Throws ConfigError naming the evaler where its
  /// batches do not fit the mesh or never end, DataError where its data can't be read.
  Evaler(const Config& cfg, std::string name, const TrainingParts& training, const Mesh& mesh);

  const std::string& name() const { return name_; }
  const Program& program() const { return program_; }
  InputFacts facts() const { return input_->facts(); }
  bool due(int64_t step) const { return every_steps_ && step % *every_steps_ == 0; }
  /// What run() executes: `program` compiled.
  void set_executable(std::shared_ptr<Executable> executable) {
    executable_ = std::move(executable);
  }
  /// None: not compiled yet.
  const Executable* executable() const { return executable_.get(); }
  /// All of the input from its beginning; none if `stop` asked for an end before its last batch.
  /// Throws DataError, DeviceError.
  std::optional<EvalResult> run(Runtime& runtime, const DeviceState& state, const StopWish& stop);

 private:
  std::string name_;
  std::optional<int64_t> every_steps_;
  std::unique_ptr<Input> input_;
  std::string start_;  // of the input
  Program program_;
  std::shared_ptr<Executable> executable_;
};

/// Runs all batches of `input` through an eval_program; none if `stop` asked for an end before the
/// last. Throws DataError if they hold no target, ShapeError where a batch is not what the program
/// takes.
std::optional<EvalResult> evaluate_input(Input& input, Executable& executable,
                                         const Program& program, Runtime& runtime,
                                         const Arrays& parameters, const StopWish& stop = {});

}  // namespace axle
