// Collectives on absent TPUs and GPUs that depend on the compilers of these platforms.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "plan/parallelism_test.h"
#include "testing/needs_plugin.h"

namespace axle {
namespace {

class ParallelismOn : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { AXLE_NEEDS_PLUGIN(parse_target(GetParam()).accelerator.platform); }
  CompileReport report(const std::string& mesh, const std::string& yaml) {
    return report_of_small(GetParam(), mesh, yaml, "bf16");
  }
};

constexpr int64_t kTableBytes = 256 * 64 * 2;

// Returns the sums of the embedding's gradient over the devices with different tokens.
std::vector<CollectiveRow> sums_of_embedding(const CompileReport& r) {
  std::vector<CollectiveRow> out;
  for (const CollectiveRow& row : *r.collectives) {
    const bool sums = row.kind == "all-reduce" || row.kind == "reduce-scatter";
    if (sums && row.backward && row.layer.find("emb") != row.layer.npos &&
        row.axes != std::vector<std::string>{"model"})
      out.push_back(row);
  }
  return out;
}

// One table is both the lookup and the head. Its gradient is summed once and in its own dtype.
// Small sums of other values may be merged into this one.
TEST_P(ParallelismOn, GradientOfATiedEmbeddingIsSummedOnce) {
  constexpr const char* kWhole =
      "modify: [SetPartition: {at: model.decoder.emb, partition: \"[None, model]\"}]";
  for (const auto& [mesh, parts] :
       {std::pair{"data=2,fsdp=4", 1}, std::pair{"data=2,fsdp=2,model=2", 2}}) {
    SCOPED_TRACE(mesh);
    const std::vector<CollectiveRow> sums = sums_of_embedding(report(mesh, kWhole));
    ASSERT_EQ(sums.size(), 1);
    EXPECT_EQ(sums[0].count, 1);
    EXPECT_GE(sums[0].bytes, kTableBytes / parts);
    EXPECT_LT(sums[0].bytes, 1.25 * kTableBytes / parts);
  }
}

// A head of its own is collected once and its gradient summed once, for all chunks of the loss.
TEST_P(ParallelismOn, HeadIsGatheredOnceForAllChunksOfTheLoss) {
  for (const char* mesh : {"data=2,fsdp=4", "fsdp=4,seq=2"}) {
    SCOPED_TRACE(mesh);
    for (const int chunk_len : {16, 8}) {
      SCOPED_TRACE(chunk_len);
      const CompileReport r =
          report(mesh, fmt::format("set: {{model.decoder.lm_head: {{class: LmHead, '@partition': "
                                   "'[model, [expert, fsdp, seq]]'}}, model.loss_chunk_len: {}}}",
                                   chunk_len));
      double gathers = 0;
      for (const ArgumentGathers& one : r.gathers) {
        if (r.arguments.at(static_cast<size_t>(one.argument)).find("lm_head") != std::string::npos)
          gathers += one.times;
      }
      int64_t sums = 0;
      for (const CollectiveRow& row : *r.collectives) {
        const bool adds = row.kind == "all-reduce" || row.kind == "reduce-scatter";
        if (adds && row.backward && row.layer.find("lm_head") != row.layer.npos) sums += row.count;
      }
      EXPECT_EQ(sums, 1);
      EXPECT_NEAR(gathers, 1, 0.01);
    }
  }
}

// As in parallelism_plugin_test.cpp, devices exchange the heads of weights, never the keys and
// values of tokens. The gradients of the input through queries, keys and values are one sum.
TEST_P(ParallelismOn, MoreDevicesThanKeyHeadsMoveNoHeads) {
  const CompileReport r = report("fsdp=2,model=4", kFewKeyHeads);
  EXPECT_LE(most_gathered_over_model(r), 64 * 2 * 8 * 2);
  for (const bool backward : {false, true})
    EXPECT_EQ(count_in_layers(r, {"all-reduce", "model", backward}), 2 * kNumLayers);
  EXPECT_TRUE(r.warnings.empty());
}

// Keys, values and segments of a row that devices share are whole before the loop over its blocks.
TEST_P(ParallelismOn, SharedRowsAreGatheredOnceForAllBlocksOfKeys) {
  const auto gathers = [&](int num_keys) {
    const CompileReport r = report(
        "fsdp=2,seq=4", fmt::format("set: {{model.decoder.layers.layer.attention.body.core.blocks: "
                                    "\"{{from: 1, queries: 64, keys: {}}}\"}}",
                                    num_keys));
    return count_of_kind(r, "all-gather");
  };
  const int64_t for_one_block = gathers(64);
  EXPECT_GT(for_one_block, 0);
  EXPECT_LE(gathers(8), for_one_block);
}

// Each of four devices computes 9 of 16 pairs of blocks under a causal mask, and 4 under a window.
// The layers are computed again in the backward pass: at once that makes eight products of a pair,
// by blocks seven.
TEST_P(ParallelismOn, DevicesThatShareARowComputeOnlyVisibleBlocks) {
  const auto flops = [&](const char* mask, const char* blocks) {
    return report("fsdp=2,seq=4",
                  fmt::format("set: {{model.decoder.layers.layer.attention.body: {{mask: {}, core: "
                              "{{blocks: {}}}}}}}",
                              mask, blocks))
        .work->product_flops;
  };
  const char* const by_blocks = "{from: 1, queries: 8, keys: 8}";
  const double at_once = flops("CausalMask", "{from: none}"),
               causal = flops("CausalMask", by_blocks),
               window = flops("{class: SlidingWindowMask, window: 7}", by_blocks);
  EXPECT_LT(causal, at_once);
  const double per_block = 7. / 8 / 16;
  EXPECT_NEAR((at_once - causal) / (at_once - window), (1 - 9 * per_block) / (1 - 4 * per_block),
              0.01);
}

// A bias for each distance: each device sums the gradient of its weight over its blocks.
TEST_P(ParallelismOn, TheGradientOfABiasIsSummedOnceForAllBlocksOfKeys) {
  for (const char* mesh : {"fsdp=8", "fsdp=2,seq=4"}) {
    SCOPED_TRACE(mesh);
    const auto sums = [&](int num_keys) {
      const CompileReport r = report(
          mesh, fmt::format("set: {{model.decoder.layers.layer.attention.body: {{bias: {{class: "
                            "T5Bias, max_distance: 48}}, core: {{blocks: {{from: 1, queries: 64, "
                            "keys: {}}}}}}}}}",
                            num_keys));
      return count_of_kind(r, "all-reduce");
    };
    EXPECT_EQ(sums(8), sums(64));
  }
}

std::string platform_of(const ::testing::TestParamInfo<const char*>& target) {
  return {target.param, 3};
}
INSTANTIATE_TEST_SUITE_P(Targets, ParallelismOn, ::testing::Values("tpu:v5p:2x2x2"), platform_of);
INSTANTIATE_TEST_SUITE_P(WeeklyTargets, ParallelismOn, ::testing::Values("gpu:h100:1x8"),
                         platform_of);

}  // namespace
}  // namespace axle
