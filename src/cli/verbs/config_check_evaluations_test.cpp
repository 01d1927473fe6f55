// Tests what `config check` says of evaluations: of their data, and of the programs that they run.
#include <gmock/gmock.h>

#include "base/text/text.h"
#include "cli/run_test.h"
#include "io/file.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Ran check_evaluations(const std::vector<std::string>& settings) {
  return run_axle(
      joined({"config", "check", "quickstart", "--data", "synthetic"}, set_flags(settings)));
}

// What `train` finds out before its first step, each mistake in a line.
TEST(ConfigCheck, TasksThatARunWouldRefuse) {
  const TempDir dir;
  replace_file(dir / "text.txt", std::string(20000, 'x'));
  replace_file(dir / "good.jsonl", "{\"q\": \"x\", \"c\": [\"x\", \"y\"], \"l\": 0}\n");
  replace_file(dir / "bad.jsonl", "{\"q\": \"x\", \"c\": [\"x\"], \"l\": 3}\n");
  replace_file(dir / "long.jsonl",
               "{\"q\": \"x\", \"c\": [\"" + std::string(5000, 'y') + "\"], \"l\": 0}\n");
  const auto write_task = [&](const std::string& name, const std::string& data,
                              const std::string& more = "") {
    replace_file(dir / (name + ".yaml"),
                 "dataset_path: json\ndataset_kwargs: {data_files: {test: " + data +
                     ".jsonl}}\ntest_split: test\noutput_type: multiple_choice\n"
                     "target_delimiter: ''\ndoc_to_text: q\ndoc_to_choice: c\n"
                     "doc_to_target: l\n" +
                     more);
    return dir / (name + ".yaml");
  };
  const std::string good = write_task("good", "good"), bad = write_task("bad", "bad"),
                    unknown = write_task("unknown", "good", "doc_to_nothing: q\n"),
                    large = write_task("long", "long"), none = dir / "none.yaml";
  const auto refused = [&](const std::string& tasks, int code, const Arguments& more = {}) {
    const Arguments flags = joined({"quickstart", "--data", dir / "text.txt", "--set",
                                    "task_evalers.facts={tasks: [" + tasks + "]}"},
                                   more);
    const Ran checked = run_axle(joined({"config", "check"}, flags));
    const Ran trained = run_axle(
        joined(joined({"train"}, flags), {"--dir", dir / "run", "--backend", "interpreter"}));
    EXPECT_EQ(checked.code, code) << checked.err;
    EXPECT_EQ(trained.code, code) << trained.err;
    EXPECT_EQ(checked.err, trained.err);
    return checked.err;
  };
  const std::string where = "task_evalers.facts.tasks: ";
  const std::string many =
      refused(join(std::vector<std::string>{good, bad, unknown, none, good}, ", "), 2);
  EXPECT_EQ(std::ranges::count(many, '\n'), 4) << many;
  EXPECT_THAT(
      many, AllOf(HasSubstr(where + (dir / "bad.jsonl") + ":1: expected the right answer"),
                  HasSubstr(where + unknown), HasSubstr("doc_to_nothing"), HasSubstr(where + none),
                  HasSubstr("expected a name of its own, got 'good' twice")));
  EXPECT_THAT(refused(bad, 3), HasSubstr("bad.jsonl:1: "));
  EXPECT_THAT(refused(large, 3),
              HasSubstr("long.jsonl:1: expected a continuation of at most the model's"));
  // The model scores choices, but generates no answers.
  const Arguments both_sides = {"--set",
                                "model.decoder.layers.layer.attention.body.mask="
                                "{class: TwoSidedWindowMask, before: 3, after: 3}"};
  const std::string answers = dir / "answers.yaml";
  replace_file(answers,
               "dataset_path: json\ndataset_kwargs: {data_files: {test: good.jsonl}}\n"
               "test_split: test\ndoc_to_text: q\ndoc_to_target: q\n"
               "generation_kwargs: {until: ['.'], max_gen_toks: 4}\n");
  EXPECT_THAT(refused(answers, 2, both_sides),
              HasSubstr("task_evalers.facts: model.decoder.layers."));
  EXPECT_EQ(run_axle(joined({"config", "check", "quickstart", "--data", dir / "text.txt", "--set",
                             "task_evalers.facts={tasks: [" + good + "]}"},
                            both_sides))
                .code,
            0);
  // Also where the rest of the config has mistakes.
  EXPECT_THAT(check_evaluations({"task_evalers.facts={tasks: [" + bad + "]}", "mesh=dta=4"}).err,
              AllOf(HasSubstr("bad.jsonl:1: "), HasSubstr("mesh.dta: ")));
  EXPECT_THAT(check_evaluations({"task_evalers.facts={tasks: [" + good + "]}"}).err,
              HasSubstr("task_evalers.facts: expected a run whose input has a tokenizer"));
  EXPECT_EQ(run_axle({"config", "check", "quickstart", "--data", dir / "text.txt", "--set",
                      "task_evalers.facts={tasks: [" + good + "]}"})
                .code,
            0);
}

TEST(ConfigCheck, ProgramsOfEvalersAreTracedLikeTheStep) {
  const std::string most = "model.decoder.max_seq_len=256";
  ASSERT_EQ(
      check_evaluations({most, "input.seq_len=256", "evalers.held_out.input.seq_len=256"}).code, 0);
  const Ran ran =
      check_evaluations({most, "input.seq_len=256", "evalers.held_out.input.seq_len=300"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err,
            "axle: evalers.held_out: model.decoder: expected at most max_seq_len = 256 positions, "
            "got 300\n");
  // Said once of both.
  const Ran both =
      check_evaluations({most, "input.seq_len=300", "evalers.held_out.input.seq_len=300"});
  EXPECT_EQ(both.code, 2);
  EXPECT_EQ(std::ranges::count(both.err, '\n'), 1) << both.err;
}

}  // namespace
}  // namespace axle
