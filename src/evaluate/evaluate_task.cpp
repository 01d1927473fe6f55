#include "evaluate/evaluate_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

// A row, and the document that it belongs to.
struct RowsOfDocuments {
  std::vector<ScoredRow> rows;
  std::vector<size_t> documents;
};

// Calls fn() and names the document in its errors.
template <class Fn>
auto for_document(const TaskQuestion& question, Fn&& fn) {
  try {
    return fn();
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: {}", question.where, error.what()));
  }
}

RowsOfDocuments rows_of(std::span<const TaskQuestion> questions, const TaskConfig& config,
                        const RowEncoder& encoder) {
  RowsOfDocuments out;
  for (size_t i = 0; i < questions.size(); ++i) {
    const TaskQuestion& question = questions[i];
    for_document(question, [&] {
      for (const TextPair& pair : question.pairs)
        out.rows.push_back(encoder.pair(pair.context, pair.continuation));
      if (config.output_type == OutputType::kRolling) {
        for (ScoredRow& row : encoder.windows(question.text, config.stride))
          out.rows.push_back(std::move(row));
      }
    });
    out.documents.resize(out.rows.size(), i);
  }
  return out;
}

// The prompts of the questions, of a task whose answers are generated.
std::vector<ScoredRow> prompts_of(std::span<const TaskQuestion> questions, const TaskConfig& config,
                                  const RowEncoder& encoder) {
  std::vector<ScoredRow> out;
  for (const TaskQuestion& question : questions) {
    try {
      out.push_back(encoder.prompt(question.prompt, config.generation.max_tokens));
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("{}: {}", config.file, error.what()));
    }
  }
  return out;
}

// What a model said of a question.
struct Said {
  AnswerFacts facts;
  int64_t num_cut_tokens = 0;  // at the beginning of its context
};

AnswerFacts facts_of(const TaskQuestion& question) {
  return {.choices = question.choices,
          .gold = question.gold,
          .text = question.text,
          .targets = question.targets};
}

// Returns the likelihoods of each question; the windows of a text add up.
std::optional<std::vector<Said>> scored(std::span<const TaskQuestion> questions,
                                        const TaskConfig& config, TaskModel& model,
                                        const OnShare& on_share) {
  const RowsOfDocuments asked = rows_of(questions, config, model.encoder());
  const auto scores = model.score(asked.rows, on_share);
  if (!scores) return std::nullopt;
  std::vector<Said> out;
  for (const TaskQuestion& question : questions) out.push_back({.facts = facts_of(question)});
  for (size_t i = 0; i < scores->size(); ++i) {
    Said& said = out[asked.documents[i]];
    said.facts.log_likelihoods.push_back((*scores)[i].log_likelihood);
    said.facts.is_greedy.push_back((*scores)[i].is_greedy);
    said.num_cut_tokens = std::max(said.num_cut_tokens, asked.rows[i].num_cut);
  }
  if (config.output_type != OutputType::kRolling) return out;
  for (Said& said : out) {
    double sum = 0;
    for (const double one : said.facts.log_likelihoods) sum += one;
    said.facts.log_likelihoods = {sum};
  }
  return out;
}

// Returns the answer to each question.
std::optional<std::vector<Said>> generated(std::span<const TaskQuestion> questions,
                                           const TaskConfig& config, TaskModel& model,
                                           const OnShare& on_share) {
  std::vector<TokenIds> prompts;
  std::vector<Said> out;
  for (ScoredRow& row : prompts_of(questions, config, model.encoder())) {
    out.push_back({.facts = facts_of(questions[out.size()]), .num_cut_tokens = row.num_cut});
    prompts.push_back(std::move(row.inputs));
  }
  const auto answers = model.generate(prompts, config.generation, on_share);
  if (!answers) return std::nullopt;
  for (size_t i = 0; i < out.size(); ++i) out[i].facts.answer = (*answers)[i];
  return out;
}

// What a model said, before a filter.
Json sample_of(const TaskConfig& config, const TaskQuestion& question, const Said& said) {
  const AnswerFacts& facts = said.facts;
  Json out = {{"task", config.name}, {"document", question.where}};
  if (said.num_cut_tokens > 0) out["num_cut_tokens"] = said.num_cut_tokens;
  switch (config.output_type) {
    case OutputType::kMultipleChoice:
    case OutputType::kLogLikelihood: {
      Json requests = Json::array();
      for (size_t i = 0; i < question.pairs.size(); ++i) {
        requests.push_back({{"context", question.pairs[i].context},
                            {"continuation", question.pairs[i].continuation},
                            {"log_likelihood", facts.log_likelihoods[i]},
                            {"is_greedy", static_cast<bool>(facts.is_greedy[i])}});
      }
      out["requests"] = std::move(requests);
      if (config.output_type == OutputType::kMultipleChoice) out["gold"] = question.gold;
      break;
    }
    case OutputType::kRolling:
      out["text"] = question.text;
      out["log_likelihood"] = facts.log_likelihoods[0];
      break;
    case OutputType::kGenerateUntil:
      out["context"] = question.prompt;
      out["answer"] = facts.answer;
      out["targets"] = question.targets;
      break;
  }
  return out;
}

// Scores of all documents by one metric.
struct Column {
  const MetricConfig* metric;
  std::string filter;
  std::vector<DocumentScore> scores = {};

  MetricResult result() const {
    MetricResult out{.metric = std::string(metric->row->name),
                     .filter = filter,
                     .value = metric->aggregation->value(scores),
                     .higher_is_better = metric->higher_is_better};
    if (scores.size() > 1 && metric->aggregation->standard_error)
      out.standard_error = metric->aggregation->standard_error(scores);
    return out;
  }
};

}  // namespace

void check_questions(Task& task, const RowEncoder& encoder, std::optional<int64_t> limit) {
  const std::vector<TaskQuestion> questions = task.questions(limit);
  if (task.config().output_type == OutputType::kGenerateUntil) {
    prompts_of(questions, task.config(), encoder);
  } else {
    rows_of(questions, task.config(), encoder);
  }
}

std::optional<TaskResult> evaluate_task(Task& task, TaskModel& model, std::optional<int64_t> limit,
                                        const OnShare& on_share, const OnTaskSample& on_sample) {
  const TaskConfig& config = task.config();
  const std::vector<TaskQuestion> questions = task.questions(limit);
  const bool is_generated = config.output_type == OutputType::kGenerateUntil;
  const auto all = is_generated ? generated(questions, config, model, on_share)
                                : scored(questions, config, model, on_share);
  if (!all) return std::nullopt;

  std::vector<FilterChain> chains = config.filters;
  if (!is_generated) chains = {FilterChain{}};
  std::vector<Column> columns;
  for (const FilterChain& chain : chains) {
    for (const MetricConfig& metric : config.metrics)
      columns.push_back({.metric = &metric, .filter = is_generated ? chain.name : ""});
  }
  for (size_t i = 0; i < questions.size(); ++i) {
    Json sample = sample_of(config, questions[i], (*all)[i]);
    Json metrics = Json::array();
    auto column = columns.begin();
    for (const FilterChain& chain : chains) {
      AnswerFacts facts = (*all)[i].facts;
      if (is_generated) {
        facts.answer = for_document(questions[i], [&] { return chain.apply(facts.answer); });
        sample["filtered"][chain.name] = facts.answer;
      }
      for (const MetricConfig& metric : config.metrics) {
        const DocumentScore score = metric.row->score(facts, metric);
        column->scores.push_back(score);
        Json named = {{"metric", metric.row->name}, {"value", score.value}};
        if (is_generated) named["filter"] = chain.name;
        metrics.push_back(std::move(named));
        ++column;
      }
    }
    sample["metrics"] = std::move(metrics);
    if (on_sample) on_sample(sample);
  }

  TaskResult out{.task = config.name,
                 .output_type = config.output_type,
                 .num_documents = std::ssize(questions),
                 .num_fewshot = config.num_fewshot,
                 .num_cut = std::ranges::count_if(
                     *all, [](const Said& said) { return said.num_cut_tokens > 0; })};
  for (const Column& column : columns) out.metrics.push_back(column.result());
  return out;
}

}  // namespace axle
