#include "inspect/doctor.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "pjrt/plugin/plugin_policy.h"
#include "pjrt/plugin_status.h"
#include "testing/environment_change.h"

namespace axle {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

DoctorReport report_of(std::vector<BackendFacts> backends) {
  return {.version = "1.2.3",
          .machine_name = "cpu-2",
          .machine = {.processor = "Chip", .num_cores = 2, .instruction_sets = {"avx2"}},
          .backends = std::move(backends),
          .problems = {}};
}

TEST(Doctor, FactsOfThisMachine) {
  const MachineFacts facts = machine_facts();
  EXPECT_GE(facts.num_cores, 1);
  EXPECT_GT(facts.memory_bytes, facts.available_memory_bytes);
  EXPECT_GT(facts.available_memory_bytes, 0);
}

TEST(Doctor, ExamineKnowsEveryPlatform) {
  const DoctorReport report = examine_machine();
  std::vector<std::string> platforms;
  for (const BackendFacts& backend : report.backends) platforms.push_back(backend.plugin.platform);
  EXPECT_THAT(platforms, ::testing::Contains("cpu"));
  for (const BackendFacts& backend : report.backends) {
    const bool works = backend.plugin.problem.empty() && !backend.plugin.path.empty();
    EXPECT_EQ(!backend.devices.empty(), works && backend.has_device) << backend.plugin.platform;
  }
  EXPECT_TRUE(report.backends.at(0).has_device) << "every machine is a cpu";
  EXPECT_FALSE(to_json(report)["backends"]["cpu"].is_null());
}

TEST(Doctor, AVariableThatNamesNoPluginIsAProblem) {
  const EnvironmentChange named("AXLE_PLUGIN_NEURON", "/nonexistent");
  const DoctorReport report = examine_machine();
  EXPECT_THAT(report.problems,
              ::testing::Contains("neuron plugin: AXLE_PLUGIN_NEURON: expected the file of a PJRT "
                                  "plugin, got '/nonexistent'; install the AWS Neuron "
                                  "SDK and set AXLE_PLUGIN_NEURON to its libneuronpjrt.so"));
  EXPECT_THAT(to_text(report), HasSubstr("neuron       /nonexistent\n"));
}

TEST(Doctor, TextAndJson) {
  BackendFacts works;
  works.plugin.platform = "cpu";
  works.plugin.path = "/p/cpu.so";
  works.plugin.api_version = "0.90";
  works.plugin.attributes = {{"xla_version", "7"}};
  works.has_device = true;
  works.devices = {{.id = 0, .kind = "cpu"}};
  works.peaks = {{"f32", 2e9, "measured"}};
  BackendFacts absent;
  absent.plugin.platform = "tpu";
  absent.plugin.problem = "get it by: ./dev plugin tpu";
  absent.limits = "never tried";
  DoctorReport report = report_of({works, absent});
  const std::string text = to_text(report);
  EXPECT_THAT(text, HasSubstr("/p/cpu.so"));
  EXPECT_THAT(text, HasSubstr("peak f32: 2 GFLOP/s (measured)"));
  EXPECT_THAT(text, HasSubstr("no plugin: get it by: ./dev plugin tpu"));
  EXPECT_THAT(text, HasSubstr("note: never tried"));
  EXPECT_THAT(text, HasSubstr("here: trains and generates on the devices below\n"));
  EXPECT_THAT(text, HasSubstr("All is well."));
  report.problems = {"no cpu plugin"};
  EXPECT_THAT(to_text(report), Not(HasSubstr("All is well.")));
  const auto json = to_json(report);
  EXPECT_EQ(json["backends"]["cpu"]["peaks"]["f32"]["flops"], 2e9);
  EXPECT_EQ(json["problems"][0], "no cpu plugin");
}

PluginStatus found(const std::string& platform) {
  PluginStatus out;
  out.platform = platform;
  out.path = "/nowhere/plugin.so";
  return out;
}

TEST(Doctor, ClientIsNotCreatedWithoutADevice) {
  // Creating a client of this plugin would fail.
  const BackendFacts tpu = examine_backend(
      found("tpu"), {.platform = "tpu", .device_files = {"/nowhere"}, .compiles_ahead = true});
  EXPECT_TRUE(tpu.devices.empty());
  EXPECT_EQ(tpu.plugin.problem, "");
  EXPECT_THAT(tpu.compiles_for, ::testing::ElementsAre("v4", "v5e", "v5p", "v6e"));
  EXPECT_THAT(to_text(report_of({tpu})),
              HasSubstr("here: compiles for v4, v5e, v5p, v6e; this machine has no such device\n"));
  EXPECT_EQ(to_json(report_of({tpu}))["backends"]["tpu"]["compiles_for"][2], "v5p");
  const BackendFacts rocm =
      examine_backend(found("rocm"), {.platform = "rocm", .device_files = {"/nowhere"}});
  EXPECT_THAT(to_text(report_of({rocm})), HasSubstr("here: nothing; this machine has no such"));
}

TEST(Doctor, TheMissingAssemblerIsNamed) {
  const PluginPolicy policy{.platform = "cuda",
                            .device_files = {"/nowhere"},
                            .compiles_ahead = true,
                            .needs_cuda_toolkit = true,
                            .install_hint = "run this"};
  const BackendFacts cuda = examine_backend(found("cuda"), policy);
  // Whether there is a toolkit depends on the machine; it must be reported in either case.
  EXPECT_EQ(cuda.compiles_for.empty(), cuda.cuda_toolkit.empty());
  EXPECT_EQ(cuda.missing.empty(), !cuda.cuda_toolkit.empty());
  BackendFacts without = cuda;
  without.missing = "ptxas; run this";
  EXPECT_THAT(to_text(report_of({without})), HasSubstr("missing: ptxas; run this\n"));
}

}  // namespace
}  // namespace axle
