#include "evaluate/model/choice_scorer.h"

#include <algorithm>

#include "base/error.h"
#include "data/packing.h"
#include "layers/attention/caches/bounded_cache.h"
#include "layers/attention/caches/kv_cache.h"
#include "layers/blocks/mixer.h"
#include "runtime/host_needs.h"
#include "runtime/named_arguments.h"

namespace axle {
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

}  // namespace axle
