#include "nn/layer.h"

#include <gmock/gmock.h>

#include "nn/remat_policies.h"
#include "nn/toy_layers_test.h"
#include "testing/error_of.h"

namespace axle {

AXLE_REGISTER(Toy::Dims)
AXLE_REGISTER(Scaling)
AXLE_REGISTER(Chain)
AXLE_REGISTER(Counting)
AXLE_REGISTER(Noise)

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::unique_ptr<Toy> chain(LayerOptions options = {}, LayerOptions of_second = {}) {
  Chain::Config cfg;
  cfg.second.options = std::move(of_second);
  return Child<Toy>(cfg, std::move(options)).build({.dim = 3}, Scope{.path = "root"});
}
std::vector<std::string> paths(const auto& tree) {
  std::vector<std::string> out;
  for (const auto& [path, value] : tree) out.push_back(path);
  return out;
}

TEST(Layer, PathsAreThoseOfTheTree) {
  const auto layer = chain();
  EXPECT_EQ(layer->path(), "root");
  EXPECT_THAT(paths(layer->param_specs()), ElementsAre("root/first/w", "root/first/weight",
                                                       "root/second/w", "root/second/weight"));
  Scaling deep({}, {.dim = 2}, Scope{.path = "a/b/c"});
  EXPECT_EQ(deep.last_name(), "c");
  EXPECT_EQ(deep.config_path(), "a.b.c");
}

TEST(Layer, OptionsAreHandedDownUntilALayerHasItsOwn) {
  const auto layer = chain({.dtype = DType::kBF16, .init = Init(Constant{.value = 2})},
                           {.dtype = DType::kF64, .partition = PartitionSpec{{"model", "data"}}});
  const Tree<ParamSpec> specs = layer->param_specs();
  EXPECT_EQ(specs.at("root/first/weight").type(), (Type{DType::kBF16, {3, 2}}));
  EXPECT_EQ(specs.at("root/second/weight").type(), (Type{DType::kF64, {3, 2}}));
  // A parameter's own initialiser stays; weights without one take the initialiser of the layers
  // above.
  EXPECT_EQ(specs.at("root/first/w").initialiser().text, "constant(1.0)");
  EXPECT_EQ(specs.at("root/second/weight").initialiser().text, "constant(2.0)");
  EXPECT_EQ(to_text(specs.at("root/second/weight").partition()), "[model, data]");
  EXPECT_EQ(to_text(specs.at("root/first/weight").partition()), "[None, None]");
}

TEST(Layer, APartitionOfMoreDimsThanTheWeightIsNamed) {
  EXPECT_EQ(error_of([] {
              chain({}, {.partition = PartitionSpec{{"a", "b", "c"}}});
            }),
            "root.second.@partition: expected mesh axes for at most the 2 dims of weight, got "
            "[a, b, c]");
}

TEST(Layer, ShapesMustBePositiveAndCountable) {
  const auto build = [](int64_t dim) {
    return error_of([&] { Scaling({}, {.dim = dim}, Scope{.path = "root"}); });
  };
  EXPECT_EQ(build(0), "root.w: shape must be positive, got [0]");
  EXPECT_EQ(build(-4), "root.w: shape must be positive, got [-4]");
  EXPECT_EQ(build(std::numeric_limits<int64_t>::max()),
            "root.w: f32[9223372036854775807] takes 3.7e+19 bytes, more than any machine has; "
            "lower its dims");
  EXPECT_EQ(build(kMaxElements),
            "root.weight: f32[1125899906842624, 2] takes 9e+15 bytes, more than any machine has; "
            "lower its dims");
}

TEST(Layer, InitialValuesDoNotDependOnWhatFollows) {
  const Child<Toy> longer = Chain::Config{.third = Scaling::Config{}};
  const auto of_two = testing::initial_parameters(*chain(), 3),
             of_three =
                 testing::initial_parameters(*longer.build({.dim = 3}, Scope{.path = "root"}), 3);
  EXPECT_EQ(of_two.size(), 4u);
  EXPECT_EQ(of_three.size(), 6u);
  for (const auto& [path, value] : of_two) EXPECT_EQ(of_three.at(path), value) << path;
  EXPECT_EQ(of_two.at("root/first/w"), HostTensor({3}, {1.0f, 1.0f, 1.0f}));
  EXPECT_NE(of_two.at("root/first/weight"), of_two.at("root/second/weight"));
}

TEST(Layer, DecodesOnlyIfItSaysSoOrHasStateOfItsOwn) {
  EXPECT_TRUE(Scaling({}, {.dim = 1}, Scope{.path = "x"}).can_decode());
  EXPECT_TRUE(Counting({}, {.dim = 1}, Scope{.path = "x"}).can_decode());
  EXPECT_FALSE(Noise({}, {.dim = 1}, Scope{.path = "x"}).can_decode());
}

/// Holds a layer with state, and does not override can_decode.
class Holder final : public Toy {
 public:
  struct Config {
    Child<Toy> inner = Counting::Config{};
    AXLE_CONFIG(Holder, inner)
  };
  Holder(const Config& cfg, const Dims& dims, const Scope& scope)
      : Toy(scope), inner_(child("inner", cfg.inner, dims)) {}

 protected:
  Tensor forward(const Tensor& x) override { return inner_(x); }

 private:
  Handle<Toy> inner_;
};
AXLE_REGISTER(Holder)

TEST(Layer, StateOfAChildIsNotItsOwn) {
  Holder holder({}, {.dim = 1}, Scope{.path = "x"});
  EXPECT_EQ(holder.decode_state_specs({}).size(), 1u);
  EXPECT_FALSE(holder.can_decode());
}

TEST(Layer, WhatCannotDecodeIsRefusedWhileDecodingAlone) {
  Chain::Config cfg{.second = Noise::Config{}};
  testing::TestLayer<Chain> layer(cfg, {.dim = 2});
  const HostTensor x = HostTensor::ones({2});
  EXPECT_NO_THROW(layer.run(x));
  EXPECT_THAT(error_of([&] { layer.run(x, {.decoding = true}); }),
              HasSubstr("chain.second: expected a layer that can decode"));
}

TEST(Layer, StateGoesFromCallToCall) {
  testing::TestLayer<Counting> layer({}, {.dim = 2});
  const HostTensor x({2}, {1.0f, 2.0f});
  const auto first = layer.call(
      {{"x", x}}, {.decoding = true, .state = {{"counting/seen", HostTensor::zeros({2})}}});
  EXPECT_EQ(first.outputs[0], x);
  const auto second = layer.call({{"x", x}}, {.decoding = true, .state = first.state});
  EXPECT_EQ(second.outputs[0], HostTensor({2}, {2.0f, 4.0f}));
  EXPECT_EQ(error_of([&] {
              layer.call({{"x", x}}, {.decoding = true});
            }),
            "counting/seen: state is missing in this call");
}

TEST(Layer, ARematPolicyWithoutNamesIsRefusedWhenTheLayerIsBuilt) {
  EXPECT_THAT(
      error_of([] { testing::TestLayer<Chain> layer({}, {.dim = 3}, {.remat = SaveNames{}}); }),
      HasSubstr("@remat: remat policy SaveNames: expected at least one name to save or to "
                "offload, got none; use SaveNothing (save_nothing in C++)"));
}

TEST(Layer, RematerialisedGivesAllThatThePlainCallGives) {
  const HostTensor x({3}, {1.0f, 2.0f, 3.0f});
  testing::TestLayer<Chain> plain({}, {.dim = 3}), remat({}, {.dim = 3}, {.remat = SaveNothing{}});
  const auto a = plain.call({{"x", x}}, {.training = true}),
             b = remat.call({{"x", x}}, {.training = true});
  EXPECT_EQ(a.outputs, b.outputs);
  EXPECT_EQ(a.summaries, b.summaries);
  EXPECT_EQ(a.aux_losses, b.aux_losses);
}

}  // namespace
}  // namespace axle
