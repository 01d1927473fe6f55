#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/text/text.h"
#include "base/text/unicode.h"
#include "evaluate/metrics/metric.h"

namespace axle {
namespace {

using Scores = std::span<const DocumentScore>;

double mean(Scores scores) {
  double sum = 0;
  for (const DocumentScore& score : scores) sum += score.value;
  return sum / static_cast<double>(scores.size());
}

// Of a sample, over the root of its size; NaN for one document.
double mean_error(Scores scores) {
  const double center = mean(scores), n = static_cast<double>(scores.size());
  double squares = 0;
  for (const DocumentScore& score : scores)
    squares += (score.value - center) * (score.value - center);
  return std::sqrt(squares / (n - 1)) / std::sqrt(n);
}

double weighted_mean(Scores scores) {
  double sum = 0, weights = 0;
  for (const DocumentScore& score : scores) {
    sum += score.value;
    weights += score.weight;
  }
  return sum / weights;
}

double median(Scores scores) {
  std::vector<double> values;
  for (const DocumentScore& score : scores) values.push_back(score.value);
  std::ranges::sort(values);
  return values[values.size() / 2];
}

double perplexity(Scores scores) { return std::exp(-mean(scores)); }
double weighted_perplexity(Scores scores) { return std::exp(-weighted_mean(scores)); }
double bits_per_byte(Scores scores) { return -weighted_mean(scores) / std::log(2.0); }

// The deviation over samples of the documents with repetition: 100 seeds with 1,000 samples each,
// drawn as by random.choices().
template <double (*kValue)(Scores)>
double bootstrap_error(Scores scores) {
  constexpr uint32_t kSeeds = 100, kSamplesOfSeed = 1000;
  std::vector<double> values;
  std::vector<DocumentScore> sample(scores.size());
  const auto n = static_cast<double>(scores.size());
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    PythonRandom random(seed);
    for (uint32_t i = 0; i < kSamplesOfSeed; ++i) {
      for (DocumentScore& one : sample) one = scores[random.next() * n];
      values.push_back(kValue(sample));
    }
  }
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  const double center = sum / static_cast<double>(values.size());
  for (const double value : values) squares += (value - center) * (value - center);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

constexpr auto kRows =
    std::to_array<Aggregation>({{"bits_per_byte", bits_per_byte, nullptr},
                                {"brier_score", mean, nullptr},
                                {"mean", mean, mean_error},
                                {"median", median, bootstrap_error<median>},
                                {"perplexity", perplexity, bootstrap_error<perplexity>},
                                {"weighted_perplexity", weighted_perplexity, nullptr}});

}  // namespace

const Aggregation& aggregation_named(std::string_view name) {
  std::vector<std::string> names;
  for (const Aggregation& row : kRows) {
    if (row.name == name) return row;
    names.emplace_back(row.name);
  }
  throw ConfigError(fmt::format("expected an aggregation that is known ({}), got '{}'{}",
                                join(names, ", "), printable(name), suggest(name, names)));
}

}  // namespace axle
