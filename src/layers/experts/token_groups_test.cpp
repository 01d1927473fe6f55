// Groups of tokens: borders that count tokens, and evaluations that padding does not change.
#include <gmock/gmock.h>

#include "layers/experts/dispatch.h"
#include "layers/experts/linear_routers.h"
#include "layers/experts/moe.h"
#include "layers/experts/router.h"
#include "ops/elementwise/elementwise.h"
#include "testing/host_tensors.h"
#include "testing/test_layer.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using testing::normal_values;

// Seven tokens in two rows of six: numbers 1 to 7, padding 0.
HostTensor seven_tokens() { return HostTensor({2, 6}, {1, 2, 3, 0, 0, 0, 4, 5, 0, 6, 7, 0}); }

HostTensor divided(GroupBorders borders, int64_t num_groups) {
  return eval(
      [&](const Values& v) {
        const TokenGroups groups(v[0], num_groups, v[0] > 0.0, borders);
        return Values{select(*groups.is_real(), groups.divided(v[0]), 0)};
      },
      {seven_tokens()})[0];
}

TEST(TokenGroups, BordersCountPositionsOrTokens) {
  EXPECT_EQ(divided(GroupBorders::kPositions, 3),
            HostTensor({3, 4}, {1, 2, 3, 0, 0, 0, 4, 5, 0, 6, 7, 0}));
  EXPECT_EQ(divided(GroupBorders::kTokens, 3),
            HostTensor({3, 4}, {1, 2, 3, 0, 4, 5, 0, 0, 6, 7, 0, 0}));
  EXPECT_EQ(divided(GroupBorders::kTokens, 4),
            HostTensor({4, 3}, {1, 2, 0, 3, 4, 0, 5, 6, 0, 7, 0, 0}));
  EXPECT_EQ(divided(GroupBorders::kRows, 1),
            HostTensor({2, 6}, {1, 2, 3, 0, 0, 0, 4, 5, 0, 6, 7, 0}));
  // Fewer tokens than groups.
  EXPECT_EQ(divided(GroupBorders::kTokens, 12),
            HostTensor({12, 1}, {1, 2, 3, 4, 5, 6, 7, 0, 0, 0, 0, 0}));
}

TEST(TokenGroups, BordersAreReadByTheirFormerText) {
  GroupBorders borders = GroupBorders::kTokens;
  from_text("places", borders);
  EXPECT_EQ(borders, GroupBorders::kPositions);
  EXPECT_EQ(to_text(borders), "positions");
}

TEST(TokenGroups, JoinedUndoesDivided) {
  for (const auto& [borders, text, former] : texts_of(GroupBorders{})) {
    for (const int64_t num_groups : {1, 2, 3, 4, 6, 12}) {
      const HostTensor joined = eval(
          [&](const Values& v) {
            const TokenGroups groups(v[0], num_groups, v[0] > 0.0, borders);
            return Values{groups.joined(groups.divided(v[0]))};
          },
          {seven_tokens()})[0];
      EXPECT_EQ(joined, seven_tokens()) << text << num_groups;
    }
  }
}

// The results of the five tokens of the first row, in a batch of this shape. The other positions
// are padding, which holds numbers of the seed.
std::vector<float> results_of_tokens(testing::TestLayer<MoE>& moe, int64_t rows, int64_t length,
                                     int seed) {
  constexpr int64_t kCount = 5, kWidth = 4;
  HostTensor x = normal_values({rows, length, kWidth}, seed);
  HostTensor segments = HostTensor::zeros({rows, length}, DType::kI32);
  const HostTensor tokens = normal_values({kCount, kWidth}, 3);
  std::ranges::copy(tokens.values<float>(), x.values<float>().begin());
  std::ranges::fill_n(segments.values<int32_t>().begin(), kCount, 1);
  const HostTensor y = moe.call({{"x", x}, {"context/segment_ids", segments}}).outputs[0];
  const auto values = y.values<float>();
  return {values.begin(), values.begin() + kCount * kWidth};
}

TEST(TokenGroups, PaddingDoesNotChangeDispatchInEvaluation) {
  auto moe = testing::build_for_test<MoE>(
      {.num_experts = 2,
       .router = SwitchRouter::Config{},
       .dispatch = CapacityDispatch::Config{.num_groups = 2, .eval_capacity_factor = 0.5},
       .hidden_dim = FixedDim{6}},
      {.model_dim = 4});
  const std::vector<float> alone = results_of_tokens(moe, 1, 6, 1);
  // Capacity 1 an expert and group: of three tokens in a group, one at least is dropped.
  EXPECT_GE(std::ranges::count(alone, 0.0f), 4);
  EXPECT_EQ(results_of_tokens(moe, 1, 6, 2), alone);
  EXPECT_EQ(results_of_tokens(moe, 1, 16, 1), alone);
  EXPECT_EQ(results_of_tokens(moe, 4, 6, 1), alone);
  EXPECT_EQ(results_of_tokens(moe, 64, 8, 1), alone);
}

}  // namespace
}  // namespace axle
