// Puts a task to a model.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "evaluate/task/task.h"
#include "evaluate/task_model.h"

namespace axle {

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
