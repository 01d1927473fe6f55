#include "evaluate/task/task.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "base/text/utf8.h"

namespace axle {
namespace {

TaskSplit documents_of(const TaskConfig& config) {
  const std::string& split = config.test_split ? *config.test_split : *config.validation_split;
  return read_task_split(config.data_files.at(split));
}

const std::vector<jinja::Value> elements_of_list(const jinja::Value& value) {
  if (value.is_list()) return value.list().elements;
  return {value};
}

}  // namespace

Task::Task(TaskConfig config)
    : config_(std::move(config)),
      documents_(documents_of(config_)),
      texts_(config_.doc, documents_.fields),
      few_shot_(config_) {
  if (!config_.description.where.empty())
    description_.emplace(config_.description.text, config_.description.where, documents_.fields);
}

std::vector<int64_t> Task::gold_of(const jinja::Value& target, const TaskDocument& document,
                                   const std::vector<std::string>& choices) const {
  std::vector<int64_t> out;
  for (const jinja::Value& one : elements_of_list(target)) {
    int64_t gold = -1;
    if (one.is_integer()) {
      gold = one.integer();
    } else if (const auto found = std::ranges::find(choices, text_of_value(one));
               found != choices.end()) {
      gold = found - choices.begin();
    }
    if (gold < 0 || gold >= std::ssize(choices)) {
      const std::string got = printable(text_of_value(one));
      throw DataError(fmt::format("{}: expected the right answer to be one of {}, got {}",
                                  document.where, counted(std::ssize(choices), "choice"),
                                  one.is_text() ? fmt::format("the text \"{}\"", got) : got));
    }
    out.push_back(gold);
  }
  if (out.empty())
    throw DataError(fmt::format("{}: expected a right answer, got none", document.where));
  return out;
}

void Task::add_choices(const TaskDocument& document, const std::string& before, TaskQuestion& out) {
  const std::string& delimiter = config_.doc.target_delimiter;
  out.choices = texts_.choices(document);
  const jinja::Value question = texts_.text(document), target = texts_.target(document);
  const bool asks_choices = question.is_integer();
  for (const std::string& choice : out.choices) {
    if (asks_choices) {
      out.pairs.push_back({before + choice, delimiter + text_of_value(target)});
    } else {
      out.pairs.push_back({before + text_of_value(question), delimiter + choice});
    }
  }
  out.gold = gold_of(asks_choices ? question : target, document, out.choices);
  const bool needs_prior = std::ranges::any_of(
      config_.metrics, [](const auto& metric) { return metric.row->name == "acc_mutual_info"; });
  if (!needs_prior) return;
  for (const std::string& choice : out.choices) out.pairs.push_back({"", delimiter + choice});
}

TaskQuestion Task::question(const TaskDocument& document) {
  TaskQuestion out{.where = document.where};
  if (config_.output_type == OutputType::kRolling) {
    out.text = text_of_value(texts_.target(document));
    return out;
  }
  std::string before = description_ ? text_of_value(description_->of(document)) : "";
  before += few_shot_.before(document);
  if (config_.output_type == OutputType::kMultipleChoice) {
    add_choices(document, before, out);
    return out;
  }
  const std::string prompt = before + text_of_value(texts_.text(document));
  const jinja::Value target = texts_.target(document);
  if (config_.output_type == OutputType::kLogLikelihood) {
    out.pairs.push_back({prompt, text_of_value(target)});
    return out;
  }
  out.prompt = prompt;
  if (texts_.has_choices()) {
    const std::vector<std::string> choices = texts_.choices(document);
    for (const int64_t gold : gold_of(target, document, choices))
      out.targets.push_back(choices[static_cast<size_t>(gold)]);
  } else {
    for (const jinja::Value& one : elements_of_list(target))
      out.targets.push_back(text_of_value(one));
  }
  return out;
}

uint64_t Task::fingerprint() const {
  std::string all;
  for (const TaskDocument& document : documents_.documents) all += document.text + "\n";
  return xxh3_64(all);
}

std::vector<TaskQuestion> Task::questions(std::optional<int64_t> limit) {
  few_shot_.restart();
  const int64_t count = std::min(limit.value_or(num_documents()), num_documents());
  std::vector<TaskQuestion> out;
  for (int64_t i = 0; i < count; ++i)
    out.push_back(question(documents_.documents[static_cast<size_t>(i)]));
  return out;
}

}  // namespace axle
