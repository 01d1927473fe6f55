// The solved documents before a question.
//
// Source: lm-evaluation-harness 0.4, lm_eval/api/samplers.py.
#pragma once

#include <string>
#include <vector>

#include "evaluate/metrics/python_random.h"
#include "evaluate/task/question_texts.h"
#include "evaluate/task/task_config.h"
#include "evaluate/task/task_document.h"

namespace axle {

class FewShot {
 public:
  /// Reads the documents of the task's few-shot split, or else of its training, validation or test
  /// split, if it has any before a question.
  explicit FewShot(const TaskConfig& task);

  /// Returns the solved documents before the question about `document`, which is not among them if
  /// it comes from the same split. Draws depend on the calls before. Throws DataError if there are
  /// too few documents.
  std::string before(const TaskDocument& document);
  /// The next draws are as those of a new one.
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

}  // namespace axle
