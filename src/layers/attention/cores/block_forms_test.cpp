// Which form attention takes for a call, and why: by blocks or at once.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "config/register.h"
#include "config/set.h"
#include "layers/attention/attention.h"
#include "layers/attention/cores/scored_core.h"
#include "layers/attention/cores/transformer_xl_attention.h"
#include "layers/attention/masks/attention_mask.h"
#include "layers/attention/qkv/qkv.h"
#include "nn/layer_role.h"
#include "ops/elementwise/elementwise.h"
#include "ops/random/random.h"
#include "testing/gradient_check.h"
#include "testing/test_layer.h"

namespace axle {
namespace {

using testing::build_for_test;
using testing::normal_values;

constexpr Mixer::Dims kModel{.model_dim = 8};

// How a call for rows of this many tokens is computed, and why.
std::string form_of(const Attention::Config& cfg, int64_t num_tokens,
                    const testing::CallOptions& call) {
  auto layer = build_for_test<Attention>(cfg, kModel);
  const testing::LayerFunction fn =
      layer.function({{"x", normal_values({1, num_tokens, 8}, 3)}}, call);
  std::vector<Type> types;
  for (const HostTensor& x : fn.arguments()) types.push_back(x.type());
  const CallForms forms;
  trace(fn, types);
  return forms.notes().at("attention/core");
}
std::string form_of(const Child<AttentionMask>& mask, const std::string& blocks, int64_t num_tokens,
                    const testing::CallOptions& call) {
  Attention::Config cfg{.num_heads = 4, .qkv = SeparateQKV::Config{}, .mask = mask};
  set(cfg, "core.blocks", blocks);
  return form_of(cfg, num_tokens, call);
}

TEST(AttentionBlocks, UsedIfTheyCostLess) {
  const auto form = [](const Child<AttentionMask>& mask, const std::string& blocks,
                       bool training = true) {
    return form_of(mask, blocks, 64, {.training = training});
  };
  const TwoSidedWindowMask::Config all{.before = 99, .after = 99};
  EXPECT_EQ(form(CausalMask::Config{}, "{from: 64, queries: 16, keys: 16}"),
            "by blocks: 64 queries and 64 keys, 10 of 16 pairs of blocks of 16 and 16 "
            "to compute");
  const std::string all_pairs =
      "64 queries and 64 keys, 16 of 16 pairs of blocks of 16 and 16 to compute; "
      "they cost 1.25 times a call at once, of which a device has 16384 scores";
  EXPECT_EQ(form(all, "{from: 17, queries: 16, keys: 16}"), "at once: " + all_pairs);
  EXPECT_EQ(form(all, "{from: 16, queries: 16, keys: 16}"),
            "by blocks: " + all_pairs + ", in rows 4 times as long as blocks.from or longer");
  EXPECT_THAT(form(all, "{from: 17, queries: 16, keys: 16}", false),
              ::testing::StartsWith("by blocks: "));
  EXPECT_EQ(form(CausalMask::Config{}, "{from: 65}"),
            "at once: 64 queries and 64 keys, fewer pairs than of 65 each (core.blocks.from)");
  EXPECT_EQ(form(CausalMask::Config{}, "{from: none}"), "at once: core.blocks.from is none");
  EXPECT_THAT(form(CausalMask::Config{}, "{from: 9223372036854775807}"),
              ::testing::StartsWith("at once: 64 queries and 64 keys, fewer pairs"));
  const CallForms plain(CallForms::Allowed::kPlain);
  EXPECT_TRUE(CallForms::only_plain());
}

// Blocks that take longer pay for memory: of all scores that a device would hold at once.
TEST(AttentionBlocks, UsedIfTheySaveMuchMemory) {
  const auto form = [](int64_t num_heads, const std::string& mesh, int64_t num_tokens) {
    Attention::Config cfg{.num_heads = num_heads, .qkv = SeparateQKV::Config{}, .mask = {}};
    testing::CallOptions call{.training = true};
    from_text(mesh, call.mesh);
    return form_of(cfg, num_tokens, call);
  };
  EXPECT_THAT(form(4, "", 4096), ::testing::StartsWith("at once: 4096 queries"));
  EXPECT_EQ(form(8, "", 4096),
            "by blocks: 4096 queries and 4096 keys, 16 of 16 pairs of blocks of 1024 and 1024 to "
            "compute; they cost 1.25 times a call at once, of which a device has 134217728 scores, "
            "more than 67108864");
  EXPECT_THAT(form(8, "model=2", 4096), ::testing::StartsWith("at once: 4096 queries"));
  EXPECT_THAT(form(8, "seq=2", 4096), ::testing::StartsWith("at once: 4096 queries"));
  EXPECT_THAT(form(8, "data=2", 4096), ::testing::StartsWith("by blocks: "));  // one row
  EXPECT_THAT(form(8, "", 2000), ::testing::StartsWith("at once: "));          // below blocks.from
}

// Its blocks cost more than those that a causal mask saves: they pay for memory alone.
TEST(AttentionBlocks, TransformerXLUsesBlocksForLongRowsOnly) {
  const auto form = [](int64_t num_tokens) {
    Attention::Config cfg{
        .num_heads = 4,
        .qkv = SeparateQKV::Config{},
        .mask = CausalMask::Config{},
        .core = TransformerXLAttention::Config{.blocks = {.queries = 512, .keys = 512}}};
    return form_of(cfg, num_tokens, {.training = true});
  };
  EXPECT_THAT(form(2048), ::testing::StartsWith("at once: 2048 queries"));
  EXPECT_THAT(form(8192), ::testing::StartsWith("by blocks: 8192 queries"));
}

TEST(AttentionBlocks, AreHalvedIfAWindowIsNarrow) {
  const auto form = [](int64_t window) {
    return form_of(SlidingWindowMask::Config{.window = window}, "{from: 1024}", 4096,
                   {.training = true});
  };
  const auto by = [](int pairs, int all, int size) {
    return fmt::format(
        "by blocks: 4096 queries and 4096 keys, {} of {} pairs of blocks of {} and {} "
        "to compute",
        pairs, all, size, size);
  };
  EXPECT_EQ(form(4095), by(10, 16, 1024));
  EXPECT_EQ(form(1023), by(7, 16, 1024));
  EXPECT_EQ(form(511), by(15, 64, 512));  // blocks as large as the window: 2 in a row of blocks
  EXPECT_EQ(form(200), by(31, 256, 256));
  EXPECT_EQ(form(1), by(63, 1024, 128));
}

// A device whose queries stand at the end sees all keys, so each has queries from both ends.
TEST(AttentionBlocks, DevicesThatShareARowComputeOnlyVisibleBlocks) {
  const auto form = [](const Child<AttentionMask>& mask, const std::string& mesh) {
    testing::CallOptions call{.training = true};
    from_text(mesh, call.mesh);
    return form_of(mask, "{from: 2048}", 4096, call);
  };
  const auto by = [](int pairs, int all, int queries, int keys, int devices) {
    return fmt::format(
        "by blocks: 4096 queries and 4096 keys, {} of {} pairs of blocks of {} and {} "
        "to compute on each of the {} devices of a row",
        pairs, all, queries, keys, devices);
  };
  // Quarters 0 and 3 of the row see 1 and 4 blocks of keys, quarters 1 and 2 see 2 and 3.
  EXPECT_EQ(form(CausalMask::Config{}, "seq=2"), by(5, 8, 1024, 1024, 2));
  EXPECT_EQ(form(CausalMask::Config{}, "seq=8"), by(5, 8, 256, 1024, 8));
  // A window costs the window, and its queries stay where they are.
  EXPECT_EQ(form(SlidingWindowMask::Config{.window = 511}, "seq=4"), by(4, 16, 512, 512, 4));
  EXPECT_THAT(form({TwoSidedWindowMask::Config{.before = 5000, .after = 5000}}, "seq=2"),
              ::testing::StartsWith("at once: "));
  // 4096 positions are not divided by 3: the devices do not share them.
  EXPECT_THAT(form(CausalMask::Config{}, "seq=3"), ::testing::EndsWith("to compute"));
}

// A core of one's own that does not say what its weights are.
class AnyCore final : public ScoredCore {
 public:
  struct Config {
    std::optional<Positive<double>> scale = {}, logit_cap = {};
    std::optional<Child<PerDimScale>> per_dim_scale = {};
    std::optional<Child<Dropout>> dropout = {};
    AttentionBlocks blocks = {};
    AXLE_CONFIG(AnyCore, scale, logit_cap, per_dim_scale, dropout, blocks)
  };
  AnyCore(const Config& cfg, const Dims& dims, const Scope& scope) : ScoredCore(cfg, dims, scope) {}

 protected:
  Tensor weights(const Tensor& logits, const HeadGroups&, DType result) override {
    return astype(relu(logits), result);
  }
};
AXLE_REGISTER(AnyCore)

TEST(AttentionBlocks, CoreWithArbitraryWeightsIsComputedAtOnce) {
  const auto form = [](const Child<AttentionCore>& core) {
    Attention::Config cfg{.num_heads = 4, .qkv = SeparateQKV::Config{}, .core = core};
    cfg.mask = CausalMask::Config{};
    return form_of(cfg, 64, {});
  };
  EXPECT_EQ(form(AnyCore::Config{.blocks = {.from = 1}}),
            "at once: a weight may depend on all logits of its query");
}

TEST(AttentionBlocks, DropoutWithStatisticsIsComputedAtOnce) {
  Attention::Config cfg{.num_heads = 4, .qkv = SeparateQKV::Config{}};
  cfg.mask = CausalMask::Config{};
  set(cfg, "core.blocks.from", "1");
  set(cfg, "core.dropout", "0.5");
  const testing::CallOptions training{.training = true, .seed = 1};
  EXPECT_THAT(form_of(cfg, 64, training), ::testing::StartsWith("by blocks: "));
  set(cfg, "core.dropout.@stats", "[Rms]");
  EXPECT_EQ(form_of(cfg, 64, training), "at once: dropout has statistics of all weights");
}

// The first tokens of a row have known positions, regardless of the cache.
TEST(AttentionBlocks, PromptIsComputedByVisibleBlocks) {
  auto layer = build_for_test<Attention>(
      {.num_heads = 4, .qkv = SeparateQKV::Config{}, .mask = CausalMask::Config{}}, kModel);
  testing::CallOptions call{.decoding = true};
  for (const auto& [path, spec] :
       layer.layer().decode_state_specs({.batch_size = 1, .max_len = 100}))
    call.state.emplace(path, HostTensor(spec.type));
  EXPECT_EQ(form_of(CausalMask::Config{}, "{from: 64, queries: 16, keys: 16}", 64, call),
            "by blocks: 64 queries and 64 keys, 10 of 16 pairs of blocks of 16 and 16 "
            "to compute");
}

// A platform's generator, or threefry's original mode, draws a number for all elements together:
// the call drops what attention at once drops, to the last bit.
TEST(AttentionBlocks, DropoutWithoutPartialDrawsIsComputedAtOnce) {
  using random::PrngImpl, random::ThreefryMode;
  struct Draws {
    PrngImpl generator;
    ThreefryMode mode = ThreefryMode::kPartitionable;
    std::string form = "at once: the generator of the keys of dropout draws no parts";
  };
  for (const auto& [generator, mode, form] : std::vector<Draws>{
           {PrngImpl::kRbg},
           {PrngImpl::kUnsafeRbg},
           {PrngImpl::kThreefry2x32, ThreefryMode::kOriginal},
           {.generator = PrngImpl::kThreefry2x32,
           .form = "by blocks: 16 queries and 16 keys, 10 of 16 pairs of blocks of 4 and 4 "
                   "to compute"}}) {
    SCOPED_TRACE(form);
    const random::PrngScope scope({.threefry = mode, .wide_keys = generator});
    const auto results = [&](const std::string& blocks, const std::string& dropout) {
      Attention::Config cfg{.num_heads = 4, .qkv = SeparateQKV::Config{}};
      cfg.mask = CausalMask::Config{};
      set(cfg, "core.blocks", blocks);
      set(cfg, "core.dropout", dropout);
      auto layer = build_for_test<Attention>(cfg, kModel);
      const testing::LayerFunction fn =
          layer.function({{"x", normal_values({2, 16, 8}, 3)}},
                         {.training = true, .seed = 5, .generator = generator});
      const CallForms forms;
      std::vector<HostTensor> out = eval(fn, fn.arguments());
      const TensorFunction gradient =
          testing::gradient_function(fn, {normal_values({2, 16, 8}, 9)});
      for (HostTensor& g : eval(gradient, fn.arguments())) out.push_back(std::move(g));
      return std::pair(std::move(out), forms.notes().at("attention/core"));
    };
    const std::string by_blocks = "{from: 1, queries: 4, keys: 4}";
    const auto [at_once, plain_form] = results("{from: none}", "0.4");
    const auto [asked, asked_form] = results(by_blocks, "0.4");
    EXPECT_EQ(asked_form, form);
    ASSERT_EQ(asked.size(), at_once.size());
    for (size_t i = 0; i < asked.size(); ++i) {
      if (form.starts_with("at once")) {
        EXPECT_EQ(asked[i], at_once[i]) << "result " << i;
      }
      EXPECT_LT(testing::largest_difference(asked[i], at_once[i]), 1e-4) << "result " << i;
    }
    // The weights are dropped at all, and only they need the generator.
    const auto [whole, whole_form] = results(by_blocks, "0");
    EXPECT_GT(testing::largest_difference(whole[0], asked[0]), 1e-2);
    EXPECT_THAT(whole_form, ::testing::StartsWith("by blocks: "));
  }
}

}  // namespace
}  // namespace axle
