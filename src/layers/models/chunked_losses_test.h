// Chunks of logits against all logits at once, for every model with a loss.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>

#include "testing/test_layer.h"

namespace axle::testing {

/// Returns what a training call returns, then the gradients of the loss by all parameters.
template <class L>
std::vector<HostTensor> loss_and_gradients(const typename L::Config& cfg,
                                           const Tree<HostTensor>& batch) {
  TestLayer<L> layer(cfg, {});
  const LayerFunction fn = layer.function(batch, {.training = true});
  std::vector<HostTensor> out = eval(fn, fn.arguments());
  std::vector<HostTensor> cotangents(out.size(), HostTensor::scalar(0.0f));
  cotangents[0] = HostTensor::scalar(1.0f);
  for (HostTensor& g : eval(gradient_function(fn, cotangents), fn.arguments()))
    out.push_back(std::move(g));
  return out;
}

/// Expects the same of two models that differ in how their losses are computed.
template <class L>
void expect_same_loss_and_gradients(const typename L::Config& actual,
                                    const typename L::Config& expected,
                                    const Tree<HostTensor>& batch) {
  const auto a = loss_and_gradients<L>(actual, batch), e = loss_and_gradients<L>(expected, batch);
  ASSERT_EQ(a.size(), e.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_ALLCLOSE(a[i], e[i], 1e-5) << "value " << i;
}

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
