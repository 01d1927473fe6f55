#include "evaluate/task/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/hash.h"
#include "base/mistakes.h"
#include "base/text/text.h"
#include "base/text/text_table.h"
#include "base/text/unicode.h"

namespace axle {
namespace {

constexpr uint32_t kSeed = 1234;

}  // namespace

FewShot::FewShot(const TaskConfig& task)
    : count_(task.num_fewshot), sampler_(task.sampler), random_(kSeed) {
  if (count_ == 0) return;
  const auto& first = task.training_split     ? task.training_split
                      : task.validation_split ? task.validation_split
                                              : task.test_split;
  split_ = task.fewshot_split ? *task.fewshot_split : *first;
  leaves_out_ = task.fewshot_split == task.test_split;
  documents_ = read_task_split(task.data_files.at(split_));
  texts_.emplace_back(task.fewshot_doc, documents_.fields);
}

std::vector<const TaskDocument*> FewShot::chosen(const TaskDocument& document) {
  const auto n = static_cast<size_t>(count_);
  const auto is_other = [&](const TaskDocument& one) {
    return !leaves_out_ || one.text != document.text;
  };
  std::vector<const TaskDocument*> out, others;
  for (const TaskDocument& one : documents_.documents) {
    if (is_other(one)) others.push_back(&one);
  }
  const size_t least = n + (leaves_out_ && sampler_ == FewShotSampler::kDefault ? 1 : 0);
  if (others.size() < n || documents_.documents.size() < least) {
    throw DataError(
        fmt::format("{}: expected at least {} other documents in the split '{}' to come before the "
                    "question (num_fewshot), got {}",
                    document.where, n, split_, others.size()));
  }
  if (sampler_ == FewShotSampler::kFirstN) return {others.begin(), others.begin() + count_};
  // One more is drawn than needed, in case the document itself is drawn.
  for (const size_t i : random_.sample(documents_.documents.size(), least)) {
    const TaskDocument& one = documents_.documents[i];
    if (is_other(one) && out.size() < n) out.push_back(&one);
  }
  if (out.size() == n) return out;
  out.clear();
  for (const size_t i : random_.sample(others.size(), n)) out.push_back(others[i]);
  return out;
}

void FewShot::restart() { random_ = PythonRandom(kSeed); }

std::string FewShot::before(const TaskDocument& document) {
  std::string out;
  if (count_ == 0) return out;
  for (const TaskDocument* one : chosen(document)) out += texts_[0].solved(*one);
  return out;
}

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
      out.targets.push_back(choices[gold]);
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
  for (int64_t i = 0; i < count; ++i) out.push_back(question(documents_.documents[i]));
  return out;
}

std::vector<Task> read_task_files(std::span<const std::filesystem::path> files,
                                  const TaskFilesOptions& options) {
  std::vector<Task> out;
  std::set<std::string> names;
  Mistakes mistakes;
  for (const auto& file : files) {
    mistakes.passes([&] {
      TaskConfig config = read_task_config(file);
      if (options.num_fewshot && config.output_type != OutputType::kRolling)
        config.num_fewshot = *options.num_fewshot;
      if (!names.insert(config.name).second) {
        throw ConfigError(fmt::format("{}: task: expected a name of its own, got '{}' twice",
                                      file.string(), printable(config.name)));
      }
      Task task(std::move(config));
      task.questions(options.limit);
      out.push_back(std::move(task));
    });
  }
  mistakes.throw_any();
  return out;
}

}  // namespace axle
