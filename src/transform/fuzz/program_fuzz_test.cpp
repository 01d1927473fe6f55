// Random programs keep the laws of testing/fuzz/laws.h, and the shrinker finds the step that breaks
// one.
#include <gtest/gtest.h>

#include "testing/fuzz/fuzz_run.h"

namespace axle {
namespace {

using namespace testing::fuzz;

// Seeds whose programs broke a law before a bug was mended. A change of the generator gives them
// other programs; the bugs have small tests of their own:
//   Scan.ACarryMayBeReplacedBySomethingThatIsNotDifferentiated in transform/control_flow,
//   Simplify.AFoldedSplatIsConvertedLikeAnyTensor and
//   Simplify.ConstantsThatDifferInTheLastDigitsStayApart in transform.
struct FoundBug {
  uint64_t seed;
  const char* what;
};
constexpr FoundBug kFoundBugs[] = {
    {1, "a scan whose body replaces a differentiated carry by a value without gradient"},
    {222, "a splat that is no whole number, converted to integers"}};

TEST(ProgramFuzz, SeedsOfFoundBugsKeepTheLaws) {
  for (const auto& [seed, what] : kFoundBugs) {
    const FuzzRun run = fuzz(seed, 1);
    EXPECT_EQ(run.report, "") << what;
    EXPECT_EQ(run.num_wild, 0u) << what;
  }
}

constexpr uint64_t kSeeds = 300;

TEST(ProgramFuzz, RandomProgramsKeepTheLaws) {
  const FuzzRun run = fuzz(0, kSeeds);
  EXPECT_EQ(run.report, "");
  EXPECT_LT(run.num_wild, kSeeds / 20);
  EXPECT_EQ(run.skipped_too_often(kSeeds), "");
}

// Programs with all constructs, of all sizes: else the laws would hold for want of cases.
TEST(ProgramFuzz, ProgramsAreVaried) {
  for (int k = 0; k < kNumKinds; ++k) {
    const auto kind = static_cast<Kind>(k);
    if (kind == Kind::kHook) continue;
    size_t count = 0;
    for (uint64_t seed = 0; seed < kSeeds; ++seed) count += has(program_of(seed), kind);
    EXPECT_GE(count, kSeeds / 30) << name_of(kind);
  }
  std::set<size_t> ops;
  const std::function<void(const Program&)> add = [&](const Program& program) {
    for (const Step& step : program.steps) {
      if (step.kind == Kind::kOp) ops.insert(step.op);
      for (const Program& body : step.bodies) add(body);
    }
  };
  for (uint64_t seed = 0; seed < kSeeds; ++seed) add(program_of(seed));
  EXPECT_EQ(ops.size(), op_table().size());
}

TEST(ProgramFuzz, ASeedGivesOneProgram) {
  EXPECT_EQ(to_text(program_of(7)), to_text(program_of(7)));
  EXPECT_NE(to_text(program_of(7)), to_text(program_of(8)));
}

// A function with a wrong gradient.
Tensor wrong_sine(const Tensor& x, bool is_on) {
  if (!is_on) return sin(x);
  return custom_vjp(
      {.name = "wrong",
       .forward =
           [](const Values& v) {
             return WithResiduals{{sin(v[0])}, {v[0]}};
           },
       .backward = [](const Values& saved,
                      const Values& g) { return Values{g[0] * cos(saved[0]) * 1.5}; }},
      {x})[0];
}

// The first large program in which the wrong gradient shows becomes a few steps.
TEST(ProgramFuzz, TheShrinkerFindsTheWrongStep) {
  const Mode mode{.hook = wrong_sine};
  const auto is_broken = [&](const Program& program) {
    return !Laws(program, 1, false, mode).broken_by(Kind::kHook).empty();
  };
  int num_found = 0;
  for (uint64_t seed = 0; num_found < 3 && seed < 100; ++seed) {
    const Program program = Generator(seed, {.hooks = true}).program();
    if (num_steps(program) < 8 || !is_broken(program)) continue;
    ++num_found;
    const Program small = Shrinker(program, is_broken).run();
    EXPECT_LE(num_steps(small), 3u) << to_text(small);
    EXPECT_TRUE(has(small, Kind::kHook)) << to_text(small);
    EXPECT_TRUE(is_broken(small));
  }
  EXPECT_EQ(num_found, 3);
}

TEST(ProgramFuzz, RemovedValuesAreReplaced) {
  Program program{.steps = {{.operands = {0, 1, 2, 3, 4}}}, .results = {4, 2}};
  remove_values(program, 1, 2, 0);
  EXPECT_EQ(program.steps[0].operands, (std::vector<size_t>{0, 0, 0, 1, 2}));
  EXPECT_EQ(program.results, (std::vector<size_t>{2, 0}));
}

}  // namespace
}  // namespace axle
