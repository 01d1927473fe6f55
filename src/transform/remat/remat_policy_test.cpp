#include <gmock/gmock.h>

#include "ir/text/text_form.h"
#include "ops/annotate.h"
#include "ops/elementwise/elementwise.h"
#include "ops/products/products.h"
#include "ops/reductions/reductions.h"
#include "testing/error_of.h"
#include "testing/gradient_check.h"
#include "transform/remat/remat.h"

namespace axle {
namespace {

const Type kSquare{DType::kF32, {4, 4}};

// x + o(tanh(q) * sin(q)): two products, with names.
Values layer(const Values& v) {
  const Tensor q = name(dot(v[0], v[1]), "qkv.q_proj");
  const Tensor h = name(tanh(q) * sin(q), "ffn.hidden");
  return {v[0] + dot(h, v[2])};
}

// Returns the loss and the gradients.
TensorFunction gradient(const RematPolicy& policy) {
  return [policy](const Values& x) {
    auto [loss, gradients] =
        value_and_grad([&](const Values& v) { return Values{sum(remat(layer, v, policy)[0])}; }, x);
    gradients.push_back(loss[0]);
    return gradients;
  };
}

std::shared_ptr<Region> traced(const RematPolicy& policy) {
  return trace(gradient(policy), {kSquare, kSquare, kSquare});
}

int64_t count(const RematPolicy& policy, std::string_view op) {
  return count_ops(*traced(policy), op);
}

// Two forward products and four backward ones. The result of the second is not read again, so that
// at most the first is recomputed.
TEST(RematPolicy, DecidesWhatIsRecomputed) {
  EXPECT_EQ(count(save_nothing(), "dot_general"), 7);
  EXPECT_EQ(count(save_dots(), "dot_general"), 6);
  EXPECT_EQ(count(save_names({"qkv.*"}), "dot_general"), 6);
  EXPECT_EQ(count(save_names({}, {}, {"qkv.*", "of another form"}), "dot_general"), 6);
  EXPECT_EQ(count(save_matching({"qkv\\.q_(proj|norm)"}), "dot_general"), 6);
  EXPECT_EQ(count(save_matching({"ffn\\..*"}), "dot_general"), 7);
  EXPECT_EQ(count(save_everything(), "dot_general"), 6);
  EXPECT_EQ(count(save_dots(), "tanh"), 2);
  EXPECT_EQ(count(save_everything(), "tanh"), 1);
}

// Each product is followed by a sine, whose derivative reads the product.
TEST(RematPolicy, ConvolutionsAndRaggedDotsAreProducts) {
  const auto counted = [](const RematPolicy& policy, const TensorFunction& product,
                          const std::vector<Type>& types, std::string_view op) {
    const auto fn = [&](const Values& v) {
      const auto layer = [&](const Values& x) { return Values{sin(product(x)[0])}; };
      const auto loss = [&](const Values& x) {
        Values in = v;
        in[0] = x[0];
        return Values{sum(remat(layer, in, policy)[0])};
      };
      const auto [value, gradients] = value_and_grad(loss, {v[0]});
      return Values{value[0], gradients[0]};
    };
    return count_ops(*trace(fn, types), op);
  };
  const auto recomputed = [&](const TensorFunction& product, const std::vector<Type>& types,
                              std::string_view op) {
    return counted(save_nothing(), product, types, op) - counted(save_dots(), product, types, op);
  };
  const Type groups{DType::kI32, {2}};
  EXPECT_EQ(recomputed([](const Values& v) { return Values{convolution(v[0], v[1])}; },
                       {{DType::kF32, {1, 6, 3}}, {DType::kF32, {2, 3, 4}}}, "convolution"),
            1);
  EXPECT_EQ(recomputed([](const Values& v) { return Values{ragged_dot(v[0], v[1], v[2])}; },
                       {{DType::kF32, {6, 3}}, {DType::kF32, {2, 3, 4}}, groups}, "ragged_dot"),
            1);
  EXPECT_EQ(
      recomputed([](const Values& v) { return Values{ragged_dot_contracting(v[0], v[1], v[2])}; },
                 {{DType::kF32, {6, 3}}, {DType::kF32, {6, 4}}, groups}, "ragged_dot_contracting"),
      1);
}

TEST(RematPolicy, OffloadedValuesGoToTheHostAndBack) {
  EXPECT_EQ(count(save_dots(), "place"), 0);
  EXPECT_EQ(count(offload_dots(), "place"), 2);
  EXPECT_EQ(count(offload_dots(), "dot_general"), 6);
  EXPECT_EQ(count(save_matching({}, {"qkv\\..*"}), "place"), 2);
}

TEST(RematPolicy, CombinedPoliciesKeepWhatAnyKeeps) {
  const RematPolicy both = combine({save_names({"ffn.*"}), offload_dots()});
  EXPECT_EQ(both.text, "save ffn.* + offload dots");
  EXPECT_EQ(count(both, "place"), 2);
  EXPECT_EQ(count(both, "dot_general"), 6);
  // What one policy saves on the device, another does not offload.
  EXPECT_EQ(count(combine({offload_dots(), save_dots()}), "place"), 0);
}

TEST(RematPolicy, GradientsAreTheSameToTheLastBit) {
  std::vector<HostTensor> x;
  for (uint64_t i = 0; i < 3; ++i) x.push_back(testing::normal_values({4, 4}, i));
  const auto expected = eval(gradient(save_everything()), x);
  for (const RematPolicy& policy :
       {save_nothing(), save_dots(), offload_dots(), save_matching({"ffn.*"}, {"qkv.*"})}) {
    SCOPED_TRACE(policy.text);
    EXPECT_EQ(eval(gradient(policy), x), expected);
  }
}

TEST(RematPolicy, OnlySaveNothingKeepsNothing) {
  const std::string use =
      ", got none; use SaveNothing (save_nothing in C++) to recompute "
      "everything";
  EXPECT_EQ(error_of([] { save_names({}); }),
            "remat policy SaveNames: expected at least one name to save or to offload" + use);
  EXPECT_EQ(error_of([] { save_matching({}, {}); }),
            "remat policy SaveMatching: expected at least one name to save or to offload" + use);
  EXPECT_EQ(error_of([] { combine({}); }),
            "remat policy CombinedPolicies: expected at least one policy to combine" + use);
  EXPECT_EQ(error_of([] { save_names({}, {"a"}); }), "no error");
}

TEST(RematPolicy, ANameIsSavedOrOffloaded) {
  EXPECT_EQ(error_of([] {
              save_names({"a", "b"}, {"b"});
            }),
            "remat policy SaveNames: expected 'b' among the names to save or among those to "
            "offload, got it in both; leave it out of one");
  EXPECT_THAT(error_of([] { save_names({"a"}, {"b"}, {"b"}); }),
              ::testing::HasSubstr("got it in both"));
  EXPECT_EQ(error_of([] { save_matching({""}); }),
            "remat policy SaveMatching: expected names, got an empty one");
}

TEST(RematPolicy, PatternsMatchWholeTagsAndMustMatchSome) {
  EXPECT_THAT(
      error_of([] { traced(save_matching({"q_proj"})); }),
      ::testing::HasSubstr("remat policy 'save matching q_proj' expects a value named 'q_proj', "
                           "got ffn.hidden, qkv.q_proj"));
  EXPECT_THAT(error_of([] { save_matching({"("}); }),
              ::testing::StartsWith("expected a regular expression, got '('"));
  EXPECT_THAT(error_of([] {
                traced(combine({save_dots(), save_names({"no"})}));
              }),
              ::testing::HasSubstr("expects a value named 'no'"));
}

}  // namespace
}  // namespace axle
