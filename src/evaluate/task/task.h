// A task: its documents, and what a model is asked about each of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "evaluate/task/doc_field.h"
#include "evaluate/task/few_shot.h"
#include "evaluate/task/question_texts.h"
#include "evaluate/task/task_config.h"

namespace axle {

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

}  // namespace axle
