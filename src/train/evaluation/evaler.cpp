#include "train/evaluation/evaler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/mistakes.h"
#include "config/register.h"
#include "layers/models/model.h"
#include "runtime/arguments.h"
#include "train/record/metrics.h"
#include "train/record/progress.h"

namespace axle {
namespace {

std::unique_ptr<Input> build_input(const Evaler::Config& cfg, const std::string& where,
                                   const EvaluatedRun& run) {
  auto input = cfg.input.build(run.input_dims, Scope{.path = where + ".input"});
  check_not_endless(*input, where + ".input");
  return input;
}

Program build_program(const Input& input, const std::string& where, const EvaluatedRun& run,
                      Weights weights) {
  check_average(weights, where, run.learner);
  try {
    return eval_program(with_batch(run.spec, input.element_spec()), weights);
  } catch (const ConfigError& error) {
    throw ConfigError(with_location(where, error.what()));
  } catch (const ShapeError& error) {
    throw ShapeError(with_location(where, error.what()));
  }
}

}  // namespace

void check_average(Weights weights, const std::string& where, const Child<Learner>& learner) {
  const auto* const known = learner.get_if<Learner>();
  if (weights == Weights::kTrained || !known || known->ema) return;
  throw ConfigError(fmt::format(
      "{}.weights: expected a learner that keeps an average, got none; set learner.ema", where));
}

Evaler::Evaler(const Config& cfg, std::string name, const EvaluatedRun& run)
    : RepeatedEvaluation(name, cfg.every_steps),
      input_(build_input(cfg, "evalers." + name, run)),
      start_(input_->state()),
      program_(build_program(*input_, "evalers." + name, run, cfg.weights)) {}

std::optional<EvalResult> Evaler::run(Runtime& runtime, const DeviceState& state,
                                      const StopCondition& stop, Progress& progress) {
  input_->restore(start_);
  LongWait wait(progress, "eval " + name());
  return evaluate_input(*input_, *executable_, program_, runtime, state.leading(program_), wait,
                        stop);
}

std::optional<Evaluated> Evaler::evaluate(Runtime& runtime, const DeviceState& state,
                                          const StopCondition& stop, Progress& progress) {
  const auto result = run(runtime, state, stop, progress);
  if (!result) return std::nullopt;
  return Evaluated{result->metrics,
                   fmt::format("{}, {} targets", to_text(*result), result->num_targets)};
}

std::optional<EvalResult> evaluate_input(Input& input, Executable& executable,
                                         const Program& program, Runtime& runtime,
                                         const Arrays& parameters, LongWait& wait,
                                         const StopCondition& stop) {
  EvalResult result;
  const int64_t num_batches = input.facts().num_batches;
  int64_t done = 0;
  Tree<double> sums;
  double num_bytes = 0, counted = 0;  // counted: what the metrics are means over
  while (const auto batch = input.next()) {
    if (stop && stop()) return std::nullopt;
    Arrays arguments = parameters;
    append_by_name(arguments, batch->tensors, program, runtime);
    const Arrays outputs = executable.execute(arguments);
    // Each batch is weighted by its number of targets, since the last batch of the data is mostly
    // padding. A model may count other things.
    const Tree<double> values = metric_values(program, 0, outputs);
    const auto own = values.find(std::string(kNumTargets));
    const double count =
        own == values.end() ? static_cast<double>(batch->num_targets) : own->second;
    for (const auto& [name, value] : values) sums[name] += value * count;
    counted += count;
    if (num_batches > 0) wait.done(static_cast<double>(++done) / static_cast<double>(num_batches));
    result.num_targets += batch->num_targets;
    num_bytes += batch->num_target_bytes;
  }
  if (result.num_targets == 0)
    throw DataError("evaluation: expected at least one target, got an input without any");
  for (const auto& [name, sum] : sums) result.metrics[name] = sum / std::max(counted, 1.0);
  if (sums.contains(std::string(kNumTargets))) result.metrics[std::string(kNumTargets)] = counted;
  result.num_bytes = std::llround(num_bytes);
  add_text_metrics(result.metrics, result.num_targets, num_bytes);
  result.metrics.erase(std::string(kNumTargets));
  result.num_targets = std::llround(counted);
  result.byte_entropy_bits = input.facts().byte_entropy_bits;
  return result;
}

std::string to_text(const EvalResult& result) {
  std::string out = fmt::format("loss {:.4f}", result.metrics.at("loss"));
  // What a text's loss says by its bits, others say by metrics of their own.
  if (!result.metrics.contains("cross_entropy")) {
    for (const auto& [name, value] : result.metrics) {
      if (name != "loss" && name != "bits_per_byte") out += fmt::format(", {} {:.4f}", name, value);
    }
  }
  if (const auto bits = result.metrics.find("bits_per_byte"); bits != result.metrics.end()) {
    out += fmt::format(", {:.3f} bits per byte", bits->second);
    if (result.byte_entropy_bits > 0) {
      out += fmt::format(" (entropy of the text's own bytes: {:.3f})", result.byte_entropy_bits);
    }
  }
  return out;
}

std::string first_non_finite(const Tree<double>& metrics) {
  for (const auto& [name, value] : metrics) {
    if (!std::isfinite(value)) return name;
  }
  return {};
}

void check_not_endless(const Input& input, std::string_view where) {
  if (!input.facts().endless) return;
  throw ConfigError(fmt::format(
      "{}: expected an input that ends, got one without an end; set epochs or num_batches", where));
}

AXLE_REGISTER(Evaler)

}  // namespace axle
