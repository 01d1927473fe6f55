// The text and JSON of compile reports that are written by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "plan/compile_report_text.h"
#include "testing/error_of.h"

namespace axle {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kGiB = int64_t{1} << 30;

CompileReport report() {
  CompileReport r{.recipe = "small", .target = "tpu:v5e:2x4", .machine = "tpu-v5litepod-8"};
  r.num_devices = 8;
  r.mesh = "fsdp=8";
  r.device_memory_bytes = 16 * kGiB;
  r.memory = MemoryStats{.argument_bytes = 4 * kGiB, .temporary_bytes = 6 * kGiB};
  r.collectives = {{.kind = "all-gather",
                    .axes = {"fsdp"},
                    .layer = "model/emb",
                    .op = "gather",
                    .arguments = {0},
                    .count = 3,
                    .bytes = 4096}};
  r.arguments = {"model/emb/weight"};
  r.warnings = {"look here"};
  return r;
}

// Returns the report of a program that the compiler refuses as too large. Memory and collectives
// are not known.
CompileReport refused(std::string sentence) {
  CompileReport r = report();
  r.memory.reset();
  r.collectives.reset();
  r.warnings.clear();
  r.too_large_message = std::move(sentence);
  return r;
}

TEST(CompileReportText, ListsBytesCollectivesAndWarnings) {
  const std::string text = to_text(report());
  EXPECT_THAT(text, HasSubstr("small for tpu:v5e:2x4 (tpu-v5litepod-8), 8 devices as fsdp=8\nfits: "
                              "10.0 GiB of 16.0 GiB per device, 6.0 GiB to spare\n"));
  EXPECT_THAT(text, HasSubstr("model/emb/weight"));
  EXPECT_THAT(text, HasSubstr("warning: look here\n"));
  const auto json = to_json(report());
  EXPECT_EQ(json.at("fits"), true);
  EXPECT_EQ(json.at("headroom_bytes"), 6 * kGiB);
  EXPECT_EQ(json.at("too_large"), nullptr);
  EXPECT_EQ(json.at("collectives").at(0).at("count"), 3);
  EXPECT_EQ(json.at("warnings").at(0), "look here");
}

TEST(CompileReportText, StatesTheMissingMemoryOfAProgram) {
  CompileReport r = report();
  r.memory->temporary_bytes = 20 * kGiB;
  EXPECT_THAT(to_text(r),
              HasSubstr("\ndoes not fit: 24.0 GiB of 16.0 GiB per device, 8.0 GiB too much\n"));
  EXPECT_EQ(to_json(r).at("fits"), false);
  EXPECT_EQ(to_json(r).at("headroom_bytes"), -8 * kGiB);
}

TEST(CompileReportText, StatesTheMissingMemoryOfARefusal) {
  const CompileReport r = refused(
      "program 'step': RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out of memory on HBM, the "
      "total memory required for HLO temporaries (200.50G) exceeds available HBM (95.75G). HLO "
      "module: step.");
  EXPECT_EQ(r.fits(), false);
  const std::string text = to_text(r);
  EXPECT_THAT(text, HasSubstr("\ndoes not fit: 200.5 GiB of temporaries for 95.8 GiB per device, "
                              "104.8 GiB too much\n"));
  EXPECT_THAT(text, Not(HasSubstr("collectives")));
  const auto json = to_json(r);
  EXPECT_EQ(json.at("fits"), false);
  EXPECT_EQ(json.at("headroom_bytes"), -std::llround(104.75 * 0x1p30));
  EXPECT_EQ(json.at("too_large"), r.too_large_message);
  EXPECT_EQ(json.at("memory"), nullptr);
  EXPECT_EQ(json.at("collectives"), nullptr);

  EXPECT_THAT(to_text(refused("Used 18.50G of 15.75G hbm. Exceeded hbm capacity by 2.75G.")),
              HasSubstr("\ndoes not fit: 18.5 GiB for 15.8 GiB per device, 2.8 GiB too much\n"));
}

TEST(CompileReportText, KeepsARefusalThatItCannotRead) {
  const CompileReport r = refused("program 'step': RESOURCE_EXHAUSTED: no room");
  EXPECT_THAT(to_text(r),
              HasSubstr("\ndoes not fit: program 'step': RESOURCE_EXHAUSTED: no room\n"));
  EXPECT_EQ(to_json(r).at("fits"), false);
  EXPECT_EQ(to_json(r).at("headroom_bytes"), nullptr);
}

TEST(CompileReportText, UnknownFactsAreMarkedAsNotKnown) {
  CompileReport r = report();
  r.collectives.reset();
  EXPECT_THAT(to_text(r), HasSubstr("\ncollectives: not known\n"));
  EXPECT_EQ(to_json(r).at("collectives"), nullptr);
  EXPECT_EQ(to_json(r).at("warnings"), nlohmann::json{"look here"});

  r = report();
  r.collectives->clear();
  r.memory.reset();
  EXPECT_THAT(to_text(r), HasSubstr("\nfits: not known\n"));
  EXPECT_THAT(to_text(r), HasSubstr("\nno collectives\n"));
  EXPECT_EQ(to_json(r).at("fits"), nullptr);
  EXPECT_EQ(to_json(r).at("headroom_bytes"), nullptr);
  EXPECT_EQ(to_json(r).at("memory"), nullptr);
  EXPECT_TRUE(to_json(r).at("collectives").is_array());

  r = report();
  r.device_memory_bytes = 0;
  EXPECT_THAT(to_text(r), HasSubstr("\nfits: not known\n"));
}

TEST(CompileReportText, ExitCodeIsOkOnlyIfTheProgramFits) {
  CompileReport r = report();
  EXPECT_EQ(exit_code_of(r), ExitCode::kOk);
  EXPECT_EQ(exit_code_of(refused("no room")), ExitCode::kDoesNotFit);
  r.device_memory_bytes = 1;
  EXPECT_EQ(exit_code_of(r), ExitCode::kDoesNotFit);
  for (const bool of_device : {false, true}) {
    r = report();
    if (of_device) {
      r.device_memory_bytes = 0;
    } else {
      r.memory.reset();
    }
    EXPECT_THAT(error_of<DeviceError>([&] { exit_code_of(r); }),
                HasSubstr("target tpu:v5e:2x4: expected the memory that the program needs"));
  }
}

TEST(CompileReportText, StatesCostAndTrafficOfAStep) {
  CompileReport r = report();
  r.size = {.tokens = 4096, .model_flops = 1e12};
  r.num_parameters = 1234;
  r.estimate =
      StepEstimate{.seconds = 2, .bound = "memory", .tokens_per_second = 2048, .mfu = 0.25};
  r.estimate->compute_seconds = 0.0125;
  r.estimate->memory_seconds = 2.5e-5;
  CollectiveRow more;
  more.kind = "all-reduce";
  more.implemented_kind = "all-gather";
  more.count = 2;
  more.bytes = 2048;
  more.wire = {.fast = 1024, .slow = 512};
  r.collectives->push_back(more);
  const std::string text = to_text(r);
  EXPECT_THAT(text,
              HasSubstr("\n1,234 parameters, 4,096 tokens per step, 1e+12 model FLOPs per step\n"));
  EXPECT_THAT(text,
              HasSubstr("\na step takes at least 2.000 s, bound by memory: 2048 tokens/s, MFU "
                        "at most 25.0 % of the bf16 peak\n"));
  EXPECT_THAT(text, HasSubstr("(compute 12.5 ms, memory 25.0 us, fast network 0.000 s, "));
  EXPECT_THAT(text, HasSubstr("all-reduce (for all-gather)"));
  const auto json = to_json(r);
  EXPECT_EQ(json.at("parameters"), 1234);
  EXPECT_EQ(json.at("step").at("bound"), "memory");
  EXPECT_EQ(json.at("collective_sums").at("all-gather").at("count"), 3);
  EXPECT_EQ(json.at("collective_sums").at("all-reduce (for all-gather)").at("sent_slow_bytes"),
            512);
}

TEST(CompileReportText, StatesTheReservedDeviceMemory) {
  CompileReport r = report();
  r.whole_memory_bytes = 17 * kGiB;
  EXPECT_THAT(to_text(r), HasSubstr("\n(1.0 GiB of the device's 17.0 GiB are reserved for its "
                                    "context and for collectives)\n"));
  EXPECT_EQ(to_json(r).at("whole_memory_bytes"), 17 * kGiB);
}

TEST(CompileReportText, NamesTheLargestTemporaries) {
  CompileReport r = refused("no room");
  r.largest = {{.layer = "model/layer", .op = "dot", .shape = "f32[4]", .count = 3, .bytes = kGiB}};
  EXPECT_THAT(to_text(r), HasSubstr("largest temporaries"));
  EXPECT_THAT(to_text(r), HasSubstr("f32[4]"));
  EXPECT_EQ(to_json(r).at("largest_temporaries").at(0).at("layer"), "model/layer");
}

// If the optimised program cannot be read, the report lacks only what is read from it.
TEST(CompileReportText, UnreadableProgramLosesOnlyItsTable) {
  CompileReport r = report();
  r.collectives.reset();
  r.unreadable_reason = "HLO module: broken";
  EXPECT_EQ(r.fits(), true);
  EXPECT_THAT(to_text(r), HasSubstr("\ncollectives: not known (HLO module: broken)\n"));
  EXPECT_THAT(to_text(r), HasSubstr("\nfits: "));
  EXPECT_EQ(to_json(r).at("unreadable"), "HLO module: broken");
}

TEST(CompileReportText, IncludesFindingsAndWarningsOfTheCompiler) {
  CompileReport r = report();
  r.findings = {{.text = "it did this"}};
  r.compiler_warnings = {"Can't reduce memory use below 51.84GiB"};
  EXPECT_THAT(to_text(r), HasSubstr("\nnote: it did this\ncompiler: Can't reduce memory use below "
                                    "51.84GiB\n"));
  EXPECT_EQ(to_json(r).at("findings").at(0), "it did this");
}

}  // namespace
}  // namespace axle
