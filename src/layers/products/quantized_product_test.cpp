// Products with a weight that is kept as codes: equal to products with the decoded weight.
#include "layers/products/quantized_product.h"

#include <gmock/gmock.h>

#include <cmath>

#include "ir/text/print.h"
#include "layers/attention/qkv/fused_qkv.h"
#include "layers/attention/qkv/head_projection.h"
#include "layers/dense/linear.h"
#include "layers/experts/moe.h"
#include "layers/products/lora_product.h"
#include "testing/layer_laws.h"

namespace axle {
namespace {

using testing::build_for_test;
using testing::normal_values;

constexpr Projection::Dims kCodedDims{.input_dim = 8, .output_dim = 5};
const QuantizedProduct::Config kGroupsOfFour{.group = 4};

// The numbers of a coded weight [8, 5] with groups of 4 inputs, by the definition.
std::vector<double> decoded(const HostTensor& codes, const HostTensor& scales,
                            const HostTensor& offsets, bool is_packed) {
  std::vector<double> out;
  for (int64_t i = 0; i < 8; ++i) {
    for (int64_t o = 0; o < 5; ++o) {
      const auto byte = static_cast<int>(codes.at((is_packed ? i / 2 : i) * 5 + o));
      const int code = !is_packed ? byte : i % 2 == 0 ? byte % 16 : byte / 16;
      const int64_t group = (i / 4) * 5 + o;
      out.push_back(scales.at(group) * code + offsets.at(group));
    }
  }
  return out;
}

bool has_floats(const HostTensor& x) { return is_float(x.dtype()); }

struct LayerGradients {
  std::vector<HostTensor> results, gradients;
};
LayerGradients gradients_by_inputs(const testing::LayerFunction& fn) {
  LayerGradients out{.results = eval(fn, fn.arguments()), .gradients = {}};
  std::vector<HostTensor> cotangents;
  for (size_t i = 0; i < out.results.size(); ++i)
    cotangents.push_back(testing::random_tensor(out.results[i].type(), 50 + i, 1));
  const auto all = eval(testing::gradient_function(fn, cotangents), fn.arguments());
  // Whole numbers have no gradient; the gradients of the inputs come after those of parameters.
  const std::vector<HostTensor> arguments = fn.arguments();
  const auto inputs = arguments.begin() + static_cast<std::ptrdiff_t>(fn.parameter_paths().size());
  const auto first = all.begin() + std::count_if(arguments.begin(), inputs, has_floats);
  out.gradients.assign(
      first, first + std::count_if(inputs, inputs + std::ssize(fn.input_paths()), has_floats));
  return out;
}

class CodedWeights : public ::testing::TestWithParam<CodeBits> {};

TEST_P(CodedWeights, AreRoundedBetweenTheSmallestAndTheLargestOfAGroup) {
  const bool is_packed = GetParam() == CodeBits::kFour;
  const CodeForm form{.weight_dims = {8, 5}, .bits = static_cast<int64_t>(GetParam()), .group = 4};
  const HostTensor weight = normal_values({8, 5}, 3);
  const auto coded = eval(
      [&](const Values& v) {
        const CodedWeight c = form.encode(v[0], DType::kF32);
        return Values{c.codes, c.scales, c.offsets, form.decode(c)};
      },
      {weight});
  EXPECT_EQ(coded[0].type(), (Type{DType::kU8, {is_packed ? 4 : 8, 5}}));
  EXPECT_EQ(coded[1].type(), (Type{DType::kF32, {2, 5}}));
  const std::vector<double> expected = decoded(coded[0], coded[1], coded[2], is_packed);
  double worst = 0;
  for (int64_t i = 0; i < 40; ++i) {
    EXPECT_NEAR(coded[3].at(i), expected[static_cast<size_t>(i)], 1e-6) << i;
    const double step = coded[1].at((i / 20) * 5 + i % 5);
    worst = std::max(worst, std::abs(coded[3].at(i) - weight.at(i)) / step);
  }
  EXPECT_LE(worst, 0.501);  // to the nearest code
  EXPECT_GT(worst, 0.05);
}

INSTANTIATE_TEST_SUITE_P(All, CodedWeights, ::testing::Values(CodeBits::kFour, CodeBits::kEight));

TEST(CodedWeights, AGroupOfEqualNumbersStaysAsItIs) {
  const CodeForm form{.weight_dims = {4, 1}, .group = 4};
  const auto out =
      eval([&](const Values& v) { return Values{form.decode(form.encode(v[0], DType::kF16))}; },
           {HostTensor({4, 1}, {0.5f, 0.5f, 0.5f, 0.5f})});
  EXPECT_EQ(out[0], HostTensor({4, 1}, {0.5f, 0.5f, 0.5f, 0.5f}));
}

// The layer gives the bits of one with a plain product and the decoded weight, and so do the
// gradients by its input.
template <class L>
void expect_as_decoded(const typename L::Config& coded, const typename L::Config& plain,
                       const typename L::Role::Dims& dims) {
  auto layer = build_for_test<L>(coded, dims);
  auto dense = build_for_test<L>(plain, dims);
  Tree<HostTensor> parameters = layer.parameters();
  const auto products = quantized_products(layer.layer());
  ASSERT_FALSE(products.empty());
  for (const QuantizedProduct* product : products) product->decode_in(parameters);
  dense.set_all(parameters);
  const Tree<HostTensor> inputs = testing::LawInputs<typename L::Role>::make(dims);
  const testing::CallOptions options{.training = true};
  const LayerGradients got = gradients_by_inputs(layer.function(inputs, options)),
                       expected = gradients_by_inputs(dense.function(inputs, options));
  EXPECT_EQ(got.results, expected.results);
  EXPECT_EQ(got.gradients, expected.gradients);
}

TEST(QuantizedProduct, HoldsTheWeightOfItsLayer) {
  auto layer = build_for_test<Linear>({.product = kGroupsOfFour}, kCodedDims);
  std::vector<std::string> paths;
  for (const auto& [path, spec] : layer.layer().param_specs())
    paths.push_back(path + " " + to_text(spec.type()));
  EXPECT_THAT(paths, ::testing::ElementsAre("linear/bias f32[5]", "linear/product/codes u8[4, 5]",
                                            "linear/product/offsets f16[2, 5]",
                                            "linear/product/scales f16[2, 5]"));
}

const Linear::Config kCodedLinear{.bias = false, .product = kGroupsOfFour};
const Linear::Config kPlainLinear{.bias = false};

TEST(QuantizedProduct, GivesWhatTheDecodedWeightGives) {
  expect_as_decoded<Linear>(kCodedLinear, kPlainLinear, kCodedDims);
  expect_as_decoded<Linear>(
      {.bias = false, .product = QuantizedProduct::Config{.bits = CodeBits::kEight, .group = 2}},
      kPlainLinear, kCodedDims);
  expect_as_decoded<FusedQKV>({.product = kGroupsOfFour}, {},
                              {.model_dim = 8, .num_heads = 2, .num_kv_heads = 2, .head_dim = 3});
  expect_as_decoded<HeadOutputLinear>({.product = kGroupsOfFour}, {},
                                      {.model_dim = 6, .num_heads = 2, .head_dim = 4});
}

TEST(QuantizedProduct, AdaptersAreBesideIt) {
  expect_as_decoded<Linear>(
      {.bias = false, .product = LoraProduct::Config{.rank = 2, .inner = kGroupsOfFour}},
      {.bias = false, .product = LoraProduct::Config{.rank = 2}}, kCodedDims);
}

TEST(QuantizedProduct, ExpertsHaveCodesOfTheirOwn) {
  const auto experts = [](const Linear::Config& linear) {
    return MoE::Config{
        .num_experts = 3, .hidden_dim = FixedDim{12}, .gate = linear, .up = linear, .down = linear};
  };
  expect_as_decoded<MoE>(experts(kCodedLinear), experts(kPlainLinear), {.model_dim = 8});
}

TEST(QuantizedProduct, KeepsNoDecodedWeightForTheBackwardPass) {
  // The residuals of the backward pass are x and the codes: the weight is decoded twice.
  auto layer = build_for_test<Linear>(kCodedLinear, kCodedDims);
  const HostTensor x = normal_values({2, 3, 8}, 3);
  const testing::LayerFunction fn = layer.function({{"x", x}}, {.training = true});
  std::vector<Type> types;
  for (const HostTensor& argument : fn.arguments()) types.push_back(argument.type());
  const auto gradients = testing::gradient_function(fn, {normal_values({2, 3, 5}, 9)});
  const auto region = trace(
      [&](const Values& v) {
        Values out = fn(v);
        for (const Tensor& gradient : gradients(v)) out.push_back(gradient);
        return out;
      },
      types);
  EXPECT_EQ(count_ops(*region, "shift_right_logical"), 2);
}

TEST(QuantizedProduct, RefusesWhatItCannotHold) {
  const auto message = [](const QuantizedProduct::Config& product, Projection::Dims dims) {
    try {
      build_for_test<Linear>({.product = product}, dims);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(message({.group = 3}, kCodedDims),
              ::testing::HasSubstr("expected a divisor of the 8 inputs of the weight, got 3"));
  EXPECT_THAT(message({.group = 3}, {.input_dim = 3, .output_dim = 2}),
              ::testing::HasSubstr("expected an even number of inputs for codes of 4 bits, got 3"));
}

}  // namespace
}  // namespace axle
