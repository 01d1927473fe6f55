// The metrics of tasks: a number for each document, and how the numbers of all become one.
//
// Source: lm-evaluation-harness 0.4, lm_eval/api/metrics.py.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/enum_text.h"
#include "evaluate/metrics/exact_match.h"

namespace axle {

/// What a model is asked for.
enum class OutputType { kMultipleChoice, kLogLikelihood, kRolling, kGenerateUntil };
constexpr auto texts_of(OutputType) {
  return std::to_array<EnumText<OutputType>>({{OutputType::kMultipleChoice, "multiple_choice"},
                                              {OutputType::kLogLikelihood, "loglikelihood"},
                                              {OutputType::kRolling, "loglikelihood_rolling"},
                                              {OutputType::kGenerateUntil, "generate_until"}});
}

/// What a metric says of one document.
struct DocumentScore {
  double value = 0;
  double weight = 1;  // where the aggregation has weights
};

/// How the scores of all documents become one number. None have no scores.
struct Aggregation {
  std::string_view name;
  double (*value)(std::span<const DocumentScore>);
  /// Null: there is no formula for it.
  double (*standard_error)(std::span<const DocumentScore>);
};
/// Throws ConfigError for another name.
const Aggregation& aggregation_named(std::string_view name);

/// The answers of a model to one document, and what is right.
struct AnswerFacts {
  /// Of each continuation; those without their context follow for acc_mutual_info.
  std::vector<double> log_likelihoods = {};
  std::vector<bool> is_greedy = {};
  std::vector<std::string> choices = {};
  std::vector<int64_t> gold = {};  // numbers of the right choices
  std::string text = {};           // of which the likelihood is taken
  std::string answer = {};         // generated and filtered
  std::vector<std::string> targets = {};
};

struct MetricConfig;
struct MetricRow {
  std::string_view name;
  std::vector<OutputType> output_types;
  std::string_view aggregation;  // the default
  bool is_default;               // taken if a task names no metrics
  bool higher_is_better;
  DocumentScore (*score)(const AnswerFacts& facts, const MetricConfig& config);
};

/// A metric as a task asks for it.
struct MetricConfig {
  const MetricRow* row = nullptr;
  const Aggregation* aggregation = nullptr;
  bool higher_is_better = true;
  ExactMatchOptions exact_match = {};
};

/// Throws ConfigError unless the output type has such a metric.
MetricConfig metric_named(std::string_view name, OutputType output_type);
/// Returns those of a task that names none.
std::vector<MetricConfig> default_metrics(OutputType output_type);

}  // namespace axle
