// Puts a task to a model.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "evaluate/model/scorer.h"
#include "evaluate/model/scoring_program.h"
#include "evaluate/task/task.h"
#include "infer/generator.h"

namespace axle {

struct TaskModelOptions {
  /// The longest row; none: 2048, as of lm-evaluation-harness.
  std::optional<int64_t> context_len = {};
  std::optional<DType> compute_dtype = {};
  Mesh mesh = {};
  PartitionSpec batch_partition = {};
  StreamRule streams = {};
  /// Tokens that are scored at once, about.
  int64_t batch_tokens = kBatchTokens;
  CompileOptions compile = {};
};

/// Returns what makes the rows of a model with these options.
RowEncoder row_encoder(const Tokenizer& tokenizer, const TaskModelOptions& options);

/// Traces the programs that a TaskModel makes for the tasks, for few and short rows and without
/// devices. Throws what the layers say of them, such as one that can't decode: ConfigError,
/// ShapeError.
void trace_task_programs(Model& model, const TaskModelOptions& options,
                         std::span<const Task> tasks);

class TaskModel {
 public:
  /// All references must outlive it.
  TaskModel(Model& model, const Tokenizer& tokenizer, Runtime& runtime, TaskModelOptions options);

  /// Sets the parameters of the next calls, as decode_parameters() returns them.
  void set_parameters(Arrays parameters);

  const RowEncoder& encoder() const { return encoder_; }
  /// As Scorer::score().
  std::optional<std::vector<RowScore>> score(std::span<const ScoredRow> rows,
                                             const OnShare& on_share = {});
  /// Continues each prompt greedily, and returns the texts up to the first of the texts that end
  /// one. Returns none if `on_share` ended the work.
  std::optional<std::vector<std::string>> generate(std::span<const TokenIds> prompts,
                                                   const TaskGeneration& generation,
                                                   const OnShare& on_share = {});

 private:
  Model& model_;
  const Tokenizer& tokenizer_;
  Runtime& runtime_;
  TaskModelOptions options_;
  RowEncoder encoder_;
  Scorer scorer_;
  Arrays parameters_;
  std::unique_ptr<Generator> generator_;
};

struct MetricResult {
  std::string metric;
  std::string filter;  // of generated answers: the name of the chain
  double value = 0;
  /// None: there is no formula for it, or a single document.
  std::optional<double> standard_error = {};
  bool higher_is_better = true;
};

struct TaskResult {
  std::string task;
  OutputType output_type = OutputType::kMultipleChoice;
  int64_t num_documents = 0, num_fewshot = 0;
  int64_t num_cut = 0;  // documents whose context was too long: the model read its end alone
  std::vector<MetricResult> metrics = {};
};

/// Called with what the model said about each document, in their order: {"task", "document":
/// "file:line", ...} with the texts, the log-likelihoods or the answer, what is right, and the
/// metrics; and, of a context that was too long, "num_cut_tokens": the most that a request lost.
using OnTaskSample = std::function<void(const nlohmann::ordered_json& sample)>;

/// Asks about the first `limit` documents; none: all. Returns none if `on_share` ended the work.
/// Throws as Task::questions() and TaskModel do; DataError naming the document for a text that the
/// model can't take.
std::optional<TaskResult> evaluate_task(Task& task, TaskModel& model,
                                        std::optional<int64_t> limit = {},
                                        const OnShare& on_share = {},
                                        const OnTaskSample& on_sample = {});

/// Makes the rows of tokens of the same documents. Throws what evaluate_task() throws for texts
/// that the model can't take.
void check_questions(Task& task, const RowEncoder& encoder, std::optional<int64_t> limit = {});

/// A table with a line for each metric of each task, and one for each task with contexts that were
/// cut.
std::string to_text(std::span<const TaskResult> results);
/// {"<task>": {"output_type", "num_documents", "num_fewshot", "num_cut", "metrics": [{"metric",
/// "filter", "value", "standard_error", "higher_is_better"}]}}
nlohmann::ordered_json to_json(std::span<const TaskResult> results);

}  // namespace axle
