#include "evaluate/model/scorer.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "data/packing.h"
#include "layers/blocks/mixer.h"
#include "runtime/host_needs.h"
#include "runtime/named_arguments.h"

namespace axle {
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
