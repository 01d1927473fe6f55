// Mends with a compiler whose faults and times are of a made-up machine.
#include "plan/advice/mends.h"

#include <gmock/gmock.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "config/set.h"
#include "config/walk.h"
#include "plan/advice/advice.h"
#include "plan/advice/asked_test.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// What a made-up machine depends on.
struct Setting {
  int64_t fsdp = 1, model = 1, parts = 1;
  bool keeps_dots = false, divides_vocabulary = false;
};
struct Outcome {
  std::vector<Finding> findings = {};
  double seconds = 1, bytes = 1e6;
};
using Machine = std::function<Outcome(const Setting&)>;

constexpr double kMemory = 1e12;

// A command with the edits that are followed, and the mends of its report.
class MendsTest : public ::testing::Test {
 protected:
  MendsTest() { edits_ = {SetField{"input.batch_size", "512"}, SetField{"mesh", "fsdp=8"}}; }
  void start(const std::string& path, const std::string& text) {
    edits_.push_back(SetField{path, text});
  }

  Mends mends(const Machine& machine, bool times_are_known = true) {
    const Asked a = asked("quickstart", "cpu:8", edits_);
    compiled_.clear();
    const auto report_for = [&](const Trainer::Config& config, const Mesh& mesh,
                                const std::string& flags) {
      const auto modifies = [&](const char* what) { return flags.find(what) != std::string::npos; };
      const Outcome out = machine({.fsdp = mesh.size("fsdp"),
                                   .model = mesh.size("model"),
                                   .parts = train_microbatches(config, mesh).count,
                                   .keeps_dots = modifies("SaveDots") || keeps_dots_,
                                   .divides_vocabulary = modifies("SetPartition")});
      CompileReport r = report_of(memory_, out.bytes);
      r.collectives.emplace();
      r.findings = out.findings;
      if (times_are_known) r.estimate = StepEstimate{.seconds = out.seconds};
      return r;
    };
    const CompileStep compile = [&](const LoweredStep& step, const Change& change) {
      compiled_.push_back(flags_text(change));
      Trainer::Config config = a.resolved.config;
      for (const std::string& flag : change.flags) {
        const std::string start = "--set ";
        const size_t equals = flag.find('=');
        if (flag.starts_with(start))
          set(config, flag.substr(start.size(), equals - start.size()), flag.substr(equals + 1));
      }
      return report_for(config, step.program.mesh, flags_text(change));
    };
    const Mesh mesh = infer_mesh(a.resolved.config.mesh, 8);
    const CompileReport before = report_for(a.resolved.config, mesh, "");
    return mends_of(before, a.resolved, a.target, compile);
  }
  void follow(const Mends& mends) {
    for (const Edit& edit : mends.tried[*mends.best].edits) {
      if (std::holds_alternative<UseModifier>(edit)) keeps_dots_ = true;
      edits_.push_back(edit);
    }
  }

  std::vector<Edit> edits_;
  std::vector<std::string> compiled_;
  double memory_ = kMemory;
  bool keeps_dots_ = false;
};

Finding all_reduces(double count) {
  return {.kind = FindingKind::kAllReduces, .collective = "reduce-scatter", .count = count};
}
Finding gathers(double bytes, bool backward = false) {
  return {.kind = FindingKind::kRepeatedGathers,
          .backward = backward,
          .count = 2,
          .bytes = 2 * bytes,
          .needed_bytes = bytes};
}
Finding recomputed(double count) { return {.kind = FindingKind::kRecomputed, .count = count}; }

// Half of the devices leave most of the fault, a quarter none of it.
TEST_F(MendsTest, NameTheChangeThatRemovesAFault) {
  const Machine machine = [](const Setting& s) -> Outcome {
    if (s.fsdp == 2) return {.seconds = 0.9};
    return {.findings = {all_reduces(s.fsdp == 8 ? 402 : 240)},
            .seconds = s.fsdp == 8 ? 1.0 : 0.95};
  };
  const Mends first = mends(machine);
  EXPECT_THAT(compiled_, ElementsAre("--mesh data=2,fsdp=4", "--mesh data=4,fsdp=2"));
  EXPECT_EQ(to_text(first),
            "try --mesh data=4,fsdp=2: none left of 402 reduce-scatters that are all-reduces; at "
            "least 0.900 s a step in place of 1.000 s (compiled)\n");
  const auto json = to_json(first);
  EXPECT_EQ(json["faults"][0]["amount"], 402);
  EXPECT_EQ(json["tried"][0]["left"][0], 240);
  EXPECT_EQ(json["tried"][int64_t{json["best"]}]["left"][0], 0);
  follow(first);
  EXPECT_EQ(to_text(mends(machine)), "");
}

TEST_F(MendsTest, StateTheRemainingFault) {
  const Mends some = mends([](const Setting& s) -> Outcome {
    return {.findings = {all_reduces(s.fsdp == 8 ? 402 : 240)},
            .seconds = s.fsdp == 8 ? 1.0 : 0.95};
  });
  EXPECT_THAT(to_text(some), HasSubstr(": 240 reduce-scatters that are all-reduces in place of 402 "
                                       "reduce-scatters that are all-reduces;"));
}

// A change that mends nothing, that makes the step longer or that does not fit is no mend.
TEST_F(MendsTest, NameNoChangeThatIsNotBetter) {
  const std::pair<const char*, Machine> kMachines[] = {
      {"mends nothing", [](const Setting&) -> Outcome { return {.findings = {all_reduces(5)}}; }},
      {"is slower",
       [](const Setting& s) -> Outcome {
         if (s.fsdp < 8) return {.seconds = 1.1};
         return {.findings = {all_reduces(5)}};
       }},
      {"does not fit",
       [](const Setting& s) -> Outcome {
         if (s.fsdp < 8) return {.seconds = 0.5, .bytes = 2 * kMemory};
         return {.findings = {all_reduces(5)}};
       }},
      {"brings another fault in no less time", [](const Setting& s) -> Outcome {
         if (s.fsdp < 8) return {.findings = {recomputed(7)}};
         return {.findings = {all_reduces(5)}};
       }}};
  for (const auto& [what, machine] : kMachines) {
    const Mends none = mends(machine);
    EXPECT_FALSE(none.best) << what;
    EXPECT_EQ(to_text(none),
              "no change was found that mends 5 reduce-scatters that are all-reduces; compiled and "
              "no better: --mesh data=2,fsdp=4, --mesh data=4,fsdp=2\n")
        << what;
  }
}

// Fewer parts gather less often, more parts need less memory: the faster one is named, and who
// follows is not sent back.
TEST_F(MendsTest, FasterOfTwoContradictingChangesIsNamed) {
  for (const bool fewer_is_faster : {true, false}) {
    SCOPED_TRACE(fewer_is_faster);
    for (const bool times_are_known : {true, false}) {
      edits_.resize(2);
      start("learner.microbatches", "16");
      const Machine machine = [&](const Setting& s) -> Outcome {
        const auto parts = static_cast<double>(s.parts);
        return {.findings = {gathers(1e6 * parts), recomputed(1e4 / parts)},
                .seconds = fewer_is_faster ? 1 + parts / 10 : 10 - parts / 100,
                .bytes = 1e10 / parts};
      };
      int64_t before = 16;
      std::vector<std::string> texts;
      for (int i = 0; i < 4; ++i) {
        const Mends now = mends(machine, times_are_known);
        EXPECT_LE(compiled_.size(), Mends::kMostCompiled);
        if (!now.best) break;
        texts.push_back(to_text(now));
        follow(now);
        const int64_t after = whole_number(asked("quickstart", "cpu:8", edits_).resolved.config,
                                           "learner.microbatches");
        EXPECT_EQ(after < before, fewer_is_faster);
        before = after;
      }
      // Each change adds to the other fault: without times, neither is better.
      EXPECT_EQ(texts.empty(), !times_are_known);
      if (!fewer_is_faster) continue;
      EXPECT_LE(texts.size(), 1u) << "as few as fit, at once";
    }
  }
}

TEST_F(MendsTest, KeepTheRowsThatARuleAllows) {
  start("learner.device_rows", "8");
  const Machine machine = [](const Setting& s) -> Outcome {
    const auto parts = static_cast<double>(s.parts);
    return {.findings = {gathers(1e6 * parts)}, .seconds = parts};
  };
  EXPECT_THAT(to_text(mends(machine)), Not(HasSubstr("try")));
  EXPECT_THAT(compiled_, IsEmpty());
  edits_.pop_back();
  start("learner.microbatches", "8");
  EXPECT_THAT(to_text(mends(machine)), HasSubstr("try --set learner.microbatches=1:"));
}

// Values that move unasked: the layout of the vocabulary is tried, then less of the axis over which
// they move.
TEST_F(MendsTest, MovesAreMendedAtTheirSource) {
  edits_[1] = SetField{"mesh", "data=2,model=4"};
  const Finding moves{.kind = FindingKind::kMoves, .axis = "model", .count = 3, .bytes = 1e5};
  const std::string divided =
      "--modify \"SetPartition: {at: model.decoder.emb, partition: [model, [expert, fsdp, seq]]}\"";
  EXPECT_THAT(to_text(mends([&](const Setting& s) -> Outcome {
                if (s.divides_vocabulary) return {.seconds = 0.9};
                return {.findings = {moves}};
              })),
              HasSubstr("try " + divided + ": none left of 3 collectives that move values"));
  EXPECT_THAT(compiled_, ElementsAre(divided));
  EXPECT_THAT(to_text(mends([&](const Setting& s) -> Outcome {
                if (s.model < 4) return {.seconds = 0.9};
                return {.findings = {moves}};
              })),
              HasSubstr("try --mesh data=4,model=2: none left of 3 collectives that move values"));
  EXPECT_THAT(compiled_, ElementsAre(divided, "--mesh data=4,model=2"));
  const auto trace_of_data = mends([&](const Setting&) -> Outcome {
    Finding over_rows = moves;
    over_rows.axis = "data";
    return {.findings = {over_rows}};
  });
  EXPECT_THAT(to_text(trace_of_data), HasSubstr("no change was found that mends 3 collectives"));
  EXPECT_THAT(compiled_, ElementsAre(divided));
}

// Changes of other fields are compiled together.
TEST_F(MendsTest, ChangesOfTwoMendsAreCombined) {
  const Machine machine = [](const Setting& s) -> Outcome {
    Outcome out{.seconds = 1};
    if (s.fsdp == 8) out.findings.push_back(all_reduces(3)), out.seconds += 0.5;
    if (!s.keeps_dots) out.findings.push_back(gathers(1e6)), out.seconds += 0.5;
    return out;
  };
  const Mends both = mends(machine);
  const std::string text = to_text(both);
  const std::string change = text.substr(0, text.find(": none left of"));
  EXPECT_THAT(change, AllOf(HasSubstr("--mesh data=2,fsdp=4"), HasSubstr("--modify \"SetRemat")));
  EXPECT_THAT(to_text(both), Not(HasSubstr("no change")));
  EXPECT_LE(compiled_.size(), 3u);
  follow(both);
  EXPECT_EQ(to_text(mends(machine)), "");
}

TEST_F(MendsTest, AreReportedForAStepThatFits) {
  const Machine waits = [](const Setting&) -> Outcome {
    return {.findings = {{.text = "a note"}, {.kind = FindingKind::kWaiting, .count = 12}}};
  };
  EXPECT_EQ(to_text(mends(waits)),
            "no change was found that mends 12 collectives that nothing overlaps\n");
  EXPECT_THAT(compiled_, IsEmpty());
  AdvisedReport advised{.report = report_of(kMemory, 1), .mends = mends(waits)};
  EXPECT_THAT(to_text(advised), HasSubstr("\nno change was found that mends 12"));
  EXPECT_EQ(to_json(advised)["mends"]["faults"].size(), 1u);
  memory_ = 1;  // does not fit: advise() says what to change
  EXPECT_EQ(to_text(mends(waits)), "");
}

}  // namespace
}  // namespace axle
