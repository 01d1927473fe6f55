#include "lower/stablehlo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/annotate.h"
#include "ops/elementwise/elementwise.h"
#include "ops/products/products.h"
#include "transform/trace.h"

namespace axle {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Program program_of(const TensorFunction& fn, std::vector<Type> types, const Mesh& mesh = {},
                   std::vector<PartitionSpec> shardings = {}) {
  const auto graph = trace(fn, types);
  std::vector<ProgramValue> inputs, outputs;
  for (size_t i = 0; i < types.size(); ++i) {
    inputs.push_back(
        {"x" + std::to_string(i), types[i], i < shardings.size() ? shardings[i] : PartitionSpec{}});
  }
  for (const Tensor& r : graph->results()) outputs.push_back({"y", r.type()});
  return lower(graph, "test", inputs, outputs, mesh);
}

TEST(StableHlo, GenericFormWithLayerPaths) {
  const Program p = program_of(
      [](const Values& x) {
        const NameScope scope("decoder/layers");
        return Values{x[0] + x[0] * 2.0};
      },
      {{DType::kF32, {2, 3}}});
  EXPECT_EQ(
      p.text,
      "module @test attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {\n"
      "  func.func public @main(%arg0: tensor<2x3xf32>) -> (tensor<2x3xf32>) {\n"
      "    %0 = \"stablehlo.constant\"() <{value = dense<0x40000000> : tensor<2x3xf32>}> : () -> "
      "tensor<2x3xf32> loc(\"decoder/layers/full\")\n"
      "    %1 = \"stablehlo.multiply\"(%arg0, %0) : (tensor<2x3xf32>, tensor<2x3xf32>) -> "
      "tensor<2x3xf32> loc(\"decoder/layers/mul\")\n"
      "    %2 = \"stablehlo.add\"(%arg0, %1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> "
      "tensor<2x3xf32> loc(\"decoder/layers/add\")\n"
      "    \"func.return\"(%2) : (tensor<2x3xf32>) -> ()\n"
      "  }\n"
      "}\n");
  EXPECT_THAT(without_locations(p.text), Not(HasSubstr("loc(")));
  EXPECT_THAT(without_locations(p.text),
              HasSubstr("-> tensor<2x3xf32>\n    %2 = \"stablehlo.add\"(%arg0, %1) : "
                        "(tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>\n"));
}

TEST(StableHlo, ArgumentsAreNotAliasedWithoutDonation) {
  Program p = program_of([](const Values& x) { return Values{x[0] + 1.0}; }, {{DType::kF32, {4}}});
  const std::string text = p.text;
  p.inputs[0].donated_to = 0;
  p = lower(p.graph, p.name, p.inputs, p.outputs);
  EXPECT_THAT(p.text, HasSubstr("tf.aliasing_output"));
  p = without_donation(std::move(p));
  EXPECT_EQ(p.text, text);
  EXPECT_EQ(p.inputs[0].donated_to, -1);
}

TEST(StableHlo, EqualConstantsAreWrittenOnce) {
  const Program p = program_of([](const Values& x) { return Values{(x[0] + 1.0) * (x[0] - 1.0)}; },
                               {{DType::kF32, {4}}});
  const size_t first = p.text.find("stablehlo.constant");
  EXPECT_NE(first, std::string::npos);
  EXPECT_EQ(p.text.find("stablehlo.constant", first + 1), std::string::npos) << p.text;
}

TEST(StableHlo, MeshesAndShardingsAreShardy) {
  const Mesh mesh{{{"data", 2}, {"model", 2}, {"seq", 1}}};
  const Program p = program_of(
      [](const Values& x) {
        return Values{sharding_constraint(dot(x[0], x[1]), {{"data", "model"}})};
      },
      {{DType::kF32, {4, 8}}, {DType::kF32, {8, 6}}}, mesh,
      {{{{"data", "fsdp"}}}, {{"seq", "model"}}});
  EXPECT_THAT(p.text, HasSubstr("mhlo.num_partitions = 4 : i32"));
  EXPECT_THAT(p.text, HasSubstr("sdy.mesh @mesh = <[\"data\"=2, \"model\"=2]>"));
  EXPECT_THAT(
      p.text,
      HasSubstr("%arg0: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"data\"}, {}]>}"));
  EXPECT_THAT(
      p.text,
      HasSubstr("%arg1: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {\"model\"}]>}"));
  EXPECT_THAT(
      p.text,
      HasSubstr("sdy.sharding_constraint %0 <@mesh, [{\"data\"}, {\"model\"}]> : tensor<4x6xf32>"));
}

}  // namespace
}  // namespace axle
