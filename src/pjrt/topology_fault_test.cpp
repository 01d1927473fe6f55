// The topology compiler with a plugin that fails on demand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pjrt/abi/client.h"
#include "pjrt/abi/executable.h"
#include "pjrt/compiler.h"
#include "pjrt/pjrt_runtime.h"
#include "testing/environment_change.h"
#include "testing/error_of.h"
#include "testing/loaded_fake.h"

namespace axle {
namespace {

using ::testing::EndsWith;
using testing::Fake;
using testing::fake_target;
using ::testing::HasSubstr;

Program topology_copying(const Mesh& mesh = {{{"data", 4}}}) {
  return testing::copying_program({DType::kF32, {4, 3}}, mesh);
}

std::string compiler_error(Fake& fake, const Target& target) {
  return error_of<DeviceError>([&] { make_compiler(target, fake.load()); });
}

TEST(TopologyFault, DescribesTheTarget) {
  Fake fake;
  const auto compiler = make_compiler(fake_target(2, 2), fake.load());
  const auto& topology = compiler->topology();
  EXPECT_EQ(topology.platform, "fake");
  EXPECT_EQ(topology.platform_version, "fake 1");
  ASSERT_EQ(topology.devices.size(), 4u);
  // The devices are sorted by id, whatever order the plugin lists them in.
  const auto& last = topology.devices[3];
  EXPECT_EQ(last.id, 2001);
  EXPECT_EQ(last.kind, "fake chip");
  EXPECT_EQ(last.process, 1);
  EXPECT_EQ(last.slice, 1);
  EXPECT_EQ(last.coords, (std::vector<int64_t>{1, 0, 0}));
  EXPECT_EQ(topology.devices[0].id, 1000);
  EXPECT_EQ(make_compiler(fake_target(2), fake.load())->topology().devices[1].id, 11);
}

TEST(TopologyFault, ProgramsOutliveTheirCompiler) {
  Fake fake;
  {
    auto compiler = make_compiler(fake_target(4), fake.load());
    const auto program = compiler->compile(topology_copying());
    compiler.reset();
    EXPECT_EQ(program->memory()->temporary_bytes, 77);
    EXPECT_EQ(program->memory()->host_bytes, 5);
    EXPECT_EQ(program->optimized_program(), "outputs=1");
    EXPECT_EQ(program->serialize(), "fake executable: outputs=1");
    EXPECT_EQ(program->cost_analysis(), (std::map<std::string, double>{{"flops", 12.5}}));
    EXPECT_EQ(dynamic_cast<Executable*>(program.get()), nullptr);
  }
  EXPECT_EQ(fake->live_objects, 0);
}

TEST(TopologyFault, OptionsOfTheAcceleratorReachThePlugin) {
  Fake fake;
  Target target = fake_target(4);
  target.accelerator.topology_options = {{"color", "blue"}};
  EXPECT_TRUE(make_compiler(target, fake.load()));
  target.accelerator.topology_options = {{"smell", "none"}};
  EXPECT_THAT(compiler_error(fake, target),
              HasSubstr("INVALID_ARGUMENT: no such topology option: 'smell'"));
  EXPECT_EQ(fake->live_objects, 0);
}

TEST(TopologyFault, AcceleratorDescriptionsWorkOnlyForGpus) {
  Fake fake;
  Target target = fake_target(4);
  target.accelerator.description = "cores: 132";
  EXPECT_THAT(compiler_error(fake, target), HasSubstr("no such topology: 'fake'"));
}

TEST(TopologyFault, UnknownTopologiesAreNamed) {
  Fake fake;
  Target target = fake_target(4);
  target.accelerator.name = "other";
  const auto message = compiler_error(fake, target);
  EXPECT_THAT(message, HasSubstr("plugin 'fake' (" + fake.load().path().string() + "): "));
  EXPECT_THAT(message, HasSubstr("INVALID_ARGUMENT: no such topology: 'other:4'"));
}

TEST(TopologyFault, APluginOfAnotherPlatformIsRefused) {
  Fake fake;
  fake->platform = "tpu";
  EXPECT_THAT(compiler_error(fake, fake_target(4)),
              HasSubstr("expected a plugin of platform 'fake', got one of 'tpu'"));
  EXPECT_EQ(fake->live_objects, 0);
  Fake cpu;
  EXPECT_THAT(error_of<DeviceError>([&] { make_compiler(fake_target(4), cpu.load("cpu")); }),
              HasSubstr(": expected a plugin of platform 'fake', got one of 'cpu'"));
  EXPECT_THAT(error_of<DeviceError>([&] { make_compiler(parse_target("cpu:4"), cpu.load("cpu")); }),
              HasSubstr("expected a plugin of platform 'cpu', got one of 'fake'"));
  EXPECT_EQ(cpu->live_objects, 0);
}

TEST(TopologyFault, NamedPluginOfAnotherPlatformIsReportedWithAdvice) {
  Fake fake;
  const EnvironmentChange named("AXLE_PLUGIN_FAKE", fake.load().path());
  const std::string advice = "; AXLE_PLUGIN_FAKE must name a plugin for fake";
  EXPECT_EQ(fake.load().advice(), advice);
  fake->platform = "tpu";
  EXPECT_THAT(compiler_error(fake, fake_target(4)), EndsWith("got one of 'tpu'" + advice));
  fake->fail_slot = pjrt::TopologyCreate::kSlot;
  EXPECT_THAT(compiler_error(fake, fake_target(4)),
              EndsWith("ordered failure of call " + std::to_string(fake->fail_slot) + advice));
  fake->fail_slot = pjrt::ClientCreate::kSlot;
  EXPECT_THAT(error_of<DeviceError>([&] { PjrtRuntime(fake.load(), 1); }),
              EndsWith("ordered failure of call " + std::to_string(fake->fail_slot) + advice));
  // The message about a plugin that no variable names gives no such advice.
  Fake other;
  other->fail_slot = pjrt::TopologyCreate::kSlot;
  EXPECT_THAT(compiler_error(other, fake_target(4)),
              EndsWith("ordered failure of call " + std::to_string(other->fail_slot)));
}

TEST(TopologyFault, ATopologyOfAnotherSizeIsRefused) {
  Fake fake;
  Target target = fake_target(4);
  target.shape = {4, 2};  // the fake plugin reads only the 4
  EXPECT_THAT(compiler_error(fake, target), HasSubstr("expected 8 devices, got a topology of 4"));
  EXPECT_EQ(fake->live_objects, 0);
}

TEST(TopologyFault, APluginWithoutTheCallsIsNamed) {
  for (int slot : {pjrt::TopologyCreate::kSlot, pjrt::TopologyGetDeviceDescriptions::kSlot,
                   pjrt::Compile::kSlot}) {
    Fake fake;
    fake->missing_slot = slot;
    EXPECT_THAT(compiler_error(fake, fake_target(4)),
                HasSubstr("expected calls that compile without devices, got PJRT API 0.114 without "
                          "them"));
  }
}

TEST(TopologyFault, PluginWithFewFactsStillCompiles) {
  for (int slot :
       {pjrt::TopologyPlatformName::kSlot, pjrt::TopologyPlatformVersion::kSlot,
        pjrt::DeviceDescriptionAttributes::kSlot, pjrt::DeviceDescriptionProcessIndex::kSlot,
        pjrt::ExecutableGetCostAnalysis::kSlot}) {
    Fake fake;
    fake->missing_slot = slot;
    fake->null_attributes = true;
    const auto compiler = make_compiler(fake_target(4), fake.load());
    EXPECT_TRUE(compiler->compile(topology_copying())) << slot;
  }
}

TEST(TopologyFault, TheCompilersRefusalsHaveTheirExitCodes) {
  Fake fake;
  const auto compiler = make_compiler(fake_target(4), fake.load());
  fake->fail_slot = pjrt::Compile::kSlot;
  for (auto [code, exit_code] :
       {std::pair(pjrt::ErrorCode::kResourceExhausted, ExitCode::kDoesNotFit),
        std::pair(pjrt::ErrorCode::kInternal, ExitCode::kDoesNotCompile)}) {
    fake->fail_code = code;
    EXPECT_EQ(thrown_by<DeviceError>([&] { compiler->compile(topology_copying()); }).code,
              exit_code);
  }
}

TEST(TopologyFault, AnOptionThatThePluginRefusesIsTheUsersMistake) {
  Fake fake;
  const auto compiler = make_compiler(fake_target(4), fake.load());
  fake->refuse_options = true;
  EXPECT_EQ(error_of<ConfigError>([&] {
              compiler->compile(topology_copying(), {.overrides = {{"bad_flag", "1"}}});
            }),
            "compiler option bad_flag=1: expected one that plugin 'fake' takes, got: no such "
            "compile option: 'bad_flag'");
}

TEST(TopologyFault, AMeshNeedsItsDevices) {
  Fake fake;
  const auto compiler = make_compiler(fake_target(4), fake.load());
  EXPECT_EQ(error_of<DeviceError>([&] {
              compiler->compile(topology_copying({{{"data", 8}}}));
            }),
            "mesh: expected at most the 4 devices of 'fake', got a mesh of 8");
}

}  // namespace
}  // namespace axle
