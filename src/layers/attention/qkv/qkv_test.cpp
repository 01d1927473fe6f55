#include "layers/attention/qkv/qkv.h"

#include <limits>

#include "layers/products/lora_product.h"
#include "testing/layer_laws.h"

namespace axle {
namespace {

using testing::build_for_test;
using testing::normal_values;

constexpr QKV::Dims kGrouped{.model_dim = 8, .num_heads = 4, .num_kv_heads = 2, .head_dim = 4};
constexpr QKV::Dims kPlain{.model_dim = 8, .num_heads = 2, .num_kv_heads = 2, .head_dim = 4};

AXLE_LAYER_LAWS(SeparateQKV, kGrouped, {{"default", {}}})
AXLE_LAYER_LAWS(FusedGroupedQKV, kGrouped, {{"default", {}}})
AXLE_LAYER_LAWS(FusedQKV, kPlain,
                {{"no_bias", {}},
                 {"bias", {.bias = true}},
                 {"lora", {.product = LoraProduct::Config{.rank = 2}}}})

// Returns x[i], the part at index i of the first dim.
HostTensor part(const HostTensor& x, int64_t i) {
  Shape shape(x.shape().begin() + 1, x.shape().end());
  const auto n = static_cast<size_t>(num_elements(shape));
  return HostTensor(shape, x.values<float>().subspan(static_cast<size_t>(i) * n, n));
}

TEST(FusedQKV, EqualsThreeProjections) {
  auto fused = build_for_test<FusedQKV>({}, kPlain);
  auto separate = build_for_test<SeparateQKV>({}, kPlain);
  const char* names[] = {"q_proj/weight", "k_proj/weight", "v_proj/weight"};
  for (int64_t i = 0; i < 3; ++i) separate.set(names[i], part(fused.parameter("weight"), i));
  const HostTensor x = normal_values({2, 3, 8}, 4);
  const auto a = fused.call({{"x", x}}).outputs, b = separate.call({{"x", x}}).outputs;
  for (size_t i = 0; i < 3; ++i) EXPECT_ALLCLOSE(a[i], b[i]);
}

TEST(FusedQKV, PartsHaveDifferentInitialValues) {
  const Tree<HostTensor> initial =
      testing::initial_parameters(build_for_test<FusedQKV>({}, kPlain).layer(), 0);
  const HostTensor& weight = initial.at("fused_qkv/weight");
  EXPECT_GT(testing::largest_difference(part(weight, 0), part(weight, 1)), 0.01);
  EXPECT_GT(testing::largest_difference(part(weight, 1), part(weight, 2)), 0.01);
}

TEST(FusedQKV, RefusesGroupedHeads) {
  EXPECT_ERROR(build_for_test<FusedQKV>({}, kGrouped),
               "fused_qkv.num_kv_heads: must equal num_heads, got 2 and 4; use FusedGroupedQKV or "
               "SeparateQKV");
}

TEST(FusedGroupedQKV, SplitsHeads) {
  const auto out = build_for_test<FusedGroupedQKV>({}, kGrouped)
                       .call({{"x", normal_values({2, 3, 8}, 4)}})
                       .outputs;
  EXPECT_EQ(out[0].shape(), (Shape{2, 3, 4, 4}));
  EXPECT_EQ(out[1].shape(), (Shape{2, 3, 2, 4}));
  EXPECT_EQ(out[2].shape(), (Shape{2, 3, 2, 4}));
}

TEST(FusedGroupedQKV, RefusesMoreHeadsThanFit) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  for (const int64_t heads : {kMost, kMost / 3 + 1})
    EXPECT_ERROR(
        build_for_test<FusedGroupedQKV>(
            {}, {.model_dim = 8, .num_heads = heads, .num_kv_heads = heads, .head_dim = 4}),
        "fused_grouped_qkv.proj.weight: f32[8, 9223372036854775807, 4] takes 1.2e+21 "
        "bytes, more than any machine has; lower its dims");
}

}  // namespace
}  // namespace axle
