#include <gmock/gmock.h>

#include "layers/attention/qkv/head_projection.h"
#include "layers/dense/linear.h"
#include "layers/models/causal_lm.h"
#include "layers/products/lora_product.h"
#include "layers/products/quantized_product.h"
#include "testing/error_of.h"
#include "testing/layer_laws.h"

namespace axle {
namespace {

using testing::build_for_test;

const LoraProduct::Config kLora{.rank = 2};
const QuantizedProduct::Config kCoded{.group = 2, .scales = ScaleForm::kF32};

AXLE_LAYER_LAWS(Linear,
                {.input_dim = 4, .output_dim = 3, .input_axes = "fsdp", .output_axes = "model"},
                {{"bias", {}},
                 {"no_bias", {.bias = false}},
                 {"lora", {.product = kLora}},
                 {"coded", {.product = kCoded}}})
AXLE_LAYER_LAWS(UnitNormLinear, {.input_dim = 4, .output_dim = 3},
                {{"bias", {}}, {"no_bias", {.bias = false}}})
AXLE_LAYER_LAWS(MultiLinear,
                {.input_dim = 4, .num_outputs = 2, .output_dim = 3, .output_axes = "model"},
                {{"bias", {}},
                 {"no_bias", {.bias = false}},
                 {"lora", {.product = kLora}},
                 {"coded", {.product = kCoded}}})
AXLE_LAYER_LAWS(LmHead, {.input_dim = 4, .output_dim = 6, .input_axes = "model"},
                {{"default", {}}, {"lora", {.product = kLora}}, {"coded", {.product = kCoded}}})
AXLE_LAYER_LAWS(HeadInputLinear, {.model_dim = 6, .num_heads = 2, .head_dim = 3},
                {{"bias", {.bias = true}},
                 {"no_bias", {}},
                 {"lora", {.product = kLora}},
                 {"coded", {.product = kCoded}}})
AXLE_LAYER_LAWS(HeadOutputLinear, {.model_dim = 6, .num_heads = 2, .head_dim = 3},
                {{"bias", {.bias = true}},
                 {"no_bias", {}},
                 {"lora", {.product = kLora}},
                 {"coded", {.product = kCoded}}})

TEST(Linear, MultipliesAndAdds) {
  auto layer = build_for_test<Linear>({}, {.input_dim = 2, .output_dim = 2});
  layer.set("weight", HostTensor({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f}))
      .set("bias", HostTensor({2}, {10.0f, 20.0f}));
  EXPECT_EQ(layer.run(HostTensor({1, 2}, {1.0f, 1.0f})), HostTensor({1, 2}, {14.0f, 26.0f}));
}

TEST(UnitNormLinear, DividesTheColumnsOfItsWeightByTheirLengths) {
  auto layer = build_for_test<UnitNormLinear>({}, {.input_dim = 2, .output_dim = 2});
  layer.set("weight", HostTensor({2, 2}, {3.0f, 0.0f, 4.0f, -2.0f}))
      .set("bias", HostTensor({2}, {10.0f, 20.0f}));
  EXPECT_ALLCLOSE(layer.run(HostTensor({1, 2}, {1.0f, 1.0f})), HostTensor({1, 2}, {11.4f, 19.0f}));
}

TEST(MultiLinear, ReturnsOneVectorForEachOutput) {
  auto layer = build_for_test<MultiLinear>({}, {.input_dim = 2, .num_outputs = 2, .output_dim = 1});
  layer.set("weight", HostTensor({2, 2, 1}, {1.0f, 2.0f, 3.0f, 4.0f}))
      .set("bias", HostTensor({2, 1}, {10.0f, 20.0f}));
  EXPECT_EQ(layer.run(HostTensor({1, 2}, {1.0f, 2.0f})), HostTensor({1, 2, 1}, {17.0f, 30.0f}));
}

TEST(Linear, SlotOptionsSetDtypeInitAndAxes) {
  auto layer = build_for_test<Linear>(
      {}, {.input_dim = 2, .output_dim = 3, .input_axes = "fsdp"},
      {.dtype = DType::kBF16, .init = Ones{}, .partition = PartitionSpec{{"seq", "model"}}});
  const Tree<ParamSpec> specs = layer.layer().param_specs();
  EXPECT_EQ(specs.at("linear/weight").type(), (Type{DType::kBF16, {2, 3}}));
  EXPECT_EQ(to_text(specs.at("linear/weight").partition()), "[seq, model]");
  EXPECT_EQ(specs.at("linear/weight").initialiser().text, "constant(1.0)");
  EXPECT_EQ(specs.at("linear/bias").initialiser().text, "constant(0.0)");
}

TEST(Linear, NamesTheLayerWhoseShapesDoNotFit) {
  auto layer = build_for_test<Linear>({}, {.input_dim = 2, .output_dim = 2});
  EXPECT_EQ(error_of<ShapeError>([&] {
              layer.run(HostTensor::ones({1, 3}));
            }),
            "linear: expected floats [..., 2] for 'x' of Linear, got f32[1, 3]");
}

}  // namespace
}  // namespace axle
