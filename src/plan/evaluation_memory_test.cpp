// The memory of evaluations with compilers that return what they are set to.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "plan/advice/asked_test.h"
#include "plan/memory_needs.h"
#include "runtime/memory_estimate.h"
#include "testing/error_of.h"

namespace axle {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr int64_t kGiB = int64_t{1} << 30;

// Evaluates the rows beside a step of the state's size, with a compiler of evaluations.
struct Beside {
  std::vector<Edit> edits;
  CompileReport evaluation;
  double device_bytes = 16 * kGiB;
  int num_evalers = 1;
  int compiled = 0;
  MemoryEstimate of_step = {}, of_evaluation = {};  // the latter of the last one compiled

  std::vector<EvaluationMemory> memory() {
    const Asked a = asked("quickstart", "cpu:1", edits);
    Trainer::Config config = a.resolved.config;
    for (int i = 1; i < num_evalers; ++i)
      config.evalers["also_" + std::to_string(i)] = config.evalers.at("held_out");
    LoweredStep step = lower_step(config, "quickstart", a.target);
    step.options = {{"an_option", "1"}};
    of_step = estimate_memory(step.program);
    const TracedEvaluations evaluations(config, step.program.mesh);
    CompileReport report = report_of(device_bytes, 2 * kGiB);
    report.memory->argument_bytes = 4 * kGiB;
    return evaluations.memory(step, report, [&](const LoweredStep& one, const std::string& name) {
      EXPECT_THAT(name, ::testing::StartsWith("evalers."));
      EXPECT_EQ(one.options, step.options);
      of_evaluation = estimate_memory(one.program);
      ++compiled;
      return evaluation;
    });
  }
};

std::string change_of(const std::vector<EvaluationMemory>& found) {
  return to_json(found)[0]["change"].get<std::string>();
}
std::vector<Edit> rows_of_evaluation(int64_t rows) {
  return {SetField{"evalers.held_out.input.batch_size", std::to_string(rows)}};
}

TEST(EvaluationMemory, ProgramsOfLessThanTheStepAreNotCompiled) {
  Beside small{.edits = rows_of_evaluation(1), .evaluation = {}};
  const std::vector<EvaluationMemory> found = small.memory();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].fits, true);
  EXPECT_EQ(found[0].bytes, std::nullopt);
  EXPECT_EQ(small.compiled, 0);
  EXPECT_EQ(to_text(found, 16 * kGiB), "");
}

// The first one that is compiled is not much larger than the step.
TEST(EvaluationMemory, ProgramsOfMoreThanTheStepAreCompiled) {
  Beside growing{.edits = {}, .evaluation = report_of(16 * kGiB, kGiB)};
  for (int64_t rows = 1; growing.compiled == 0; rows *= 2) {
    ASSERT_LE(rows, 1 << 20);
    growing.edits = rows_of_evaluation(rows);
    growing.memory();
  }
  EXPECT_GT(growing.of_evaluation.temporary_bytes, growing.of_step.temporary_bytes);
  EXPECT_LT(growing.of_evaluation.temporary_bytes, 2.5 * growing.of_step.temporary_bytes);
}

TEST(EvaluationMemory, OneProgramOfSeveralEvaluationsIsCompiledOnce) {
  Beside two{.edits = rows_of_evaluation(4096),
             .evaluation = report_of(16 * kGiB, 11 * kGiB),
             .num_evalers = 2};
  const std::vector<EvaluationMemory> found = two.memory();
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(two.compiled, 1);
  EXPECT_NE(found[0].name, found[1].name);
  EXPECT_EQ(found[0].bytes, found[1].bytes);
  EXPECT_EQ(found[1].fits, true);
}

TEST(EvaluationMemory, IsUnknownIfTheMemoryOfTheDeviceIsUnknown) {
  Beside unknown{
      .edits = rows_of_evaluation(4096), .evaluation = report_of(0, 11 * kGiB), .device_bytes = 0};
  const std::vector<EvaluationMemory> found = unknown.memory();
  EXPECT_EQ(unknown.compiled, 1);
  EXPECT_EQ(found[0].bytes, std::nullopt);
  EXPECT_EQ(found[0].fits, std::nullopt);
  EXPECT_EQ(to_json(found)[0]["change"], "");
}

// The state stays while an evaluation runs, though the program reads the parameters alone.
TEST(EvaluationMemory, CountsTheWholeState) {
  Beside large{.edits = rows_of_evaluation(4096), .evaluation = report_of(16 * kGiB, 11 * kGiB)};
  large.evaluation.memory->argument_bytes = kGiB;
  std::vector<EvaluationMemory> found = large.memory();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(large.compiled, 1);
  EXPECT_EQ(found[0].bytes, 15 * kGiB);
  EXPECT_EQ(found[0].fits, true);
  EXPECT_EQ(to_text(found, 16 * kGiB),
            "evalers.held_out: fits: 15.0 GiB of 16.0 GiB per device, with the training state\n");

  large.evaluation.memory->temporary_bytes = 20 * kGiB;
  found = large.memory();
  EXPECT_EQ(found[0].fits, false);
  EXPECT_EQ(found[0].bytes, 24 * kGiB);
  EXPECT_EQ(change_of(found), "--set evalers.held_out.input.batch_size=2048");
  EXPECT_EQ(to_json(found)[0]["fits"], false);

  // Rows beyond those that are computed at once take no memory.
  large.edits.push_back(SetField{"learner.device_rows", "1500"});
  EXPECT_EQ(change_of(large.memory()), "--set evalers.held_out.input.batch_size=512");
}

// A compiler that refuses a program says what it lacks, in words.
TEST(EvaluationMemory, RefusedEvaluationIsReadFromItsMessage) {
  Beside refused{.edits = rows_of_evaluation(4096), .evaluation = {}};
  refused.evaluation.device_memory_bytes = 16 * kGiB;
  refused.evaluation.too_large_message = "Used 40.00G of 16.00G hbm";
  std::vector<EvaluationMemory> found = refused.memory();
  EXPECT_EQ(found[0].fits, false);
  // 40 GiB, in which the parameters are that the program reads, and the state, which holds them.
  const auto parameters = static_cast<int64_t>(refused.of_evaluation.argument_bytes);
  EXPECT_GT(parameters, 0);
  EXPECT_EQ(found[0].bytes, 44 * kGiB - parameters);
  EXPECT_EQ(change_of(found), "--set evalers.held_out.input.batch_size=1024");

  // Some count the temporaries alone.
  refused.evaluation.too_large_message =
      "the total memory required for HLO temporaries (40.00G) exceeds available HBM (16.00G)";
  found = refused.memory();
  EXPECT_EQ(found[0].bytes, 44 * kGiB);
  EXPECT_EQ(found[0].fits, false);

  // What the compiler refuses does not fit, for any bytes.
  refused.evaluation.too_large_message = "Used 10.00G of 9.00G hbm";
  found = refused.memory();
  EXPECT_EQ(found[0].bytes, 14 * kGiB - parameters);
  EXPECT_EQ(found[0].fits, false);

  refused.evaluation.too_large_message = "too large";
  const std::vector<EvaluationMemory> unknown = refused.memory();
  EXPECT_EQ(unknown[0].fits, false);
  EXPECT_EQ(unknown[0].bytes, std::nullopt);
  EXPECT_EQ(to_text(unknown, 16 * kGiB), "evalers.held_out: does not fit\n");
}

TEST(EvaluationMemory, MistakesAreFoundWithoutACompiler) {
  const Asked a = asked("quickstart", "cpu:4", rows_of_evaluation(6));
  Trainer::Config config = a.resolved.config;
  config.mesh = {{{"data", 4}}};
  EXPECT_THAT(error_of<ConfigError>([&] { TracedEvaluations(config, config.mesh); }),
              HasSubstr("evalers.held_out: "));
}

}  // namespace
}  // namespace axle
