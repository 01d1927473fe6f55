#include "layers/dropout/dropout.h"
#include "testing/layer_laws.h"

namespace axle {
namespace {

using testing::build_for_test;

AXLE_LAYER_LAWS(DropToken, {}, {{"half", {.rate = 0.5, .num_first = 1}}, {"none", {}}})

// Token t of row b is 100 * b + t.
HostTensor numbered(int64_t rows, int64_t length) {
  HostTensor x(Type{DType::kF32, {rows, length, 1}});
  for (int64_t i = 0; i < x.size(); ++i)
    x.values<float>()[i] = static_cast<float>(i / length * 100 + i % length);
  return x;
}

TEST(DropToken, KeepsDistinctTokensOfEachRow) {
  auto layer = build_for_test<DropToken>({.rate = 0.4, .num_first = 2}, {});
  const HostTensor y = layer.run(numbered(3, 12), {.training = true});
  EXPECT_EQ(y.shape(), (Shape{3, 8, 1}));
  std::set<std::vector<double>> orders;
  for (int64_t row = 0; row < 3; ++row) {
    std::vector<double> tokens;
    for (int64_t i = 0; i < 8; ++i) tokens.push_back(y.at(row * 8 + i) - 100.0 * row);
    EXPECT_EQ(tokens[0], 0);
    EXPECT_EQ(tokens[1], 1);
    EXPECT_EQ(std::set(tokens.begin(), tokens.end()).size(), 8u);
    for (size_t i = 2; i < 8; ++i) EXPECT_TRUE(tokens[i] >= 2 && tokens[i] < 12) << tokens[i];
    orders.insert(tokens);
  }
  EXPECT_EQ(orders.size(), 3u);
}

TEST(DropToken, IsTheIdentityOutsideTraining) {
  const HostTensor x = numbered(2, 5);
  EXPECT_EQ(build_for_test<DropToken>({.rate = 0.5}, {}).run(x), x);
}

TEST(DropToken, ChecksItsRateAndItsRows) {
  EXPECT_ERROR(build_for_test<DropToken>({.rate = 1}, {}),
               "drop_token.rate: expected a number of at least 0 and below 1, got 1.0");
  auto layer = build_for_test<DropToken>({.rate = 0.9}, {});
  EXPECT_ERROR(layer.run(numbered(1, 4), {.training = true}),
               "drop_token: expected rows of which a token is left, got f32[1, 4, 1]");
}

// Of 12 tokens and 8 positions of padding, 6 tokens are kept, in front; their share is that of the
// tokens.
TEST(DropToken, CountsOnlyTokens) {
  auto layer = build_for_test<DropToken>({.rate = 0.5, .num_first = 0}, {});
  HostTensor x(Type{DType::kF32, {2, 20, 1}}), ids(Type{DType::kI32, {2, 20}});
  for (int64_t i = 0; i < 40; ++i) {
    x.values<float>()[i] = static_cast<float>(i % 20);
    ids.values<int32_t>()[i] = i % 20 < (i < 20 ? 12 : 4) ? 1 : 0;
  }
  const HostTensor y = layer.call({{"x", x}, {"segment_ids", ids}}, {.training = true}).outputs[0];
  ASSERT_EQ(y.shape(), (Shape{2, 10, 1}));
  for (int64_t t = 0; t < 10; ++t) {
    EXPECT_EQ(y.at(t) < 12, t < 6) << t;
    EXPECT_EQ(y.at(10 + t) < 4, t < 2) << t;
  }
}

}  // namespace
}  // namespace axle
