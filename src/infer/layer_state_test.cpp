// Decoding reads the state that layers kept in training, and does not change it.
#include <gmock/gmock.h>

#include "config/register.h"
#include "infer/generator.h"
#include "interop/tiny_model_test.h"
#include "layers/blocks/stack.h"
#include "ops/elementwise/elementwise.h"
#include "pjrt/pjrt_runtime.h"
#include "testing/error_of.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

// Adds its state to every channel. It carelessly counts calls outside of training too.
class KeptBias final : public Norm {
 public:
  struct Config {
    AXLE_CONFIG(KeptBias)
  };
  KeptBias(const Config&, const Dims& dims, const Scope& scope) : Norm(scope) {
    declare_state("bias", {.shape = {dims.input_dim}});
    declare_state("calls", {.dtype = DType::kI32});
  }

 protected:
  Tensor forward(const Tensor& x) override {
    set_state("calls", state("calls") + 1);
    return x + state("bias");
  }
};
AXLE_REGISTER(KeptBias)

std::vector<int32_t> generated(const TinyModel& tiny, const Tree<HostTensor>& parameters) {
  const auto runtime = make_runtime({.backend = "interpreter"});
  Generator generator(*tiny.model, parameters, *runtime, {});
  const std::vector<TokenIds> prompts = {{3, 1, 4}};
  return generator.generate(prompts, {.max_tokens = 6}).rows[0].tokens;
}

TEST(LayerState, IsReadByDecoding) {
  TransformerLayer::Config layer = tiny_layer();
  layer.attention.get_if<PreNorm>()->norm = KeptBias::Config{};
  for (const bool loop : {false, true}) {
    const TinyModel tiny =
        random_model(loop ? Child<Block>(Repeat::Config{.num_layers = 2, .layer = layer})
                          : Child<Block>(Stacked::Config{.num_layers = 2, .layer = layer}));
    EXPECT_THAT(error_of([&] { generated(tiny, tiny.parameters); }),
                HasSubstr("attention/norm/calls: expected i32"));
    const auto with_bias = [&](float strength) {
      Tree<HostTensor> all = tiny.parameters;
      for (const auto& [path, spec] : tiny.model->state_specs()) {
        HostTensor value(spec.type());
        if (path.ends_with("bias")) {
          int i = 0;
          for (float& v : value.values<float>()) v = strength * static_cast<float>(++i % 5 - 2);
        }
        all.emplace("state/" + path, std::move(value));
      }
      return all;
    };
    EXPECT_EQ(generated(tiny, with_bias(0)), generated(tiny, with_bias(0)));
    EXPECT_NE(generated(tiny, with_bias(0)), generated(tiny, with_bias(40)));
  }
}

}  // namespace
}  // namespace axle
