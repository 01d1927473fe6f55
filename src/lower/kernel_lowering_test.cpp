// Lowering of ops that have several forms, for targets without a plugin.
#include <gmock/gmock.h>

#include "lower/stablehlo.h"
#include "ops/kernels/kernel.h"
#include "testing/collective_samples.h"
#include "transform/kernel/kernels.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kMesh;
using ::testing::Not;

LoweringTarget cpu() { return {.platform = "cpu", .no_host_kernels = ""}; }

Program gate(DType dtype = DType::kF32, const Mesh& mesh = {}, const KernelOptions& options = {}) {
  const Type type{dtype, {8, 16}};
  return trace_program(
      "gate",
      [&](const Values& x) {
        const NameScope scope("decoder/mlp");
        return Values{gated_silu(x[0], x[1], options)};
      },
      {{"gate", type}, {"x", type}}, {{"y", type}}, mesh);
}

TEST(KernelLowering, FallbackIsLoweredWithoutATarget) {
  const Program p = gate();
  EXPECT_THAT(p.text, AllOf(HasSubstr("logistic"), Not(HasSubstr("custom_call"))));
  EXPECT_TRUE(p.depends_on_target);
  EXPECT_TRUE(p.choices.empty());
}

TEST(KernelLowering, ATargetWithAnImplementationGetsACustomCall) {
  const Program p = lowered_for(gate(), cpu());
  EXPECT_THAT(p.text, AllOf(HasSubstr("api_version = 4 : i32, backend_config = {axle_kernel = "
                                      "\"gated_silu\", axle_version = 1 : i64}, call_target_name = "
                                      "\"axle_host_kernel\""),
                            Not(HasSubstr("logistic"))));
  EXPECT_FALSE(p.depends_on_target);
  EXPECT_THAT(p.choices,
              ElementsAre(LoweringChoice{"kernel gated_silu", "decoder/mlp", "host kernel 1", ""}));
  EXPECT_EQ(to_text(p.choices[0]), "kernel gated_silu of decoder/mlp: host kernel 1");
}

TEST(KernelLowering, FallbackReportsItsReason) {
  const auto choice = [](const Program& p, const LoweringTarget& target) {
    const Program lowered = lowered_for(p, target);
    EXPECT_THAT(lowered.text, Not(HasSubstr("custom_call")));
    return to_text(lowered.choices.at(0));
  };
  EXPECT_EQ(choice(gate(), {.platform = "tpu"}),
            "kernel gated_silu of decoder/mlp: fallback, since it has no implementation for tpu "
            "(only for cpu)");
  EXPECT_EQ(
      choice(gate(DType::kF16), cpu()),
      "kernel gated_silu of decoder/mlp: fallback, since host kernel 1: expected f32 or bf16, "
      "got f16[8, 16]");
  EXPECT_EQ(choice(gate(DType::kF32, kMesh), cpu()),
            "kernel gated_silu of decoder/mlp: fallback, since the work is divided over devices "
            "here, but KernelOptions::specs is not given");
}

TEST(KernelLowering, ADividedKernelRunsInAManualRegion) {
  const PartitionSpec spec{{"data", "model"}};
  const Program p = lowered_for(gate(DType::kF32, kMesh, {.specs = {spec, spec}}), cpu());
  EXPECT_THAT(p.text, AllOf(HasSubstr("sdy.manual_computation"),
                            HasSubstr("manual_axes={\"data\", \"model\"}"),
                            HasSubstr(": (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>")));
}

TEST(KernelLowering, ProgramWithoutKernelsDoesNotDependOnTheTarget) {
  const Type type{DType::kF32, {2}};
  const Program p = trace_program("sum", [](const Values& x) { return Values{x[0] + x[0]}; },
                                  {{"x", type}}, {{"y", type}});
  EXPECT_FALSE(p.depends_on_target);
  EXPECT_EQ(lowered_for(p, cpu()).text, p.text);
}

TEST(RaggedLowering, MaskedFormIsUsedIfTheCompilerLacksRaggedExchange) {
  const Program p = trace_program(
      "rows",
      [](const Values& x) {
        return shard_map([](const Values& part) { return Values{testing::sent_rows(part[0])}; }, x,
                         testing::over({{{"model"}}}, {{{"model"}}}));
      },
      {{"x", {DType::kF32, {8, 4}}}}, {{"y", {DType::kF32, {12, 4}}}}, kMesh);
  EXPECT_THAT(p.text, AllOf(HasSubstr("stablehlo.all_to_all"), Not(HasSubstr("ragged"))));
  LoweringTarget target{.platform = "tpu"};
  target.lacks = [](const std::string&) { return std::optional<std::string>(); };
  const Program native = lowered_for(p, target);
  EXPECT_THAT(native.text, AllOf(HasSubstr("replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : "
                                           "tensor<2x4xi64>}, call_target_name = "
                                           "\"ragged_all_to_all\""),
                                 Not(HasSubstr("stablehlo.all_to_all"))));
  target.lacks = [](const std::string& op) { return std::optional(op + " is unknown"); };
  const Program masked = lowered_for(p, target);
  EXPECT_THAT(masked.text, Not(HasSubstr("custom_call")));
  EXPECT_EQ(to_text(masked.choices.at(0)),
            "ragged_all_to_all: masked all_to_all, since ragged_all_to_all is unknown");
}

// What all devices of a group send has more rows than an i32 counts.
TEST(RaggedLowering, RaggedExchangeHasSeparateDimsOfDevicesAndRows) {
  constexpr int64_t kDevices = 64, kMany = int64_t{1} << 26, kFew = int64_t{1} << 20;
  const Mesh mesh{{{"expert", kDevices}}};
  const auto text = [&](int64_t rows_of_operand, int64_t rows_of_output) {
    const auto body = [](const Values& p) {
      const Tensor none = zeros({kDevices}, DType::kI32);
      return Values{ragged_all_to_all(p[0], p[1], {none, none, none, none}, {"expert"})};
    };
    const Shape sent{kDevices * rows_of_operand, 4}, got{kDevices * rows_of_output, 4};
    return trace_program(
               "rows",
               [&](const Values& x) {
                 const PartitionSpec rows{{"expert"}};
                 return shard_map(body, x,
                                  {.mesh = mesh, .in_specs = {rows, rows}, .out_specs = {rows}});
               },
               {{"x", {DType::kF32, sent}}, {"into", {DType::kF32, got}}},
               {{"y", {DType::kF32, got}}}, mesh)
        .text;
  };
  EXPECT_THAT(text(kMany, kMany), HasSubstr("tensor<64x67108864x4xf32>"));
  // A slice lies within both tensors, so that the smaller one bounds it.
  for (const std::string& bounded : {text(kMany, kFew), text(kFew, kMany)})
    EXPECT_THAT(bounded, AllOf(HasSubstr("tensor<64x1048576x4xf32>"),
                               Not(HasSubstr("tensor<64x67108864x4xf32>"))));
}

}  // namespace
}  // namespace axle
