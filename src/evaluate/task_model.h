// A model that tasks are put to: likelihoods of texts, and generated ones.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "evaluate/model/scorer.h"
#include "evaluate/model/token_rows.h"
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

  /// Sets the parameters of the next calls: those of decode_parameters().
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

}  // namespace axle
