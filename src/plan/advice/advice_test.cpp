// Advice with a compiler that believes our own estimate, or none.
#include "plan/advice/advice.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "plan/advice/asked_test.h"
#include "runtime/memory_estimate.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Reports that a step needs what is estimated, times `factor`.
class Believer {
 public:
  Believer(double memory, double factor = 1) : memory_(memory), factor_(factor) {}
  CompileReport operator()(const LoweredStep& step) {
    ++count;
    return report_of(memory_, factor_ * estimate_memory(step.program).total_bytes());
  }
  int count = 0;

 private:
  double memory_, factor_;
};

// Evaluations that need little.
CompileReport small_evaluation(const LoweredStep&, const std::string&) { return report_of(2, 1); }

Advice advice_for(const Asked& a, Believer& compiler) {
  const CompileReport before = compiler(lower_step(a.resolved.config, a.request.recipe, a.target));
  EXPECT_EQ(before.fits(), false);
  compiler.count = 0;
  const CompileStep compile = [&](const LoweredStep& step, const Change&) {
    return compiler(step);
  };
  return advise(a.request, a.resolved, a.target, before, compile, small_evaluation);
}

double estimate_of(const Asked& a) {
  return estimate_memory(lower_step(a.resolved.config, a.request.recipe, a.target).program)
      .total_bytes();
}

const std::vector<Edit> kManyRows = {SetField{"input.batch_size", "512"}};

// A little too large: two parts are enough. Much too large: more parts, and what else it takes.
TEST(Advice, ChangeIsTheSmallestThatFits) {
  const Asked a = asked("quickstart", "cpu:1", kManyRows);
  const double whole = estimate_of(a);
  Believer little(0.75 * whole);
  const Advice two = advice_for(a, little);
  ASSERT_TRUE(two.change);
  EXPECT_THAT(two.change->flags, ElementsAre("--set learner.device_rows=256"));
  EXPECT_TRUE(two.change->fits);
  EXPECT_EQ(little.count, 1);

  Believer much(0.2 * whole);
  const Advice more = advice_for(a, much);
  ASSERT_TRUE(more.change);
  EXPECT_LE(much.count, 2);
  EXPECT_THAT(more.change->flags[0], StartsWith("--set learner.device_rows="));
  EXPECT_NE(more.change->flags[0], "--set learner.device_rows=256");
}

// The rows of a device divide evaluations, too, unless the config counts parts. Batches of any size
// have parts.
TEST(Advice, NamesTheFieldThatDividesTheBatch) {
  const auto flags = [](const std::vector<Edit>& edits) {
    const Asked a = asked("quickstart", "cpu:1", edits);
    Believer compiler(0.75 * estimate_of(a));
    const Advice advice = advice_for(a, compiler);
    return advice.change ? advice.change->flags : std::vector<std::string>{};
  };
  EXPECT_THAT(flags({SetField{"input.batch_size", "512"}, SetField{"learner.device_rows", "512"}}),
              ElementsAre("--set learner.device_rows=256"));
  EXPECT_THAT(flags({SetField{"input.batch_size", "512"}, SetField{"learner.microbatches", "2"}}),
              ElementsAre("--set learner.microbatches=4"));
  EXPECT_THAT(flags({SetField{"input.batch_size", "381"}}),
              ElementsAre("--set learner.device_rows=127"));
}

// What it says is so: the flags, given to the same command, make a step of that memory.
TEST(Advice, FlagsReproduceTheStepThatWasTried) {
  const Asked a = asked("quickstart", "cpu:2", kManyRows);
  const double memory = 0.3 * estimate_of(a);
  Believer compiler(memory);
  const Advice advice = advice_for(a, compiler);
  ASSERT_TRUE(advice.change);
  std::vector<Edit> edits = kManyRows;
  for (const std::string& flag : advice.change->flags) {
    ASSERT_THAT(flag, StartsWith("--set "));
    const std::string field = flag.substr(6);
    const size_t equals = field.find('=');
    edits.push_back(SetField{field.substr(0, equals), field.substr(equals + 1)});
  }
  EXPECT_NEAR(estimate_of(asked("quickstart", "cpu:2", edits)), *advice.change->compiled_bytes, 1);
  EXPECT_LE(*advice.change->compiled_bytes, memory);
}

// The step would fit with more parts, which leave the evaluation as it is: it gets fewer rows.
TEST(Advice, EvaluationsOfTheChangedStepCount) {
  const std::string rows = "evalers.held_out.input.batch_size";
  std::vector<Edit> edits = kManyRows;
  edits.push_back(SetField{"learner.microbatches", "2"});
  edits.push_back(SetField{rows, "4096"});
  const Asked a = asked("quickstart", "cpu:1", edits);
  const double whole = estimate_of(a), memory = 0.75 * whole;
  Believer compiler(memory);
  const CompileStep compile = [&](const LoweredStep& step, const Change&) {
    return compiler(step);
  };
  std::vector<double> evaluated;
  const CompileEvaluation evaluate = [&](const LoweredStep& step, const std::string& name) {
    EXPECT_EQ(name, "evalers.held_out");
    evaluated.push_back(estimate_memory(step.program).temporary_bytes);
    // The first is too large regardless of its need, and later ones by their own estimate.
    return report_of(memory, evaluated.size() == 1 ? 1.5 * memory : evaluated.back());
  };
  const Advice advice =
      advise(a.request, a.resolved, a.target, report_of(memory, whole), compile, evaluate);
  ASSERT_TRUE(advice.change) << to_text(advice);
  EXPECT_THAT(advice.change->flags,
              ElementsAre("--set learner.microbatches=4", StartsWith("--set " + rows + "=")));
  ASSERT_GE(evaluated.size(), 2u);
  EXPECT_LT(evaluated.back(), evaluated.front()) << "it was compiled with fewer rows";
  ASSERT_EQ(advice.evaluations.size(), 1u);
  EXPECT_EQ(advice.evaluations[0].fits, true);
  EXPECT_EQ(to_json(advice)["evaluations"][0]["fits"], true);
  // Those that fit beside the step that was refused are no part of the change.
  const Advice small =
      advise(a.request, a.resolved, a.target, report_of(memory, whole), compile, small_evaluation);
  ASSERT_TRUE(small.change);
  EXPECT_THAT(small.change->flags, ElementsAre("--set learner.microbatches=4"));
}

// Where no fewer rows are enough, the text says that the evaluation does not fit.
TEST(Advice, ReportsEvaluationsThatFitWithNoChange) {
  std::vector<Edit> edits = kManyRows;
  edits.push_back(SetField{"evalers.held_out.input.batch_size", "4096"});
  edits.push_back(SetField{"learner.microbatches", "2"});
  const Asked a = asked("quickstart", "cpu:1", edits);
  const double whole = estimate_of(a), memory = 0.75 * whole;
  Believer compiler(memory);
  const CompileStep compile = [&](const LoweredStep& step, const Change&) {
    return compiler(step);
  };
  const CompileEvaluation refuses = [&](const LoweredStep&, const std::string&) {
    return report_of(memory, 1e5 * memory);
  };
  const Advice advice =
      advise(a.request, a.resolved, a.target, report_of(memory, whole), compile, refuses);
  EXPECT_THAT(to_text(advice), HasSubstr("with it, evalers.held_out: does not fit: "));
}

// Compiled steps need more than was estimated from the graph of the changed one: the search goes on
// with what the compiler said.
TEST(Advice, ContinuesAfterAChangeThatDoesNotFit) {
  const Asked a = asked("quickstart", "cpu:1", kManyRows);
  const double whole = estimate_of(a), memory = 0.75 * whole;
  const CompileReport before = report_of(memory, whole);
  for (const double more : {2.5, 4.0, 20.0}) {
    SCOPED_TRACE(more);
    Believer compiler(memory, more);
    std::vector<std::string> compiled;
    const CompileStep compile = [&](const LoweredStep& step, const Change& change) {
      compiled.push_back(flags_text(change));
      return compiler(step);
    };
    const Advice advice =
        advise(a.request, a.resolved, a.target, before, compile, small_evaluation);
    ASSERT_TRUE(advice.change) << to_text(advice);
    EXPECT_EQ(advice.too_large.size() + 1, compiled.size());
    EXPECT_GE(compiled.size(), 2u) << "the first is too large";
    EXPECT_EQ(std::set(compiled.begin(), compiled.end()).size(), compiled.size());
    EXPECT_LE(*advice.change->compiled_bytes, memory);
    EXPECT_FALSE(advice.least);
  }
}

// What is said of a search without success is what was done.
TEST(Advice, ListsTheChangesTriedIfNoneFits) {
  const Asked a = asked("quickstart", "cpu:1", kManyRows);
  const double memory = 0.8 * estimate_of(a);
  const CompileReport before = report_of(memory, memory / 0.8);
  std::vector<double> needed;
  const CompileStep refuses = [&](const LoweredStep&, const Change&) {
    needed.push_back((3 - 0.1 * static_cast<double>(needed.size())) * memory);
    return report_of(memory, needed.back());
  };
  const Advice advice = advise(a.request, a.resolved, a.target, before, refuses, small_evaluation);
  EXPECT_FALSE(advice.change);
  EXPECT_EQ(needed.size(), Advice::kMostCompiled);
  EXPECT_EQ(advice.too_large.size(), needed.size());
  const std::string text = to_text(advice);
  EXPECT_THAT(text, HasSubstr("does not fit either: --set learner.device_rows="));
  EXPECT_THAT(text, HasSubstr("what to change: nothing was found that fits, of microbatches"));
  for (const char* kind : {"microbatches", "a remat policy", "fewer rows", "more devices"}) {
    const bool tried = std::ranges::count(advice.tried, kind) > 0,
               untried = std::ranges::count(advice.untried, kind) > 0;
    EXPECT_NE(tried, untried) << kind;
  }
  EXPECT_THAT(text, HasSubstr("; after 4 compilations these were not tried: "));
  // What was compiled counts by what it needs then, not by the estimate that was wrong.
  ASSERT_TRUE(advice.least);
  EXPECT_EQ(advice.least->compiled_bytes, static_cast<int64_t>(needed.back()));
  EXPECT_EQ(to_json(advice)["change"], nullptr);
}

TEST(Advice, FindsNoChangeIfTheStateIsTooLarge) {
  const Asked a = asked("quickstart", "cpu:1", {});
  Believer compiler(1 << 10);
  const Advice advice = advice_for(a, compiler);
  EXPECT_EQ(compiler.count, 0);
  EXPECT_FALSE(advice.change);
  EXPECT_TRUE(advice.least);
  EXPECT_THAT(advice.untried, ElementsAre());
  for (const char* kind : {"microbatches", "fewer rows"})
    EXPECT_THAT(advice.tried, ::testing::Contains(kind));
}

// Some changes are refused: the experts of this mesh need more devices than some machines have.
TEST(Advice, LeavesOutRefusedChanges) {
  const Asked a = asked("mixtral-8x7B", "gpu-H100-1", {});
  Believer compiler(1 << 20);
  EXPECT_TRUE(advice_for(a, compiler).least);
}

// A pipeline refuses parts of fewer rows than its own microbatches; parts of more may do.
TEST(Advice, LeavesOutPartsThatLayersRefuse) {
  const Asked a = asked(
      "fuji-test-v1", "cpu:1",
      {UseModifier{"ReplaceClass: {replace: Repeat, with: Pipeline}"},
       SetField{"model.decoder.layers.num_microbatches", "4"}, SetField{"input.batch_size", "64"}});
  Believer compiler(0.5 * estimate_of(a));
  const Advice advice = advice_for(a, compiler);
  ASSERT_TRUE(advice.change) << to_text(advice);
  EXPECT_THAT(advice.change->flags, ElementsAre(StartsWith("--set learner.device_rows=")));
}

// A state that one device does not hold fits several, whose rule shares it.
TEST(Advice, NamesTheNextMesh) {
  const Asked a = asked("fuji-7B-v2", "gpu-H100-2",
                        {SetField{"mesh", "data=2"}, SetField{"input.batch_size", "2"}});
  const double whole = estimate_of(a);
  Believer compiler(0.7 * whole);
  const Advice advice = advice_for(a, compiler);
  ASSERT_TRUE(advice.change);
  EXPECT_THAT(advice.change->flags,
              AnyOf(ElementsAre("--mesh fsdp=-1"), Each(StartsWith("--modify")),
                    ElementsAre(StartsWith("--on gpu-H100-"))));
}

// The layers of a Pattern are slots of another name.
TEST(Advice, LayersOfAPatternAreFound) {
  const Asked a = asked("gemma3-test", "cpu:1",
                        {SetField{"input.batch_size", "1"},
                         UseModifier{"SetRemat: {at: '**.pattern[*]', policy: SaveEverything}"}});
  Believer compiler(1 << 10);
  const Advice advice = advice_for(a, compiler);
  ASSERT_TRUE(advice.least);
  EXPECT_THAT(flags_text(*advice.least), HasSubstr("--modify \"SetRemat: {at: '**.pattern[*]'"));
}

TEST(MemoryEstimate, ShardedValuesAreDivided) {
  const auto total = [](const std::string& on, const std::string& mesh) {
    return estimate_memory(
        lower_step(asked("fuji-test-v1", on, {SetField{"mesh", mesh}}).resolved.config,
                   "fuji-test-v1", parse_target(on))
            .program);
  };
  const MemoryEstimate one = total("cpu:1", ""), data = total("cpu:4", "data=4"),
                       shared = total("cpu:4", "fsdp=4");
  // Rows of the batch are divided over both meshes, the state over one.
  EXPECT_GT(data.argument_bytes, 0.6 * one.argument_bytes);
  EXPECT_LT(shared.argument_bytes, 0.6 * data.argument_bytes);
  EXPECT_LT(data.temporary_bytes, 0.5 * one.temporary_bytes);
  ASSERT_FALSE(one.largest.empty());
  double sum = 0;
  for (const TemporaryBuffer& buffer : one.largest) sum += static_cast<double>(buffer.bytes);
  EXPECT_NEAR(sum, one.temporary_bytes, 0.01 * one.temporary_bytes + 64);
  EXPECT_THAT(one.largest[0].layer, HasSubstr("decoder"));
}

// Rows that are long are computed by blocks: every core that can, and the loss.
TEST(Advice, AttentionAndLossByBlocksAreTried) {
  const Asked a =
      asked("gemma3-test", "cpu:1",
            {SetField{"input.batch_size", "1"}, SetField{"input.seq_len", "8192"},
             SetField{"model.decoder.max_seq_len", "8192"},
             UseModifier{"SetWhere: {select: AttentionCore, set: {blocks.from: 'none'}}"}});
  Believer compiler(0.3 * estimate_of(a));
  const Advice advice = advice_for(a, compiler);
  ASSERT_TRUE(advice.change) << to_text(advice);
  EXPECT_THAT(flags_text(*advice.change),
              AllOf(HasSubstr("--modify \"SetWhere: {select: AttentionCore, where: {blocks.from: "
                              "'none'}"),
                    HasSubstr("--set model.loss_chunk_len=512")));
  // With them, the search has no such family.
  std::vector<Edit> edits = a.request.edits;
  const Trials trials(a.resolved, a.target, report_of(1, 1));
  for (const Edit& edit : trials.by_blocks()) edits.push_back(edit);
  const Asked followed = asked("gemma3-test", "cpu:1", edits);
  EXPECT_TRUE(Trials(followed.resolved, followed.target, report_of(1, 1)).by_blocks().empty());
}

}  // namespace
}  // namespace axle
