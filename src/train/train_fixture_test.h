// Fifty steps recorded from another implementation, and the same run in Axle.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "base/tree.h"
#include "io/safetensors.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/attention/qkv/rope.h"
#include "layers/models/causal_lm.h"
#include "learn/transforms/gradient_transforms.h"
#include "testing/axlearn_fixture.h"
#include "testing/checkout.h"
#include "testing/host_tensors.h"
#include "train/step_run_test.h"

namespace axle {

inline const std::string kTrainFixture =
    reference_file("axlearn/numeric/train/train_tied_gqa.safetensors");

/// Returns the parameters called "<prefix>/..." under our names.
inline Tree<HostTensor> fixture_parameters(const SafetensorsFile& file, const std::string& prefix) {
  return testing::section(file, prefix + "/",
                          testing::joined({{"decoder/", "model/decoder/"}}, testing::kModelNames));
}

inline StepRunOptions fixture_options() {
  const RMSNorm::Config norm{.eps = 1e-8f};
  const TransformerLayer::Config layer{
      .attention =
          PreNorm::Config{
              .norm = norm,
              .body = Attention::Config{.num_heads = 4,
                                        .num_kv_heads = 2,
                                        .qkv = RoPE::Config{.theta = 1e4,
                                                            .inner = FusedGroupedQKV::Config{}}}},
      .feed_forward =
          PreNorm::Config{.norm = norm,
                          .body = FeedForward::Config{.hidden_dim = FixedDim{160},
                                                      .gate = Linear::Config{.bias = false}}}};
  const Type tokens{DType::kI32, {8, 32}};
  return {
      .model = CausalLM::Config{.decoder = Decoder::Config{.model_dim = 64,
                                                           .vocab_size = 256,
                                                           .layers = Repeat::Config{.num_layers = 2,
                                                                                    .layer = layer},
                                                           .output_norm = norm}},
      .learner =
          Learner::Config{
              .optimizer = AdamW::Config{.learning_rate = ConstantRate{.value = 3e-3},
                                         .update_schedule =
                                             CosineWithWarmup{
                                                 .peak = 1.0, .warmup_steps = 10, .max_step = 50},
                                         .b1 = 0.9,
                                         .b2 = 0.95,
                                         .eps = 1e-8,
                                         .weight_decay = 1e-3,
                                         .decay_factor = DecayFactor::kOne},
              .transforms = {ClipByGlobalNorm::Config{.max_norm = 1}},
              .norms = NormMetrics::kAll},
      .batch = {{"input_ids", tokens}, {"target_labels", tokens}}};
}

inline HostTensor slice_of(const HostTensor& all, int64_t i) {
  const Shape shape(all.shape().begin() + 1, all.shape().end());
  const auto n = static_cast<size_t>(all.size() / all.shape()[0]);
  return {shape, all.values<int32_t>().subspan(n * static_cast<size_t>(i), n)};
}

/// Runs all steps from the recorded start. Compares the metrics of each step and the final
/// parameters.
inline void expect_recorded_steps(Runtime& runtime) {
  const SafetensorsFile file(kTrainFixture);
  StepRun run(runtime, fixture_options());
  Tree<HostTensor> state = run.initial_state(0);
  for (auto& [path, value] : fixture_parameters(file, "init")) {
    ASSERT_TRUE(state.contains(path)) << path;
    ASSERT_EQ(state.at(path).type(), value.type()) << path;
    state.at(path) = std::move(value);
  }
  run.set_state(state);
  const HostTensor ids = file.get("batches/input_ids"), labels = file.get("batches/target_labels");
  const HostTensor loss = file.get("loss"), grad_norm = file.get("grad_norm"),
                   param_norm = file.get("param_norm");
  for (int64_t i = 0; i < loss.size(); ++i) {
    const Tree<double> metrics =
        run.step({{"input_ids", slice_of(ids, i)}, {"target_labels", slice_of(labels, i)}});
    ASSERT_NEAR(metrics.at("loss"), loss.at(i), 1e-4) << "step " << i;
    ASSERT_NEAR(metrics.at("grad_norm"), grad_norm.at(i), 1e-3 * grad_norm.at(i)) << "step " << i;
    ASSERT_NEAR(metrics.at("param_norm"), param_norm.at(i), 1e-5 * param_norm.at(i))
        << "step " << i;
  }
  const Tree<HostTensor> trained = run.state(), expected = fixture_parameters(file, "final");
  for (const auto& [path, value] : expected) {
    EXPECT_LE(testing::relative_difference(trained.at(path), value), 1e-3) << path;
  }
  EXPECT_EQ(expected.size(), subtree(state, "model").size());
}

}  // namespace axle
