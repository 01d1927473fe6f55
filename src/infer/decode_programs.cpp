#include "infer/decode_programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <span>

#include "base/error.h"
#include "base/tree.h"
#include "layers/mixer.h"
#include "lower/stablehlo.h"
#include "nn/functional.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/random/random.h"
#include "ops/reductions/reductions.h"

namespace axle {
namespace {

// Smaller numbers are 0 in f32, or subnormal and therefore slow.
constexpr double kSmallest = 1e-30;

// Returns sorted logits (best first) with -inf for all that follow the first ones whose
// probabilities sum to `top_p`.
Tensor cut_to_top_p(const Tensor& sorted_BK, double top_p) {
  const Tensor probs_BK = softmax(sorted_BK);
  const Tensor before_BK = cumsum(probs_BK, -1) - probs_BK;
  // The first logit always stays, even if top_p is 0 in f32.
  return select(before_BK < std::max(top_p, kSmallest), sorted_BK,
                -std::numeric_limits<double>::infinity());
}

}  // namespace

void check(const Sampling& s) {
  if (!(s.temperature >= 0) || std::isinf(s.temperature)) {
    throw ConfigError(
        fmt::format("temperature: expected 0 or a positive number, got {}", s.temperature));
  }
  if (s.temperature > 0 && s.temperature < kSmallest) {
    throw ConfigError(
        fmt::format("temperature: expected 0 or at least {}, got {}", kSmallest, s.temperature));
  }
  if (s.top_k && *s.top_k < 1)
    throw ConfigError(fmt::format("top_k: expected at least 1, got {}", *s.top_k));
  if (s.top_p && !(*s.top_p > 0 && *s.top_p <= 1)) {
    throw ConfigError(fmt::format("top_p: expected more than 0 and at most 1, got {}", *s.top_p));
  }
}

Tensor sample(const Tensor& logits_BV, const random::Key& key, const Sampling& s) {
  if (s.temperature == 0) return argmax(logits_BV);
  // The maximum is shifted to 0, so that a small temperature can overflow only to -inf.
  const Tensor wide_BV = astype(logits_BV, DType::kF32);
  const Tensor scaled_BV = (wide_BV - reduce_max(wide_BV, {-1}, true)) / s.temperature;
  const bool cuts_p = s.top_p && *s.top_p < 1;
  if (!s.top_k && !cuts_p) return random::categorical(key, scaled_BV);

  const int64_t vocab_size = logits_BV.dim(1);
  const auto [sorted_BK, ids_BK] =
      top_k(scaled_BV, std::min(s.top_k.value_or(vocab_size), vocab_size));
  const Tensor chosen_B =
      random::categorical(key, cuts_p ? cut_to_top_p(sorted_BK, *s.top_p) : sorted_BK);
  return squeeze(take_along_axis(ids_BK, expand_dims(chosen_B, 1)), {1});
}

namespace {

constexpr int64_t kSmallestBucket = 16;

Tree<StateSpec> cache_specs(const Model& model, const DecodeShape& shape) {
  return model.decode_state_specs({.batch_size = shape.num_rows,
                                   .max_len = shape.cache_len,
                                   .dtype = shape.compute_dtype.value_or(DType::kF32)});
}

// Takes the next values and names them by the leaves.
Tree<Tensor> take(const std::vector<ProgramValue>& leaves, Values::const_iterator& at) {
  Tree<Tensor> out;
  for (const ProgramValue& leaf : leaves) out.emplace(leaf.name, *at++);
  return out;
}

// Returns the model's logits for the next token of each row, and the caches including the tokens of
// the batch.
std::pair<Tensor, Tree<Tensor>> next_logits(Model& model, Tree<Tensor> parameters,
                                            Tree<Tensor> caches, const Tree<Tensor>& batch,
                                            const std::optional<DType>& compute_dtype) {
  auto out = while_decoding(model, std::move(parameters), std::move(caches), compute_dtype,
                            [&] { return model.next_logits(batch); });
  out.first = astype(out.first, DType::kF32);
  return out;
}

// Draws a token for each row, or kNonFiniteToken if no logit is the maximum: reduce_max passes a
// NaN on.
Tensor drawn(const Tensor& logits_BV, const random::Key& key, const Sampling& sampling) {
  const Tensor finite_B = is_finite(reduce_max(logits_BV, {-1}));
  return select(finite_B, sample(logits_BV, key, sampling), scalar(kNonFiniteToken, DType::kI32));
}

// The line and the column of a token of each row, for streams of positions: [B, T] or [B].
struct TextPlaces {
  Tensor lines, columns;
};

Tensor line_breaks_of(const Tensor& ids, const StreamRule& rule) {
  HostTensor table(Type{DType::kI32, {std::max<int64_t>(1, std::ssize(rule.line_breaks))}});
  std::ranges::copy(rule.line_breaks, table.values<int32_t>().begin());
  return take(constant(table), ids, 0, {.mode = GatherMode::kFill, .fill = 0});
}

// Returns the lines and columns of all tokens of texts that begin at position 0.
TextPlaces places_of(const Tensor& ids_BT, const StreamRule& rule) {
  const Tensor breaks_BT = line_breaks_of(ids_BT, rule), index_BT = iota(ids_BT.shape(), 1);
  const Tensor starts_BT = select(breaks_BT > 0, index_BT + 1, 0);  // of the next line
  const Tensor start_BT = cummax(pad_in_dim(starts_BT, 1, 1, -1, 0), 1);
  return {cumsum(breaks_BT, 1) - breaks_BT, index_BT - start_BT};
}

// Returns the lines and columns of the tokens after `ids_B`.
TextPlaces places_after(const Tensor& ids_B, const TextPlaces& at, const StreamRule& rule) {
  const Tensor breaks_B = line_breaks_of(ids_B, rule);
  return {at.lines + breaks_B, select(breaks_B > 0, 0, at.columns + 1)};
}

// Adds the streams of tokens at these lines and columns, each [B, T], to a batch.
void add_streams(Tree<Tensor>& batch, const Tensor& positions_BT, const TextPlaces& at,
                 const StreamRule& rule) {
  Values streams;
  for (const PositionStream stream : rule.streams) {
    const Tensor& own = stream == PositionStream::kToken  ? positions_BT
                        : stream == PositionStream::kLine ? at.lines
                                                          : at.columns;
    streams.push_back(expand_dims(own, -1));
  }
  if (!streams.empty()) batch.emplace(kPositionStreams, concatenate(streams, -1));
}

// The tokens of a call, and what the state keeps of them.
struct NewestTokens {
  Tensor prompt_lengths_B, positions_B;
  TextPlaces at_B;  // without streams: none
};

// Returns the state in the order of decode_state. One half of the key draws the tokens, the other
// is the next state's key.
Values next_state(const Tree<Tensor>& caches, const random::Key& key, const NewestTokens& newest,
                  const Tensor& logits_BV, const Sampling& sampling) {
  Values out;
  for (const auto& [path, cache] : caches) out.push_back(cache);
  out.push_back(newest.prompt_lengths_B);
  if (newest.at_B.lines) {
    out.push_back(newest.at_B.lines);
    out.push_back(newest.at_B.columns);
  }
  const std::vector<random::Key> keys = random::split_each(key);
  out.push_back(keys[0].data());
  out.push_back(newest.positions_B);
  out.push_back(drawn(logits_BV, keys[1], sampling));
  return out;
}

}  // namespace

std::vector<ProgramValue> stored_parameters(const Model& model) {
  std::vector<ProgramValue> out;
  for (const auto& [path, spec] : model.param_specs())
    out.push_back({path, spec.type(), spec.partition()});
  for (const auto& [path, spec] : inference_state_specs(model))
    out.push_back({join_path(kLayerStatePath, path), spec.type(), spec.partition()});
  return out;
}

std::vector<ProgramValue> decode_parameters(const Model& model, const DecodeShape& shape) {
  std::vector<ProgramValue> out = stored_parameters(model);
  const Tree<ParamSpec> specs = model.param_specs();
  for (ProgramValue& value : out) {
    const auto spec = specs.find(value.name);
    if (spec == specs.end() || !is_float(value.type.dtype)) continue;
    const auto compute = spec->second.compute ? spec->second.compute : shape.compute_dtype;
    value.type.dtype = compute.value_or(value.type.dtype);
  }
  return out;
}

int64_t length_bucket(int64_t len, std::optional<int64_t> most) {
  const auto power =
      static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max(len, kSmallestBucket))));
  const int64_t longest = std::min(most.value_or(kMaxPositions), kMaxPositions);
  return std::min(power, std::max(longest, len));
}

std::vector<ProgramValue> decode_caches(const Model& model, const DecodeShape& shape) {
  std::vector<ProgramValue> out;
  for (const auto& [path, spec] : cache_specs(model, shape))
    out.push_back({path, spec.type, restrict(spec.mesh_axes, spec.type.dims, shape.mesh)});
  return out;
}

std::pair<Tensor, Tree<Tensor>> while_decoding(const Model& model, Tree<Tensor> parameters,
                                               Tree<Tensor> caches,
                                               const std::optional<DType>& compute_dtype,
                                               const std::function<Tensor()>& fn) {
  Tree<Tensor> state = subtree(parameters, kLayerStatePath);
  state.insert(caches.begin(), caches.end());
  InvocationOptions options{.state = std::move(state),
                            .decoding = true,
                            .summaries = false,
                            .compute_dtype = compute_dtype};
  const auto [result, collected] = functional(model, std::move(parameters), std::move(options), fn);
  // Caches that no layer has set stay as they are. The state that layers kept in training is only
  // read.
  for (auto& [path, cache] : caches) {
    if (const auto it = collected.state.find(path); it != collected.state.end()) cache = it->second;
  }
  return {result, std::move(caches)};
}

std::vector<ProgramValue> decode_state(const Model& model, const DecodeShape& shape) {
  std::vector<ProgramValue> out = decode_caches(model, shape);
  const Type rows{DType::kI32, {shape.num_rows}};
  out.push_back({"prompt_lengths", rows});
  if (!shape.streams.streams.empty()) {
    out.push_back({"lines", rows});
    out.push_back({"columns", rows});
  }
  out.push_back({"key", {DType::kU32, {2}}});
  out.push_back({"positions", rows});
  out.push_back({"tokens", rows});
  return out;
}

Program prefill_program(Model& model, const DecodeShape& shape, const Sampling& sampling) {
  const std::vector<ProgramValue> parameters = decode_parameters(model, shape);
  std::vector<ProgramValue> inputs = parameters;
  inputs.push_back({"key", {DType::kU32, {2}}});
  inputs.push_back({"lengths", {DType::kI32, {shape.num_rows}}});
  inputs.push_back({"prompts", {DType::kI32, {shape.num_rows, shape.prompt_len}}});
  const TensorFunction fn = [&](const Values& x) {
    auto at = x.begin();
    Tree<Tensor> weights = take(parameters, at), caches;
    const auto key = random::Key::wrap(*at++);
    const Tensor lengths_B = *at++, prompts_BT = *at++;
    for (const auto& [path, spec] : cache_specs(model, shape))
      caches.emplace(path, zeros(spec.type.dims, spec.type.dtype));
    Tree<Tensor> batch{
        {"input_ids", prompts_BT}, {"last_index", lengths_B - 1}, {"prefix_lengths", lengths_B}};
    NewestTokens newest{.prompt_lengths_B = lengths_B, .positions_B = lengths_B, .at_B = {}};
    if (!shape.streams.streams.empty()) {
      const TextPlaces of_all = places_of(prompts_BT, shape.streams);
      add_streams(batch, iota(prompts_BT.shape(), 1), of_all, shape.streams);
      const auto last = [&](const Tensor& t_BT) { return batched_take(t_BT, lengths_B - 1); };
      newest.at_B =
          places_after(last(prompts_BT), {last(of_all.lines), last(of_all.columns)}, shape.streams);
    }
    const auto [logits_BV, filled] =
        next_logits(model, std::move(weights), std::move(caches), batch, shape.compute_dtype);
    return next_state(filled, key, newest, logits_BV, sampling);
  };
  return trace_program("prefill", fn, std::move(inputs), decode_state(model, shape), shape.mesh);
}

Program decode_program(Model& model, const DecodeShape& shape, const Sampling& sampling) {
  const std::vector<ProgramValue> parameters = decode_parameters(model, shape),
                                  outputs = decode_state(model, shape),
                                  cache_leaves = decode_caches(model, shape);
  const bool has_streams = !shape.streams.streams.empty();
  std::vector<ProgramValue> inputs = parameters;
  for (size_t i = 0; i < outputs.size(); ++i) {
    inputs.push_back(outputs[i]);
    // The host reads the tokens while the next step runs.
    if (outputs[i].name != "tokens") inputs.back().donated_to = static_cast<int>(i);
  }
  const TensorFunction fn = [&](const Values& x) {
    auto at = x.begin();
    Tree<Tensor> weights = take(parameters, at), caches = take(cache_leaves, at);
    const Tensor prompt_lengths_B = *at++;
    TextPlaces places;
    if (has_streams) {
      places.lines = *at++;
      places.columns = *at++;
    }
    const auto key = random::Key::wrap(*at++);
    const Tensor positions_B = *at++, tokens_B = *at++;
    const Tensor positions_B1 = expand_dims(positions_B, 1);
    Tree<Tensor> batch{{"input_ids", expand_dims(tokens_B, 1)},
                       {"input_positions", positions_B1},
                       {"prefix_lengths", prompt_lengths_B}};
    NewestTokens newest{
        .prompt_lengths_B = prompt_lengths_B, .positions_B = positions_B + 1, .at_B = {}};
    if (has_streams) {
      add_streams(batch, positions_B1,
                  {expand_dims(places.lines, 1), expand_dims(places.columns, 1)}, shape.streams);
      newest.at_B = places_after(tokens_B, places, shape.streams);
    }
    const auto [logits_BV, filled] =
        next_logits(model, std::move(weights), std::move(caches), batch, shape.compute_dtype);
    return next_state(filled, key, newest, logits_BV, sampling);
  };
  return trace_program("decode", fn, std::move(inputs), outputs, shape.mesh);
}

}  // namespace axle
