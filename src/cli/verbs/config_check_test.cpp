// Tests `config check` and `config describe` through the command line: all mistakes at once, and
// nothing is run.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "cli/run_test.h"
#include "io/file.h"
#include "testing/resource_limits.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Ran check(const std::vector<std::string>& settings, const std::string& recipe = "quickstart",
          const Arguments& more = {}) {
  const Arguments checking = {"config", "check", recipe, "--data", "synthetic"};
  return run_axle(joined(joined(checking, set_flags(settings)), more));
}

TEST(ConfigCheck, RefusesWhatARunWouldRefuse) {
  const std::pair<const char*, const char*> kMistakes[] = {
      {"learner.optimizer.b1=2",
       "learner.optimizer.b1: expected a number of at least 0 and below 1, got '2'"},
      {"learner.optimizer.b1=nan", "expected a number of at least 0 and below 1, got 'nan'"},
      {"learner.optimizer.eps=0", "learner.optimizer.eps: expected a number above 0"},
      {"learner.optimizer.weight_decay=-0.1", "expected a number of at least 0"},
      {"learner.optimizer.learning_rate.peak=inf", "expected a number above 0, got 'inf'"},
      {"learner.optimizer.learning_rate={class: Polynomial, begin_step: 5, end_step: 2}",
       "learner.optimizer.learning_rate.end_step: must be after begin_step"},
      {"input.batch_size=0", "input.batch_size: expected an integer of at least 1, got '0'"},
      {"input.seq_len=-1", "input.seq_len: expected an integer of at least 1"},
      {"max_steps=2147483648", "max_steps: expected an integer from 1 to 2147483647"},
      {"max_steps=-5", "max_steps: expected an integer from 1 to 2147483647"},
      {"evalers.held_out.every_steps=0",
       "evalers.held_out.every_steps: expected an integer of at least 1"},
      {"evalers['../x']={every_steps: 3}", "evalers: expected a name of 1 to 100 letters"},
      {"evalers={'': {every_steps: 3}}", "evalers: expected a name of 1 to 100 letters"},
      {"checkpointer.keep_last_n=0", "expected an integer of at least 1"},
      {"log_every_steps=0", "expected an integer of at least 1"},
      {"model.decoder.model_dim=0", "expected an integer of at least 1"},
      {"model.decoder.layers.num_layers=+-4", "expected an integer, got '+-4'"},
      {"model.decoder.layers.layer.attention.body.num_kv_heads=3", "num_kv_heads: must divide"},
      {"model.decoder.layers.layer.attention.body.qkv.theta=0", "expected a number above 0"},
      {"model.z_loss_scale=nan", "expected a number of at least 0"},
      {"mesh=dta=4", "dta"},
      {"mesh=data=0", "mesh"},
      {"mesh=data=3", "input"},
      {"evalers.held_out.input.num_batches=none",
       "evalers.held_out.input: expected an input that "
       "ends"},
      {"learner.optimizer.weight_decay_scales={'nothing.**': 0}", "matches no parameter"},
      {"learner.ema.decay=1.5", "learner.ema.decay"},
  };
  for (const auto& [setting, message] : kMistakes) {
    const Ran ran = check({setting});
    EXPECT_EQ(ran.code, 2) << setting << "\n" << ran.out;
    EXPECT_THAT(ran.err, HasSubstr(message)) << setting;
  }
}

TEST(ConfigCheck, ReportsAllMistakesTogether) {
  const Ran ran = run_axle({"config", "check", "quickstart", "--data", "nowhere.txt", "--set",
                            "mesh=data=2,fsdp=-1,seq=-1", "--set",
                            "input.tokenizer={class: ByteTokenizer, vocab_size: 4096}", "--set",
                            "learner.optimizer.weight_decay_scales={'nothing.**': 0}", "--set",
                            "max_steps=REQUIRED"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(
      ran.err,
      AllOf(HasSubstr("REQUIRED but not set: max_steps; set each with --set or in a file\n"),
            HasSubstr("input.source.path: nowhere.txt: expected a file or folder, got nothing "
                      "there\n"),
            HasSubstr("input.tokenizer: expected at most the model's vocabulary"),
            HasSubstr("learner.optimizer.weight_decay_scales: 'nothing.**' matches no parameter"),
            HasSubstr("mesh: expected at most one axis of size -1")));
}

// What `train` finds out when it opens its data.
TEST(ConfigCheck, DataThatARunWouldRefuse) {
  const TempDir dir;
  const auto check_data = [&](const std::string& name, const std::string& bytes,
                              const Arguments& more = {}) {
    replace_file(dir / name, bytes);
    const Ran checked =
        run_axle(joined({"config", "check", "quickstart", "--data", dir / name}, more));
    const Ran trained = run_axle(joined({"train", "quickstart", "--data", dir / name, "--dir",
                                         dir / "run", "--backend", "interpreter"},
                                        more));
    EXPECT_NE(trained.code, 0);
    // Of mistakes of several kinds, a run finds one first.
    EXPECT_EQ(checked.code, more.empty() ? 3 : 2) << name;
    EXPECT_TRUE(trained.code == 3 || !more.empty()) << name << trained.code;
    return checked.err;
  };
  EXPECT_THAT(check_data("a.jsonl", "{\"text\":\"a\"}\n{\"text\":1}\n"),
              HasSubstr("a.jsonl:2: text: expected a text, got 1"));
  EXPECT_THAT(check_data("b.jsonl", "{\"text\":\"a\"}\n"),
              HasSubstr("expected enough documents for the split 'held_out', got 1 document"));
  EXPECT_THAT(check_data("a.txt", "good\nbad \xff here\n"), HasSubstr("a.txt:2: not valid UTF-8"));
  EXPECT_THAT(check_data("b.txt", " \n"), HasSubstr("b.txt: expected text, got a file of blanks"));
  EXPECT_THAT(check_data("c.txt", "ab"), HasSubstr("c.txt:1: expected enough text for the split"));
  // Beside a mistake of another kind.
  const std::string both = check_data("a.jsonl", "{}\n", {"--mesh", "dta=4"});
  EXPECT_THAT(both, AllOf(HasSubstr("expected the field 'text'"), HasSubstr("mesh.dta: ")));
  replace_file(dir / "good.txt", std::string(20000, 'x'));
  EXPECT_EQ(run_axle({"config", "check", "quickstart", "--data", dir / "good.txt"}).code, 0);
  const Ran none = run_axle(
      {"config", "check", "quickstart", "--data", dir / "good.txt", "--data", dir / "none.txt"});
  EXPECT_THAT(none.err,
              HasSubstr((dir / "none.txt") + ": expected a file or folder, got nothing there"));
}
TEST(ConfigCheck, PathIsRefusedWithSeveralDataFlags) {
  const TempDir dir;
  for (const char* name : {"a", "b", "c"}) replace_file(dir / name, std::string(20000, 'x'));
  const Arguments two = {"config", "check", "quickstart", "--data", dir / "a", "--data", dir / "b"};
  EXPECT_EQ(run_axle(two).code, 0);
  const Ran ran = run_axle(joined(two, {"--set", "input.source.path=" + (dir / "c")}));
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--set input.source.path: expected no --data with several texts"));
}

TEST(ConfigCheck, FilesThatAreLeftOutAreNamed) {
  const TempDir dir;
  make_directories(dir / "corpus");
  replace_file(dir / "corpus/a.txt", std::string(20000, 'x'));
  replace_file(dir / "corpus/b.bin", "x");
  const Ran ran = run_axle({"config", "check", "quickstart", "--data", dir / "corpus"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("WARNING: input: 1 skipped (1 not *.txt: b.bin)"));
}

TEST(ConfigCheck, InputsWhoseBatchesHaveMoreThanTokens) {
  const TempDir dir;
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "question " + std::to_string(i) + "\tanswer\n";
  replace_file(dir / "a.txt", text);
  replace_file(dir / "prompts.yaml", R"(
recipe: quickstart
set:
  input.prompt: {until: "\t"}
  model.decoder.layers.layer.attention.body.mask:
    {class: AnyOf, masks: [{class: CausalMask}, {class: PrefixMask}]}
)");
  replace_file(dir / "streams.yaml", R"(
recipe: quickstart
set:
  input.position_streams: [token, line]
  model.decoder.layers.layer.attention.body.qkv.streams: {sections: [8, 8]}
)");
  for (const char* name : {"prompts.yaml", "streams.yaml"}) {
    const Ran ran = run_axle({"config", "check", "--config", dir / name, "--data", dir / "a.txt"});
    EXPECT_EQ(ran.code, 0) << name << ran.err;
  }
}

TEST(ConfigCheck, AStateThatThisHostCannotHold) {
  const LittleMemory little(int64_t{1} << 30);
  const Arguments command = {"config", "check", "gpt2-124M", "--data", "synthetic"};
  const Ran here = run_axle(command);
  EXPECT_EQ(here.code, 6);
  EXPECT_THAT(here.err, HasSubstr("host memory: expected "));
  EXPECT_EQ(run_axle(joined(command, {"--on", "gpu-H100-8"})).code, 0)
      << "the memory of another machine is not known here";
}

// The state is small; what a step computes with is not. `train` says the same before it compiles.
TEST(ConfigCheck, AStepThatThisHostCannotHold) {
  const LittleMemory little(int64_t{1} << 30);
  const TempDir dir;
  const std::pair<std::vector<std::string>, std::string> kCases[] = {
      {{"quickstart", "--set", "input.batch_size=2048"}, "the temporaries of the step"},
      {{"quickstart", "--set", "evalers.held_out.input.batch_size=50000"},
       "the temporaries of evalers.held_out"}};
  for (const auto& [flags, what] : kCases) {
    const Arguments more = joined(flags, {"--data", "synthetic"});
    const Ran checked = run_axle(joined({"config", "check"}, more));
    const Ran trained = run_axle(
        joined(joined({"train"}, more), {"--dir", dir / "run", "--backend", "interpreter"}));
    for (const Ran& ran : {checked, trained}) {
      EXPECT_EQ(ran.code, 6) << ran.out;
      EXPECT_THAT(ran.err, AllOf(HasSubstr("host memory: expected "), HasSubstr(what),
                                 HasSubstr("] of model.decoder."), Not(HasSubstr("weight"))));
    }
    const auto needs = [](const std::string& text) { return text.substr(0, text.find(", got ")); };
    EXPECT_EQ(needs(checked.err), needs(trained.err));
  }
  const Ran of_step = check({"input.batch_size=2048"});
  EXPECT_THAT(of_step.err, HasSubstr("take --set learner.device_rows="));
  // Beside a mistake of another kind.
  const Ran both = check({"input.batch_size=2048",
                          "learner.optimizer.weight_decay_scales="
                          "{'nothing.**': 0}"});
  EXPECT_EQ(both.code, 2);
  EXPECT_EQ(check({"input.batch_size=8"}).code, 0);
}

TEST(ConfigCheck, ReportsMistakesInLearnerPatternsWithThoseOfTheModel) {
  const Ran ran = check({"model.decoder.layers.layer.attention.body.num_kv_heads=3",
                         "learner.frozen=['**.nothing', '**.norm.scale', 'emb']",
                         "learner.trained=['**.neither']"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("num_kv_heads: must divide num_heads"),
                             HasSubstr("learner.frozen: '**.nothing' matches no parameter"),
                             HasSubstr("learner.frozen: 'emb' matches no parameter"),
                             HasSubstr("learner.trained: '**.neither' matches no parameter")));
  EXPECT_EQ(ran.err.find("norm.scale"), ran.err.npos) << ran.err;
  EXPECT_EQ(std::ranges::count(ran.err, '\n'), 4) << ran.err;
}

// Each flag is good by itself; the modules that they make do not fit together.
TEST(ConfigCheck, ReportsAllMistakesOfConstructionTogether) {
  const std::string attention = "model.decoder.layers.layer.attention.body.";
  const std::vector<std::string> settings = {
      attention + "num_kv_heads=3", attention + "kv_cache={class: SlidingKVCache, window: 64}",
      "model.decoder.output_norm={class: GroupNorm, num_groups: 7}",
      "learner.optimizer.learning_rate={class: Polynomial, begin_step: 5, end_step: 2}"};
  // The mistake is in the config of all blocks, and is reported for the first one.
  const std::string first = "model.decoder.layers.layer.attention.body.";
  const std::string lines =
      first + "num_kv_heads: must divide num_heads, got 3 and 4\n" + first +
      "kv_cache.window: expected a mask with a window of at most 64 positions, got a mask without "
      "a window; use SlidingWindowMask, a larger window, or DenseKVCache\n"
      "model.decoder.output_norm.num_groups: must divide the 128 channels, got 7\n"
      "learner.optimizer.learning_rate.end_step: must be after begin_step";
  const Ran checked = check(settings);
  EXPECT_EQ(checked.code, 2);
  EXPECT_THAT(checked.err, HasSubstr(lines));
  EXPECT_EQ(std::ranges::count(checked.err, '\n'), 4) << checked.err;
  const TempDir dir;
  const Ran trained = run_axle(joined(
      {"train", "quickstart", "--data", "synthetic", "--dir", dir / "run"}, set_flags(settings)));
  EXPECT_EQ(trained.code, 2);
  EXPECT_THAT(trained.err, HasSubstr(lines));
}

// Mistakes that are found while text is parsed are reported together with those that are found
// later.
TEST(ConfigCheck, ReportsAllMistakesOfFlagsAndFilesTogether) {
  const std::pair<std::string, std::string> kMistakes[] = {
      {"learner.optimizer.b1=2", "learner.optimizer.b1: expected a number of at least 0 and below"},
      {"input.batch_size=0", "input.batch_size: expected an integer of at least 1, got '0'"},
      {"evalers.held_out.every_steps=0", "evalers.held_out.every_steps: expected an integer of"},
      {"max_steps=-5", "max_steps: expected an integer from 1 to 2147483647, got '-5'"},
      {"model.decoder.layrs=3", "model.decoder.layrs: no such field; did you mean 'layers'?"},
      {"model.decoder.output_norm=RMSNrm", "model.decoder.output_norm: no Norm is called"},
      {"model.decoder.layers.layer.attention.body.num_kv_heads=3", "num_kv_heads: must divide"},
      {"mesh=dta=4", "mesh.dta: expected an axis that shards parameters or batches"}};
  const TempDir dir;
  std::vector<std::string> settings;
  std::string file = "recipe: quickstart\nset:\n";
  for (const auto& [setting, message] : kMistakes) {
    settings.push_back(setting);
    const size_t equals = setting.find('=');
    file += fmt::format("  {}: {}\n", setting.substr(0, equals), setting.substr(equals + 1));
  }
  replace_file(dir / "a.yaml", file);
  const Ran by_flags = check(settings);
  const Ran by_file =
      run_axle({"config", "check", "--config", dir / "a.yaml", "--data", "synthetic"});
  for (const Ran& ran : {by_flags, by_file}) {
    EXPECT_EQ(ran.code, 2) << ran.out;
    for (const auto& [setting, message] : kMistakes) EXPECT_THAT(ran.err, HasSubstr(message));
    EXPECT_EQ(std::ranges::count(ran.err, '\n'), std::ssize(kMistakes)) << ran.err;
  }
  EXPECT_THAT(by_file.err, HasSubstr("a.yaml:6: max_steps: expected"));
  // A run stops at mistakes in the text, and also reports all of them.
  const Ran train = run_axle({"train", "--config", dir / "a.yaml", "--data", "synthetic"});
  EXPECT_THAT(train.err, AllOf(HasSubstr("a.yaml:3: learner.optimizer.b1"),
                               HasSubstr("a.yaml:6: max_steps"), HasSubstr("output_norm: no")));
}

TEST(ConfigCheck, ReportsAllMistakesOfAWholeConfigTogether) {
  const TempDir dir;
  std::string tree = run_axle({"config", "show", "quickstart", "--yaml"}).out;
  for (const auto& [right, wrong] :
       {std::pair("b1: 0.9", "b1: 2.0"), std::pair("batch_size: ", "batch_size: -"),
        std::pair("max_steps: ", "max_steps: -"), std::pair("seed: ", "sed: ")}) {
    const size_t at = tree.find(right);
    ASSERT_NE(at, tree.npos) << right << tree;
    tree.replace(at, std::strlen(right), wrong);
  }
  replace_file(dir / "a.yaml", tree);
  const Ran ran = run_axle({"config", "check", "--config", dir / "a.yaml"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err,
              AllOf(HasSubstr("a.yaml: learner.optimizer.b1: expected"),
                    HasSubstr("a.yaml: input.batch_size: expected an integer of at"),
                    HasSubstr("a.yaml: max_steps: expected an integer from 1 to 2147483647"),
                    HasSubstr("sed: no such field; did you mean 'seed'?")));
}

TEST(ConfigCheck, ATextFullOfMistakesIsCutOff) {
  const TempDir dir;
  std::string file = "recipe: quickstart\nset:\n  learner.optimizer:\n";
  for (int i = 0; i < 1000; ++i) file += fmt::format("    x{}: 1\n", i);
  replace_file(dir / "a.yaml", file);
  const Ran ran = check({}, "--config=" + (dir / "a.yaml"));
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("the rest was not checked"));
  EXPECT_LE(std::ranges::count(ran.err, '\n'), 25);
}

TEST(ConfigCheck, EveryRecipePassesOnItsMachines) {
  const auto all = nlohmann::json::parse(run_axle({"config", "list", "--json"}).out);
  for (const char* list : {"recipes", "test_recipes"}) {
    ASSERT_GE(all[list].size(), 5u);
    for (const std::string recipe : all[list]) {
      const Ran ran = check({}, recipe, {"--on", "cpu:1"});  // for any memory of this host
      EXPECT_EQ(ran.code, 0) << recipe << ": " << ran.err;
    }
  }
  EXPECT_EQ(check({}, "fuji-7B-v2", {"--on", "gpu-H100-256"}).code, 0);
}

// `config check` refuses too many devices, as a run does.
TEST(ConfigCheck, MoreDevicesThanAMachineHas) {
  const std::vector<std::string> settings = {"input.batch_size=2048", "learner.optimizer.b1=2"};
  const std::string b1 = "learner.optimizer.b1: expected a number";
  EXPECT_THAT(check(settings, "quickstart", {"--mesh", "data=2048"}).err,
              AllOf(HasSubstr("mesh: expected 1 to 1024 devices of one machine, got 2048\n"),
                    HasSubstr(b1)));
  EXPECT_EQ(check({"input.batch_size=1024"}, "fuji-test-v1", {"--mesh", "data=1024"}).code, 0);
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--on", "cpu:4096"},
        {"--on", "cpu:4096", "--set", "compiler_options.xla_cpu_enable_fast_math=true"}}) {
    const Ran ran = check(settings, "quickstart", more);
    EXPECT_EQ(ran.code, 2);
    EXPECT_THAT(ran.err,
                AllOf(HasSubstr("cpu:4096: expected 1 to 1024 devices of one machine, got 4096\n"),
                      HasSubstr(b1)));
  }
  EXPECT_EQ(check({"input.batch_size=2048"}, "quickstart",
                  {"--on", "gpu:h100:256x8", "--mesh", "data=2048"})
                .code,
            0);
}

// Each option is checked alone by the plugin, which takes milliseconds.
TEST(ConfigCheck, FarTooManyCompilerOptions) {
  std::string options = "compiler_options={";
  for (int i = 0; i < 1001; ++i) options += "x" + std::to_string(i) + ": 1, ";
  const Ran ran = check({options + "}"}, "quickstart");
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err, "axle: compiler_options: expected at most 1000, got 1001\n");
}

TEST(ConfigCheck, ReportsThatNoMeshRuleMatches) {
  EXPECT_THAT(check({}, "fuji-7B-v2", {"--on", "tpu-v4-128"}).out,
              HasSubstr("no mesh rule matches tpu-v4-128"));
  EXPECT_THAT(check({}, "quickstart").out, Not(HasSubstr("mesh rule"))) << "it has no rules";
}

TEST(ConfigCheck, ReportsFieldsCarriedOverToANewClass) {
  EXPECT_THAT(check({"model.decoder.output_norm=LayerNorm"}).out,
              HasSubstr("RMSNorm -> LayerNorm: model.decoder.output_norm\n  carried over: "
                        "model.decoder.output_norm.eps\n"));
}

TEST(ConfigSet, NumbersBecomeConstants) {
  const std::tuple<const char*, const char*, const char*> kCases[] = {
      {"learner.optimizer.learning_rate=0.001", "learner.optimizer.learning_rate", "ConstantRate"},
      {"learner.optimizer.learning_rate=0.001", "learner.optimizer.learning_rate.value", "0.001"},
      {"model.decoder.layers.layer.feed_forward.body.hidden_dim=256",
       "model.decoder.layers.layer.feed_forward.body.hidden_dim.dim", "256"},
      {"learner.ema.decay=0.99", "learner.ema.decay.value", "0.99"},
      {"learner.ema=0.99", "learner.ema.decay.value", "0.99"},
      {"model.decoder.dropout=0.1", "model.decoder.dropout.rate", "0.1"},
  };
  for (const auto& [setting, path, value] : kCases) {
    const Ran shown = run_axle({"config", "show", "quickstart", "--set", setting});
    EXPECT_THAT(shown.out, HasSubstr(fmt::format("\n{}: {}\n", path, value))) << shown.err;
    const Ran checked = check({setting});
    EXPECT_EQ(checked.code, 0) << setting << ": " << checked.err;
  }
  const std::string refusal = check({"learner.optimizer.learning_rate=gelu"}).err;
  EXPECT_THAT(refusal, HasSubstr("a number is a ConstantRate"));
  EXPECT_THAT(refusal, Not(HasSubstr("silu"))) << "what fits a schedule";
  EXPECT_THAT(check({"model.decoder.layers.layer.feed_forward.body.activation=0.5"}).err,
              HasSubstr("no function that fits here is called '0.5'"));
}

TEST(ConfigSet, AMappingWithAClassStartsFromItsDefaults) {
  const Ran ran = run_axle({"config", "show", "fuji-7B-v2", "--set",
                            "model.decoder.layers.layer.attention.body={class: Attention, "
                            "num_heads: 2}"});
  EXPECT_THAT(ran.out, HasSubstr("attention.body.num_heads: 2\n"));
  EXPECT_THAT(ran.out, HasSubstr("attention.body.num_kv_heads: none\n"));
  EXPECT_THAT(ran.out, HasSubstr("attention.body.qkv: FusedQKV\n"));
}

TEST(ConfigSet, WrapAndKeepMustNameFields) {
  const TempDir dir;
  const std::pair<const char*, const char*> kCases[] = {
      {"{with: RoPE, wrap: ''}", "expected the name of a slot, got"},
      {"{with: RoPE, wrap: innr}", "RoPE.innr: no such field; did you mean 'inner'?"},
      {"{with: SeparateQKV, keep: [q_prj]}", "SeparateQKV.q_prj: no such field; did you mean"},
      {"{with: SeparateQKV, keep: ['']}", "expected names of fields, got"},
      {"{with: SeparateQKV, keep: {a: b}}", "expected a list of names of fields, got"},
      {"{with: SeparateQKV, set: [1]}", "expected a mapping of fields, got"},
      {"{with: SeparateQKV, at: 5.5.5}", "expected at least one match at '5.5.5', got none"},
  };
  for (const auto& [spec, message] : kCases) {
    replace_file(dir / "a.yaml",
                 fmt::format("recipe: quickstart\nreplace:\n  FusedQKV: {}\n", spec));
    const Ran ran = run_axle({"config", "show", "--config", dir / "a.yaml"});
    EXPECT_EQ(ran.code, 2) << spec;
    EXPECT_THAT(ran.err, HasSubstr(message)) << spec;
  }
}

TEST(ConfigSet, HostileTextsAreOneLine) {
  const std::string deep(1'000'000, '[');
  for (const std::string& setting :
       {std::string("learner.transforms=") + deep, "mesh=" + deep, "input=" + deep,
        std::string("input={") + deep, std::string("learner.transforms=&a [*a]"),
        std::string("model=\xff"), std::string("\xff=3"), "a.b" + std::string(100'000, '.'),
        std::string(100'000, 'a') + "=1", "a" + std::string(100'000, '[') + "=1",
        std::string("evalers['") + std::string(100'000, 'x') + "']={every_steps: 1}"}) {
    const Ran ran = check({setting});
    EXPECT_EQ(ran.code, 2) << setting.substr(0, 40);
    EXPECT_THAT(ran.err, Not(HasSubstr("bug of Axle"))) << setting.substr(0, 40);
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err.substr(0, 200);
  }
}

TEST(ConfigDescribe, PrintsFieldsAsTextAndJson) {
  const Ran ran = run_axle({"config", "describe", "AdamW"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("b1: 0.9\n      Decay of the mean of gradients.\n"));
  const auto json = nlohmann::json::parse(run_axle({"config", "describe", "AdamW", "--json"}).out);
  EXPECT_EQ(json["fields"]["b1"]["max"], 1);
  EXPECT_EQ(run_axle({"config", "describe", "AdamW2"}).code, 2);
  EXPECT_EQ(run_axle({"config", "describe", "quickstart", "max_steps"}).code, 0);
  EXPECT_EQ(run_axle({"config", "describe"}).code, 2);
}

}  // namespace
}  // namespace axle
