// Metrics of answers: filters of texts, scores of one answer, and their aggregation.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/regex.h"
#include "base/text/text.h"

namespace axle {

// Filters: what is taken from a generated answer before it is compared.
//
// Source: lm-evaluation-harness 0.4, lm_eval/filters.

using AnswerFilter = std::function<std::string(std::string answer)>;

/// Filters one after the other. The metrics of a chain have its name.
struct FilterChain {
  std::string name = "none";
  std::vector<AnswerFilter> filters = {};

  std::string apply(std::string answer) const;
};

/// Returns the filter {"function": "regex", "regex_pattern": ...}. Throws ConfigError for one that
/// is not known, and for arguments that it does not have.
AnswerFilter make_filter(const nlohmann::ordered_json& config);

// Comparison of generated answers with right ones.
//
// Source: lm-evaluation-harness 0.4, the metric exact_match.

/// What does not count when answers are compared.
struct ExactMatchOptions {
  /// What these match is taken out, one after the other.
  std::vector<UnicodeRegex> regexes_to_ignore = {};
  bool ignore_case = false;
  /// ASCII punctuation, and the digits 0 to 9.
  bool ignore_punctuation = false, ignore_numbers = false;
};

/// True if the texts are equal but for what is ignored.
bool is_exact_match(std::string_view answer, std::string_view target,
                    const ExactMatchOptions& options);

// The random numbers of Python's module random, so that draws agree with programs in Python.
//
// Source: CPython 3.11, Lib/random.py and Modules/_randommodule.c; Matsumoto and Nishimura 1998,
// "Mersenne Twister".

class PythonRandom {
 public:
  /// random.Random(seed), for seeds of 32 bits.
  explicit PythonRandom(uint32_t seed);
  /// random(): in [0, 1), with 53 bits.
  double next();
  /// randrange(n), for n > 0.
  size_t below(size_t n);
  /// sample(range(n), k): distinct numbers below n, in the order of the draws. k is at most n.
  std::vector<size_t> sample(size_t n, size_t k);

 private:
  std::mt19937 generator_;
};

// The metrics of tasks: a number for each document, and how the numbers of all become one.
//
// Source: lm-evaluation-harness 0.4, lm_eval/api/metrics.py.

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
/// Returns the metrics of a task that names none.
std::vector<MetricConfig> default_metrics(OutputType output_type);

}  // namespace axle
