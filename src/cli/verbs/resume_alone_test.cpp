// A run goes on, and reports its data, when the model that it began with is gone.
#include <gmock/gmock.h>

#include <filesystem>

#include "checkpoint/folder.h"
#include "cli/run_test.h"
#include "io/file.h"
#include "testing/checkout.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

// The model is a folder that tests move away.
class ResumeAlone : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::copy(reference_file("lm_eval/named"), dir_ / "model");
    replace_file(dir_ / "model/short.jinja",
                 "{% for m in messages %}{{ m['content'] }}{% endfor %}");
    replace_file(dir_ / "text.txt", std::string(4000, 'a'));
    std::string talks, pairs;
    for (int i = 0; i < 8; ++i) {
      talks += R"({"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]})";
      talks += "\n";
      pairs += R"({"prompt": "q", "chosen": "a", "rejected": "b"})"
               "\n";
    }
    replace_file(dir_ / "talks.jsonl", talks);
    replace_file(dir_ / "pairs.jsonl", pairs);
  }
  Arguments in_run(int steps) const {
    return {"--dir", dir_ / "run", "--steps", std::to_string(steps), "--backend", "interpreter"};
  }
  // What a run begins with.
  Arguments start(const std::string& data, const Arguments& flags = {}) const {
    return joined({"train", "--init-from", dir_ / "model", "--data", dir_ / data, "--set",
                   "input.batch_size=1", "--set", "input.seq_len=64", "--set", "evalers={}"},
                  flags);
  }
  // A chat template that takes little room, beside the model.
  Arguments in_short(const Arguments& flags) const {
    return joined(flags, {"--set", "input.split=all", "--set",
                          "input.chat_template=" + (dir_ / "model/short.jinja")});
  }
  void run_well(const Arguments& arguments) {
    const Ran ran = run_axle(arguments);
    EXPECT_EQ(ran.code, 0) << ran.err;
  }
  void move_model() { fs::rename(dir_ / "model", dir_ / "elsewhere"); }
  // Expects these flags to take the run to its third step.
  Ran expect_goes_on(const Arguments& flags) {
    const Ran ran = run_axle(joined(flags, in_run(3)));
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("resumed from step 1"));
    const std::vector<int64_t> steps = checkpoint_steps(checkpoints_of(dir_ / "run"));
    EXPECT_TRUE(!steps.empty() && steps.back() == 3) << ran.out;
    return ran;
  }
  TempDir dir_;
};

TEST_F(ResumeAlone, ContinuesWithTheSameFlags) {
  const Arguments same = start("text.txt", {"--lora", "rank=2,at=**.attention.**"});
  run_well(joined(same, in_run(1)));
  move_model();
  const Ran ran = expect_goes_on(same);
  EXPECT_THAT(ran.err,
              AllOf(HasSubstr("WARNING: --init-from " + (dir_ / "model") +
                              ": expected a model, got nothing there; the run in " +
                              (dir_ / "run") + " goes on as its own config says"),
                    HasSubstr("the tokenizer is read from " + (dir_ / "run/tokenizer.json"))));
}

TEST_F(ResumeAlone, ContinuesWithFewerFlags) {
  run_well(joined(start("text.txt", {"--lora", "rank=2"}), in_run(1)));
  move_model();
  EXPECT_THAT(expect_goes_on({"train"}).err, Not(HasSubstr("--init-from")));
}

// Its config does not say which weights it began with.
TEST_F(ResumeAlone, RunWithoutACheckpointNeedsItsFlags) {
  const Arguments same = start("text.txt");
  run_well(joined(same, in_run(1)));
  fs::remove_all(checkpoints_of(dir_ / "run"));
  const Ran ran = run_axle(joined({"train"}, in_run(3)));
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--dir " + (dir_ / "run") +
                                 ": expected a run with a checkpoint to go on from, got one that "
                                 "has none yet; give the whole command again"));
  run_well(joined(same, in_run(1)));
  expect_goes_on({"train"});
  EXPECT_THAT(run_axle({"train", "--dir", dir_ / "new"}).err, HasSubstr("RECIPE: expected one of"));
}

TEST_F(ResumeAlone, ContinuesWithItsEvaluations) {
  Arguments flags = start("text.txt");
  flags.resize(flags.size() - 2);  // the evalers of the recipe
  flags = joined(flags, {"--set", "input.source.unit=line", "--set", "input.split=train"});
  replace_file(dir_ / "text.txt", [] {
    std::string text;
    for (int i = 0; i < 200; ++i) text += "line " + std::to_string(i) + "\n";
    return text;
  }());
  run_well(joined(flags, in_run(1)));
  move_model();
  expect_goes_on({"train", "--set", "evalers.held_out.every_steps=2"});
}

TEST_F(ResumeAlone, ContinuesOnConversationsAndPairs) {
  for (const Arguments& flags :
       {start("talks.jsonl", in_short({"--qlora", "rank=2,bits=8,group=8"})),
        start("pairs.jsonl", in_short({"--dpo", "beta=0.5"}))}) {
    run_well(joined(flags, in_run(1)));
    move_model();
    const std::string err = expect_goes_on(flags).err,
                      told = "the chat template is read from " + (dir_ / "run/short.jinja");
    EXPECT_THAT(err, HasSubstr(told));
    EXPECT_EQ(err.find(told), err.rfind(told)) << "told once";
    fs::remove_all(dir_ / "run");
    fs::rename(dir_ / "elsewhere", dir_ / "model");
  }
}

TEST_F(ResumeAlone, ContinuesIfTheModelHasChanged) {
  const Arguments same = start("text.txt");
  run_well(joined(same, in_run(1)));
  fs::remove(dir_ / "model/config.json");
  EXPECT_THAT(expect_goes_on(same).err, HasSubstr("expected a model, got something else"));
}

TEST_F(ResumeAlone, FlagsThatDifferFromTheRunAreRefused) {
  run_well(
      joined(start("pairs.jsonl", in_short({"--dpo", "beta=0.5", "--lora", "rank=2"})), in_run(1)));
  move_model();
  const auto error = [&](const Arguments& flags) {
    const Ran ran = run_axle(joined(joined({"train"}, flags), in_run(3)));
    EXPECT_EQ(ran.code, 2);
    return ran.err;
  };
  EXPECT_THAT(error({"--lora", "rank=4"}),
              HasSubstr("--lora: rank: expected 2, as the adapters of " + (dir_ / "run")));
  EXPECT_THAT(error({"--dpo", "beta=0.1"}),
              HasSubstr("--dpo: beta: expected 0.5, as the run in " + (dir_ / "run")));
  EXPECT_THAT(error({"--set", "learner.optimizer.learning_rate.peak=1"}),
              HasSubstr("expected the config of this run, got these differences"));
}

// With and without an --init-from that is gone.
TEST_F(ResumeAlone, AnotherDtypeThanTheRunHasIsRefused) {
  const Arguments dpo = in_short({"--dpo", "beta=0.5"});
  for (const auto& [own, other, data, flags] :
       {std::tuple("bf16", "f32", "text.txt", Arguments()),
        std::tuple("f32", "bf16", "text.txt", Arguments({"--lora", "rank=2"})),
        std::tuple("bf16", "f32", "pairs.jsonl", dpo)}) {
    run_well(joined(joined(start(data, flags), {"--dtype", own}), in_run(1)));
    move_model();
    for (const Arguments& begin : {Arguments({"train"}), start(data, flags)}) {
      const Ran ran = run_axle(joined(joined(begin, {"--dtype", other}), in_run(3)));
      EXPECT_EQ(ran.code, 2);
      EXPECT_THAT(ran.err, HasSubstr(std::string("--dtype: expected ") + own + ", as the run in " +
                                     (dir_ / "run") + " has it, got " + other));
    }
    expect_goes_on({"train", "--dtype", own});
    fs::remove_all(dir_ / "run");
    fs::rename(dir_ / "elsewhere", dir_ / "model");
  }
}

TEST_F(ResumeAlone, EditsThatReplaceClassesMustBeLeftOut) {
  const std::string codes =
      "KeepAsCodes: {from: " + (dir_ / "model") + ", with: {bits: 8, group: 8}}";
  replace_file(dir_ / "sigmoid.yaml", "replace: {SoftmaxAttention: SigmoidAttention}\n");
  const Arguments flags = {"--modify", codes,      "--lora",
                           "rank=2",   "--config", dir_ / "sigmoid.yaml"};
  run_well(joined(start("text.txt", flags), in_run(1)));
  move_model();
  const auto error = [&](const Arguments& more) {
    const Ran ran = run_axle(joined(joined({"train"}, more), in_run(3)));
    EXPECT_EQ(ran.code, 2);
    EXPECT_EQ(ran.err.find('\n'), ran.err.size() - 1) << ran.err;
    return ran.err;
  };
  const std::string began = "; if the run in " + (dir_ / "run") + " began with ",
                    out = ", leave that out: its own config has the changes already";
  EXPECT_THAT(error({"--config", dir_ / "sigmoid.yaml"}),
              HasSubstr(began + "--config " + (dir_ / "sigmoid.yaml") + out));
  EXPECT_THAT(error({"--modify", codes}), HasSubstr(began + "--modify '" + codes + "'" + out));
  EXPECT_THAT(error({"--set", "model.nothing=1"}), Not(HasSubstr("leave that out")));
  expect_goes_on({"train", "--lora", "rank=2"});
}

// Their weights would not be read.
TEST_F(ResumeAlone, ModelsAndRunsAreRefusedAsRecipes) {
  run_well(joined(start("text.txt"), in_run(1)));
  const auto error = [&](const std::string& place) {
    const Ran ran = run_axle({"train", place, "--data", dir_ / "text.txt", "--dir", dir_ / "new"});
    EXPECT_EQ(ran.code, 2);
    EXPECT_FALSE(fs::exists(dir_ / "new"));
    return ran.err;
  };
  const std::string model = dir_ / "model", run = dir_ / "run",
                    expected = "RECIPE: expected the name of a recipe (axle config list), got ";
  EXPECT_THAT(error(model), HasSubstr(expected + "the model " + model + "; --init-from " + model));
  EXPECT_THAT(error(run),
              HasSubstr(expected + "the folder of a run or an import, " + run + "; --init-from " +
                        run + " begins with its weights, --dir " + run +
                        " goes on with a run, --config " + run + "/config.yaml starts it over"));
  EXPECT_EQ(run_axle({"params", run}).code, 0);
}

TEST_F(ResumeAlone, NewRunStillNeedsItsModel) {
  move_model();
  const Ran ran = run_axle(joined(start("text.txt"), in_run(1)));
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("a folder of Hugging Face or a GGUF file, got nothing there"));
  EXPECT_FALSE(fs::exists(dir_ / "run"));
}

TEST_F(ResumeAlone, TheDocumentsOfAStepAreFound) {
  run_well(joined(start("text.txt"), in_run(1)));
  move_model();
  const Ran ran = run_axle({"data", "which", dir_ / "run", "--step", "1"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("text.txt:1"));
  EXPECT_THAT(ran.err, HasSubstr("the tokenizer is read from " + (dir_ / "run/tokenizer.json")));
  EXPECT_THAT(run_axle({"data", "which", dir_ / "run", "--step", "2"}).err,
              HasSubstr("--step 2: expected a step of the run, which has 1 (max_steps), got a "
                        "later one"));
}

// The lines of changed data are not those that were trained.
TEST_F(ResumeAlone, ChangedDataCannotNameTheDocumentsOfAStep) {
  const auto which = [&] { return run_axle({"data", "which", dir_ / "run", "--step", "1"}); };
  const std::string talks = read_file(dir_ / "talks.jsonl");
  for (const std::string weight : {"", "=1"}) {
    const std::string source = weight.empty() ? "input" : "input.sources.talks";
    replace_file(dir_ / "talks.jsonl", talks);
    run_well(joined(
        start("talks.jsonl" + weight, {"--set", "input.split=all", "--set",
                                       source + ".chat_template=" + (dir_ / "model/short.jinja")}),
        in_run(1)));
    EXPECT_EQ(which().code, 0) << which().err;
    replace_file(dir_ / "talks.jsonl", talks.substr(0, talks.find('\n') + 1));
    const Ran changed = which();
    EXPECT_EQ(changed.code, static_cast<int>(ExitCode::kData));
    EXPECT_EQ(changed.out, "");
    EXPECT_THAT(changed.err, HasSubstr((dir_ / "run") + ": expected the data that the run was "
                                                        "trained on, got other data; bring back"));
    fs::remove_all(dir_ / "run/checkpoints");  // nothing describes the data any more
    EXPECT_EQ(which().code, 0);
    fs::remove_all(dir_ / "run");
  }
}

// Where the file lies elsewhere, one field says so for the evalers as well.
TEST_F(ResumeAlone, MovedTokenizerAppliesToEvalersToo) {
  Arguments flags = start("text.txt");
  flags.resize(flags.size() - 2);
  run_well(joined(joined(flags, {"--set", "input.source.unit=line", "--set",
                                 "evalers.held_out.input.split=all", "--set", "input.split=all"}),
                  in_run(1)));
  move_model();
  fs::remove(dir_ / "run/tokenizer.json");
  expect_goes_on({"train", "--set", "input.tokenizer.path=" + (dir_ / "elsewhere/tokenizer.json")});
}

// A start that fails leaves nothing in a folder that was there before.
TEST_F(ResumeAlone, FailedStartLeavesNoFiles) {
  fs::create_directory(dir_ / "run");
  replace_file(dir_ / "run/notes.txt", "mine");
  fs::create_directory(dir_ / "run/metrics.jsonl");
  const auto left = [&] { return list_directory(dir_ / "run").size(); };
  EXPECT_NE(run_axle(joined(start("text.txt"), in_run(1))).code, 0);
  EXPECT_EQ(left(), 2u);
  fs::remove(dir_ / "run/metrics.jsonl");
  // After the tokenizer is copied: the executable is read when programs are compiled.
  replace_file(dir_ / "bad.exe", "no program");
  EXPECT_NE(run_axle(joined(start("text.txt", {"--executable", dir_ / "bad.exe"}), in_run(1))).code,
            0);
  EXPECT_EQ(left(), 1u);
  EXPECT_EQ(read_file(dir_ / "run/notes.txt"), "mine");
}

}  // namespace
}  // namespace axle
