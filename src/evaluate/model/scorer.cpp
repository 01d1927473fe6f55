#include "evaluate/model/scorer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/error.h"
#include "data/packing.h"
#include "evaluate/model/scoring_program.h"
#include "infer/decode_programs.h"
#include "layers/attention/caches/dense_kv_caches.h"
#include "layers/mixer.h"
#include "lower/stablehlo.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/reductions/reductions.h"
#include "runtime/arguments.h"
#include "runtime/memory_estimate.h"

namespace axle {
namespace {

constexpr int64_t kLeastRowLen = 16, kLeastScored = 4;

int64_t floor_of_power(int64_t n) {
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(n)));
}
int64_t round_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

}  // namespace

int64_t row_bucket(int64_t len, std::optional<int64_t> most) {
  const int64_t out =
      std::max(kLeastRowLen, round_up(len, std::max<int64_t>(1, floor_of_power(len) / 2)));
  return std::min(out, most.value_or(out));
}

int64_t scored_bucket(int64_t count) {
  int64_t out = kLeastScored;
  while (out < count) out *= 4;
  return out;
}

int64_t batch_rows(const ScoringParts& parts, const ScorerOptions& options, int64_t row_len,
                   int64_t num_scored, int64_t num_rows) {
  const int64_t most = std::max<int64_t>(
      1, std::min(options.batch_tokens / row_len,
                  options.batch_logits / (num_scored * parts.model.vocab_size())));
  const int64_t shares =
      parts.batch_partition.dims.empty()
          ? 1
          : num_parts(restrict(parts.batch_partition, parts.mesh).dims[0], parts.mesh);
  const int64_t rows = std::min(
      floor_of_power(most), static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(num_rows))));
  return round_up(rows, shares);
}

namespace {

DecodeShape decode_shape(const ScoringParts& parts, const ChoiceShape& shape) {
  return {.num_rows = shape.num_rows,
          .prompt_len = shape.context_len,
          .cache_len = shape.context_len + shape.num_read(),
          .compute_dtype = parts.compute_dtype,
          .mesh = parts.mesh};
}

PartitionSpec rows_spec(const ScoringParts& parts, size_t num_dims) {
  PartitionSpec spec = parts.batch_partition;
  spec.dims.resize(std::min(spec.dims.size(), num_dims));
  return spec;
}

// The caches, then the logits behind the contexts.
std::vector<ProgramValue> context_results(const ScoringParts& parts, const ChoiceShape& shape) {
  std::vector<ProgramValue> out = decode_caches(parts.model, decode_shape(parts, shape));
  out.push_back({"context_logits",
                 {DType::kF32, {shape.num_rows, parts.model.vocab_size()}},
                 rows_spec(parts, 1)});
  return out;
}

}  // namespace

Program context_program(const ScoringParts& parts, const ChoiceShape& shape) {
  const auto [B, T, C] = shape;
  const std::vector<ProgramValue> parameters = decode_parameters(
                                      parts.model, {.compute_dtype = parts.compute_dtype}),
                                  results = context_results(parts, shape);
  std::vector<ProgramValue> inputs = parameters;
  inputs.push_back({"lengths", {DType::kI32, {B}}, rows_spec(parts, 1)});
  if (parts.num_streams > 0)
    inputs.push_back(
        {kPositionStreams, {DType::kI32, {B, T, parts.num_streams}}, rows_spec(parts, 2)});
  inputs.push_back({"tokens", {DType::kI32, {B, T}}, rows_spec(parts, 2)});
  const TensorFunction fn = [&](const Values& x) {
    Tree<Tensor> weights = named_values(parameters, x.data()), caches;
    const Tensor* at = x.data() + parameters.size();
    const Tensor lengths_B = *at++;
    Tree<Tensor> batch{{"last_index", lengths_B - 1}, {"prefix_lengths", lengths_B}};
    if (parts.num_streams > 0) batch.emplace(kPositionStreams, *at++);
    batch.emplace("input_ids", *at++);
    for (size_t i = 0; i + 1 < results.size(); ++i)
      caches.emplace(results[i].name, zeros(results[i].type.dims, results[i].type.dtype));
    const auto [logits_BV, filled] =
        while_decoding(parts.model, std::move(weights), std::move(caches), parts.compute_dtype,
                       [&] { return parts.model.next_logits(batch); });
    Values out;
    for (const auto& [path, cache] : filled) out.push_back(cache);
    out.push_back(astype(logits_BV, DType::kF32));
    return out;
  };
  return trace_program("score_contexts", fn, std::move(inputs), results, parts.mesh);
}

Program choice_program(const ScoringParts& parts, const ChoiceShape& shape) {
  const int64_t B = shape.num_rows, L = shape.num_read();
  const std::vector<ProgramValue> parameters = decode_parameters(
                                      parts.model, {.compute_dtype = parts.compute_dtype}),
                                  contexts = context_results(parts, shape);
  std::vector<ProgramValue> inputs = parameters;
  inputs.insert(inputs.end(), contexts.begin(), contexts.end());
  inputs.push_back({"lengths", {DType::kI32, {B}}, rows_spec(parts, 1)});
  if (parts.num_streams > 0)
    inputs.push_back(
        {kPositionStreams, {DType::kI32, {B, L, parts.num_streams}}, rows_spec(parts, 1)});
  inputs.push_back({"targets", {DType::kI32, {B, shape.num_scored}}, rows_spec(parts, 1)});
  const TensorFunction fn = [&](const Values& x) {
    const Tensor* at = x.data() + parameters.size();
    Tree<Tensor> caches = named_values({contexts.begin(), contexts.end() - 1}, at);
    at += contexts.size() - 1;
    const Tensor first_BV = *at++, lengths_B = *at++;
    Tree<Tensor> batch{{"prefix_lengths", lengths_B}};
    if (parts.num_streams > 0) batch.emplace(kPositionStreams, *at++);
    const Tensor targets_BC = *at++;
    Tensor logits_BCV = expand_dims(first_BV, 1);
    if (L > 0) {
      const Tensor read_BL = slice_in_dim(targets_BC, 1, 0, L),
                   num_targets_B = reduce_sum(astype(targets_BC >= 0, DType::kI32), {1});
      batch.emplace("input_ids", maximum(read_BL, 0.0));
      batch.emplace("input_positions", expand_dims(lengths_B, 1) + iota({B, L}, 1));
      batch.emplace("last_index", num_targets_B - 2);
      const auto read = while_decoding(
          parts.model, named_values(parameters, x.data()), std::move(caches), parts.compute_dtype,
          [&] { return parts.model.logits_of(parts.model.hidden(batch)); });
      logits_BCV = concatenate({logits_BCV, astype(read.first, DType::kF32)}, 1);
    }
    return scored_targets(logits_BCV, targets_BC);
  };
  return trace_program("score_choices", fn, std::move(inputs), score_results(B), parts.mesh);
}

namespace {

std::span<const int32_t> context_of(const ScoredRow& row) {
  return std::span(row.inputs).first(row.inputs.size() - row.targets.size() + 1);
}

// The size of a group's longest choice, rounded up.
int64_t choice_len(std::span<const ScoredRow> rows, const std::vector<size_t>& group) {
  int64_t most = 0;
  for (const size_t i : group) most = std::max(most, std::ssize(rows[i].targets));
  return most == 1 ? 1 : scored_bucket(most);
}

// Writes the streams of the tokens `from`, ... of a row into row i of `out`, i32[B, T, n].
void fill_streams(const StreamRule& rule, std::span<const int32_t> ids, size_t from, size_t i,
                  HostTensor& out) {
  const auto n = rule.streams.size();
  std::vector<int32_t> all(ids.size() * n);
  rule.fill(ids, all);
  std::ranges::copy(
      std::span(all).subspan(from * n),
      out.values<int32_t>().subspan(i * static_cast<size_t>(out.shape()[1]) * n).begin());
}

}  // namespace

SharedContexts shared_contexts(std::span<const ScoredRow> rows) {
  SharedContexts out;
  for (size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    const auto context = context_of(rows[begin]);
    std::vector<size_t> group;
    for (end = begin; end < rows.size() && std::ranges::equal(context_of(rows[end]), context);
         ++end)
      group.push_back(end);
    const bool is_shared = group.size() > 1 && std::ssize(context) > choice_len(rows, group);
    if (is_shared)
      out.groups.push_back(std::move(group));
    else
      out.alone.insert(out.alone.end(), group.begin(), group.end());
  }
  return out;
}

ChoiceScorer::ChoiceScorer(ScoringParts parts, Runtime& runtime, ScorerOptions options)
    : parts_(std::move(parts)), runtime_(runtime), options_(std::move(options)) {}

bool ChoiceScorer::can_decode() {
  if (can_decode_) return *can_decode_;
  can_decode_ = true;
  parts_.model.visit([&](const Layer& layer) {
    if (dynamic_cast<const BoundedCache*>(&layer)) can_decode_ = false;
    // A likelihood does not depend on whether a question's choices share a context.
    const auto* const cache = dynamic_cast<const KVCache*>(&layer);
    if (cache && !cache->is_exact()) can_decode_ = false;
  });
  try {
    if (*can_decode_) choice_program(parts_, {.num_scored = 4});
  } catch (const ConfigError&) {
    can_decode_ = false;  // a layer says so when it is called
  }
  return *can_decode_;
}

ChoiceScorer::Compiled& ChoiceScorer::compiled(const ChoiceShape& shape) {
  Compiled& out = compiled_[shape];
  const auto compile = [&](const Program& program) {
    auto executable = runtime_.compile(program, options_.compile);
    check_program_memory({"the evaluation", executable.get()}, parts_.mesh.num_devices(),
                         runtime_.topology().platform);
    return executable;
  };
  if (!out.choice_executable) {
    out.context = context_program(parts_, shape);
    out.choice = choice_program(parts_, shape);
    out.context_executable = compile(out.context);
    out.choice_executable = compile(out.choice);
  }
  return out;
}

void ChoiceScorer::score_batch(std::span<const ScoredRow> rows, Groups groups,
                               const ChoiceShape& shape, const Arrays& parameters,
                               std::span<RowScore> out) {
  const auto [B, T, C] = shape;
  const int64_t L = shape.num_read(), n = parts_.num_streams;
  Compiled& ready = compiled(shape);
  HostTensor lengths({DType::kI32, {B}}), tokens({DType::kI32, {B, T}}),
      streams({DType::kI32, {B, T, n}});
  std::ranges::fill(lengths.values<int32_t>(), 1);  // also of rows that are all padding
  size_t most_choices = 0;
  for (size_t i = 0; i < groups.size(); ++i) {
    const auto context = context_of(rows[groups[i][0]]);
    std::ranges::copy(context,
                      tokens.values<int32_t>().subspan(i * static_cast<size_t>(T)).begin());
    lengths.values<int32_t>()[i] = static_cast<int32_t>(context.size());
    if (n > 0) fill_streams(options_.streams, context, 0, i, streams);
    most_choices = std::max(most_choices, groups[i].size());
  }
  Tree<HostTensor> values{{"lengths", lengths}, {"tokens", tokens}};
  if (n > 0) values.emplace(kPositionStreams, streams);
  Arrays arguments = parameters;
  append_by_name(arguments, values, ready.context, runtime_);
  const Arrays contexts = ready.context_executable->execute(arguments);
  num_computed_ += B * T;

  for (size_t k = 0; k < most_choices; ++k) {
    HostTensor targets({DType::kI32, {B, C}}), places({DType::kI32, {B, L, n}});
    std::ranges::fill(targets.values<int32_t>(), kIgnoredLabel);
    for (size_t i = 0; i < groups.size(); ++i) {
      if (k >= groups[i].size()) continue;
      const ScoredRow& row = rows[groups[i][k]];
      std::ranges::copy(row.targets,
                        targets.values<int32_t>().subspan(i * static_cast<size_t>(C)).begin());
      if (n > 0) fill_streams(options_.streams, row.inputs, context_of(row).size(), i, places);
    }
    Tree<HostTensor> of_choice{{"lengths", lengths}, {"targets", targets}};
    if (n > 0) of_choice.emplace(kPositionStreams, places);
    arguments = parameters;
    arguments.insert(arguments.end(), contexts.begin(), contexts.end());
    append_by_name(arguments, of_choice, ready.choice, runtime_);
    const Arrays results = ready.choice_executable->execute(arguments);
    num_computed_ += B * L;
    const HostTensor sums = results[0]->to_host(), greedy = results[1]->to_host();
    for (size_t i = 0; i < groups.size(); ++i) {
      if (k < groups[i].size())
        out[groups[i][k]] = {sums.values<float>()[i], greedy.values<int32_t>()[i] != 0};
    }
  }
}

bool ChoiceScorer::score(std::span<const ScoredRow> rows, std::vector<std::vector<size_t>> groups,
                         const Arrays& parameters, std::span<RowScore> out,
                         const std::function<bool(size_t)>& on_rows) {
  const auto sizes_of = [&](const std::vector<size_t>& group) {
    const auto context = context_of(rows[group[0]]);
    return std::pair(row_bucket(std::ssize(context), parts_.model.max_seq_len()),
                     choice_len(rows, group));
  };
  // The longest first: what does not fit the memory fails at once.
  std::ranges::stable_sort(groups, std::greater{}, sizes_of);
  for (size_t done = 0; done < groups.size();) {
    const auto [context_len, num_scored] = sizes_of(groups[done]);
    size_t end = done;
    while (end < groups.size() && sizes_of(groups[end]) == std::pair(context_len, num_scored))
      ++end;
    const int64_t num_like = static_cast<int64_t>(end - done);
    const ChoiceShape shape{
        batch_rows(parts_, options_, context_len + num_scored - 1, num_scored, num_like),
        context_len, num_scored};
    const Groups batch =
        Groups(groups).subspan(done, static_cast<size_t>(std::min(num_like, shape.num_rows)));
    score_batch(rows, batch, shape, parameters, out);
    done += batch.size();
    size_t num_rows = 0;
    for (const auto& group : batch) num_rows += group.size();
    if (!on_rows(num_rows)) return false;
  }
  return true;
}

namespace {

void check_tokens(std::span<const ScoredRow> rows, int64_t vocab_size) {
  for (const ScoredRow& row : rows) {
    for (const auto* ids : {&row.inputs, &row.targets}) {
      const int32_t most = std::ranges::max(*ids);
      if (most < vocab_size) continue;
      throw DataError(fmt::format("expected tokens of the model's vocabulary of {}, got id {}",
                                  vocab_size, most));
    }
  }
}

ScoringParts with_streams(ScoringParts parts, const ScorerOptions& options) {
  parts.num_streams = std::ssize(options.streams.streams);
  return parts;
}

}  // namespace

Scorer::Scorer(ScoringParts parts, Runtime& runtime, Options options)
    : parts_(with_streams(std::move(parts), options)),
      runtime_(runtime),
      options_(std::move(options)),
      choices_(parts_, runtime, options_) {}

Scorer::Compiled& Scorer::compiled(const ScoringShape& shape) {
  Compiled& out = compiled_[shape];
  if (!out.executable) {
    out.program = scoring_program(parts_, shape);
    out.executable = runtime_.compile(out.program, options_.compile);
    check_program_memory({"the evaluation", out.executable.get()}, parts_.mesh.num_devices(),
                         runtime_.topology().platform);
  }
  return out;
}

void Scorer::score_batch(std::span<const ScoredRow* const> rows, const ScoringShape& shape,
                         const Arrays& parameters, std::span<RowScore> out) {
  const auto [B, T, C] = shape;
  const int64_t n = parts_.num_streams;
  HostTensor tokens({DType::kI32, {B, T}}), targets({DType::kI32, {B, C}}),
      lengths({DType::kI32, {B}}), starts({DType::kI32, {B}}), streams({DType::kI32, {B, T, n}});
  std::ranges::fill(targets.values<int32_t>(), kIgnoredLabel);
  std::ranges::fill(lengths.values<int32_t>(), 1);  // also of rows that are all padding
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::vector<int32_t>& inputs = rows[i]->inputs;
    const std::vector<int32_t>& wanted = rows[i]->targets;
    std::ranges::copy(inputs, tokens.values<int32_t>().subspan(i * static_cast<size_t>(T)).begin());
    std::ranges::copy(wanted,
                      targets.values<int32_t>().subspan(i * static_cast<size_t>(C)).begin());
    lengths.values<int32_t>()[i] = static_cast<int32_t>(inputs.size());
    starts.values<int32_t>()[i] = static_cast<int32_t>(inputs.size() - wanted.size());
    if (n > 0) {
      options_.streams.fill(
          inputs, streams.values<int32_t>().subspan(i * static_cast<size_t>(T * n),
                                                    inputs.size() * static_cast<size_t>(n)));
    }
  }
  Tree<HostTensor> values{
      {"lengths", lengths}, {"starts", starts}, {"targets", targets}, {"tokens", tokens}};
  if (n > 0) values.emplace(kPositionStreams, streams);
  Compiled& ready = compiled(shape);
  Arrays arguments = parameters;
  append_by_name(arguments, values, ready.program, runtime_);
  const Arrays results = ready.executable->execute(arguments);
  num_computed_ += B * T;
  const HostTensor sums = results[0]->to_host(), greedy = results[1]->to_host();
  for (size_t i = 0; i < rows.size(); ++i)
    out[i] = {sums.values<float>()[i], greedy.values<int32_t>()[i] != 0};
}

std::optional<std::vector<RowScore>> Scorer::score(std::span<const ScoredRow> rows,
                                                   const Arrays& parameters,
                                                   const OnShare& on_share) {
  check_tokens(rows, parts_.model.vocab_size());
  // The longest rows first: what does not fit the memory fails at once. Rows of a document stay
  // together.
  SharedContexts split = shared_contexts(rows);
  if (!options_.shares_contexts || !choices_.can_decode()) {
    split = {};
    split.alone.resize(rows.size());
    std::iota(split.alone.begin(), split.alone.end(), size_t{0});
  }
  std::vector<size_t>& order = split.alone;
  const auto row_len_of = [&](size_t i) {
    return row_bucket(std::ssize(rows[i].inputs), parts_.model.max_seq_len());
  };
  const auto num_rows = static_cast<double>(rows.size());
  std::ranges::stable_sort(order, std::greater{}, [&](size_t i) {
    return std::pair(row_len_of(i), scored_bucket(std::ssize(rows[i].targets)));
  });
  std::vector<RowScore> out(rows.size());
  for (size_t done = 0; done < order.size();) {
    const ScoredRow& first = rows[order[done]];
    const auto is_like = [&](size_t i) {
      return row_len_of(i) == row_len_of(order[done]) &&
             scored_bucket(std::ssize(rows[i].targets)) == scored_bucket(std::ssize(first.targets));
    };
    const auto end = std::ranges::find_if_not(order.begin() + static_cast<std::ptrdiff_t>(done),
                                              order.end(), is_like);
    const int64_t num_like = end - order.begin() - static_cast<std::ptrdiff_t>(done);
    const int64_t row_len = row_len_of(order[done]),
                  num_scored = std::min(scored_bucket(std::ssize(first.targets)), row_len);
    const ScoringShape shape{batch_rows(parts_, options_, row_len, num_scored, num_like), row_len,
                             num_scored};
    std::vector<const ScoredRow*> batch;
    const auto size = static_cast<size_t>(std::min(num_like, shape.num_rows));
    for (size_t i = 0; i < size; ++i) batch.push_back(&rows[order[done + i]]);
    std::vector<RowScore> scores(size);
    score_batch(batch, shape, parameters, scores);
    for (size_t i = 0; i < size; ++i) out[order[done + i]] = scores[i];
    done += size;
    if (on_share && !on_share(static_cast<double>(done) / num_rows)) return std::nullopt;
  }
  auto done = static_cast<double>(order.size());
  const auto on_rows = [&](size_t count) {
    done += static_cast<double>(count);
    return !on_share || on_share(done / num_rows);
  };
  if (!choices_.score(rows, std::move(split.groups), parameters, out, on_rows)) return std::nullopt;
  return out;
}

}  // namespace axle
