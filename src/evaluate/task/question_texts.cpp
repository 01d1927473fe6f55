#include "evaluate/task/question_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/text/json.h"
#include "base/text/text.h"
#include "base/text/unicode.h"
#include "config/leaf.h"
#include "data/chat/jinja/builtins.h"
#include "data/chat/jinja/lexer.h"
#include "data/data_file.h"

namespace axle {
namespace {

TaskDocument document_of(std::string_view text, std::string where) {
  try {
    const nlohmann::ordered_json record = read_json(text);
    if (!record.is_object()) throw JsonError("expected an object, got another value");
    return {jinja::Value::of_json(record), record.dump(), std::move(where)};
  } catch (const JsonError& error) {
    throw DataError(fmt::format("{}: {}", where, error.what()));
  } catch (const jinja::JinjaError& error) {
    throw DataError(fmt::format("{}: {}", where, error.what()));
  }
}

}  // namespace

TaskSplit read_task_split(const std::vector<std::string>& files) {
  TaskSplit out;
  int64_t num_bytes = 0, num_priced = 0;
  for (const std::string& file : files) {
    JsonRecords records(file, "no document");
    while (const auto record = records.next()) {
      std::string where = fmt::format("{}:{}", file, record->line);
      // A document is kept as text and as values.
      constexpr int64_t kCopies = 8, kPricedAtOnce = int64_t{64} << 20;
      num_bytes += kCopies * std::ssize(record->bytes);
      if (num_bytes > num_priced) {
        check_host_allocation(where, "more documents of a task", kPricedAtOnce);
        num_priced = num_bytes + kPricedAtOnce;
      }
      out.documents.push_back(document_of(record->bytes, std::move(where)));
      for (const auto& [name, value] : out.documents.back().fields.dict().items)
        out.fields.insert(name.text());
    }
  }
  if (out.documents.empty())
    throw DataError(fmt::format("{}: expected documents, got none", join(files, ", ")));
  return out;
}

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

namespace {

bool is_name(std::string_view text) {
  return !text.empty() && !is_digits(text.substr(0, 1)) &&
         std::ranges::all_of(text, [](char c) { return c == '_' || std::isalnum(c & 0x7f) != 0; });
}

// A name that no document has is taken for a mistake, though it could be a text.
std::optional<DocField> field_of(const TaskText& text, const std::set<std::string>& fields) {
  if (text.where.empty()) return std::nullopt;
  if (is_name(text.text) && !fields.contains(text.text)) {
    std::vector<std::string> names;
    for (const std::string& field : fields) names.push_back(printable(field));
    std::string hint = suggest(text.text, names);
    if (hint.empty()) hint = fmt::format("; for a text, write {{{{ '{}' }}}}", text.text);
    throw DataError(
        fmt::format("{}: expected a field of the documents ({}) or a template, got '{}'{}",
                    text.where, join(names, ", "), text.text, hint));
  }
  return DocField(text.text, text.where, fields);
}

}  // namespace

QuestionTexts::QuestionTexts(const DocTexts& texts, const std::set<std::string>& fields)
    : text_(field_of(texts.text, fields)),
      target_(field_of(texts.target, fields)),
      choice_(field_of(texts.choice, fields)),
      choices_(texts.choices),
      targets_(texts.targets),
      target_delimiter_(texts.target_delimiter),
      fewshot_delimiter_(texts.fewshot_delimiter),
      has_choices_(texts.has_choices()) {}

jinja::Value QuestionTexts::with_number(jinja::Value value) const {
  constexpr size_t kMostDigits = 9;
  if (!has_choices_ || !value.is_text()) return value;
  if (!is_digits(value.text()) || value.text().size() > kMostDigits) return value;
  return parse_leaf<int64_t>(value.text());
}

jinja::Value QuestionTexts::text(const TaskDocument& document) const {
  if (!text_) return jinja::Value("");
  jinja::Value out = text_->of(document);
  return text_->is_template() ? with_number(std::move(out)) : out;
}

jinja::Value QuestionTexts::target(const TaskDocument& document) const {
  if (!targets_.empty()) {
    std::vector<jinja::Value> out(targets_.begin(), targets_.end());
    return jinja::Value::list(std::move(out));
  }
  jinja::Value out = target_->of(document);
  if (!target_->is_template()) return out;
  out = with_number(std::move(out));
  if (out.is_text() && out.text().starts_with('[') && out.text().ends_with(']')) {
    if (auto list = jinja::literal_value(out.text())) return *list;
  }
  return out;
}

std::vector<std::string> QuestionTexts::choices(const TaskDocument& document) const {
  if (!choices_.empty()) return choices_;
  const auto fail = [&](std::string_view got) {
    throw DataError(fmt::format("{}: expected a list of choices ({}), got {}", document.where,
                                choice_->where(), got));
  };
  jinja::Value value = choice_->of(document);
  if (choice_->is_template() && value.is_text()) {
    if (auto list = jinja::literal_value(value.text())) value = *list;
  }
  if (!value.is_list()) fail(fmt::format("a value of type {}", value.type_name()));
  if (value.list().elements.empty()) fail("none");
  std::vector<std::string> out;
  for (const jinja::Value& one : value.list().elements) {
    if (!one.is_text()) fail(fmt::format("a choice of type {}", one.type_name()));
    if (one.text().empty()) fail("an empty choice");
    out.push_back(one.text());
  }
  return out;
}

std::string QuestionTexts::solved(const TaskDocument& document) const {
  jinja::Value question = text(document), answer = target(document);
  if (!question.is_text()) {  // the choices are what is asked
    const std::vector<std::string> all = choices(document);
    const int64_t right = question.is_integer() ? question.integer() : -1;
    if (right < 0 || right >= std::ssize(all)) {
      throw DataError(fmt::format("{}: expected a text or the number of a choice ({}), got {}",
                                  document.where, text_->where(),
                                  printable(text_of_value(question))));
    }
    question = all[right];
  } else if (answer.is_integer() && has_choices_) {
    const std::vector<std::string> all = choices(document);
    if (answer.integer() < 0 || answer.integer() >= std::ssize(all)) {
      throw DataError(fmt::format("{}: expected the number of one of {} choices ({}), got {}",
                                  document.where, all.size(), target_->where(), answer.integer()));
    }
    answer = all[answer.integer()];
  } else if (answer.is_list()) {
    if (answer.list().elements.empty()) {
      throw DataError(fmt::format("{}: expected answers, got none", document.where));
    }
    const jinja::Value first = answer.list().elements[0];
    answer = first;
  }
  const std::string text = text_of_value(answer);
  if (text.empty()) return question.text();
  return question.text() + target_delimiter_ + text + fewshot_delimiter_;
}

}  // namespace axle
