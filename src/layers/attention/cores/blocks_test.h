// What tests of attention by blocks share: its forms are compared with attention at once.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "config/set.h"
#include "layers/attention/attention.h"
#include "layers/attention/cores/scored_core.h"
#include "layers/attention/cores/transformer_xl_attention.h"
#include "layers/attention/qkv/qkv.h"
#include "nn/layer_role.h"
#include "testing/gradient_check.h"
#include "testing/test_layer.h"

namespace axle::blocks_test {

using testing::CallOptions, testing::build_for_test, testing::normal_values;

inline constexpr int64_t kRows = 2, kTokens = 12;
inline constexpr Mixer::Dims kModel{.model_dim = 8};

// Expects the call to be computed by blocks, with the same values and gradients of all arguments,
// in f64.
inline void expect_same(Attention::Config cfg, const std::string& blocks,
                        const Tree<HostTensor>& context = {}, const CallOptions& call = {},
                        int64_t num_tokens = kTokens) {
  cfg.num_heads = 4;
  if (!cfg.qkv.get_if<SourceQKV>()) cfg.qkv = SeparateQKV::Config{};
  Tree<HostTensor> inputs = context;
  inputs.emplace("x", normal_values({kRows, num_tokens, 8}, 3));
  const EvalOptions f64{.f64 = true};
  std::vector<HostTensor> results[2];
  for (const bool by_blocks : {false, true}) {
    set(cfg, "core.blocks", by_blocks ? blocks : "{from: none}");
    auto layer = build_for_test<Attention>(cfg, kModel);
    Tree<HostTensor> parameters;
    int seed = 1;
    for (const auto& [path, value] : layer.parameters())
      parameters.emplace(path, normal_values(value.shape(), seed++));
    layer.set_all(parameters);
    const testing::LayerFunction fn = layer.function(inputs, call);
    const CallForms forms;
    results[by_blocks] = eval(fn, fn.arguments(), f64);
    EXPECT_THAT(forms.notes().at("attention/core"),
                ::testing::StartsWith(by_blocks ? "by blocks: " : "at once: "));
    const HostTensor cotangent = normal_values({kRows, num_tokens, 8}, 9);
    for (HostTensor& g : eval(testing::gradient_function(fn, {cotangent}), fn.arguments(), f64))
      results[by_blocks].push_back(std::move(g));
  }
  ASSERT_EQ(results[0].size(), results[1].size());
  for (size_t i = 0; i < results[0].size(); ++i) {
    EXPECT_LT(testing::largest_difference(results[0][i], results[1][i]),
              1e-10 * std::max(1.0, testing::largest_element(results[0][i])))
        << "result " << i;
  }
}

// Blocks that do not divide the 12 tokens, that do, and one for all.
inline const std::vector<std::string> kBlocks = {
    "{from: 1, queries: 5, keys: 7}", "{from: 1, queries: 12, keys: 1}",
    "{from: 1, queries: 1, keys: 12}", "{from: 1, queries: 512, keys: 512}"};

// No device of its own for a share of the queries of a row; 2 and 4 shares.
inline const std::vector<std::string> kMeshes = {"", "data=2,seq=2,model=2", "seq=4"};

inline CallOptions training_on(const std::string& mesh) {
  CallOptions out{.training = true, .seed = 3};
  from_text(mesh, out.mesh);
  return out;
}

inline std::vector<std::pair<std::string, Child<AttentionCore>>> cores() {
  return {{"softmax", SoftmaxAttention::Config{}},
          {"all_options",
           SoftmaxAttention::Config{
               .scale = 0.3, .per_dim_scale = PerDimScale::Config{}, .logit_cap = 2, .sink = true}},
          {"sigmoid", SigmoidAttention::Config{.logit_cap = 3, .bias_len = 4}},
          {"transformer_xl", TransformerXLAttention::Config{}}};
}

// Returns the most elements of a value of the region or of a body in it.
inline int64_t largest_value(const Region& region) {
  int64_t out = 0;
  for (const OpNode* op : region.ops()) {
    for (const Type& type : op->outputs) out = std::max(out, type.num_elements());
    for (const auto& body : op->regions) out = std::max(out, largest_value(*body));
  }
  return out;
}

}  // namespace axle::blocks_test
