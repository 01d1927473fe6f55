// The description of a task: a YAML file in the form of lm-evaluation-harness.
//
// Source: https://github.com/EleutherAI/lm-evaluation-harness, docs/task_guide.md (version 0.4).
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/text/text.h"
#include "evaluate/metrics/metric.h"

namespace axle {

class YamlSection {
 public:
  using Json = nlohmann::ordered_json;
  /// `where` stands for the mapping in messages, "task.yaml: metric_list[0]"; `what` is what has
  /// its keys, "a metric". Throws ConfigError for another value.
  YamlSection(Json value, std::string where, std::string what);

  /// Returns the value of a key; none if the key is not there or null.
  std::optional<Json> take(std::string_view key);
  std::optional<std::string> take_text(std::string_view key);
  /// A text, or a list of texts.
  std::vector<std::string> take_texts(std::string_view key);
  std::optional<int64_t> take_integer(std::string_view key, int64_t least);
  bool take_flag(std::string_view key, bool fallback);
  /// Drops keys that change no result.
  void ignore(std::initializer_list<std::string_view> keys);
  /// Throws ConfigError naming the keys that nobody took.
  void check_all_taken() const;

  std::string place(std::string_view key) const;
  /// Throws ConfigError "<where>: <key>: <message>".
  [[noreturn]] void fail(std::string_view key, std::string_view message) const;
  /// Calls fn() and prefixes a ConfigError with the location of the key.
  template <class Fn>
  auto at(std::string_view key, Fn&& fn) const {
    try {
      return fn();
    } catch (const ConfigError& error) {
      fail(key, error.what());
    }
  }

 private:
  Json value_;
  std::string where_, what_;
  std::vector<std::string> known_;
};

/// How the documents that come before a question are chosen: new ones drawn for each question, or
/// the first ones.
enum class FewShotSampler { kDefault, kFirstN };
constexpr auto texts_of(FewShotSampler) {
  return std::to_array<EnumText<FewShotSampler>>(
      {{FewShotSampler::kDefault, "default"}, {FewShotSampler::kFirstN, "first_n"}});
}

/// A text of a task with its location, "task.yaml:7: doc_to_text".
struct TaskText {
  std::string text, where;
};

/// How a document becomes a text: each is the name of a field or a template.
struct DocTexts {
  TaskText text, target;
  /// A name or a template of a list; empty: the choices are `choices`.
  TaskText choice;
  std::vector<std::string> choices = {};
  bool has_choices() const { return !choices.empty() || !choice.text.empty(); }
  /// The target is a list of answers, each of which is right.
  std::vector<std::string> targets = {};
  /// What is between a question and its answer, and between the answer and the next question.
  std::string target_delimiter = " ", fewshot_delimiter = "\n\n";
};

/// How answers are generated.
struct TaskGeneration {
  std::vector<std::string> until = {};
  int64_t max_tokens = 256;
};

struct TaskConfig {
  std::string name;
  std::string file;  // its path, for messages
  /// Paths of the files that it includes, and of those that these include.
  std::vector<std::string> included = {};
  OutputType output_type = OutputType::kGenerateUntil;
  /// Paths of the files of each split.
  std::map<std::string, std::vector<std::string>> data_files = {};
  std::optional<std::string> training_split = {}, validation_split = {}, test_split = {},
                             fewshot_split = {};
  TaskText description = {};
  DocTexts doc = {};
  /// Of the documents that come before a question.
  DocTexts fewshot_doc = {};
  int64_t num_fewshot = 0;
  FewShotSampler sampler = FewShotSampler::kDefault;
  TaskGeneration generation = {};
  std::vector<MetricConfig> metrics = {};
  std::vector<FilterChain> filters = {};
  /// Tokens by which windows of a text advance; none: each window predicts as many as it can, each
  /// after at least one token (loglikelihood_rolling). A key of Axle.
  std::optional<int64_t> stride = {};
};

/// Reads the file, and those that it includes. Throws ConfigError "<file>:<line>: <key>: ..." for
/// keys and values that are not understood, and for a file that is no task; StorageError.
TaskConfig read_task_config(const std::filesystem::path& file);

}  // namespace axle
