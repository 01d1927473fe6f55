#include "evaluate/evaluate_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "base/text/text_table.h"
#include "data/tokenizers/tokenizer.h"
#include "infer/decode_programs.h"

namespace axle {
namespace {

constexpr int64_t kLenWithoutLimit = 2048;
constexpr size_t kPromptsAtOnce = 8;

// The text before the first of the ends.
std::string cut(std::string text, const std::vector<std::string>& ends) {
  for (const std::string& end : ends) {
    if (!end.empty()) text = text.substr(0, text.find(end));
  }
  return text;
}

bool has_any(const std::string& text, const std::vector<std::string>& ends) {
  return std::ranges::any_of(ends,
                             [&](const std::string& end) { return text.find(end) != text.npos; });
}

ScoringParts scoring_parts(Model& model, const TaskModelOptions& options) {
  return {.model = model,
          .compute_dtype = options.compute_dtype,
          .mesh = options.mesh,
          .batch_partition = options.batch_partition,
          .num_streams = std::ssize(options.streams.streams)};
}

ScorerOptions scorer_options(const TaskModelOptions& options) {
  return {
      .streams = options.streams, .compile = options.compile, .batch_tokens = options.batch_tokens};
}

}  // namespace

RowEncoder row_encoder(const Tokenizer& tokenizer, const TaskModelOptions& options) {
  return {tokenizer, options.context_len.value_or(kLenWithoutLimit)};
}

void trace_task_programs(Model& model, const TaskModelOptions& options,
                         std::span<const Task> tasks) {
  const auto is_generated = [](const Task& task) {
    return task.config().output_type == OutputType::kGenerateUntil;
  };
  if (!std::ranges::all_of(tasks, is_generated)) {
    const ScoringParts parts = scoring_parts(model, options);
    const int64_t row_len = row_bucket(1, model.max_seq_len()), num_scored = 1;
    const int64_t num_rows = batch_rows(parts, scorer_options(options), row_len, num_scored, 1);
    scoring_program(parts, {num_rows, row_len, num_scored});
  }
  if (std::ranges::any_of(tasks, is_generated)) {
    const int64_t len = length_bucket(1, options.context_len);
    const DecodeShape shape{.prompt_len = len,
                            .cache_len = len,
                            .compute_dtype = options.compute_dtype,
                            .mesh = options.mesh,
                            .streams = options.streams};
    prefill_program(model, shape, {});
    decode_program(model, shape, {});
  }
}

TaskModel::TaskModel(Model& model, const Tokenizer& tokenizer, Runtime& runtime,
                     TaskModelOptions options)
    : model_(model),
      tokenizer_(tokenizer),
      runtime_(runtime),
      options_(std::move(options)),
      encoder_(row_encoder(tokenizer, options_)),
      scorer_(scoring_parts(model, options_), runtime, scorer_options(options_)) {}

void TaskModel::set_parameters(Arrays parameters) {
  parameters_ = std::move(parameters);
  generator_.reset();
}

std::optional<std::vector<RowScore>> TaskModel::score(std::span<const ScoredRow> rows,
                                                      const OnShare& on_share) {
  return scorer_.score(rows, parameters_, on_share);
}

std::optional<std::vector<std::string>> TaskModel::generate(std::span<const TokenIds> prompts,
                                                            const TaskGeneration& generation,
                                                            const OnShare& on_share) {
  if (!generator_) {
    generator_ =
        std::make_unique<Generator>(model_, parameters_, runtime_,
                                    Generator::Options{.context_len = options_.context_len,
                                                       .compute_dtype = options_.compute_dtype,
                                                       .mesh = options_.mesh,
                                                       .streams = options_.streams,
                                                       .compile = options_.compile});
  }
  std::vector<size_t> order(prompts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater{}, [&](size_t i) { return prompts[i].size(); });

  GenerateOptions options{.max_tokens = generation.max_tokens,
                          .end_tokens = tokenizer_.chat_settings().end_ids};
  if (const auto eos = tokenizer_.special_ids().eos) options.end_tokens.push_back(*eos);
  const size_t at_once = std::min(kPromptsAtOnce, prompts.size());
  std::vector<std::string> out(prompts.size());
  for (size_t done = 0; done < order.size(); done += at_once) {
    const size_t count = std::min(at_once, order.size() - done);
    // Rows beyond the last prompt repeat it, so that all batches have one size, and end at once.
    std::vector<TokenIds> batch;
    for (size_t i = 0; i < at_once; ++i)
      batch.push_back(prompts[order[done + std::min(i, count - 1)]]);
    std::vector<StreamDecoder> decoders(at_once, StreamDecoder(tokenizer_));
    std::vector<std::string> texts(at_once);
    generator_->generate(batch, options, [&](size_t row, int32_t token) {
      texts[row] += decoders[row].push(token);
      return row < count && !has_any(texts[row], generation.until);
    });
    for (size_t i = 0; i < count; ++i) {
      texts[i] += decoders[i].finish();
      out[order[done + i]] = cut(std::move(texts[i]), generation.until);
    }
    const auto share = static_cast<double>(done + count) / static_cast<double>(order.size());
    if (on_share && !on_share(share)) return std::nullopt;
  }
  return out;
}

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

std::string to_text(std::span<const TaskResult> results) {
  TextTable table({"task", "metric", "filter", "value", "stderr", "documents", "shots"});
  for (const TaskResult& result : results) {
    for (const MetricResult& metric : result.metrics) {
      table.add({result.task, metric.metric, metric.filter.empty() ? "-" : metric.filter,
                 fmt::format("{:.4f}", metric.value),
                 metric.standard_error ? fmt::format("{:.4f}", *metric.standard_error) : "-",
                 grouped_digits(result.num_documents), std::to_string(result.num_fewshot)});
    }
  }
  std::string out = table.text();
  for (const TaskResult& result : results) {
    if (result.num_cut > 0)
      out += fmt::format("{}: the model read only the end of {}, which {} too long for it\n",
                         result.task, counted(result.num_cut, "context"),
                         result.num_cut == 1 ? "is" : "are");
  }
  return out;
}

nlohmann::ordered_json to_json(std::span<const TaskResult> results) {
  using Json = nlohmann::ordered_json;
  Json out = Json::object();
  for (const TaskResult& result : results) {
    Json metrics = Json::array();
    for (const MetricResult& metric : result.metrics) {
      Json one = {{"metric", metric.metric}, {"value", metric.value}};
      one["standard_error"] = metric.standard_error ? Json(*metric.standard_error) : Json(nullptr);
      one["higher_is_better"] = metric.higher_is_better;
      if (!metric.filter.empty()) one["filter"] = metric.filter;
      metrics.push_back(std::move(one));
    }
    out[result.task] = {{"output_type", to_text(result.output_type)},
                        {"num_documents", result.num_documents},
                        {"num_fewshot", result.num_fewshot},
                        {"num_cut", result.num_cut},
                        {"metrics", std::move(metrics)}};
  }
  return out;
}

}  // namespace axle
