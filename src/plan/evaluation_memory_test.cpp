// The memory of evaluations with compilers that say what they are told to.
#include "plan/evaluation_memory.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "plan/advice/asked_test.h"
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
  int compiled = 0;

  std::vector<EvaluationMemory> memory() {
    const Asked a = asked("quickstart", "cpu:1", edits);
    const LoweredStep step = lower_step(a.resolved.config, "quickstart", a.target);
    const TracedEvaluations evaluations(a.resolved.config, step.program.mesh);
    CompileReport report = report_of(16 * kGiB, 2 * kGiB);
    report.memory->argument_bytes = 4 * kGiB;
    return evaluations.memory(step, report, [&](const LoweredStep&, const std::string& name) {
      EXPECT_EQ(name, "evalers.held_out");
      ++compiled;
      return evaluation;
    });
  }
};

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
  EXPECT_EQ(found[0].change, "--set evalers.held_out.input.batch_size=2048");
  EXPECT_EQ(to_json(found)[0]["fits"], false);

  // Rows beyond those that are computed at once take no memory.
  large.edits.push_back(SetField{"learner.device_rows", "1500"});
  EXPECT_EQ(large.memory()[0].change, "--set evalers.held_out.input.batch_size=512");
}

// A compiler that refuses a program tells what it lacks, in words.
TEST(EvaluationMemory, OfARefusalIsReadFromItsMessage) {
  Beside refused{.edits = rows_of_evaluation(4096), .evaluation = {}};
  refused.evaluation.device_memory_bytes = 16 * kGiB;
  refused.evaluation.too_large_message = "Used 40.00G of 16.00G hbm";
  const std::vector<EvaluationMemory> found = refused.memory();
  EXPECT_EQ(found[0].fits, false);
  // 40 GiB and the state that the program does not read: its parameters take some MB.
  EXPECT_NEAR(static_cast<double>(*found[0].bytes), 44.0 * kGiB, 0.05 * kGiB);
  EXPECT_EQ(found[0].change, "--set evalers.held_out.input.batch_size=1024");

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
