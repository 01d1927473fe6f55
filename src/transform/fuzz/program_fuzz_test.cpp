// Random programs keep the laws of testing/fuzz/laws.h, and the shrinker finds the step that breaks
// one.
#include <gtest/gtest.h>

#include "testing/fuzz/fuzz_run.h"

namespace axle {
namespace {

using namespace testing::fuzz;

// True if `is_it` holds for a step of the program, or of a body of it.
bool any_step(const Program& program, const std::function<bool(const Step&)>& is_it) {
  return std::ranges::any_of(program.steps, [&](const Step& step) {
    return is_it(step) || std::ranges::any_of(step.bodies, [&](const Program& body) {
             return any_step(body, is_it);
           });
  });
}
// True if a step of the kind has one within for which `is_it` holds.
bool any_within(const Program& program, Kind kind, const std::function<bool(const Step&)>& is_it) {
  return any_step(program, [&](const Step& outer) {
    return outer.kind == kind && std::ranges::any_of(outer.bodies, [&](const Program& body) {
             return any_step(body, is_it);
           });
  });
}

// Seeds whose programs broke a law before a bug was mended, and the constructs that it took. Both
// bugs have small tests of their own too, which don't depend on the generator:
//   ShardMap.RulesOfCustomVjpMayCallCollectives in transform/shard_map,
//   Cond.UnderVmapTheOnlyBranchKeepsItsGradient in transform/control_flow.
// The seeds of other bugs make other programs by now. What they were shrunk to is tested by
//   ShardMap.DevicesWaitForThoseInANestedOne in transform/shard_map,
//   Scan.ACarryMayBeReplacedBySomethingThatIsNotDifferentiated in transform/control_flow,
//   Simplify.AFoldedSplatIsConvertedLikeAnyTensor and
//   Simplify.ConstantsThatDifferInTheirLastBitStayApart in transform.
struct FoundBug {
  uint64_t seed;
  const char* what;
  bool (*is_made)(const Program& program);
};
constexpr FoundBug kFoundBugs[] = {
    {124, "the rule of a custom_vjp that calls a collective",
     [](const Program& program) {
       return any_within(program, Kind::kCustomVjp,
                         [](const Step& s) { return s.kind == Kind::kCollective; });
     }},
    {174, "a batch of a switch with one branch, whose gradient was lost",
     [](const Program& program) {
       return any_within(program, Kind::kVmap, [](const Step& s) {
         return s.kind == Kind::kCond && s.bodies.size() == 1;
       });
     }}};

TEST(ProgramFuzz, SeedsOfFoundBugsMakeTheirConstructs) {
  for (const auto& [seed, what, is_made] : kFoundBugs)
    EXPECT_TRUE(is_made(program_of(seed))) << seed << ": " << what << "\n"
                                           << to_text(program_of(seed));
}

TEST(ProgramFuzz, SeedsOfFoundBugsKeepTheLaws) {
  for (const auto& [seed, what, is_made] : kFoundBugs) {
    const FuzzRun run = fuzz(seed, 1);
    EXPECT_EQ(run.report, "") << what;
    EXPECT_EQ(run.num_wild, 0u) << what;
  }
}
constexpr uint64_t kSeeds = 300;

TEST(WeeklyProgramFuzz, RandomProgramsKeepTheLaws) {
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

// Calls fn(step, the axes that are manual there) for each step, those of bodies too.
using StepVisitor = std::function<void(const Step&, const MeshAxes&)>;
void each_step(const Program& program, const StepVisitor& fn, const MeshAxes& axes = {}) {
  for (const Step& step : program.steps) {
    fn(step, axes);
    MeshAxes inside = axes;
    if (step.kind == Kind::kShardMap) {
      const Division division = division_of(step, axes, step.operands.size());
      inside.insert(inside.end(), division.axes.begin(), division.axes.end());
    }
    for (const Program& body : step.bodies) each_step(body, fn, inside);
  }
}

// All collectives, over one axis and over two; shard_maps over both axes, over one, and over what
// others leave; specs that divide two dims, that divide one over both axes, and that name no axis.
TEST(ProgramFuzz, DevicesAreVaried) {
  std::set<std::pair<int64_t, size_t>> collectives;
  std::set<Kind> around;  // constructs with a collective, within a shard_map
  std::map<std::string, size_t> shard_maps, specs;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    each_step(program_of(seed), [&](const Step& step, const MeshAxes& axes) {
      if (step.kind == Kind::kCollective && !axes.empty()) {
        const Exchange exchange(step, axes);
        collectives.emplace(exchange.kind, exchange.along.size());
      }
      if (has(step, Kind::kCollective) && !axes.empty()) around.insert(step.kind);
      if (step.kind != Kind::kShardMap) return;
      const Division division = division_of(step, axes, step.operands.size());
      ++shard_maps[fmt::format("{} in {}", to_text(Mesh{division.axes}), to_text(Mesh{axes}))];
      for (const PartitionSpec& spec : division.out) ++specs[to_text(spec)];
    });
  }
  EXPECT_EQ(collectives.size(), 2 * static_cast<size_t>(Exchange::kNumKinds));
  EXPECT_EQ(around, (std::set<Kind>{Kind::kCollective, Kind::kScan, Kind::kRemat, Kind::kCustomVjp,
                                    Kind::kCall, Kind::kVmap, Kind::kShardMap, Kind::kGradient}));
  for (const char* text : {"x=2,y=3 in ", "x=2 in ", "y=3 in ", "x=2 in y=3", "y=3 in x=2"})
    EXPECT_GT(shard_maps[text], 0u) << text;
  for (const char* text : {"[]", "[x]", "[y]", "[[x, y]]", "[[y, x]]", "[None, y]", "[y, x]"})
    EXPECT_GT(specs[text], 0u) << text;
}

// A program is made smaller around what devices do together.
TEST(ProgramFuzz, TheShrinkerKeepsNestedDevices) {
  const auto builds_nested = [](const Program& program) {
    bool has_nested = false;
    each_step(program, [&](const Step& step, const MeshAxes& axes) {
      has_nested = has_nested || (step.kind == Kind::kCollective && axes.size() == 2);
    });
    return has_nested && Laws(program, 1, false).broken_by(Kind::kShardMap).empty();
  };
  int num_found = 0;
  for (uint64_t seed = 0; num_found < 3 && seed < kSeeds; ++seed) {
    const Program program = program_of(seed);
    if (num_steps(program) < 8 || !builds_nested(program)) continue;
    ++num_found;
    const Program small = Shrinker(program, builds_nested).run();
    EXPECT_LE(num_steps(small), 2u) << to_text(small);
    EXPECT_TRUE(builds_nested(small)) << to_text(small);
  }
  EXPECT_EQ(num_found, 3);
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

// It also shows where the program computes gradients itself, whose sums vmap may put in another
// order, and has steps.
TEST(ProgramFuzz, AWrongGradientShowsAmongGradientsAndSteps) {
  int num_found = 0;
  for (uint64_t seed = 0; num_found < 3 && seed < 100; ++seed) {
    const Program program = Generator(seed, {.hooks = true}).program();
    if (!has(program, Kind::kGradient) || !has(program, Kind::kVmap)) continue;
    num_found += !Laws(program, 1, false, {.hook = wrong_sine}).broken_by(Kind::kHook).empty();
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
