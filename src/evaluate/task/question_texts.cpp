#include "evaluate/task/question_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/text/text.h"
#include "base/text/utf8.h"
#include "config/document/codec.h"
#include "data/chat/jinja/literal.h"

namespace axle {
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
  return Codec<int64_t>::parse(value.text());
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
    question = all[static_cast<size_t>(right)];
  } else if (answer.is_integer() && has_choices_) {
    const std::vector<std::string> all = choices(document);
    if (answer.integer() < 0 || answer.integer() >= std::ssize(all)) {
      throw DataError(fmt::format("{}: expected the number of one of {} choices ({}), got {}",
                                  document.where, all.size(), target_->where(), answer.integer()));
    }
    answer = all[static_cast<size_t>(answer.integer())];
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
