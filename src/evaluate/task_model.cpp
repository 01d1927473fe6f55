#include "evaluate/task_model.h"

#include <algorithm>
#include <numeric>

#include "data/tokenizers/stream_decoder.h"
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

}  // namespace axle
