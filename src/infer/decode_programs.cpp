#include "infer/decode_programs.h"

#include <bit>
#include <span>

#include "base/tree.h"
#include "lower/trace_program.h"
#include "nn/functional.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/rounding.h"
#include "ops/movement/shape.h"
#include "ops/random/random.h"
#include "ops/reductions/reduce.h"

namespace axle {
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
                                            Tree<Tensor> caches, const Tree<Tensor>& batch) {
  Tree<Tensor> state = subtree(parameters, kLayerStatePath);
  state.insert(caches.begin(), caches.end());
  InvocationOptions options{.state = std::move(state), .decoding = true, .summaries = false};
  const auto [logits_BV, collected] = functional(model, std::move(parameters), std::move(options),
                                                 [&] { return model.next_logits(batch); });
  // Caches that no layer has set stay as they are. The state that layers kept in training is only
  // read.
  for (auto& [path, cache] : caches) {
    if (const auto it = collected.state.find(path); it != collected.state.end()) cache = it->second;
  }
  return {astype(logits_BV, DType::kF32), std::move(caches)};
}

// Draws a token for each row, or kNonFiniteToken if no logit is the maximum: reduce_max passes a
// NaN on.
Tensor drawn(const Tensor& logits_BV, const random::Key& key, const Sampling& sampling) {
  const Tensor finite_B = is_finite(reduce_max(logits_BV, {-1}));
  return select(finite_B, sample(logits_BV, key, sampling), scalar(kNonFiniteToken, DType::kI32));
}

// Returns the state in the order of decode_state. One half of the key draws the tokens, the other
// is the next state's key.
Values next_state(const Tree<Tensor>& caches, const random::Key& key, const Tensor& positions_B,
                  const Tensor& logits_BV, const Sampling& sampling) {
  Values out;
  for (const auto& [path, cache] : caches) out.push_back(cache);
  const std::vector<random::Key> keys = random::split_each(key);
  out.push_back(keys[0].data());
  out.push_back(positions_B);
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

std::vector<ProgramValue> decode_state(const Model& model, const DecodeShape& shape) {
  std::vector<ProgramValue> out;
  for (const auto& [path, spec] : cache_specs(model, shape))
    out.push_back({path, spec.type, restrict(spec.mesh_axes, spec.type.dims, shape.mesh)});
  out.push_back({"key", {DType::kU32, {2}}});
  out.push_back({"positions", {DType::kI32, {shape.num_rows}}});
  out.push_back({"tokens", {DType::kI32, {shape.num_rows}}});
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
    const auto [logits_BV, filled] =
        next_logits(model, std::move(weights), std::move(caches),
                    {{"input_ids", prompts_BT}, {"last_index", lengths_B - 1}});
    return next_state(filled, key, lengths_B, logits_BV, sampling);
  };
  return trace_program("prefill", fn, std::move(inputs), decode_state(model, shape), shape.mesh);
}

Program decode_program(Model& model, const DecodeShape& shape, const Sampling& sampling) {
  const std::vector<ProgramValue> parameters = decode_parameters(model, shape),
                                  outputs = decode_state(model, shape);
  const size_t num_caches = outputs.size() - 3;
  const std::span cache_values(outputs.data(), num_caches);
  const std::vector<ProgramValue> cache_leaves(cache_values.begin(), cache_values.end());
  std::vector<ProgramValue> inputs = parameters;
  for (size_t i = 0; i < outputs.size(); ++i) {
    inputs.push_back(outputs[i]);
    // The host reads the tokens while the next step runs.
    if (outputs[i].name != "tokens") inputs.back().donated_to = static_cast<int>(i);
  }
  const TensorFunction fn = [&](const Values& x) {
    auto at = x.begin();
    Tree<Tensor> weights = take(parameters, at), caches = take(cache_leaves, at);
    const auto key = random::Key::wrap(*at++);
    const Tensor positions_B = *at++, tokens_B = *at++;
    const auto [logits_BV, filled] =
        next_logits(model, std::move(weights), std::move(caches),
                    {{"input_ids", expand_dims(tokens_B, 1)},
                     {"input_positions", expand_dims(positions_B, 1)}});
    return next_state(filled, key, positions_B + 1, logits_BV, sampling);
  };
  return trace_program("decode", fn, std::move(inputs), outputs, shape.mesh);
}

}  // namespace axle
