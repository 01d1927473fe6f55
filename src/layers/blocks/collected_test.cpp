// What layers collect beside their results is the same whether blocks are unrolled or a loop, and
// whether they are rematerialised: summaries, auxiliary losses and state.
#include "config/register.h"
#include "layers/blocks/stack.h"
#include "layers/blocks/stacked_parameters_test.h"
#include "layers/norms/batch_norms.h"
#include "nn/remat_policies.h"
#include "ops/elementwise/elementwise.h"
#include "ops/reductions/reductions.h"

namespace axle {
namespace {

using testing::LayerResult;
using testing::normal_values;

/// x -> x + norm(x) * w, with a summary, an auxiliary loss and a counter.
class Recorder final : public Block {
 public:
  struct Config {
    AXLE_CONFIG(Recorder)
  };
  Recorder(const Config&, const Dims& dims, const Scope& scope)
      : Block(scope),
        w_(param("w", {.shape = {dims.model_dim}, .init = Ones{}})),
        norm_(child("norm", Child<Norm>(BatchNorm::Config{.decay = 0.75}),
                    {.input_dim = dims.model_dim})) {
    declare_state("calls", {.dtype = DType::kI32});
  }

 protected:
  Tensor forward(const Tensor& x_BTD, const MixerContext& context) override {
    const Tensor y_BTD = norm_(x_BTD, context.segment_ids) * w_();
    add_summary("mean", mean(y_BTD));
    add_aux_loss("size", sum(y_BTD * y_BTD));
    if (is_training()) set_state("calls", state("calls") + 1);
    return x_BTD + y_BTD;
  }

 private:
  Param w_;
  Handle<Norm> norm_;
};
AXLE_REGISTER(Recorder)

// Renames what Stacked collects to the names of Repeat, with the values of its layers stacked.
Tree<HostTensor> as_loop(const Tree<HostTensor>& of_stacked) {
  Tree<HostTensor> out;
  const std::string first = "stacked/layer0/";
  for (const auto& [path, value] : of_stacked) {
    if (!path.starts_with(first)) continue;
    const std::string below = path.substr(first.size());
    const HostTensor& second = of_stacked.at("stacked/layer1/" + below);
    Shape shape = value.shape();
    shape.insert(shape.begin(), 2);
    HostTensor both(Type{value.dtype(), shape});
    std::ranges::copy(value.bytes(), both.bytes().begin());
    std::ranges::copy(second.bytes(), both.bytes().begin() + std::ssize(value.bytes()));
    out.emplace("repeat/layer/" + below, both);
  }
  return out;
}

TEST(Collected, IsTheSameUnrolledAsALoopAndUnderRemat) {
  const Tree<HostTensor> x{{"x", normal_values({2, 3, 4}, 1)}};
  const auto block = [](bool remat) {
    Child<Block> out = Recorder::Config{};
    if (remat) out.options.remat = SaveNothing{};
    return out;
  };
  const auto unrolled = [&](bool remat) {
    testing::TestLayer<Stacked> layer({.num_layers = 2, .layer = block(remat)}, {.model_dim = 4});
    return std::pair(layer.call(x, {.training = true}), layer.parameters());
  };
  const auto [expected, parameters] = unrolled(false);
  ASSERT_EQ(expected.summaries.size(), 2u);
  ASSERT_EQ(expected.aux_losses.size(), 2u);
  ASSERT_EQ(expected.state.size(), 6u);

  const LayerResult rematerialised = unrolled(true).first;
  EXPECT_EQ(rematerialised.outputs, expected.outputs);
  EXPECT_EQ(rematerialised.summaries, expected.summaries);
  EXPECT_EQ(rematerialised.aux_losses, expected.aux_losses);
  EXPECT_EQ(rematerialised.state, expected.state);

  for (const bool remat : {false, true}) {
    for (const int64_t unroll : {1, 2}) {
      SCOPED_TRACE(::testing::Message() << "remat " << remat << ", unroll " << unroll);
      testing::TestLayer<Repeat> layer({.num_layers = 2, .unroll = unroll, .layer = block(remat)},
                                       {.model_dim = 4});
      layer.set_all(stacked_parameters(parameters, 2));
      const LayerResult loop = layer.call(x, {.training = true});
      EXPECT_EQ(loop.outputs, expected.outputs);
      EXPECT_EQ(loop.summaries, as_loop(expected.summaries));
      EXPECT_EQ(loop.aux_losses, as_loop(expected.aux_losses));
      EXPECT_EQ(loop.state, as_loop(expected.state));
    }
  }
}

}  // namespace
}  // namespace axle
