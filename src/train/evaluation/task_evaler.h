// Tasks that a training run puts to its model every few steps.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config_type.h"
#include "config/fields.h"
#include "evaluate/evaluate_task.h"
#include "interop/import_model.h"
#include "train/evaluation/evaluation.h"

namespace axle {

/// Asks the questions of tasks (docs/evaluation.md). Its records have "<task>/<metric>" and
/// "<task>/<metric>_stderr"; metrics of generated answers also the name of their filter,
/// "<task>/<metric>/<filter>".
class TaskEvaler final : public RepeatedEvaluation {
 public:
  struct Config {
    /// Files of tasks, in the form of lm-evaluation-harness (YAML).
    std::vector<std::string> tasks = {};
    /// The number of documents of each task, from its first one on; none: all.
    std::optional<Positive<int64_t>> limit = {};
    /// Solved documents before each question; none: as many as the task says.
    std::optional<NonNegative<int64_t>> num_fewshot = {};
    /// Tokens that are scored at once, about; a row with more is scored alone.
    Positive<int64_t> batch_tokens = kBatchTokens;
    /// Steps between evaluations; there is also one at the end. None: only at the end.
    std::optional<Positive<int64_t>> every_steps = {};
    /// Which parameters are evaluated: the trained ones, or their average (learner.ema).
    Weights weights = Weights::kTrained;
    AXLE_CONFIG(TaskEvaler, tasks, limit, num_fewshot, batch_tokens, every_steps, weights)
  };
  /// Reads the tasks, makes their questions and traces programs. Throws as set_up_tasks() and
  /// trace_tasks() do.
  TaskEvaler(const Config& cfg, std::string name, const EvaluatedRun& run);
  ~TaskEvaler() override;
  TaskEvaler(TaskEvaler&&) noexcept;

  /// Sets how the programs are compiled. Each is, when it is first needed.
  void set_compile_options(CompileOptions options);
  std::optional<Evaluated> evaluate(Runtime& runtime, const DeviceState& state,
                                    const StopCondition& stop, Progress& progress) override;
  const std::string& data_state() const override { return data_state_; }

 private:
  Arrays parameters_of(const DeviceState& state, Runtime& runtime);

  std::optional<int64_t> limit_;
  std::vector<Task> tasks_;
  std::string data_state_;
  Model* model_;
  std::unique_ptr<Tokenizer> tokenizer_;
  TaskModelOptions options_;
  std::string prefix_;  // of the parameters in the state
  // Made in the first evaluation.
  std::unique_ptr<TaskModel> task_model_;
  Program cast_;
  std::unique_ptr<Executable> cast_executable_;
};

struct TaskSetup {
  std::vector<Task> tasks;
  std::unique_ptr<Tokenizer> tokenizer;
  TaskModelOptions options;  // without a mesh
};

/// Returns the tasks of the evaler of this name. Throws one error with a line for each file with a
/// mistake.
std::vector<Task> read_tasks(const TaskEvaler::Config& cfg, const std::string& name);

/// Reads the tasks and makes their questions, in tokens of the model. Throws one error with a line
/// for each mistake: a name that an evaler of the run has, no tokenizer, no average to evaluate,
/// files that are no tasks, bad documents, and texts that the model can't take.
TaskSetup set_up_tasks(const TaskEvaler::Config& cfg, const std::string& name,
                       const EvaluatedRun& run);

/// Traces the programs of the tasks on the mesh. Throws what the layers of the model say of them,
/// naming the evaler.
void trace_tasks(const TaskSetup& setup, const std::string& name, Model& model, const Mesh& mesh);

}  // namespace axle
