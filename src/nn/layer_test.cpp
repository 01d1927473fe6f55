#include "nn/layer.h"

#include <fmt/format.h>
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

std::unique_ptr<Toy> layer_chain(LayerOptions options = {}, LayerOptions of_second = {}) {
  Chain::Config cfg;
  cfg.second.options = std::move(of_second);
  return Child<Toy>(cfg, std::move(options)).build({.dim = 3}, Scope{.path = "root"});
}
std::vector<std::string> paths(const auto& tree) {
  std::vector<std::string> out;
  for (const auto& [path, value] : tree) out.push_back(path);
  return out;
}

TEST(Layer, PathsFollowTheTree) {
  const auto layer = layer_chain();
  EXPECT_EQ(layer->path(), "root");
  EXPECT_THAT(paths(layer->param_specs()), ElementsAre("root/first/w", "root/first/weight",
                                                       "root/second/w", "root/second/weight"));
  Scaling deep({}, {.dim = 2}, Scope{.path = "a/b/c"});
  EXPECT_EQ(deep.last_name(), "c");
  EXPECT_EQ(deep.config_path(), "a.b.c");
}

TEST(Layer, OptionsAreHandedDownUntilALayerHasItsOwn) {
  const auto layer =
      layer_chain({.dtype = DType::kBF16, .init = Init(Constant{.value = 2})},
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

// Names its parts like this.
class Naming final : public Toy {
 public:
  struct Config {
    std::string param = "w", child = "first", state = "mean", second = "seen";
    AXLE_CONFIG(Naming, param, child, state, second)
  };
  Naming(const Config& cfg, const Dims& dims, const Scope& scope)
      : Toy(scope),
        w_(param("w", {.shape = {dims.dim}})),
        bias_(param(cfg.param, {.shape = {7}})),
        first_(child("first", Child<Toy>(Scaling::Config{}), dims)),
        second_(child(cfg.child, Child<Toy>(Scaling::Config{}), dims)) {
    declare_state(cfg.state, {.shape = {1}});
    declare_state(cfg.second, {.shape = {2}});
  }

 protected:
  Tensor forward(const Tensor& x) override { return x; }

 private:
  Param w_, bias_;
  Handle<Toy> first_, second_;
};
AXLE_REGISTER(Naming)

TEST(Layer, PartsMustHaveDifferentNames) {
  const auto refusal = [](const Naming::Config& cfg) {
    return error_of([&] { Child<Toy>(cfg).build({.dim = 3}, Scope{.path = "root"}); });
  };
  const std::string twice =
      ": expected Naming to give each of its parameters and children a name of its own, got ";
  EXPECT_EQ(refusal({.param = "b", .child = "c"}), "no error");
  EXPECT_EQ(refusal({.child = "c"}), "root.w" + twice + "'w' twice");
  EXPECT_EQ(refusal({.param = "b"}), "root.first" + twice + "'first' twice");
  EXPECT_EQ(refusal({.param = "b", .child = "w"}), "root.w" + twice + "'w' twice");
  EXPECT_EQ(refusal({.param = "b", .child = "c", .second = "mean"}),
            "root.mean" + twice + "'mean' twice");
  for (const std::string name : {"", "a/b"}) {
    EXPECT_THAT(refusal({.param = name, .child = "c"}),
                HasSubstr("expected Naming to name its parts without '/', got '" + name + "'"));
  }
}

// Hands out two values under these names.
class Reporting final : public Toy {
 public:
  struct Config {
    std::string summary = "b", aux_loss = "b", output = "b";
    AXLE_CONFIG(Reporting, summary, aux_loss, output)
  };
  Reporting(const Config& cfg, const Dims&, const Scope& scope) : Toy(scope), cfg_(cfg) {}

 protected:
  Tensor forward(const Tensor& x) override {
    for (const std::string& name : {std::string("a"), cfg_.summary}) add_summary(name, x);
    for (const std::string& name : {std::string("a"), cfg_.aux_loss}) add_aux_loss(name, x);
    for (const std::string& name : {std::string("a"), cfg_.output}) add_output(name, x);
    return x;
  }

 private:
  Config cfg_;
};
AXLE_REGISTER(Reporting)

TEST(Layer, ReportedValuesMustHaveDifferentNames) {
  const auto refusal = [](const Reporting::Config& cfg) {
    return error_of([&] {
      const auto layer = Child<Toy>(cfg).build({.dim = 1}, Scope{.path = "root"});
      eval(
          [&](const Values& x) {
            return Values{functional(*layer, {}, {}, [&] { return (*layer)(x[0]); }).first};
          },
          {HostTensor({1}, {2.f})});
    });
  };
  EXPECT_EQ(refusal({}), "no error");
  const auto twice = [](std::string_view what) {
    return fmt::format(
        "root: expected each {} of a call to have a name of its own, got 'a' twice; "
        "name the second one otherwise",
        what);
  };
  EXPECT_EQ(refusal({.summary = "a"}), twice("summary"));
  EXPECT_EQ(refusal({.aux_loss = "a"}), twice("aux loss"));
  EXPECT_EQ(refusal({.output = "a"}), twice("output"));
}

TEST(Layer, APartitionOfMoreDimsThanTheWeightIsNamed) {
  EXPECT_EQ(error_of([] {
              layer_chain({}, {.partition = PartitionSpec{{"a", "b", "c"}}});
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

/// Has a mistake, unless `mistake` is empty; notes another one, unless `noted` is empty.
class Faulty final : public Toy {
 public:
  struct Config {
    std::string mistake = {};
    std::string noted = {};
    std::vector<Child<Toy>> parts = {};
    AXLE_CONFIG(Faulty, mistake, noted, parts)
  };
  Faulty(const Config& cfg, const Dims& dims, const Scope& scope) : Toy(scope) {
    if (!cfg.noted.empty()) note("noted", cfg.noted);
    for (size_t i = 0; i < cfg.parts.size(); ++i)
      parts_.push_back(child(fmt::format("part{}", i), cfg.parts[i], dims));
    if (!cfg.mistake.empty()) fail("mistake", cfg.mistake);
  }

 protected:
  Tensor forward(const Tensor& x) override { return x; }

 private:
  std::vector<Handle<Toy>> parts_;
};
AXLE_REGISTER(Faulty)

/// Looks at its child and at its own parameters in its constructor.
class Looking final : public Toy {
 public:
  struct Config {
    Child<Toy> part = Scaling::Config{};
    bool at_itself = false;
    AXLE_CONFIG(Looking, part, at_itself)
  };
  Looking(const Config& cfg, const Dims& dims, const Scope& scope)
      : Toy(scope), part_(child("part", cfg.part, dims)) {
    if ((cfg.at_itself ? param_specs() : part_->param_specs()).empty())
      fail("part", "expected parameters, got none");
  }

 protected:
  Tensor forward(const Tensor& x) override { return part_(x); }

 private:
  Handle<Toy> part_;
};
AXLE_REGISTER(Looking)

Thrown mistakes_of(const Child<Toy>& config, int64_t dim = 3) {
  return thrown_by([&] { config.build({.dim = dim}, Scope{.path = "root"}); });
}

TEST(Layer, MistakesOfATreeAreInOneError) {
  const Chain::Config deep{.second = Faulty::Config{.mistake = "b"}};
  const Faulty::Config both{.mistake = "d", .parts = {Faulty::Config{.mistake = "c"}}};
  const Thrown thrown = mistakes_of(
      Chain::Config{.first = Faulty::Config{.mistake = "a"}, .second = deep, .third = both});
  EXPECT_EQ(thrown.message,
            "root.first.mistake: a\n"
            "root.second.second.mistake: b\n"
            "root.third.part0.mistake: c\n"
            "root.third.mistake: d");
  EXPECT_EQ(thrown.code, ExitCode::kUser);
}

TEST(Layer, OneMistakeIsTheWholeError) {
  EXPECT_EQ(mistakes_of(Faulty::Config{.mistake = "a"}).message, "root.mistake: a");
  EXPECT_EQ(mistakes_of(Chain::Config{.second = Faulty::Config{.mistake = "a"}}).message,
            "root.second.mistake: a");
}

TEST(Layer, NotedMistakeDoesNotStopTheConstructor) {
  EXPECT_EQ(mistakes_of(Faulty::Config{.mistake = "b", .noted = "a"}).message,
            "root.noted: a\nroot.mistake: b");
  EXPECT_EQ(mistakes_of(Faulty::Config{.noted = "a"}).message, "root.noted: a");
  EXPECT_EQ(error_of([] { Faulty({.noted = "a"}, {.dim = 1}, Scope{.path = "alone"}); }),
            "alone.noted: a")
      << "a layer that is built by hand throws its first mistake";
}

TEST(Layer, UsingAPartThatFailedToBuildAddsNoMistake) {
  for (const bool at_itself : {false, true}) {
    const Looking::Config looking{.part = Faulty::Config{.mistake = "a"}, .at_itself = at_itself};
    EXPECT_EQ(mistakes_of(looking).message, "root.part.mistake: a");
    const Looking::Config empty{.part = Faulty::Config{}, .at_itself = at_itself};
    EXPECT_EQ(mistakes_of(empty).message, "root.part: expected parameters, got none");
    EXPECT_EQ(mistakes_of(Chain::Config{.first = looking, .second = empty}).message,
              "root.first.part.mistake: a\nroot.second.part: expected parameters, got none");
  }
}

TEST(Layer, ASizeThatManyLayersRefuseIsReportedOnce) {
  EXPECT_EQ(mistakes_of(Chain::Config{}, 0).message,
            "root.first.w: shape must be positive, got [0]");
  EXPECT_EQ(mistakes_of(Chain::Config{.third = Faulty::Config{.mistake = "a"}}, 0).message,
            "root.first.w: shape must be positive, got [0]\nroot.third.mistake: a");
}

TEST(Layer, TheNumberOfReportedMistakesIsLimited) {
  Faulty::Config many;
  for (int i = 0; i < 100; ++i) many.parts.push_back(Faulty::Config{.mistake = "a"});
  const std::string message = mistakes_of(many).message;
  EXPECT_THAT(message, ::testing::StartsWith("root.part0.mistake: a\n"));
  EXPECT_THAT(message, ::testing::EndsWith("\nroot.part19.mistake: a\nthe rest was not checked"));
}

TEST(Layer, ComputesInTheDtypeOfItsSlot) {
  Chain::Config cfg;
  cfg.second.options.compute = DType::kBF16;
  testing::TestLayer<Chain> layer(cfg, {.dim = 2}), plain({}, {.dim = 2});
  const Tree<ParamSpec> specs = layer.layer().param_specs();
  EXPECT_EQ(specs.at("chain/second/w").type().dtype, DType::kF32) << "it is stored as before";
  EXPECT_EQ(specs.at("chain/second/w").compute, DType::kBF16);
  EXPECT_EQ(specs.at("chain/first/w").compute, std::nullopt);
  // 1 + 2^-10 is 1 in bf16.
  const HostTensor x({2}, {1 + 0x1p-10f, 2.0f}), ones = HostTensor::ones({2});
  for (auto* each : {&layer, &plain}) each->set("first/w", ones).set("second/w", ones);
  EXPECT_EQ(plain.run(x), x);
  EXPECT_EQ(layer.run(x), HostTensor({2}, {1.0f, 2.0f})) << "f32 again, after bf16";
}

TEST(Layer, InitialValuesDoNotDependOnWhatFollows) {
  const Child<Toy> longer = Chain::Config{.third = Scaling::Config{}};
  const auto of_two = testing::initial_parameters(*layer_chain(), 3),
             of_three =
                 testing::initial_parameters(*longer.build({.dim = 3}, Scope{.path = "root"}), 3);
  EXPECT_EQ(of_two.size(), 4u);
  EXPECT_EQ(of_three.size(), 6u);
  for (const auto& [path, value] : of_two) EXPECT_EQ(of_three.at(path), value) << path;
  EXPECT_EQ(of_two.at("root/first/w"), HostTensor({3}, {1.0f, 1.0f, 1.0f}));
  EXPECT_NE(of_two.at("root/first/weight"), of_two.at("root/second/weight"));
}

TEST(Layer, DecodesOnlyIfDeclaredOrWithState) {
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

TEST(Layer, StateOfAChildDoesNotMakeALayerDecode) {
  Holder holder({}, {.dim = 1}, Scope{.path = "x"});
  EXPECT_EQ(holder.decode_state_specs({}).size(), 1u);
  EXPECT_FALSE(holder.can_decode());
}

TEST(Layer, LayersThatCannotDecodeAreRefusedOnlyInDecoding) {
  Chain::Config cfg{.second = Noise::Config{}};
  testing::TestLayer<Chain> layer(cfg, {.dim = 2});
  const HostTensor x = HostTensor::ones({2});
  EXPECT_NO_THROW(layer.run(x));
  EXPECT_THAT(error_of([&] { layer.run(x, {.decoding = true}); }),
              HasSubstr("chain.second: expected a layer that can decode"));
}

TEST(Layer, StatePassesFromCallToCall) {
  testing::TestLayer<Counting> layer({}, {.dim = 2});
  const HostTensor x({2}, {1.0f, 2.0f});
  const auto first = layer.call(
      {{"x", x}}, {.decoding = true, .state = {{"counting/seen", HostTensor::zeros({2})}}});
  EXPECT_EQ(first.outputs[0], x);
  const auto second = layer.call({{"x", x}}, {.decoding = true, .state = first.state});
  EXPECT_EQ(second.outputs[0], HostTensor({2}, {2.0f, 4.0f}));
  EXPECT_EQ(
      error_of([&] {
        layer.call({{"x", x}}, {.decoding = true});
      }),
      "counting/seen: expected its state in this call, got none; give it as state/counting/seen");
}

TEST(Layer, ARematPolicyWithoutNamesIsRefusedWhenTheLayerIsBuilt) {
  EXPECT_THAT(
      error_of([] { testing::TestLayer<Chain> layer({}, {.dim = 3}, {.remat = SaveNames{}}); }),
      HasSubstr("@remat: remat policy SaveNames: expected at least one name to save or to "
                "offload, got none; use SaveNothing (save_nothing in C++)"));
}

TEST(Layer, RematerialisedCallEqualsThePlainCall) {
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
