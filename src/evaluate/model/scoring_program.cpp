#include "evaluate/model/scoring_program.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "data/chat/jinja/unicode.h"
#include "infer/decode_programs.h"
#include "layers/mixer.h"
#include "lower/stablehlo.h"
#include "nn/functional.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/reductions/reductions.h"

namespace axle {

Tree<Tensor> named_values(const std::vector<ProgramValue>& values, const Tensor* tensors) {
  Tree<Tensor> out;
  for (size_t i = 0; i < values.size(); ++i) out.emplace(values[i].name, tensors[i]);
  return out;
}

std::vector<ProgramValue> score_results(int64_t num_rows) {
  return {{"log_likelihoods", {DType::kF32, {num_rows}}},
          {"are_greedy", {DType::kI32, {num_rows}}}};
}

Values scored_targets(const Tensor& logits_BCV, const Tensor& targets_BC) {
  const Tensor is_target_BC = targets_BC >= 0;
  const Tensor losses_BC = softmax_cross_entropy(logits_BCV, targets_BC).loss;
  const Tensor is_hit_BC = equal(argmax(logits_BCV), targets_BC) | logical_not(is_target_BC);
  return {-reduce_sum(select(is_target_BC, losses_BC, 0), {1}),
          reduce_min(astype(is_hit_BC, DType::kI32), {1})};
}

namespace {

// Sorted by name, as append_by_name() takes them.
std::vector<ProgramValue> row_inputs(const ScoringParts& parts, const ScoringShape& shape) {
  const auto [B, T, C] = shape;
  const auto sharded = [&](size_t num_dims) {
    PartitionSpec spec = parts.batch_partition;
    spec.dims.resize(std::min(spec.dims.size(), num_dims));
    return spec;
  };
  std::vector<ProgramValue> out;
  out.push_back({"lengths", {DType::kI32, {B}}, sharded(1)});
  if (parts.num_streams > 0)
    out.push_back({kPositionStreams, {DType::kI32, {B, T, parts.num_streams}}, sharded(2)});
  out.push_back({"starts", {DType::kI32, {B}}, sharded(1)});
  out.push_back({"targets", {DType::kI32, {B, C}}, sharded(1)});
  out.push_back({"tokens", {DType::kI32, {B, T}}, sharded(2)});
  return out;
}

// Returns logits_BCV, f32, of the scored positions.
Tensor scored_logits(const ScoringParts& parts, Tree<Tensor> parameters, const Tree<Tensor>& rows,
                     int64_t C) {
  Model& model = parts.model;
  const Tensor tokens_BT = rows.at("tokens"), lengths_B = rows.at("lengths"),
               starts_B = rows.at("starts");
  const Tensor is_token_BT = iota(tokens_BT.shape(), 1) < expand_dims(lengths_B, 1);
  Tree<Tensor> batch{{"input_ids", tokens_BT},
                     {"input_segment_ids", astype(is_token_BT, DType::kI32)},
                     {"prefix_lengths", starts_B + 1}};
  if (const auto streams = rows.find(kPositionStreams); streams != rows.end())
    batch.emplace(kPositionStreams, streams->second);
  const Shape bc = {tokens_BT.dim(0), C};
  const Tensor places_BC =
      minimum(expand_dims(starts_B, 1) + iota(bc, 1), static_cast<double>(tokens_BT.dim(1) - 1));
  InvocationOptions options{.state = subtree(parameters, kLayerStatePath),
                            .summaries = false,
                            .compute_dtype = parts.compute_dtype};
  return functional(model, std::move(parameters), std::move(options),
                    [&] {
                      return astype(model.logits_of(batched_take(model.hidden(batch), places_BC)),
                                    DType::kF32);
                    })
      .first;
}

}  // namespace

Program scoring_program(const ScoringParts& parts, const ScoringShape& shape) {
  const std::vector<ProgramValue> parameters =
      decode_parameters(parts.model, {.compute_dtype = parts.compute_dtype});
  const std::vector<ProgramValue> rows = row_inputs(parts, shape);
  std::vector<ProgramValue> inputs = parameters;
  inputs.insert(inputs.end(), rows.begin(), rows.end());
  const TensorFunction fn = [&](const Values& x) {
    const Tree<Tensor> of_rows = named_values(rows, x.data() + parameters.size());
    const Tensor logits_BCV =
        scored_logits(parts, named_values(parameters, x.data()), of_rows, shape.num_scored);
    return scored_targets(logits_BCV, of_rows.at("targets"));
  };
  return trace_program("score", fn, std::move(inputs), score_results(shape.num_rows), parts.mesh);
}

namespace {

// The begin token that the tokenizer's files name, even if they put it before no text.
std::optional<int32_t> named_begin(const Tokenizer& tokenizer) {
  for (const auto& [name, text] : tokenizer.chat_settings().special_tokens) {
    if (name != "bos_token") continue;
    const std::vector<int32_t> ids = tokenizer.encode_with_special(text);
    if (ids.size() == 1) return ids[0];
  }
  return std::nullopt;
}

int32_t first_token(const Tokenizer& tokenizer) {
  const SpecialIds special = tokenizer.special_ids();
  if (special.bos) return *special.bos;
  if (const auto begin = named_begin(tokenizer)) return *begin;
  if (special.eos) return *special.eos;
  throw DataError(
      "tokenizer: expected a begin or an end token to stand before the first token of a text, got "
      "a vocabulary without either");
}

}  // namespace

RowEncoder::RowEncoder(const Tokenizer& tokenizer, int64_t max_len)
    : tokenizer_(tokenizer),
      max_len_(max_len),
      first_(first_token(tokenizer)),
      first_text_(tokenizer.token(first_)) {}

std::vector<int32_t> RowEncoder::encode(std::string_view text) const {
  std::vector<int32_t> ids = tokenizer_.encode_with_special(text);
  const bool has_first = !first_text_.empty() && text.starts_with(first_text_);
  return has_first ? ids : tokenizer_.framed(std::move(ids));
}

ScoredRow RowEncoder::prompt(std::string_view text, int64_t num_generated) const {
  const int64_t most = max_len_ - num_generated;
  if (most < 1) {
    throw ConfigError(fmt::format(
        "generation_kwargs: max_gen_toks: expected fewer than the model's {} tokens, got {}",
        max_len_, num_generated));
  }
  std::vector<int32_t> ids = encode(text);
  if (ids.empty()) ids.push_back(first_);
  const int64_t num_cut = std::max<int64_t>(0, std::ssize(ids) - most);
  ids.erase(ids.begin(), ids.begin() + num_cut);
  return {.inputs = std::move(ids), .targets = {}, .num_cut = num_cut};
}

ScoredRow RowEncoder::pair(std::string_view context, std::string_view continuation) const {
  std::vector<int32_t> all;
  size_t num_context = 1;
  if (context.empty()) {
    all = tokenizer_.encode_with_special(continuation);
    if (all.empty() || all[0] != first_) all.insert(all.begin(), first_);
  } else {
    const std::string_view kept = jinja::stripped(context, jinja::Sides::kRight);
    all = encode(std::string(context) + std::string(continuation));
    num_context = std::min(encode(kept).size(), all.size());
    if (num_context == 0) {
      all.insert(all.begin(), first_);
      num_context = 1;
    }
  }
  const auto num_targets = static_cast<int64_t>(all.size() - num_context);
  if (num_targets == 0) throw DataError("expected a continuation with tokens of its own, got none");
  if (num_targets > max_len_) {
    throw DataError(fmt::format("expected a continuation of at most the model's {} tokens, got {}",
                                max_len_, num_targets));
  }
  const int64_t num_cut = std::max<int64_t>(0, std::ssize(all) - max_len_ - 1);
  return {.inputs = {all.begin() + num_cut, all.end() - 1},
          .targets = {all.end() - num_targets, all.end()},
          .num_cut = num_cut};
}

std::vector<ScoredRow> RowEncoder::windows(std::string_view text,
                                           std::optional<int64_t> stride) const {
  std::vector<int32_t> all = encode(text);
  const int64_t n = std::ssize(all), advance = std::min(stride.value_or(max_len_), max_len_);
  all.insert(all.begin(), first_);
  std::vector<ScoredRow> out;
  for (int64_t done = 0; done < n;) {
    const int64_t end = std::min(n, done + (done == 0 ? max_len_ : advance));
    // Token i is all[i + 1], and the inputs before it end with all[i].
    const int64_t begin = std::max<int64_t>(0, end - max_len_);
    out.push_back({.inputs = {all.begin() + begin, all.begin() + end},
                   .targets = {all.begin() + done + 1, all.begin() + end + 1}});
    done = end;
  }
  return out;
}

}  // namespace axle
