#include "inspect/doctor.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace axle {
namespace {

using testing::HasSubstr;
using testing::Not;

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
  EXPECT_THAT(platforms, testing::Contains("cpu"));
  for (const BackendFacts& backend : report.backends) {
    EXPECT_EQ(backend.devices.empty(),
              !backend.plugin.problem.empty() || backend.plugin.path.empty())
        << backend.plugin.platform;
  }
  EXPECT_FALSE(to_json(report)["backends"]["cpu"].is_null());
}

TEST(Doctor, TextAndJson) {
  const BackendFacts works{.plugin = {.platform = "cpu",
                                      .path = "/p/cpu.so",
                                      .api_version = "0.90",
                                      .attributes = {{"xla_version", "7"}},
                                      .extensions = {"FFI"},
                                      .problem = ""},
                           .devices = {{.id = 0, .kind = "cpu"}},
                           .peaks = {{"f32", 2e9, "measured"}}};
  const BackendFacts absent{.plugin = {.platform = "tpu",
                                       .path = "",
                                       .api_version = "",
                                       .attributes = {},
                                       .extensions = {},
                                       .problem = "get it by: ./dev plugin tpu"},
                            .devices = {},
                            .peaks = {}};
  DoctorReport report = report_of({works, absent});
  const std::string text = to_text(report);
  EXPECT_THAT(text, HasSubstr("/p/cpu.so"));
  EXPECT_THAT(text, HasSubstr("peak f32: 2 GFLOP/s (measured)"));
  EXPECT_THAT(text, HasSubstr("no plugin: get it by: ./dev plugin tpu"));
  EXPECT_THAT(text, HasSubstr("All is well."));
  report.problems = {"no cpu plugin"};
  EXPECT_THAT(to_text(report), Not(HasSubstr("All is well.")));
  const auto json = to_json(report);
  EXPECT_EQ(json["backends"]["cpu"]["peaks"]["f32"]["flops"], 2e9);
  EXPECT_EQ(json["problems"][0], "no cpu plugin");
}

}  // namespace
}  // namespace axle
