// Looks for the logits of all tokens in the graph of a training step.
#pragma once

#include <algorithm>

#include "testing/test_layer.h"

namespace axle::testing {

/// True if some value of the region, or of a body in it, has a dim of `vocab_size` and at least one
/// logit for each of `num_tokens` tokens.
inline bool has_whole_logits(const Region& region, int64_t num_tokens, int64_t vocab_size) {
  return std::ranges::any_of(region.ops(), [&](const OpNode* op) {
    const auto is_whole = [&](const Type& type) {
      return type.num_elements() >= num_tokens * vocab_size &&
             std::ranges::count(type.dims, vocab_size) > 0;
    };
    return std::ranges::any_of(op->outputs, is_whole) ||
           std::ranges::any_of(op->regions, [&](const auto& body) {
             return has_whole_logits(*body, num_tokens, vocab_size);
           });
  });
}

/// The same for a training call of the model and its gradient.
template <class L>
bool step_has_whole_logits(const typename L::Config& cfg, const Tree<HostTensor>& batch,
                           int64_t vocab_size) {
  TestLayer<L> layer(cfg, {});
  const LayerFunction fn = layer.function(batch, {.training = true});
  std::vector<HostTensor> cotangents;
  for (const HostTensor& y : eval(fn, fn.arguments())) cotangents.push_back(y);
  std::vector<Type> types;
  for (const HostTensor& x : fn.arguments()) types.push_back(x.type());
  const auto step = trace(gradient_function(fn, cotangents), types);
  return has_whole_logits(*step, batch.at("batch/input_ids").size(), vocab_size);
}

}  // namespace axle::testing
