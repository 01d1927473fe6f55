#include "nn/invocation.h"

#include <gmock/gmock.h>

#include "base/hash.h"
#include "nn/toy_layers_test.h"
#include "testing/error_of.h"
#include "transform/control_flow/control_flow.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

TEST(Invocation, SecondCallsOfALayerHaveTheirOwnPaths) {
  testing::TestLayer<Chain> layer({}, {.dim = 2});
  const auto result = layer.call({{"x", HostTensor({2}, {1.0f, 2.0f})}});
  Tree<double> sums;
  for (const auto& [path, value] : result.summaries) sums.emplace(path, value.at(0));
  const HostTensor &first = layer.parameter("first/w"), &second = layer.parameter("second/w");
  EXPECT_EQ(sums.size(), 3u);
  EXPECT_FLOAT_EQ(static_cast<float>(sums.at("chain/first/sum")), 3);
  const double after_first = first.at(0) + 2 * first.at(1);
  EXPECT_NEAR(sums.at("chain/second/sum"), after_first, 1e-5);
  EXPECT_NEAR(sums.at("chain/second#1/sum"),
              first.at(0) * second.at(0) + 2 * first.at(1) * second.at(1), 1e-5);
  EXPECT_EQ(result.aux_losses.size(), 3u);
}

TEST(Invocation, SummariesAreLeftOutOnRequest) {
  testing::TestLayer<Chain> layer({}, {.dim = 2});
  eval(
      [&](const Values& x) {
        Tree<Tensor> parameters;
        for (const auto& [path, value] : layer.parameters())
          parameters.emplace(path, constant(value));
        auto [y, collected] = functional(layer.layer(), parameters, {.summaries = false},
                                         [&] { return layer.layer()(x[0]); });
        EXPECT_TRUE(collected.summaries.empty());
        EXPECT_EQ(collected.aux_losses.size(), 3u);
        EXPECT_EQ(collected.outputs.size(), 3u);
        return Values{y};
      },
      {HostTensor::ones({2})});
}

// The root uses the key of the call itself. A child folds in its name; a repeated call also folds
// in its index.
TEST(Invocation, KeysDeriveFromPathsAndCalls) {
  Chain::Config cfg{.first = Noise::Config{}, .second = Noise::Config{}};
  testing::TestLayer<Chain> layer(cfg, {.dim = 4});
  const HostTensor x = HostTensor::zeros({4});
  const HostTensor expected = eval(
      [](const Values& key) {
        const random::Key second =
            random::fold_in(random::Key::wrap(key[0]), md5_mod_2_31_minus_1("second"));
        return Values{random::normal(random::fold_in(second, 1), {4})};
      },
      {random::key_words(9)})[0];
  EXPECT_EQ(layer.run(x, {.seed = 9}), expected);
  testing::TestLayer<Noise> alone({}, {.dim = 4});
  EXPECT_EQ(
      alone.run(x, {.seed = 9}),
      eval([](const Values& key) { return Values{random::normal(random::Key::wrap(key[0]), {4})}; },
           {random::key_words(9)})[0]);
}

// Calls a layer that needs a key in the body of a loop, and that layer once more after it.
class NoiseInALoop final : public Toy {
 public:
  struct Config {
    AXLE_CONFIG(NoiseInALoop)
  };
  NoiseInALoop(const Config&, const Dims& dims, const Scope& scope)
      : Toy(scope), noise_(child("noise", Child<Toy>(Noise::Config{}), dims)) {}

 protected:
  Tensor forward(const Tensor& x) override {
    const auto body = [&](const Values& carry, const Values&) {
      return ScanResult{.carry = {carry[0] + noise_(x)}};
    };
    const Tensor in_loop = scan(body, {x}, {}, 2).carry[0];
    return in_loop + noise_(x);
  }

 private:
  Handle<Toy> noise_;
};

AXLE_REGISTER(NoiseInALoop)

TEST(Invocation, KeyFirstUsedInALoopIsValidAfterIt) {
  testing::TestLayer<Chain> layer({.first = NoiseInALoop::Config{}}, {.dim = 3});
  layer.set("second/w", HostTensor::ones({3}));
  const HostTensor expected = eval(
      [](const Values& key) {
        const random::Key first =
            random::fold_in(random::Key::wrap(key[0]), md5_mod_2_31_minus_1("first"));
        const random::Key noise = random::fold_in(first, md5_mod_2_31_minus_1("noise"));
        const Tensor in_loop = random::normal(noise, {3});
        return Values{in_loop + in_loop + random::normal(random::fold_in(noise, 1), {3})};
      },
      {random::key_words(5)})[0];
  EXPECT_EQ(layer.run(HostTensor::zeros({3}), {.seed = 5}), expected);
}

TEST(Invocation, MissingKeysAndParametersAreNamed) {
  testing::TestLayer<Noise> noise({}, {.dim = 4});
  EXPECT_EQ(error_of([&] { noise.run(HostTensor::zeros({4}), {.seed = std::nullopt}); }),
            "noise: needs a PRNG key; give one to the call");
  testing::TestLayer<Scaling> scaling({}, {.dim = 2});
  scaling.set_all({});
  EXPECT_EQ(error_of([&] { scaling.run(HostTensor::zeros({2})); }),
            "scaling/w: parameter is missing among the 0 given");
}

TEST(Invocation, CurrentIsAnErrorOutsideACall) {
  EXPECT_THAT(error_of<InternalError>([] { Invocation::current(); }),
              HasSubstr("outside an invocation"));
}

TEST(Invocation, MergedPathsAreNumbered) {
  eval(
      [](const Values& x) {
        Invocation invocation("root", {}, {});
        for (int i = 0; i < 3; ++i)
          invocation.merge({.summaries = {{"root/a", x[0]}}, .state = {{"root/s", x[0]}}});
        const OutputCollection& all = invocation.collection();
        EXPECT_TRUE(all.summaries.contains("root/a") && all.summaries.contains("root/a#1") &&
                    all.summaries.contains("root/a#2"));
        EXPECT_EQ(all.state.size(), 1u);  // the newest value
        return x;
      },
      {HostTensor::ones({})});
}

}  // namespace
}  // namespace axle
