// What a task takes from a document: a field of it, or a text made by a template.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "data/chat/jinja/template.h"
#include "evaluate/task/task_document.h"

namespace axle {

/// "question", the name of a field, or "Question: {{question}}", a template of Jinja2 with the
/// fields as its names. Undefined names are errors, and blocks leave the white space around them.
class DocField {
 public:
  /// `where` is the place of the text in its file. Throws DataError for what is no template.
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

}  // namespace axle
