// Compiling for absent TPUs and GPUs with the real plugins. Each test is skipped if its plugin is
// not found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pjrt/compiler.h"
#include "pjrt/pjrt_runtime.h"
#include "pjrt/plugin/find_plugin.h"
#include "pjrt/plugin/plugin.h"
#include "pjrt/saved_executable.h"
#include "targets/device_order.h"
#include "testing/error_of.h"
#include "testing/needs_plugin.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Returns tanh(x w) v over 2 x 2 x 2 devices, with the weights sharded over fsdp and model.
Program two_layers() {
  const Type x{DType::kF32, {1024, 64}}, w{DType::kF32, {64, 128}}, v{DType::kF32, {128, 64}};
  const PartitionSpec rows{{{"data", "fsdp"}, {}}};
  return {
      .name = "two_layers",
      .text = R"(module @m attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["data"=2, "fsdp"=2, "model"=2]>
  func.func public @main(%x: tensor<1024x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data", "fsdp"}, {}]>},
                         %w: tensor<64x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"model"}]>},
                         %v: tensor<128x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {"fsdp"}]>})
      -> (tensor<1024x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data", "fsdp"}, {}]>}) {
    %0 = "stablehlo.dot_general"(%x, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1],
        rhs_contracting_dimensions = [0]>}> : (tensor<1024x64xf32>, tensor<64x128xf32>) -> tensor<1024x128xf32>
    %1 = "stablehlo.tanh"(%0) : (tensor<1024x128xf32>) -> tensor<1024x128xf32>
    %2 = "stablehlo.dot_general"(%1, %v) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1],
        rhs_contracting_dimensions = [0]>}> : (tensor<1024x128xf32>, tensor<128x64xf32>) -> tensor<1024x64xf32>
    return %2 : tensor<1024x64xf32>
  }
})",
      .inputs = {{"x", x, rows},
                 {"w", w, {{{"fsdp"}, {"model"}}}},
                 {"v", v, {{{"model"}, {"fsdp"}}}}},
      .outputs = {{"y", x, rows}},
      .mesh = {{{"data", 2}, {"fsdp", 2}, {"model", 2}}}};
}
/// Bytes per device: x, w and v are each divided into 4 shards.
constexpr int64_t kArgumentBytes = (1024 * 64 + 64 * 128 + 128 * 64) * 4 / 4;
constexpr int64_t kOutputBytes = 1024 * 64 * 4 / 4;

/// Returns y = x x with an x of 256 GiB, which is too large for eight chips.
Program too_large() {
  const Type x{DType::kF32, {262144, 262144}};
  const PartitionSpec rows{{{"data"}, {}}};
  return {
      .name = "too_large",
      .text = R"(module @m attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["data"=8]>
  func.func public @main(%x: tensor<262144x262144xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>})
      -> (tensor<262144x262144xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) {
    %0 = "stablehlo.dot_general"(%x, %x) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1],
        rhs_contracting_dimensions = [0]>}> : (tensor<262144x262144xf32>, tensor<262144x262144xf32>) -> tensor<262144x262144xf32>
    return %0 : tensor<262144x262144xf32>
  }
})",
      .inputs = {{"x", x, rows}},
      .outputs = {{"y", x, rows}},
      .mesh = {{{"data", 8}}}};
}

void expect_compiles(const std::string& target) {
  SCOPED_TRACE(target);
  const auto compiler = make_compiler(parse_target(target));
  const auto program = compiler->compile(two_layers());
  ASSERT_TRUE(program->memory());
  const auto memory = *program->memory();
  // TPU layouts may be padded.
  EXPECT_GE(memory.argument_bytes, kArgumentBytes);
  EXPECT_LT(memory.argument_bytes, 2 * kArgumentBytes);
  EXPECT_EQ(memory.output_bytes, kOutputBytes);
  EXPECT_GE(memory.temporary_bytes, 0);
  EXPECT_GE(memory.peak_bytes, kArgumentBytes + kOutputBytes);
  EXPECT_THAT(program->optimized_program(),
              AllOf(HasSubstr("all-reduce"), HasSubstr("all-gather")));
  EXPECT_GT(program->serialize().size(), 1000u);
  EXPECT_EQ(dynamic_cast<Executable*>(program.get()), nullptr);
}

class TpuCompiler : public ::testing::TestWithParam<const char*> {};

TEST_P(TpuCompiler, CompilesWithEverySettingOfTheTable) {
  AXLE_NEEDS_PLUGIN("tpu");
  expect_compiles(GetParam());
}
// Together these targets use every TPU row of compiler_settings(), including those for several
// slices.
INSTANTIATE_TEST_SUITE_P(Targets, TpuCompiler,
                         ::testing::Values("tpu:v5e:2x4", "tpu:v5p:2x2x2", "tpu:v6e:2x4",
                                           "tpu:v5p:2x2x1:2"));

TEST(TpuCompilerTopology, DescribesTheWiringOfTheChips) {
  AXLE_NEEDS_PLUGIN("tpu");
  const auto compiler = make_compiler(parse_target("tpu:v5p:2x2x2"));
  const auto& topology = compiler->topology();
  ASSERT_EQ(topology.devices.size(), 8u);
  EXPECT_EQ(topology.devices[7].coords, (std::vector<int64_t>{1, 1, 1}));
  EXPECT_EQ(topology.devices[7].process, 1);  // four chips per host
  EXPECT_GT(topology.devices[0].memory_bytes.value_or(0), int64_t{90} << 30);
  EXPECT_FALSE(topology.platform_version.empty());
  // Each axis takes a whole dim of the torus, so the ids are in order: the last axis is along x.
  EXPECT_EQ(device_ids(topology, two_layers().mesh),
            (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  const auto& slices = make_compiler(parse_target("tpu:v5p:2x2x1:2"))->topology();
  ASSERT_EQ(slices.devices.size(), 8u);
  EXPECT_EQ(slices.devices[3].slice, 0);
  EXPECT_EQ(slices.devices[4].slice, 1);
}

TEST(TpuCompilerFigures, CountsFlops) {
  AXLE_NEEDS_PLUGIN("tpu");
  const auto cost =
      make_compiler(parse_target("tpu:v5p:2x2x2"))->compile(two_layers())->cost_analysis();
  // Two products of 1024 x 64 x 128, 2 FLOPs per multiply-add, divided among 8 devices. Other FLOPs
  // are few.
  EXPECT_NEAR(cost.at("flops"), 2 * 2 * 1024 * 64 * 128 / 8, 5e5);
}

TEST(TpuCompilerErrors, AreOneClearLine) {
  AXLE_NEEDS_PLUGIN("tpu");
  const auto compiler = make_compiler(parse_target("tpu:v5e:2x4"));
  EXPECT_THAT(error_of([&] {
                compiler->compile(two_layers(), {.overrides = {{"xla_no_such_flag", "1"}}});
              }),
              AllOf(HasSubstr("compiler option xla_no_such_flag=1: expected one that plugin 'tpu' "
                              "takes, got: No such compile option"),
                    Not(HasSubstr("\n"))));
  Target odd = compiler->target();
  odd.shape = {3, 5};
  EXPECT_THAT(error_of<DeviceError>([&] { make_compiler(odd); }),
              AllOf(HasSubstr("INVALID_ARGUMENT: "), HasSubstr("v5e:3x5"), Not(HasSubstr("\n"))));
  const Thrown error = thrown_by<DeviceError>([&] { compiler->compile(too_large()); });
  EXPECT_EQ(error.code, ExitCode::kDoesNotFit);
  EXPECT_THAT(error.message, AllOf(HasSubstr("program 'too_large': RESOURCE_EXHAUSTED: "),
                                   HasSubstr("Ran out of memory"), Not(HasSubstr("\n"))));
}

TEST(CudaCompiler, CompilesWithEverySettingOfTheTable) {
  AXLE_NEEDS_PLUGIN("cuda");
  for (const char* target : {"gpu:h100:1x8", "gpu:a100:2x4"}) expect_compiles(target);
}

TEST(CudaCompiler, DescribesTheNodes) {
  AXLE_NEEDS_PLUGIN("cuda");
  const auto compiler = make_compiler(parse_target("gpu:h100:2x8"));
  const auto& topology = compiler->topology();
  ASSERT_EQ(topology.devices.size(), 16u);
  EXPECT_EQ(topology.devices[7].process, 0);
  EXPECT_EQ(topology.devices[8].process, 1);
  // The bytes that the plugin's clients may use.
  EXPECT_NEAR(static_cast<double>(topology.devices[0].memory_bytes.value()),
              plugin_policy("cuda").memory.fraction *
                  static_cast<double>(compiler->target().accelerator.memory_bytes),
              1);
  EXPECT_THAT(compiler->compile(two_layers())->cost_analysis(), ::testing::IsEmpty());
}

TEST(CudaCompiler, ErrorsAreOneClearLine) {
  AXLE_NEEDS_PLUGIN("cuda");
  const auto compiler = make_compiler(parse_target("gpu:h100:1x8"));
  EXPECT_THAT(
      error_of([&] {
        compiler->compile(two_layers(), {.overrides = {{"xla_gpu_autotune_level", "banana"}}});
      }),
      AllOf(HasSubstr("compiler option xla_gpu_autotune_level=banana: expected one that "
                      "plugin 'cuda' takes"),
            Not(HasSubstr("\n"))));
}

TEST(OtherPlatforms, APluginOfAnotherPlatformIsRefusedInOneLine) {
  AXLE_NEEDS_PLUGIN("tpu");
  AXLE_NEEDS_PLUGIN("cuda");
  TempDir dir;
  const auto misnamed = [&](const std::string& platform, const std::string& target) {
    const auto link = dir.path() / ("libtpu_or_not_" + platform + ".so");
    std::filesystem::create_symlink(*find_plugin_file(plugin_policy(platform)), link);
    return error_of<DeviceError>([&] {
      const auto parsed = parse_target(target);
      make_compiler(parsed, load_plugin(parsed.accelerator.platform, link));
    });
  };
  EXPECT_THAT(misnamed("cuda", "tpu:v5p:2x2x2"),
              AllOf(HasSubstr("target tpu:v5p:2x2x2, plugin 'tpu' ("), HasSubstr("_cuda.so): "),
                    Not(HasSubstr("\n"))));
  EXPECT_THAT(misnamed("tpu", "gpu:h100:1x8"),
              AllOf(HasSubstr("target gpu:h100:1x8, plugin 'cuda' ("), HasSubstr("_tpu.so): "),
                    Not(HasSubstr("\n"))));
}

TEST(OtherPlatforms, AnExecutableForTpusIsRefusedOnCpu) {
  AXLE_NEEDS_PLUGIN("tpu");
  AXLE_NEEDS_PLUGIN("cpu");
  TempDir dir;
  const auto path = dir.path() / "tpu.axle";
  const auto program = two_layers();
  const auto compiler = make_compiler(parse_target("tpu:v5e:2x4"));
  save_executable(path, *compiler->compile(program), program, *compiler);
  EXPECT_EQ(read_saved_header(path).target, "tpu:v5e:2x4");
  const auto runtime = make_runtime({.num_devices = 8});
  EXPECT_THAT(error_of<DeviceError>([&] { load_executable(path, *runtime, program); }),
              AllOf(HasSubstr("expected an executable of plugin 'cpu', PJRT API 0."),
                    HasSubstr("got one of plugin 'tpu', PJRT API 0.")));
}

}  // namespace
}  // namespace axle
