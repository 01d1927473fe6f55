// Question, answer and choices of a document, as a task describes them.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "data/chat/jinja/template.h"
#include "data/chat/jinja/value.h"
#include "evaluate/task/task_config.h"

namespace axle {

struct TaskDocument {
  jinja::Value fields;  // a mapping from names
  std::string text;     // the record, with its fields in the order of the file
  std::string where;    // "file:line", or its number in a list
};

/// The documents of a split.
struct TaskSplit {
  std::vector<TaskDocument> documents;
  std::set<std::string> fields;  // the names in any of the documents
};

/// Reads files one after the other, as JsonRecords does. Throws DataError "<file>:<line>: ..."
/// for what is no JSON object, and for files without a document; StorageError.
TaskSplit read_task_split(const std::vector<std::string>& files);

/// "question", the name of a field, or "Question: {{question}}", a template of Jinja2 with the
/// fields as its names. Undefined names are errors, and blocks leave the white space around them.
class DocField {
 public:
  /// `where` is the location of the text in its file. Throws DataError for what is no template.
  DocField(std::string text, std::string where, const std::set<std::string>& fields);
  /// Returns the value of the field, or the text of the template. Throws DataError naming the
  /// document if it lacks the field or the template fails.
  jinja::Value of(const TaskDocument& document) const;
  const std::string& where() const { return where_; }
  bool is_template() const { return template_.has_value(); }

 private:
  std::string text_, where_;
  std::optional<jinja::Template> template_;  // none: a field
};

/// Python's str() of a value.
std::string text_of_value(const jinja::Value& value);

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
