#include "evaluate/metrics/metric.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/text/regex.h"
#include "base/text/text.h"
#include "base/text/unicode.h"
#include "config/leaf.h"
#include "data/chat/jinja/unicode.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& config, const std::string& name, const std::string& fallback) {
  if (!config.contains(name)) return fallback;
  if (!config[name].is_string()) throw ConfigError(name + ": expected a text, got another value");
  return config[name].get<std::string>();
}

// The match with the number `select`, from the end if it is negative. Of several groups, the first
// that is not empty.
AnswerFilter regex_filter(const Json& config) {
  const UnicodeRegex regex(text_of(config, "regex_pattern", R"(#### (\-?[0-9\.\,]+))"),
                           RegexSyntax::kPython);
  const auto select = parse_leaf<int64_t>(text_of(config, "group_select", "0"));
  const std::string fallback = text_of(config, "fallback", "[invalid]");
  return [=](const std::string& answer) {
    std::vector<std::string> matches;
    UnicodeRegex::Finder finder(regex, answer);
    while (const auto match = finder.next()) {
      const std::vector<std::string_view> groups = finder.groups();
      if (groups.empty()) {
        matches.push_back(answer.substr(match->begin, match->end - match->begin));
        continue;
      }
      const auto first =
          std::ranges::find_if(groups, [](std::string_view text) { return !text.empty(); });
      const bool has_none = first == groups.end();
      matches.emplace_back(has_none ? (groups.size() > 1 ? fallback : "") : *first);
    }
    const int64_t at = select < 0 ? std::ssize(matches) + select : select;
    if (at < 0 || at >= std::ssize(matches)) return fallback;
    return std::string(jinja::stripped(matches[at]));
  };
}

AnswerFilter map_filter(const Json& config) {
  std::map<std::string, std::string> names;
  if (config.contains("mapping_dict")) {
    for (const auto& [from, to] : config["mapping_dict"].items()) {
      if (!to.is_string()) throw ConfigError("mapping_dict: expected texts, got another value");
      names.emplace(from, to.get<std::string>());
    }
  }
  const std::string fallback = text_of(config, "default_value", "None");
  return [=](const std::string& answer) {
    const auto found = names.find(answer);
    return found == names.end() ? fallback : found->second;
  };
}

struct FilterRow {
  std::string name;
  std::vector<std::string> arguments;
  AnswerFilter (*make)(const Json& config);
};

// A model gives one answer, so that all filters that choose among answers choose it.
const std::vector<FilterRow>& filter_rows() {
  static const std::vector<FilterRow> rows = {
      {"lowercase", {}, [](const Json&) { return AnswerFilter(unicode_lower_case); }},
      {"map", {"mapping_dict", "default_value"}, map_filter},
      {"regex", {"regex_pattern", "group_select", "fallback"}, regex_filter},
      {"remove_whitespace",
       {},
       [](const Json&) {
         return AnswerFilter(
             [](const std::string& answer) { return std::string(jinja::stripped(answer)); });
       }},
      {"take_first",
       {},
       [](const Json&) { return AnswerFilter([](std::string answer) { return answer; }); }},
      {"uppercase", {}, [](const Json&) { return AnswerFilter(jinja::upper_text); }}};
  return rows;
}

}  // namespace

std::string FilterChain::apply(std::string answer) const {
  for (const AnswerFilter& filter : filters) answer = filter(std::move(answer));
  return answer;
}

AnswerFilter make_filter(const Json& config) {
  if (!config.is_object() || !config.contains("function"))
    throw ConfigError("expected {function: NAME, ...}, got another value");
  const std::string name = text_of(config, "function", "");
  std::vector<std::string> names;
  for (const FilterRow& row : filter_rows()) {
    names.push_back(row.name);
    if (row.name != name) continue;
    for (const auto& [key, value] : config.items()) {
      if (key == "function" || std::ranges::count(row.arguments, key)) continue;
      throw ConfigError(fmt::format("{}: expected an argument of the filter {} ({}), got another",
                                    key, name, join(row.arguments, ", ")));
    }
    return row.make(config);
  }
  throw ConfigError(fmt::format("expected a filter that is known ({}), got '{}'{}",
                                join(names, ", "), printable(name), suggest(name, names)));
}

namespace {

constexpr std::string_view kPunctuation = R"(!"#$%&'()*+,-./:;<=>?@[\]^_`{|}~)";

std::string without(const UnicodeRegex& regex, std::string_view text) {
  std::string out;
  size_t at = 0;
  UnicodeRegex::Finder finder(regex, text);
  while (const auto match = finder.next()) {
    out += text.substr(at, match->begin - at);
    at = match->end;
  }
  out += text.substr(at);
  return out;
}

std::string compared(std::string_view text, const ExactMatchOptions& options) {
  std::string out(text);
  for (const UnicodeRegex& regex : options.regexes_to_ignore) out = without(regex, out);
  if (options.ignore_case) out = unicode_lower_case(out);
  const auto is_ignored = [&](char c) {
    return (options.ignore_punctuation && kPunctuation.find(c) != kPunctuation.npos) ||
           (options.ignore_numbers && c >= '0' && c <= '9');
  };
  std::erase_if(out, is_ignored);
  return out;
}

}  // namespace

bool is_exact_match(std::string_view answer, std::string_view target,
                    const ExactMatchOptions& options) {
  return compared(answer, options) == compared(target, options);
}

namespace {

// The beginning of the generator for a key of one word ("init_by_array"), as a seed sequence: a
// generator takes the words of such a sequence as its state.
class StateOfSeed {
 public:
  using result_type = uint32_t;
  explicit StateOfSeed(uint32_t seed) : seed_(seed) {}
  template <class It>
  void generate(It begin, It end) const {
    const auto n = static_cast<uint32_t>(end - begin);
    begin[0] = 19650218U;
    const auto mixed = [&](uint32_t i) { return begin[i - 1] ^ (begin[i - 1] >> 30U); };
    for (uint32_t i = 1; i < n; ++i) begin[i] = static_cast<uint32_t>(1812433253U * mixed(i) + i);
    uint32_t at = 1;
    const auto advance = [&] {
      if (++at < n) return;
      begin[0] = begin[n - 1];
      at = 1;
    };
    for (uint32_t k = 0; k < n; ++k) {
      begin[at] = static_cast<uint32_t>((begin[at] ^ (mixed(at) * 1664525U)) + seed_);
      advance();
    }
    for (uint32_t k = 1; k < n; ++k) {
      begin[at] = static_cast<uint32_t>((begin[at] ^ (mixed(at) * 1566083941U)) - at);
      advance();
    }
    begin[0] = 0x80000000U;
  }
  // What the requirements of a seed sequence name besides.
  size_t size() const { return 1; }
  template <class It>
  void param(It out) const {
    *out = seed_;
  }

 private:
  uint32_t seed_;
};

}  // namespace

PythonRandom::PythonRandom(uint32_t seed) {
  StateOfSeed state(seed);
  generator_.seed(state);
}

double PythonRandom::next() {
  const uint64_t high = generator_() >> 5U, low = generator_() >> 6U;
  return (static_cast<double>(high) * 67108864.0 + static_cast<double>(low)) / 9007199254740992.0;
}

size_t PythonRandom::below(size_t n) {
  const auto bits = static_cast<uint32_t>(std::bit_width(n));
  const auto draw = [&]() -> size_t {
    if (bits <= 32) return generator_() >> (32 - bits);
    const uint64_t low = generator_();
    return low | (static_cast<uint64_t>(generator_() >> (64 - bits)) << 32U);
  };
  size_t out = draw();
  while (out >= n) out = draw();
  return out;
}

std::vector<size_t> PythonRandom::sample(size_t n, size_t k) {
  // Python draws from a list of what is left, or draws again what it has: whichever is smaller.
  size_t size_of_set = 21;
  if (k > 5) {
    const double power = std::ceil(std::log(static_cast<double>(3 * k)) / std::log(4.0));
    size_of_set += static_cast<size_t>(std::pow(4.0, power));
  }
  std::vector<size_t> out;
  if (n <= size_of_set) {
    std::vector<size_t> left(n);
    std::iota(left.begin(), left.end(), size_t{0});
    for (size_t i = 0; i < k; ++i) {
      const size_t at = below(n - i);
      out.push_back(left[at]);
      left[at] = left[n - i - 1];
    }
    return out;
  }
  std::set<size_t> taken;
  while (out.size() < k) {
    const size_t drawn = below(n);
    if (taken.insert(drawn).second) out.push_back(drawn);
  }
  return out;
}

namespace {

using enum OutputType;

size_t largest(const std::vector<double>& values) {
  return static_cast<size_t>(std::ranges::max_element(values) - values.begin());
}

bool is_gold(const AnswerFacts& facts, size_t choice) {
  return std::ranges::count(facts.gold, static_cast<int64_t>(choice)) > 0;
}

std::vector<double> choice_likelihoods(const AnswerFacts& facts) {
  const auto n = static_cast<std::ptrdiff_t>(facts.choices.size());
  return {facts.log_likelihoods.begin(), facts.log_likelihoods.begin() + n};
}

// Right if the likelihood, divided by the size of its choice, is the largest.
template <size_t (*kSize)(std::string_view)>
DocumentScore accuracy_by(const AnswerFacts& facts, const MetricConfig&) {
  std::vector<double> values = choice_likelihoods(facts);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] /= static_cast<double>(kSize(facts.choices[i]));
  return {is_gold(facts, largest(values)) ? 1.0 : 0.0};
}
size_t one(std::string_view) { return 1; }
size_t bytes(std::string_view text) { return text.size(); }

DocumentScore accuracy(const AnswerFacts& facts, const MetricConfig& config) {
  if (!facts.choices.empty()) return accuracy_by<one>(facts, config);
  return {facts.is_greedy[0] ? 1.0 : 0.0};
}

// Right if the context raises the likelihood of the right choice the most.
DocumentScore mutual_information_accuracy(const AnswerFacts& facts, const MetricConfig&) {
  std::vector<double> values = choice_likelihoods(facts);
  const size_t n = values.size();
  for (size_t i = 0; i < n; ++i) values[i] -= facts.log_likelihoods[n + i];
  return {is_gold(facts, largest(values)) ? 1.0 : 0.0};
}

DocumentScore greedy_match(const AnswerFacts& facts, const MetricConfig&) {
  const bool is_right =
      std::ranges::any_of(facts.gold, [&](int64_t gold) { return facts.is_greedy[gold]; });
  return {is_right ? 1.0 : 0.0};
}

DocumentScore exact_match(const AnswerFacts& facts, const MetricConfig& config) {
  if (!facts.choices.empty() && !facts.log_likelihoods.empty()) return greedy_match(facts, config);
  const bool is_right = std::ranges::any_of(facts.targets, [&](const std::string& target) {
    return is_exact_match(facts.answer, target, config.exact_match);
  });
  return {is_right ? 1.0 : 0.0};
}

DocumentScore brier_score(const AnswerFacts& facts, const MetricConfig&) {
  std::vector<double> values = choice_likelihoods(facts);
  const double most = values[largest(values)];
  double sum = 0, out = 0;
  for (double& value : values) sum += value = std::exp(value - most);
  for (size_t i = 0; i < values.size(); ++i) {
    const double error = values[i] / sum - (is_gold(facts, i) ? 1 : 0);
    out += error * error;
  }
  return {out};
}

DocumentScore log_likelihood(const AnswerFacts& facts, const MetricConfig&) {
  return {facts.log_likelihoods[0]};
}
DocumentScore per_byte(const AnswerFacts& facts, const MetricConfig&) {
  return {facts.log_likelihoods[0], static_cast<double>(facts.text.size())};
}
// Words are what white space separates, also at the ends: re.split(r"\s+", text).
DocumentScore per_word(const AnswerFacts& facts, const MetricConfig&) {
  double words = 1;
  bool was_space = false;
  for (size_t at = 0; at < facts.text.size();) {
    const bool is_space = jinja::is_space(jinja::next_character(facts.text, at));
    if (is_space && !was_space) ++words;
    was_space = is_space;
  }
  return {facts.log_likelihoods[0], words};
}

const std::vector<MetricRow>& rows() {
  const auto by_characters = accuracy_by<jinja::count_characters>;
  static const std::vector<MetricRow> all = {
      {"acc", {kMultipleChoice, kLogLikelihood}, "mean", true, true, accuracy},
      {"acc_norm", {kMultipleChoice}, "mean", true, true, by_characters},
      {"acc_bytes", {kMultipleChoice}, "mean", false, true, accuracy_by<bytes>},
      {"acc_mutual_info", {kMultipleChoice}, "mean", false, true, mutual_information_accuracy},
      {"brier_score", {kMultipleChoice}, "brier_score", false, false, brier_score},
      {"exact_match", {kMultipleChoice, kGenerateUntil}, "mean", true, true, exact_match},
      {"perplexity", {kLogLikelihood}, "perplexity", true, false, log_likelihood},
      {"word_perplexity", {kRolling}, "weighted_perplexity", true, false, per_word},
      {"byte_perplexity", {kRolling}, "weighted_perplexity", true, false, per_byte},
      {"bits_per_byte", {kRolling}, "bits_per_byte", true, false, per_byte}};
  return all;
}

bool fits(const MetricRow& row, OutputType output_type) {
  return std::ranges::count(row.output_types, output_type) > 0;
}

MetricConfig config_of(const MetricRow& row) {
  return {.row = &row,
          .aggregation = &aggregation_named(row.aggregation),
          .higher_is_better = row.higher_is_better};
}

}  // namespace

MetricConfig metric_named(std::string_view name, OutputType output_type) {
  std::vector<std::string> names;
  for (const MetricRow& row : rows()) {
    if (!fits(row, output_type)) continue;
    if (row.name == name) return config_of(row);
    names.emplace_back(row.name);
  }
  throw ConfigError(fmt::format("expected a metric of {} ({}), got '{}'{}", to_text(output_type),
                                join(names, ", "), printable(name), suggest(name, names)));
}

std::vector<MetricConfig> default_metrics(OutputType output_type) {
  std::vector<MetricConfig> out;
  for (const MetricRow& row : rows()) {
    // Greedy matches of choices are rarely meant.
    const bool is_taken =
        row.is_default && (row.name != "exact_match" || output_type == kGenerateUntil);
    if (is_taken && fits(row, output_type)) out.push_back(config_of(row));
  }
  return out;
}

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
