// Products with a weight that is kept as codes: equal to products with the decoded weight.
#include "layers/products/quantized_product.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "ir/text/text_form.h"
#include "layers/attention/qkv/head_projection.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/dense/linear.h"
#include "layers/experts/moe.h"
#include "layers/models/embedding.h"
#include "layers/products/lora_product.h"
#include "testing/layer_laws.h"

namespace axle {
namespace {

using testing::build_for_test;
using testing::normal_values;
using testing::TestLayer;

constexpr Projection::Dims kCodedDims{.input_dim = 8, .output_dim = 5};
const QuantizedProduct::Config kGroupsOfFour{.group = 4};

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

// Each way to keep codes, with groups of four inputs, or of 16 where blocks share scales.
const std::vector<CodeScheme> kSchemes = [] {
  std::vector<CodeScheme> out;
  for (const CodeBits bits : {CodeBits::kFour, CodeBits::kFive, CodeBits::kSix, CodeBits::kEight}) {
    for (const ScaleForm scales : {ScaleForm::kF16, ScaleForm::kF32, ScaleForm::kI8}) {
      for (const OffsetForm offsets : {OffsetForm::kOwn, OffsetForm::kMiddle})
        out.push_back({bits, scales == ScaleForm::kI8 ? 16 : 4, scales, offsets});
    }
  }
  return out;
}();

class CodedWeights : public ::testing::TestWithParam<CodeScheme> {
 protected:
  int64_t inputs() const { return GetParam().scales == ScaleForm::kI8 ? 512 : 8; }
  CodeForm form() const { return {.weight_dims = {inputs(), 5}, .scheme = GetParam()}; }
};

// What a code of 8 neighbours is, by the layout.
int code_of(const HostTensor& codes, int64_t bits, int64_t input, int64_t output) {
  const auto byte = [&](int64_t row) { return static_cast<int>(codes.at(row * 5 + output)); };
  if (bits == 8) return byte(input);
  if (bits == 4) return byte(input / 2) >> (input % 2 * 4) & 15;
  const int64_t run = input / 8 * bits, place = input % 8, high = bits - 4;
  const int low = byte(run + place / 2) >> (place % 2 * 4) & 15;
  const int64_t at = place * high;
  return low | (byte(run + 4 + at / 8) >> (at % 8) & ((1 << high) - 1)) << 4;
}

TEST_P(CodedWeights, DecodeToTheNumbersOfTheirParts) {
  const CodeScheme scheme = GetParam();
  const HostTensor weight = normal_values({inputs(), 5}, 3);
  std::vector<std::string> names;
  const auto coded = eval(
      [&](const Values& v) {
        Values out;
        const CodedWeight parts = form().encode(v[0]);
        for (const auto& [name, part] : parts) {
          names.push_back(name);
          out.push_back(part);
        }
        out.push_back(form().decode(parts));
        return out;
      },
      {weight});
  std::map<std::string, HostTensor> parts;
  for (size_t i = 0; i < names.size(); ++i) parts.emplace(names[i], coded[i]);
  for (const CodePart& part : parts_of(scheme)) {
    const int64_t rows =
        part.name == kCodes ? inputs() * scheme.num_bits() / 8 : inputs() / part.numbers;
    EXPECT_EQ(parts.at(std::string(part.name)).type(), (Type{part.dtype, {rows, 5}}));
  }
  EXPECT_EQ(parts.size(), parts_of(scheme).size());
  const auto number = [&](const char* own, const std::string& block, int64_t i, int64_t o) {
    const double out = parts.at(own).at(i / scheme.group * 5 + o);
    return parts.contains(block) ? out * parts.at(block).at(i / kScaleBlock * 5 + o) : out;
  };
  double worst = 0;
  for (int64_t i = 0; i < inputs(); ++i) {
    for (int64_t o = 0; o < 5; ++o) {
      const double scale = number("scales", "block_scales", i, o);
      const double offset =
          parts.contains("offsets") ? number("offsets", "block_offsets", i, o) : 0;
      const double code =
          code_of(parts.at("codes"), scheme.num_bits(), i, o) - static_cast<double>(scheme.zero());
      const double got = coded.back().at(i * 5 + o);
      ASSERT_NEAR(got, scale * code + offset, 1e-6) << i << " " << o;
      worst = std::max(worst, std::abs(got - weight.at(i * 5 + o)) / scale);
    }
  }
  // To the nearest code, up to the rounding of scales and offsets themselves.
  EXPECT_LE(worst, scheme.scales == ScaleForm::kI8   ? 4
                   : scheme.bits == CodeBits::kEight ? 0.7
                                                     : 0.52);
  EXPECT_GT(worst, 0.05);
}

std::string name_of(const CodeScheme& scheme) {
  return fmt::format("{}bits_{}_{}", scheme.num_bits(), to_text(scheme.scales),
                     to_text(scheme.offsets));
}
INSTANTIATE_TEST_SUITE_P(All, CodedWeights, ::testing::ValuesIn(kSchemes),
                         [](const auto& at) { return name_of(at.param); });

TEST(CodedWeight, GroupOfEqualNumbersIsExact) {
  const CodeForm form{.weight_dims = {4, 1}, .scheme = {.group = 4}};
  const auto out = eval([&](const Values& v) { return Values{form.decode(form.encode(v[0]))}; },
                        {HostTensor({4, 1}, {0.5f, 0.5f, 0.5f, 0.5f})});
  EXPECT_EQ(out[0], HostTensor({4, 1}, {0.5f, 0.5f, 0.5f, 0.5f}));
}

// The layer returns the bits of one with a plain product and the decoded weight, and so do the
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

TEST(QuantizedProduct, ParametersAreTheCodesOfTheWeight) {
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

TEST(QuantizedProduct, EqualsTheProductWithTheDecodedWeight) {
  expect_as_decoded<Linear>(kCodedLinear, kPlainLinear, kCodedDims);
  expect_as_decoded<Linear>(
      {.bias = false, .product = QuantizedProduct::Config{.bits = CodeBits::kEight, .group = 2}},
      kPlainLinear, kCodedDims);
  for (const CodeScheme& scheme : kSchemes) {
    SCOPED_TRACE(name_of(scheme));
    const int64_t inputs = scheme.scales == ScaleForm::kI8 ? 256 : 8;
    expect_as_decoded<Linear>({.bias = false, .product = QuantizedProduct::config_of(scheme)},
                              kPlainLinear, {.input_dim = inputs, .output_dim = 3});
  }
  expect_as_decoded<FusedQKV>({.product = kGroupsOfFour}, {},
                              {.model_dim = 8, .num_heads = 2, .num_kv_heads = 2, .head_dim = 3});
  expect_as_decoded<HeadOutputLinear>({.product = kGroupsOfFour}, {},
                                      {.model_dim = 6, .num_heads = 2, .head_dim = 4});
}

template <class L>
int64_t count_loops(TestLayer<L>& layer, const Tree<HostTensor>& inputs) {
  const testing::LayerFunction fn = layer.function(inputs, {.training = true});
  std::vector<Type> types;
  for (const HostTensor& argument : fn.arguments()) types.push_back(argument.type());
  return count_ops(*trace([&](const Values& v) { return fn(v); }, types), "scan");
}

// The gradient of x is a sum over parts, which rounds otherwise.
template <class L>
void expect_in_parts(const typename L::Config& whole, const typename L::Config& in_parts,
                     const typename L::Role::Dims& dims) {
  auto one = build_for_test<L>(whole, dims), other = build_for_test<L>(in_parts, dims);
  other.set_all(one.parameters());
  const Tree<HostTensor> inputs = testing::LawInputs<typename L::Role>::make(dims);
  EXPECT_EQ(count_loops(one, inputs), 0);
  EXPECT_EQ(count_loops(other, inputs), 1);
  const testing::CallOptions options{.training = true};
  const LayerGradients got = gradients_by_inputs(other.function(inputs, options)),
                       expected = gradients_by_inputs(one.function(inputs, options));
  EXPECT_EQ(got.results, expected.results);
  ASSERT_EQ(got.gradients.size(), expected.gradients.size());
  for (size_t i = 0; i < got.gradients.size(); ++i)
    EXPECT_TRUE(testing::all_close(got.gradients[i], expected.gradients[i], 1e-5));
}

TEST(QuantizedProduct, LargeWeightsAreMultipliedInParts) {
  QuantizedProduct::Config parts = kGroupsOfFour;
  parts.decoded_at_once = 16;
  expect_in_parts<Linear>(kCodedLinear, {.bias = false, .product = parts},
                          {.input_dim = 8, .output_dim = 6});
  expect_in_parts<HeadInputLinear>({.product = kGroupsOfFour}, {.product = parts},
                                   {.model_dim = 8, .num_heads = 4, .head_dim = 3});
  expect_in_parts<HeadOutputLinear>({.product = kGroupsOfFour}, {.product = parts},
                                    {.model_dim = 6, .num_heads = 2, .head_dim = 4});
}

// Rows are the decoded table's, and so are the logits.
TEST(QuantizedProduct, TablesAreLookedUpAndMultiplied) {
  const TokenEmbedding::Dims dims{.vocab_size = 6, .model_dim = 8};
  for (const int64_t most : {1000, 16}) {
    for (const OffsetForm offsets : {OffsetForm::kOwn, OffsetForm::kMiddle}) {
      auto coded = build_for_test<Embedding>(
          {.product =
               QuantizedProduct::Config{.group = 4, .offsets = offsets, .decoded_at_once = most}},
          dims);
      auto plain = build_for_test<Embedding>({}, dims);
      Tree<HostTensor> parameters = coded.parameters();
      const auto products = quantized_products(coded.layer());
      ASSERT_EQ(products.size(), 1u);
      EXPECT_TRUE(products[0]->is_table());
      products[0]->decode_in(parameters);
      plain.set_all(parameters);
      const HostTensor ids({2, 3}, {int32_t{0}, 5, 2, 3, 3, 9}), x = normal_values({2, 3, 8}, 4);
      EXPECT_EQ(coded.run(ids), plain.run(ids));
      const testing::CallOptions attend{.method = "attend"};
      EXPECT_EQ(coded.call({{"x", x}}, attend).outputs, plain.call({{"x", x}}, attend).outputs);
    }
  }
}

TEST(QuantizedProduct, WorksUnderAdapters) {
  expect_as_decoded<Linear>(
      {.bias = false, .product = LoraProduct::Config{.rank = 2, .inner = kGroupsOfFour}},
      {.bias = false, .product = LoraProduct::Config{.rank = 2}}, kCodedDims);
}

TEST(QuantizedProduct, ExpertsHaveSeparateCodes) {
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
              ::testing::HasSubstr("expected a multiple of 2 inputs for codes of 4 bits, got 3"));
}

}  // namespace
}  // namespace axle
