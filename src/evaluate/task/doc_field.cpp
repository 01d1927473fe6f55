#include "evaluate/task/doc_field.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text/utf8.h"
#include "data/chat/jinja/printing.h"

namespace axle {
namespace {

constexpr jinja::Dialect kTaskDialect{
    .trims_blocks = false, .keeps_last_line_end = true, .is_strict = true};

}  // namespace

DocField::DocField(std::string text, std::string where, const std::set<std::string>& fields)
    : text_(std::move(text)), where_(std::move(where)) {
  if (!fields.contains(text_)) template_.emplace(text_, where_, kTaskDialect);
}

jinja::Value DocField::of(const TaskDocument& document) const {
  if (!template_) {
    if (const jinja::Value* found = jinja::find_text_key(document.fields.dict(), text_))
      return *found;
    throw DataError(fmt::format("{}: expected the field '{}' ({}), got a document without it",
                                document.where, printable(text_), where_));
  }
  jinja::Variables variables;
  for (const auto& [name, value] : document.fields.dict().items)
    variables.emplace_back(name.text(), value);
  try {
    return template_->render(variables).text;
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: {}", document.where, error.what()));
  }
}

std::string text_of_value(const jinja::Value& value) {
  jinja::Interpreter machine(jinja::Limits{});
  return jinja::to_text(machine, value);
}

}  // namespace axle
