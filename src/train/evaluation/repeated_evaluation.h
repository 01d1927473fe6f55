// What a training run does every few steps to see how good its model is.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/tree.h"
#include "runtime/runtime.h"

namespace axle {

class Progress;
struct DeviceState;

/// Returns true to end an evaluation before it is done.
using StopCondition = std::function<bool()>;

/// What an evaluation found.
struct Evaluated {
  /// By the names that they have in the records.
  Tree<double> metrics = {};
  /// For people, on one line.
  std::string text = {};
};

class RepeatedEvaluation {
 public:
  /// None: only at the end of the run.
  RepeatedEvaluation(std::string name, std::optional<int64_t> every_steps)
      : name_(std::move(name)), every_steps_(every_steps) {}
  virtual ~RepeatedEvaluation() = default;
  RepeatedEvaluation(RepeatedEvaluation&&) = default;

  const std::string& name() const { return name_; }
  bool is_due(int64_t step) const { return every_steps_ && step % *every_steps_ == 0; }
  /// Evaluates the model of the state. Returns none if `stop` asked to end before it was done.
  /// Tells `progress` how long it takes.
  virtual std::optional<Evaluated> evaluate(Runtime& runtime, const DeviceState& state,
                                            const StopCondition& stop, Progress& progress) = 0;
  /// Returns a text that says which data it has.
  virtual const std::string& data_state() const = 0;

 private:
  std::string name_;
  std::optional<int64_t> every_steps_;
};

/// Returns the name of the first metric that is NaN or infinite; empty if all are finite.
std::string first_non_finite(const Tree<double>& metrics);

}  // namespace axle
