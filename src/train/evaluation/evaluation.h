// What a training run does every few steps to see how good its model is.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/tree.h"
#include "config/fields.h"
#include "data/input.h"
#include "learn/learner.h"
#include "runtime/runtime.h"
#include "train/program/programs.h"

namespace axle {

class Progress;

/// What evaluations read of the run that they belong to. What it refers to must outlive them.
struct EvaluatedRun {
  const Child<Input>& input;  // of training
  const Child<Learner>& learner;
  std::vector<std::string> evalers = {};  // their names
  Input::Dims input_dims = {};
  ProgramSpec spec;  // without a batch
};

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

/// Throws ConfigError, naming `where`, if the average is to be evaluated and the learner keeps
/// none.
void check_average(Weights weights, const std::string& where, const Child<Learner>& learner);

/// Returns the name of the first metric that is NaN or infinite; empty if all are finite.
std::string first_non_finite(const Tree<double>& metrics);

}  // namespace axle
