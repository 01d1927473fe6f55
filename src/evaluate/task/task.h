// A task: its documents, and what a model is asked about each of them.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "evaluate/metrics/metric.h"
#include "evaluate/task/question_texts.h"
#include "evaluate/task/task_config.h"

namespace axle {

// The solved documents before a question.
//
// Source: lm-evaluation-harness 0.4, lm_eval/api/samplers.py.

class FewShot {
 public:
  /// Reads the documents of the task's few-shot split, or else of its training, validation or test
  /// split, if it has any before a question.
  explicit FewShot(const TaskConfig& task);

  /// Returns the solved documents before the question about `document`, which is not among them if
  /// it comes from the same split. Draws depend on the calls before. Throws DataError if there are
  /// too few documents.
  std::string before(const TaskDocument& document);
  /// The next draws are the same as of a new object.
  void restart();

 private:
  std::vector<const TaskDocument*> chosen(const TaskDocument& document);

  int64_t count_;
  FewShotSampler sampler_;
  bool leaves_out_ = false;  // the document of the question
  std::string split_;
  TaskSplit documents_;
  std::vector<QuestionTexts> texts_;  // one, if there are documents
  PythonRandom random_;
};

/// A text, and one that may follow it.
struct TextPair {
  std::string context, continuation;
};

/// What a model is asked about one document.
struct TaskQuestion {
  std::string where;  // "file:line" of the document
  /// Of multiple_choice, one for each choice; of loglikelihood, one.
  std::vector<TextPair> pairs = {};
  std::vector<std::string> choices = {};
  std::vector<int64_t> gold = {};  // numbers of the right choices
  std::string text = {};           // of loglikelihood_rolling
  std::string prompt = {};         // of generate_until
  std::vector<std::string> targets = {};
};

class Task {
 public:
  /// Reads the documents. Throws DataError for bad ones and for templates that are none.
  explicit Task(TaskConfig config);

  const TaskConfig& config() const { return config_; }
  /// Returns a hash that is equal for tasks with the same documents.
  uint64_t fingerprint() const;
  int64_t num_documents() const { return std::ssize(documents_.documents); }
  /// Returns what is asked about the first `limit` documents, in their order; none: all. Each call
  /// returns the same. Throws
  /// DataError naming a document that lacks a field, has no choices, or names a right choice that
  /// is none.
  std::vector<TaskQuestion> questions(std::optional<int64_t> limit = {});

 private:
  TaskQuestion question(const TaskDocument& document);
  void add_choices(const TaskDocument& document, const std::string& before, TaskQuestion& out);
  std::vector<int64_t> gold_of(const jinja::Value& target, const TaskDocument& document,
                               const std::vector<std::string>& choices) const;

  TaskConfig config_;
  TaskSplit documents_;
  std::optional<DocField> description_;
  QuestionTexts texts_;
  FewShot few_shot_;
};

struct TaskFilesOptions {
  /// The number of documents that are asked about; none: all.
  std::optional<int64_t> limit = {};
  /// Replaces the tasks' own; none: theirs.
  std::optional<int64_t> num_fewshot = {};
};

/// Returns the tasks, whose questions can all be made. Throws one error with a line for each file
/// with a mistake, and for each task whose name is that of an earlier one.
std::vector<Task> read_task_files(std::span<const std::filesystem::path> files,
                                  const TaskFilesOptions& options);

}  // namespace axle
