// Compiling for a target of virtual CPU devices, and executables that outlive their process.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "pjrt/compiler.h"
#include "pjrt/pjrt_runtime.h"
#include "pjrt/plugin/find_plugin.h"
#include "pjrt/saved_executable.h"
#include "testing/environment_change.h"
#include "testing/error_of.h"
#include "testing/plugin_fixture.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

const Mesh kEight{{{"data", 8}}};
const PartitionSpec kByRows{{{"data"}, {}}};
constexpr const char* kLoadThis = "AXLE_TEST_SAVED_EXECUTABLE";

/// Returns a program y = op(x) over eight devices.
Program elementwise(const std::string& op) {
  const std::string sharded =
      "tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"data\"}, {}]>}";
  const Type type{DType::kF32, {16, 4}};
  return {.name = "elementwise",
          .text = fmt::format(
              "module @m attributes {{mhlo.num_partitions = 8 : i32}} {{\n"
              "  sdy.mesh @mesh = <[\"data\"=8]>\n"
              "  func.func public @main(%x: {0}) -> ({0}) {{\n"
              "    %0 = \"stablehlo.{1}\"(%x) : (tensor<16x4xf32>) -> tensor<16x4xf32>\n"
              "    return %0 : tensor<16x4xf32> }} }}",
              sharded, op),
          .inputs = {{"x", type, kByRows}},
          .outputs = {{"y", type, kByRows}},
          .mesh = kEight};
}

HostTensor counting() {
  HostTensor out = HostTensor::zeros({16, 4});
  float next = 0;
  for (float& v : out.values<float>()) v = next += 0.25f;
  return out;
}
HostTensor negative(HostTensor value) {
  for (float& v : value.values<float>()) v = -v;
  return value;
}

HostTensor run_loaded(Runtime& runtime, Executable& executable) {
  const auto x = runtime.make_array(counting(), kByRows, kEight);
  return executable.execute(std::span(&x, 1))[0]->to_host();
}

class CompilerTest : public PluginTest {
 protected:
  CompilerTest() : PluginTest(8) {}
  TempDir dir_;
  std::filesystem::path path_ = dir_.path() / "saved.axle";
};

TEST_F(CompilerTest, ATargetOfVirtualDevicesIsMeasured) {
  const auto compiler = make_compiler(parse_target("cpu:8"));
  EXPECT_EQ(to_text(compiler->target()), "cpu:8");
  EXPECT_EQ(compiler->topology().devices.size(), 8u);
  const auto program = compiler->compile(elementwise("negate"));
  ASSERT_TRUE(program->memory());
  EXPECT_EQ(program->memory()->argument_bytes, 16 * 4 * 4 / 8);
  EXPECT_EQ(program->memory()->output_bytes, 16 * 4 * 4 / 8);
  EXPECT_THAT(program->optimized_program(), HasSubstr("negate"));
  // A program compiled for virtual devices can be run on them.
  EXPECT_NE(dynamic_cast<Executable*>(program.get()), nullptr);
}

TEST_F(CompilerTest, ATargetSmallerThanTheMeshIsRefused) {
  EXPECT_EQ(error_of<DeviceError>(
                [] { make_compiler(parse_target("cpu:4"))->compile(elementwise("negate")); }),
            "mesh: expected at most the 4 devices of 'cpu', got a mesh of 8");
}

TEST_F(CompilerTest, ThePluginOfAnotherPlatformIsRefusedWithAdvice) {
  // The link gives the plugin a second path, because a path is loaded only once, for one platform.
  const auto link = dir_.path() / "named_as_cuda.so";
  std::filesystem::create_symlink(*find_plugin_file(plugin_policy("cpu")), link);
  const EnvironmentChange named("AXLE_PLUGIN_CUDA", link), flags("XLA_FLAGS", {});
  EXPECT_THAT(
      error_of<DeviceError>([] { make_compiler(parse_target("gpu:h100:1x8")); }),
      AllOf(HasSubstr("target gpu:h100:1x8, plugin 'cuda' (" + link.string() + "): "),
            EndsWith("; AXLE_PLUGIN_CUDA must name a plugin for cuda"), Not(HasSubstr("\n"))));
}

TEST_F(CompilerTest, OptionsThatThePluginRefusesAreNamed) {
  const auto compiler = make_compiler(parse_target("cpu:8"));
  const auto error = [&](const std::string& name, const std::string& value) {
    return error_of([&] {
      compiler->compile(elementwise("negate"), {.overrides = {{name, value}}});
    });
  };
  EXPECT_THAT(error("xla_no_such_flag", "1"),
              AllOf(HasSubstr("compiler option xla_no_such_flag=1: expected one that plugin 'cpu' "
                              "takes, got: "),
                    HasSubstr("No such compile option")));
  EXPECT_THAT(error("xla_backend_optimization_level", "banana"),
              HasSubstr("compiler option xla_backend_optimization_level=banana: expected"));
}

TEST_F(CompilerTest, SavedExecutablesRun) {
  const auto program = elementwise("negate");
  const auto compiler = make_compiler(parse_target("cpu:8"));
  save_executable(path_, *compiler->compile(program), program, *compiler);
  EXPECT_EQ(run_loaded(*runtime_, *load_executable(path_, *runtime_, program)),
            negative(counting()));
  EXPECT_EQ(read_saved_header(path_).target, "cpu:8");
  EXPECT_EQ(read_saved_header(path_).processor.size(), 64u);
}

TEST_F(CompilerTest, SavedExecutablesRunInAFreshProcess) {
  // The file holds the code of another program under this one's name, so that the result shows that
  // the code was loaded and not compiled.
  const auto program = elementwise("tanh");
  if (const char* path = std::getenv(kLoadThis)) {
    EXPECT_EQ(run_loaded(*runtime_, *load_executable(path, *runtime_, program)),
              negative(counting()));
    return;
  }
  const auto compiler = make_compiler(parse_target("cpu:8"));
  save_executable(path_, *compiler->compile(elementwise("negate")), program, *compiler);
  const auto self = std::filesystem::read_symlink("/proc/self/exe").string();
  const auto output = dir_.path() / "output.txt";
  const int status = std::system(fmt::format("{}='{}' '{}' --gtest_filter={}.{} > '{}' 2>&1",
                                             kLoadThis, path_.string(), self, "CompilerTest",
                                             "SavedExecutablesRunInAFreshProcess", output.string())
                                     .c_str());
  std::ifstream file(output);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(status, 0) << text;
  EXPECT_THAT(text, HasSubstr("[  PASSED  ] 1 test"));
}

TEST_F(CompilerTest, ExecutableForAnotherMeshIsRefused) {
  const auto program = elementwise("negate");
  const auto compiler = make_compiler(parse_target("cpu:8"));
  save_executable(path_, *compiler->compile(program), program, *compiler);
  Program other = program;
  other.mesh = {{{"data", 4}, {"model", 2}}};
  EXPECT_EQ(error_of([&] { load_executable(path_, *runtime_, other); }),
            path_.string() + ": expected mesh 'data=4,model=2', got an executable for 'data=8'");
  const auto small = make_runtime({.num_devices = 4});
  EXPECT_EQ(error_of<DeviceError>([&] { load_executable(path_, *small, program); }),
            "mesh: expected at most the 4 devices of 'cpu', got a mesh of 8");
}

TEST(VirtualDevices, AreLimitedToThoseOfAMachine) {
  EXPECT_EQ(error_of<ConfigError>([&] { make_compiler(parse_target("cpu:1000000")); }),
            "cpu:1000000: expected 1 to 1024 devices of one machine, got 1000000");
}

}  // namespace
}  // namespace axle
