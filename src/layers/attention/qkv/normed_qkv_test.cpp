#include <cmath>

#include "layers/attention/attention.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/attention/qkv/rope.h"
#include "testing/layer_laws.h"

namespace axle {
namespace {

using testing::build_for_test;
using testing::normal_values;

// As in Gemma 3: the factor of the norm is 1 + scale.
const Child<Norm> kAroundOne = RMSNorm::Config{.zero_centred = ZeroCentred::kScale};

constexpr QKV::Dims kNormedDims{.model_dim = 8, .num_heads = 2, .num_kv_heads = 2, .head_dim = 4};
AXLE_LAYER_LAWS(NormedQKV, kNormedDims,
                {{"default", {}},
                 {"all_heads", {.over = NormOver::kAllHeads}},
                 {"queries_alone", {.inner = QueryOnly::Config{}}},
                 {"scales_around_one", {.query_norm = kAroundOne, .key_norm = kAroundOne}}})
AXLE_LAYER_LAWS(Attention, {.model_dim = 8},
                {{"norm_before_rope",
                  {.num_heads = 2, .qkv = RoPE::Config{.inner = NormedQKV::Config{}}}}})

TEST(NormedQKV, EqualsTheNormOfAttentionWithoutPositions) {
  auto inside =
      build_for_test<Attention>({.num_heads = 2, .qkv = NormedQKV::Config{}}, {.model_dim = 8});
  auto outside = build_for_test<Attention>(
      {.num_heads = 2, .query_norm = RMSNorm::Config{}, .key_norm = RMSNorm::Config{}},
      {.model_dim = 8});
  outside.set("qkv/weight", inside.parameter("qkv/inner/weight"));
  outside.set("output/weight", inside.parameter("output/weight"));
  for (const char* name : {"query_norm/scale", "key_norm/scale"})
    outside.set(name, inside.parameter(std::string("qkv/") + name));
  const HostTensor x = normal_values({2, 3, 8}, 3);
  EXPECT_EQ(inside.run(x), outside.run(x));
}

// All heads of a position are one vector, whose elements have a scale each.
TEST(NormedQKV, AllHeadsAreNormedAsOneVector) {
  constexpr QKV::Dims dims{.model_dim = 8, .num_heads = 4, .num_kv_heads = 2, .head_dim = 2};
  const Child<QKV> inner = SeparateQKV::Config{};
  auto plain = build_for_test<SeparateQKV>({}, dims);
  auto normed = build_for_test<NormedQKV>({.over = NormOver::kAllHeads, .inner = inner}, dims);
  for (const char* name : {"q_proj/weight", "k_proj/weight", "v_proj/weight"})
    normed.set(std::string("inner/") + name, plain.parameter(name));
  normed.set("query_norm/scale", normal_values({8}, 4));
  normed.set("key_norm/scale", normal_values({4}, 5));
  const HostTensor x = normal_values({1, 3, 8}, 3);
  const std::vector<HostTensor> before = plain.call({{"x", x}}).outputs,
                                after = normed.call({{"x", x}}).outputs;
  for (size_t i = 0; i < 2; ++i) {
    const HostTensor scale = normed.parameter(i == 0 ? "query_norm/scale" : "key_norm/scale");
    for (int64_t t = 0; t < 3; ++t) {
      double squares = 0;
      for (int64_t c = 0; c < scale.size(); ++c)
        squares += std::pow(before[i].at(t * scale.size() + c), 2);
      const double root = std::sqrt(squares / static_cast<double>(scale.size()) + 1e-6);
      for (int64_t c = 0; c < scale.size(); ++c) {
        const int64_t at = t * scale.size() + c;
        EXPECT_NEAR(after[i].at(at), before[i].at(at) / root * scale.at(c), 1e-5) << i << " " << at;
      }
    }
  }
  EXPECT_EQ(after[2], before[2]);
}

TEST(NormedQKV, AScaleAroundOneAddsToOne) {
  auto plain = build_for_test<NormedQKV>({}, kNormedDims);
  auto centred =
      build_for_test<NormedQKV>({.query_norm = kAroundOne, .key_norm = kAroundOne}, kNormedDims);
  centred.set("inner/weight", plain.parameter("inner/weight"));
  const HostTensor x = normal_values({1, 3, 8}, 3);
  const auto agree = [&] {
    const std::vector<HostTensor> a = plain.call({{"x", x}}).outputs;
    const std::vector<HostTensor> b = centred.call({{"x", x}}).outputs;
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) EXPECT_LT(testing::largest_difference(a[i], b[i]), 1e-6);
  };
  agree();  // 1 and 1 + 0
  plain.set("query_norm/scale", HostTensor({4}, {1.5f, 0.5f, 1.f, -1.f}));
  centred.set("query_norm/scale", HostTensor({4}, {0.5f, -0.5f, 0.f, -2.f}));
  agree();
}

// The learned factors of the norm stay with their elements: the rotation moves them to others.
TEST(NormedQKV, NormsBeforeTheRotation) {
  constexpr QKV::Dims dims{.model_dim = 4, .num_heads = 1, .num_kv_heads = 1, .head_dim = 2};
  auto rope = build_for_test<RoPE>({.inner = NormedQKV::Config{}}, dims);
  rope.set("inner/query_norm/scale", HostTensor({2}, {1.f, 0.f}));
  const HostTensor q =
      rope.call({{"x", normal_values({1, 1, 4}, 3)}, {"positions", HostTensor({1, 1}, {1})}})
          .outputs[0];
  EXPECT_NEAR(q.at(1) / q.at(0), std::tan(1.0), 1e-5);
}

}  // namespace
}  // namespace axle
