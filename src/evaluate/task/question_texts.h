// Question, answer and choices of a document, as a task describes them.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "evaluate/task/doc_field.h"
#include "evaluate/task/task_config.h"

namespace axle {

class QuestionTexts {
 public:
  QuestionTexts(const DocTexts& texts, const std::set<std::string>& fields);

  /// Returns a text; or a number, if the choices are what is asked and it names the right one.
  jinja::Value text(const TaskDocument& document) const;
  /// Returns a text, the number of a choice, or a list of either.
  jinja::Value target(const TaskDocument& document) const;
  bool has_choices() const { return has_choices_; }
  /// Throws DataError naming the document if there are none.
  std::vector<std::string> choices(const TaskDocument& document) const;
  /// Returns the question with its answer behind it, as it stands before another question.
  std::string solved(const TaskDocument& document) const;

 private:
  // A number in digits is one if there are choices.
  jinja::Value with_number(jinja::Value value) const;

  std::optional<DocField> text_, target_, choice_;
  std::vector<std::string> choices_, targets_;
  std::string target_delimiter_, fewshot_delimiter_;
  bool has_choices_;
};

}  // namespace axle
