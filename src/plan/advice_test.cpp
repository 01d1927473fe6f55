// Advice with a compiler that believes our own estimate, or none.
#include "plan/advice.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/memory_estimate.h"

namespace axle {
namespace {

using ::testing::AnyOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Asked {
  ResolveRequest request;
  Resolved resolved;
  Target target;
};
Asked asked(const std::string& recipe, const std::string& on, std::vector<Edit> edits) {
  Asked out{.request = {.recipe = recipe, .edits = std::move(edits)},
            .resolved = {},
            .target = parse_target(on)};
  out.request.machine = out.target.machine();
  out.resolved = resolve_config(out.request);
  return out;
}

CompileReport report_of(double memory, double bytes) {
  CompileReport out;
  out.device_memory_bytes = static_cast<int64_t>(memory);
  out.memory = MemoryStats{.temporary_bytes = static_cast<int64_t>(bytes)};
  return out;
}

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

Advice advice_for(const Asked& a, Believer& compiler) {
  const CompileReport before = compiler(lower_step(a.resolved.config, a.request.recipe, a.target));
  EXPECT_EQ(before.fits(), false);
  compiler.count = 0;
  const CompileStep compile = [&](const LoweredStep& step, const Change&) {
    return compiler(step);
  };
  return advise(a.request, a.resolved, a.target, before, compile);
}

double estimate_of(const Asked& a) {
  return estimate_memory(lower_step(a.resolved.config, a.request.recipe, a.target).program)
      .total_bytes();
}

const std::vector<Edit> kManyRows = {SetField{"input.batch_size", "512"}};

// A little too large: two parts are enough. Much too large: more parts, and what else it takes.
TEST(Advice, IsTheSmallestChangeThatFits) {
  const Asked a = asked("quickstart", "cpu:1", kManyRows);
  const double whole = estimate_of(a);
  Believer little(0.75 * whole);
  const Advice two = advice_for(a, little);
  ASSERT_TRUE(two.change);
  EXPECT_THAT(two.change->flags, ElementsAre("--set learner.microbatches=2"));
  EXPECT_TRUE(two.change->fits);
  EXPECT_EQ(little.count, 1);

  Believer much(0.2 * whole);
  const Advice more = advice_for(a, much);
  ASSERT_TRUE(more.change);
  EXPECT_LE(much.count, 2);
  EXPECT_THAT(more.change->flags[0], StartsWith("--set learner.microbatches="));
  EXPECT_NE(more.change->flags[0], "--set learner.microbatches=2");
}

// What it says is so: the flags, given to the same command, make a step of that memory.
TEST(Advice, FlagsGiveTheStepThatWasTried) {
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

TEST(Advice, CompilesTwoAtMostAndSaysWhatIsNearest) {
  const Asked a = asked("quickstart", "cpu:1", kManyRows);
  // Each compiled step turns out far larger than the estimate of the changed one.
  const double memory = 0.8 * estimate_of(a);
  int count = 0;
  const CompileStep refuses = [&](const LoweredStep&, const Change&) {
    ++count;
    return report_of(memory, 2 * memory);
  };
  const CompileReport before = report_of(memory, memory / 0.8);
  const Advice advice = advise(a.request, a.resolved, a.target, before, refuses);
  EXPECT_EQ(count, 2);
  EXPECT_FALSE(advice.change);
  EXPECT_EQ(advice.too_large.size(), 2u);
  ASSERT_TRUE(advice.least);
  EXPECT_THAT(to_text(advice), HasSubstr("does not fit either: --set learner.microbatches="));
  EXPECT_THAT(to_text(advice), HasSubstr("what to change: no microbatches"));
  EXPECT_EQ(to_json(advice)["change"], nullptr);
}

TEST(Advice, NothingFitsWhereTheStateIsTooLarge) {
  const Asked a = asked("quickstart", "cpu:1", {});
  Believer compiler(1 << 10);
  const Advice advice = advice_for(a, compiler);
  EXPECT_EQ(compiler.count, 0);
  EXPECT_FALSE(advice.change);
  EXPECT_TRUE(advice.least);
}

// Some changes are refused: the experts of this mesh need more devices than some machines have.
TEST(Advice, LeavesOutWhatIsRefused) {
  const Asked a = asked("mixtral-8x7B", "gpu-H100-1", {});
  Believer compiler(1 << 20);
  EXPECT_TRUE(advice_for(a, compiler).least);
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
TEST(Advice, FindsTheLayersOfAPattern) {
  const Asked a = asked("gemma3-test", "cpu:1",
                        {SetField{"input.batch_size", "1"},
                         UseModifier{"SetRemat: {at: '**.pattern[*]', policy: SaveEverything}"}});
  Believer compiler(1 << 10);
  const Advice advice = advice_for(a, compiler);
  ASSERT_TRUE(advice.least);
  EXPECT_THAT(flags_text(*advice.least), HasSubstr("--modify \"SetRemat: {at: '**.pattern[*]'"));
}

TEST(MemoryEstimate, CountsWhatIsDivided) {
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

TEST(Mends, NameAChangeForEachKindOfFault) {
  const auto at = [](const std::string& microbatches) {
    return asked("quickstart", "cpu:8",
                 {SetField{"input.batch_size", "512"}, SetField{"mesh", "fsdp=8"},
                  SetField{"learner.microbatches", microbatches}});
  };
  CompileReport r = report_of(1e12, 1e9);
  r.mesh = "fsdp=8";
  r.collectives = {{.kind = "all-reduce",
                    .axes = {"fsdp"},
                    .layer = "model/emb",
                    .op = "gather",
                    .implemented_kind = "all-gather",
                    .arguments = {},
                    .count = 6000},
                   {.kind = "all-reduce",
                    .axes = {"fsdp"},
                    .layer = "model/lm_head",
                    .op = "gather",
                    .implemented_kind = "all-gather",
                    .arguments = {},
                    .count = 416}};
  const auto mends = [&](const Asked& a) { return mends_of(r, a.resolved, a.target); };
  EXPECT_THAT(mends(at("1")),
              ElementsAre("for 6,416 all-gathers that are all-reduces: --mesh data=2,fsdp=4, so "
                          "that fewer devices share each parameter and more of its dims divide"));
  r.collectives->clear();
  EXPECT_THAT(mends(at("1")), ElementsAre());
  r.gathers = {{.argument = 0, .times = 3}};
  EXPECT_THAT(mends(at("1")), ElementsAre(HasSubstr("SetRemat")));
  EXPECT_THAT(mends(at("4")), ElementsAre(HasSubstr("--set learner.microbatches=2")));
  // Fewer parts need more memory than there is.
  const double needed = estimate_of(at("4"));
  r.memory->temporary_bytes = static_cast<int64_t>(needed);
  r.device_memory_bytes = static_cast<int64_t>(1.05 * needed);
  EXPECT_THAT(mends(at("4")), ElementsAre());
  r.device_memory_bytes = static_cast<int64_t>(1e12);
  r.gathers.clear();
  r.findings = {"the compiler recomputes 3 instructions because memory is short: 3 fusion"};
  EXPECT_THAT(mends(at("4")), ElementsAre(HasSubstr("--set learner.microbatches=8")));
  EXPECT_THAT(to_text(AdvisedReport{.report = r, .mends = mends(at("4"))}),
              HasSubstr("\ntry for what the compiler computes again: --set"));
  r.device_memory_bytes =
      static_cast<int64_t>(0.5 * needed);  // does not fit: advise() says what to change
  EXPECT_THAT(mends(at("4")), ElementsAre());
}

}  // namespace
}  // namespace axle
