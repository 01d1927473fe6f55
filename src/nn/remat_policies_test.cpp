// Remat policies as options of a slot: which values a layer keeps for its backward pass.
#include "nn/remat_policies.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "config/serialize.h"
#include "ir/text/text_form.h"
#include "nn/toy_layers_test.h"
#include "ops/annotate.h"
#include "ops/elementwise/elementwise.h"
#include "ops/products/products.h"
#include "testing/error_of.h"
#include "transform/grad.h"

namespace axle {

/// x -> tanh(x w) w, with names for the product and its tanh.
class TwoProducts final : public Toy {
 public:
  struct Config {
    AXLE_CONFIG(TwoProducts)
  };
  TwoProducts(const Config&, const Dims& dims, const Scope& scope)
      : Toy(scope), weight_(param("weight", {.shape = {dims.dim, dims.dim}})) {}

 protected:
  Tensor forward(const Tensor& x) override {
    const Tensor product = name(dot(x, weight_()), "product");
    return sin(dot(name(tanh(product), "hidden"), weight_()));
  }

 private:
  Param weight_;
};
AXLE_REGISTER(TwoProducts)

namespace {

// Returns the gradients and the loss of a training call under the policy that the YAML names.
std::shared_ptr<Region> gradient_under(std::string_view policy) {
  Child<Toy> config = TwoProducts::Config{};
  from_yaml(config, fmt::format("{{'class': TwoProducts, '@remat': {}}}", policy));
  const auto layer = config.build({.dim = 4}, Scope{.path = "layer"});
  const auto loss = [&](const Values& v) {
    const auto [y, collected] = functional(*layer, {{"layer/weight", v[0]}}, {.training = true},
                                           [&] { return (*layer)(v[1]); });
    return Values{sum(y)};
  };
  const auto gradient = [&](const Values& v) {
    auto [value, gradients] = value_and_grad(loss, v);
    gradients.push_back(value[0]);  // else trace() drops the forward ops that are recomputed
    return gradients;
  };
  return trace(gradient, {{DType::kF32, {4, 4}}, {DType::kF32, {2, 4}}});
}

struct Counts {
  int64_t dots, tanhs, places;
  bool operator==(const Counts&) const = default;
};
void PrintTo(const Counts& c, std::ostream* out) {
  *out << c.dots << " dots, " << c.tanhs << " tanhs, " << c.places << " places";
}
Counts counted(std::string_view policy) {
  const auto region = gradient_under(policy);
  return {count_ops(*region, "dot_general"), count_ops(*region, "tanh"),
          count_ops(*region, "place")};
}

// Two products forward and four backward. The backward pass reads both products: the sine that
// follows the second one, and tanh.
TEST(RematPolicies, DecideWhatALayerKeeps) {
  EXPECT_EQ(counted("SaveNothing"), (Counts{8, 2, 0}));
  EXPECT_EQ(counted("SaveEverything"), (Counts{6, 1, 0}));
  EXPECT_EQ(counted("SaveDots"), (Counts{6, 2, 0}));
  EXPECT_EQ(counted("OffloadDots"), (Counts{6, 2, 4})) << "each product goes to the host and back";
  EXPECT_EQ(counted("{class: SaveNames, names: [hidden]}"), (Counts{7, 1, 0}));
  EXPECT_EQ(counted("{class: SaveNames, offload: [hidden]}"), (Counts{7, 1, 2}));
  EXPECT_EQ(counted("{class: SaveMatching, patterns: [hid.*]}"), (Counts{7, 1, 0}));
  EXPECT_EQ(counted("{class: SaveMatching, offload: ['(hidden|other)']}"), (Counts{7, 1, 2}));
}

TEST(RematPolicies, CombinedKeepWhatAnyOfThemKeeps) {
  EXPECT_EQ(counted("{class: CombinedPolicies, policies: [SaveDots, {class: SaveNames, names: "
                    "[hidden]}]}"),
            (Counts{6, 1, 0}));
  EXPECT_EQ(counted("{class: CombinedPolicies, policies: [OffloadDots, SaveDots]}"),
            (Counts{6, 2, 0}))
      << "the device before the host";
}

TEST(RematPolicies, MistakesAreSeenWhenTheLayerIsBuilt) {
  const auto error = [](std::string_view policy) {
    return error_of([&] { gradient_under(policy); });
  };
  const std::string use =
      ", got none; use SaveNothing (save_nothing in C++) to recompute everything";
  EXPECT_EQ(error("SaveMatching"),
            "layer.@remat: remat policy SaveMatching: expected at least one name to save or to "
            "offload" +
                use);
  EXPECT_EQ(
      error("CombinedPolicies"),
      "layer.@remat: remat policy CombinedPolicies: expected at least one policy to combine" + use);
  EXPECT_THAT(error("{class: SaveMatching, patterns: ['(']}"),
              ::testing::StartsWith("layer.@remat: expected a regular expression, got '('"));
  EXPECT_THAT(error("{class: SaveMatching, patterns: [hid]}"),
              ::testing::HasSubstr("expects a value named 'hid', got hidden, product"));
}

}  // namespace
}  // namespace axle
