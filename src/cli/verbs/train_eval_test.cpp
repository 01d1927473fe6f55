// Tests `train` and `eval` from the command line, on the interpreter.
#include <gmock/gmock.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "checkpoint/restore.h"
#include "checkpoint/state_files.h"
#include "cli/run_test.h"
#include "io/file.h"
#include "testing/environment_change.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

// Returns the command that trains the quickstart, made small enough for the interpreter.
Arguments train(const std::string& dir, const std::string& data, const Arguments& more = {}) {
  const Arguments training = {"train", "quickstart", "--backend", "interpreter", "--dir",
                              dir,     "--data",     data,        "--steps",     "2"};
  return replaced(joined(training, tiny_quickstart()), more);
}

// Returns the learning rates of the steps in a metrics.jsonl.
std::vector<double> rates_in(const std::string& run) {
  std::vector<double> out;
  std::istringstream lines(read_file(run + "/metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const auto record = nlohmann::json::parse(line);
    if (!record.contains("split")) out.push_back(record.at("learning_rate"));
  }
  return out;
}

class TrainEval : public ::testing::Test {
 protected:
  // Evaluates the model of the folder "run".
  Ran evaluate(const std::string& data, const Arguments& more = {}) {
    return run_axle(
        joined({"eval", "--from", dir_ / "run", "--data", data, "--backend", "interpreter"}, more));
  }
  TempDir dir_;
};

TEST_F(TrainEval, TrainsThenEvaluates) {
  const std::string text = text_file(dir_), run = dir_ / "run";
  const Ran trained = run_axle(train(run, text));
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_TRUE(path_exists(run + "/metrics.jsonl"));
  const Ran evaluated = evaluate(text, {"--json"});
  ASSERT_EQ(evaluated.code, 0) << evaluated.err;
  const auto json = nlohmann::json::parse(evaluated.out);
  EXPECT_EQ(json["step"], 2);
  EXPECT_GT(json["metrics"]["loss"], 1);
  EXPECT_GT(json["metrics"]["bits_per_byte"], 1);
  EXPECT_GT(json["byte_entropy_bits"], 3);
  EXPECT_GE(json["num_bytes"], 40 * 45 - 1);
  const Ran shown = evaluate(text);
  EXPECT_THAT(shown.out, HasSubstr("bits per byte (entropy of the text's own bytes: "));

  // The run's config is a config file, and the run's folder can be compared with recipes.
  EXPECT_THAT(run_axle({"config", "diff", "quickstart", run}).out,
              HasSubstr("model.decoder.model_dim: 128 -> 8\n"));
  EXPECT_THAT(run_axle({"config", "show", "--config", run + "/config.yaml"}).out,
              HasSubstr("model.decoder.model_dim: 8\n"));

  const Ran other = run_axle(train(run, text, {"--set", "model.z_loss_scale=0.5"}));
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("model.z_loss_scale: 0.0 -> 0.5"));
  EXPECT_EQ(run_axle(train(run, text, {"--no-resume"})).code, 2);
}

// Texts of several flags, of patterns, and with names that are no UTF-8.
TEST_F(TrainEval, DataOfSeveralPathsAreReadInOrder) {
  const std::string text = read_file(text_file(dir_));
  make_directories(dir_ / "c");
  for (const char* name : {"c/b.txt", "c/a.txt", "c/z\xff.txt"}) replace_file(dir_ / name, text);
  const auto bytes_of = [&](const Arguments& data) {
    Arguments command = {"eval", "--from", dir_ / "run", "--backend", "interpreter", "--json"};
    for (const std::string& path : data) command.insert(command.end(), {"--data", path});
    const Ran ran = run_axle(command);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.code == 0 ? nlohmann::json::parse(ran.out).at("num_files").get<int>() : -1;
  };
  const std::string raw = dir_ / "c/z\xff.txt";
  const Ran trained = run_axle(train(dir_ / "run", dir_ / "c/b.txt", {"--data", raw}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_THAT(trained.out + trained.err, HasSubstr("data: 2 files"));
  EXPECT_THAT(read_file(dir_ / "run/config.yaml"), HasSubstr("z\\\\xff.txt"));
  EXPECT_EQ(bytes_of({dir_ / "c/a.txt", dir_ / "c/b.txt"}), 2);
  EXPECT_EQ(bytes_of({dir_ / "c/*.txt"}), 3);
  EXPECT_EQ(bytes_of({raw}), 1);
  // A resume compares the data themselves.
  const Ran again =
      run_axle(train(dir_ / "run", dir_ / "c/b.txt", {"--data", raw, "--steps", "3"}));
  EXPECT_EQ(again.code, 0) << again.err;
  const Ran other = run_axle(train(dir_ / "run", dir_ / "c/b.txt", {"--steps", "4"}));
  EXPECT_EQ(other.code, 3) << other.err;
}

// The losses of an evaluation are of one text. A resume tells if that has changed.
TEST_F(TrainEval, ChangedEvaluationDataAreReported) {
  const std::string text = text_file(dir_), run = dir_ / "run", held_out = dir_ / "held_out.txt";
  replace_file(held_out, std::string(4000, 'a'));
  const auto resumed = [&](const std::string& steps) {
    return run_axle(train(run, text,
                          {"--steps", steps, "--set",
                           "evalers={held_out: {input: {class: TextInput, split: all, epochs: 1, "
                           "source: {class: TextSource, path: " +
                               held_out + "}}}}"}));
  };
  const std::string told =
      "WARNING: evalers.held_out.input: expected the data of the earlier steps";
  const Ran first = resumed("2");
  ASSERT_EQ(first.code, 0) << first.err;
  const Ran same = resumed("3");
  EXPECT_THAT(same.out + same.err, ::testing::Not(HasSubstr(told)));
  replace_file(held_out, std::string(4000, 'b'));
  const Ran other = resumed("4");
  EXPECT_EQ(other.code, 0) << other.err;
  EXPECT_THAT(other.out + other.err, HasSubstr(told));
}

TEST_F(TrainEval, ReplacementsAreReportedOnceAndUserLinesAreKept) {
  const std::string text = text_file(dir_), run = dir_ / "run";
  const Arguments edit = {"--set", "model.decoder.output_norm=LayerNorm"};
  const Ran first = run_axle(train(run, text, edit));
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_THAT(first.out + first.err, HasSubstr("RMSNorm -> LayerNorm"));
  replace_file(run + "/metrics.jsonl", read_file(run + "/metrics.jsonl") + "# mine\n");
  const Ran again = run_axle(train(run, text, joined(edit, {"--steps", "3"})));
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.out + again.err, ::testing::Not(HasSubstr("RMSNorm -> LayerNorm")));
  EXPECT_THAT(read_file(run + "/metrics.jsonl"), HasSubstr("}\n# mine\n{\"step\":3,"));
}

// Rates of a run of 4 steps that is resumed for 6, and resumed again.
TEST_F(TrainEval, ResumedScheduleContinuesFromItsCurrentRate) {
  const std::string text = text_file(dir_), run = dir_ / "run";
  const auto rates = [&] { return rates_in(run); };
  const auto resumed = [&](const std::string& steps, const Arguments& more) {
    const Arguments fixed = {"--set", "learner.optimizer.learning_rate.warmup_steps=0", "--steps",
                             steps};
    return run_axle(train(run, text, joined(fixed, more)));
  };
  ASSERT_EQ(resumed("4", {}).code, 0);
  const std::vector<double> first = rates();
  ASSERT_EQ(first.size(), 4u);
  const Ran kept = resumed("5", {"--schedule", "keep"});
  ASSERT_EQ(kept.code, 0) << kept.err;
  EXPECT_EQ(kept.err.find("where it was to be"), kept.err.npos) << kept.err;
  EXPECT_EQ((kept.out + kept.err).find("WARNING: learner"), kept.err.npos) << "it was asked for";
  EXPECT_EQ(rates().back(), first.back()) << "it stays at its end";
  // The same flag again, with yet another number of steps; then without it.
  ASSERT_EQ(resumed("6", {"--schedule", "keep"}).code, 0);
  EXPECT_EQ(rates().back(), first.back());
  const Ran changed = resumed("8", {});
  EXPECT_EQ(changed.code, 2);
  EXPECT_THAT(changed.err,
              HasSubstr("use --schedule keep to go on from where it stands, or --force to stretch "
                        "them to the new end:\n"
                        "  learner.optimizer.learning_rate.max_step: 4 -> none"));
  const Ran more = resumed("8", {"--set", "model.z_loss_scale=0.5"});
  EXPECT_EQ(more.code, 2);
  EXPECT_THAT(more.err,
              HasSubstr("or --force to continue (--restart-data if only the data differ"));
  const Ran stretched = resumed("8", {"--force"});
  ASSERT_EQ(stretched.code, 0) << stretched.err;
  EXPECT_GT(rates()[6], first.back());
  EXPECT_THAT(stretched.out + stretched.err, HasSubstr(" at step 6, then "));
  const Ran other = run_axle(train(run, text, {"--schedule", "hold"}));
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("--schedule"));
}

// A run that was stopped half-way goes on along the curve that it began.
TEST_F(TrainEval, KeptScheduleFollowsTheLongerRun) {
  const std::string text = text_file(dir_);
  const auto trained = [&](const std::string& name, const Arguments& more) {
    const Ran ran =
        run_axle(train(dir_ / name, text,
                       joined({"--set", "learner.optimizer.learning_rate.warmup_steps=0"}, more)));
    EXPECT_EQ(ran.code, 0) << ran.err;
    return rates_in(dir_ / name);
  };
  const Arguments end_at_8 = {"--set", "learner.optimizer.learning_rate.max_step=8"};
  const std::vector<double> whole = trained("whole", joined(end_at_8, {"--steps", "6"}));
  trained("parts", {"--steps", "8", "--set", "checkpointer.every_steps=3"});
  std::filesystem::remove_all(dir_ / "parts/checkpoints/step_00000008");
  std::filesystem::remove_all(dir_ / "parts/checkpoints/step_00000006");
  EXPECT_EQ(trained("parts",
                    {"--steps", "6", "--schedule", "keep", "--set", "checkpointer.every_steps=3"}),
            whole);
}

TEST_F(TrainEval, MergedFolderEvaluatesLikeItsRun) {
  const std::string text = text_file(dir_), run = dir_ / "run", merged = dir_ / "merged";
  const Ran trained =
      run_axle(train(run, text,
                     {"--modify", "Lora: {rank: 2}", "--set", "model.decoder.max_seq_len=64",
                      "--set", "input.seq_len=16"}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  const Ran made = run_axle({"checkpoint", "merge", run, "--dir", merged});
  ASSERT_EQ(made.code, 0) << made.err;
  const auto evaluated = [&](const std::string& from) {
    const Ran ran =
        run_axle({"eval", "--from", from, "--data", text, "--backend", "interpreter", "--json"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    return nlohmann::json::parse(ran.out);
  };
  const auto of_run = evaluated(run), of_merged = evaluated(merged);
  EXPECT_EQ(of_merged["num_targets"], of_run["num_targets"]);
  EXPECT_EQ(of_merged["step"], 2);
  EXPECT_NEAR(of_merged["metrics"]["loss"], of_run["metrics"]["loss"].get<double>(), 1e-4);
}

TEST_F(TrainEval, EvalTakesTheFieldsNamedInItsMessages) {
  const std::string text = text_file(dir_), run = dir_ / "run";
  ASSERT_EQ(run_axle(train(run, "synthetic")).code, 0);
  const Ran refused = evaluate(text);
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("put --set input=TextInput before --data"));
  const Ran done = evaluate(text, {"--set", "input=TextInput", "--set", "input.batch_size=3"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("bits per byte"));

  const Ran other =
      evaluate(text, {"--set", "input=TextInput", "--set", "model.decoder.model_dim=16"});
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("expected the parameters of the config's model"));
  EXPECT_THAT(other.err,
              HasSubstr("model/decoder/output_norm/scale: expected f32[16], got f32[8]"));
  EXPECT_EQ(evaluate(text, {"--set", "input.nonsense=1"}).code, 2);
}

// config.yaml is a copy for people. It belongs to the checkpoint.
TEST_F(TrainEval, ConfigChangesOnlyIfTheCommandTrains) {
  const std::string text = text_file(dir_), run = dir_ / "run", file = run + "/config.yaml";
  ASSERT_EQ(run_axle(train(run, text)).code, 0);
  const std::string before = read_file(file);
  const std::vector<std::string> changed = {"--force", "--set", "model.z_loss_scale=0.5"};
  const auto with = [&](const Arguments& more) {
    return run_axle(train(run, text, joined(changed, more)));
  };
  const Ran finished = with({});
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_EQ(read_file(file), before) << finished.out;
  EXPECT_NE(with({"--steps", "4", "--executable", dir_ / "missing"}).code, 0);
  EXPECT_EQ(read_file(file), before) << "the run was refused";
  std::filesystem::remove(file);
  EXPECT_EQ(with({}).code, 0);
  EXPECT_EQ(read_file(file), before) << "the checkpoint's, not that of this command";
  const Ran further = with({"--steps", "4"});
  EXPECT_EQ(further.code, 0) << further.err;
  EXPECT_THAT(read_file(file), HasSubstr("z_loss_scale: 0.5"));
}

// A killed run may leave a config.yaml that is not the config of the saved weights.
TEST_F(TrainEval, ConfigOfTheCheckpointIsUsed) {
  const std::string text = text_file(dir_), run = dir_ / "run", file = run + "/config.yaml";
  ASSERT_EQ(run_axle(train(run, text)).code, 0);
  const Ran before = evaluate(text);
  EXPECT_EQ(before.code, 0) << before.err;
  std::string config = read_file(file);
  const size_t eps = config.find("eps: 1");
  ASSERT_NE(eps, config.npos);
  replace_file(file, config.replace(eps, 6, "eps: 9"));
  const Ran after = evaluate(text);
  EXPECT_EQ(after.code, 0) << after.err;
  EXPECT_EQ(after.out, before.out);
  EXPECT_THAT(after.err,
              HasSubstr("config.yaml differs from the config of the checkpoint of step 2"));
}

// The compiler of another platform does not know the options of the run.
TEST_F(TrainEval, EvalIgnoresTheCompilerOptionsOfTheRun) {
  const std::string text = text_file(dir_), run = dir_ / "run";
  ASSERT_EQ(run_axle(train(run, text)).code, 0);
  const auto checkpoints = std::filesystem::path(run) / "checkpoints";
  auto saved = restore_tensors(checkpoints).value();
  std::string& config = saved.metadata.at("config");
  const size_t none = config.find("compiler_options: {}");
  ASSERT_NE(none, config.npos);
  config.replace(none, 20, "compiler_options: {xla_of_another_device: \"true\"}");
  write_checkpoint(checkpoints, saved.step + 1, saved.tensors, saved.metadata);
  const Ran ran = evaluate(text);
  EXPECT_EQ(ran.code, 0) << ran.err;
}

// An edit without effect would make the result look like that of something else.
TEST_F(TrainEval, EditsOfEvalTakeEffectOrAreRefused) {
  const std::string text = text_file(dir_), run = dir_ / "run";
  ASSERT_EQ(run_axle(train(run, text)).code, 0);
  const auto with = [&](const std::vector<std::string>& edits, const std::string& data) {
    return evaluate(data, joined({"--json"}, set_flags(edits)));
  };
  const auto num_targets = [&](const std::vector<std::string>& edits, const std::string& data) {
    const Ran ran = with(edits, data);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.code == 0 ? nlohmann::json::parse(ran.out)["num_targets"].get<int64_t>() : -1;
  };
  replace_file(dir_ / "other.txt", read_file(text));
  const int64_t all = num_targets({}, text), held_out = num_targets({"input.split=held_out"}, text);
  EXPECT_GT(held_out, 0);
  EXPECT_LT(held_out, all / 2);
  // A document cut in two has one more first token, and first tokens are not labels.
  EXPECT_NEAR(num_targets({"input.split=train"}, text), all - held_out, 1);
  EXPECT_EQ(num_targets({"input.epochs=2"}, text), 2 * all);
  EXPECT_EQ(num_targets({"input.num_batches=3", "input.batch_size=4"}, "synthetic"), 3 * 4 * 16);
  for (const char* edit : {"max_steps=5", "mesh=data=2", "learner=none", "evalers={}",
                           "checkpointer.keep=1", "writers={}", "log_every_steps=1"}) {
    const Ran ran = with({edit}, text);
    EXPECT_EQ(ran.code, 2) << edit;
    EXPECT_THAT(ran.err, HasSubstr("expected a field that an evaluation reads")) << edit;
  }
  EXPECT_NE(with({"compiler_options={nonsense: \"1\"}"}, text).code, 0);
  for (const auto& [edit, why] : std::map<std::string, std::string>{
           {"input.source.path=nowhere",
            "--set input.source.path: expected no path, because --data names"},
           {"input={source: {path: nowhere}}",
            "--set input.source.path: expected no path, because"},
           // The run's own: it is not what is read.
           {"input.source.path=" + text, "--set input.source.path: expected no path, because"},
           {"input.held_out_fraction=0.05", "--set input.held_out_fraction: expected input.split"},
           {"input.held_out_fraction=0.5", "--set input.held_out_fraction: expected input.split"},
           {"seed=7", "--set seed: expected an input that uses the seed"}}) {
    const Ran ran = with({edit}, dir_ / "other.txt");
    EXPECT_EQ(ran.code, 2) << edit;
    EXPECT_THAT(ran.err, HasSubstr(why));
  }
  EXPECT_EQ(num_targets({"seed=7", "input.shuffle=rows"}, text), all);
  EXPECT_EQ(
      num_targets({"input={class: TextInput, batch_size: 2, seq_len: 16, split: all, epochs: 1, "
                   "shuffle: none, tokenizer: {class: ByteTokenizer, vocab_size: 264}, source: "
                   "TextSource}"},
                  text),
      all);
  EXPECT_LT(num_targets({"input.held_out_fraction=0.5", "input.split=train"}, text), all);
  const Ran endless = with({"input.epochs=none"}, text);
  EXPECT_EQ(endless.code, 2);
  EXPECT_THAT(endless.err, HasSubstr("input: expected an input that ends"));
}

// Documents that are left out are missing from the reported result.
TEST_F(TrainEval, EvalReportsSkippedDocuments) {
  const std::string run = dir_ / "run";
  make_directories(dir_ / "mix");
  const std::string text = read_file(text_file(dir_));
  replace_file(dir_ / "mix/a.txt", text);
  replace_file(dir_ / "mix/b.md", "{\"text\": \"another\"}\n");
  ASSERT_EQ(run_axle(train(run, text_file(dir_))).code, 0);
  const Ran shown = evaluate(dir_ / "mix");
  ASSERT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("data: 1 file, "));
  EXPECT_THAT(shown.out, HasSubstr(" bytes, 1 skipped (1 not *.txt: b.md)\n"));
  EXPECT_THAT(shown.err, HasSubstr("WARNING: input: 1 skipped (1 not *.txt: b.md)"));
  const auto json = nlohmann::json::parse(evaluate(dir_ / "mix", {"--json"}).out);
  EXPECT_EQ(json["num_files"], 1);
  EXPECT_EQ(json["num_skipped"], 1);
  EXPECT_EQ(json["skipped"]["not *.txt"], 1);

  replace_file(dir_ / "mix/bad.txt", "caf\xe9 au lait\n");
  EXPECT_EQ(evaluate(dir_ / "mix").code, 3);
  const Ran bad = evaluate(dir_ / "mix", {"--set", "input.source.on_error=skip"});
  EXPECT_EQ(bad.code, 0) << bad.err;
  EXPECT_THAT(bad.out, HasSubstr("2 skipped (1 not *.txt: b.md; 1 not UTF-8: bad.txt:1)"));
  EXPECT_THAT(bad.err, HasSubstr("bad.txt:"));
  EXPECT_EQ(evaluate(dir_ / "text.txt").err, "");
}

// If an edit names only a class, the new config keeps fields of the old one.
TEST_F(TrainEval, VerbsReportFieldsCarriedOverToANewClass) {
  const std::string run = dir_ / "run", kept =
                                            "RMSNorm -> LayerNorm: model.decoder.output_norm\n"
                                            "  carried over: model.decoder.output_norm.eps\n"
                                            "  dropped: model.decoder.output_norm.zero_centred\n";
  const Ran params =
      run_axle({"params", "quickstart", "--json", "--set", "model.decoder.output_norm=LayerNorm"});
  EXPECT_EQ(params.code, 0);
  EXPECT_THAT(params.err, HasSubstr(kept));
  EXPECT_TRUE(nlohmann::json::accept(params.out));

  const Ran shown = run_axle(
      {"config", "show", "quickstart", "--json", "--set", "model.decoder.output_norm=LayerNorm"});
  EXPECT_EQ(shown.err, kept);
  EXPECT_TRUE(nlohmann::json::accept(shown.out));

  ASSERT_EQ(run_axle(train(run, text_file(dir_))).code, 0);
  const Ran evaluated =
      evaluate(dir_ / "text.txt", {"--json", "--set", "input.tokenizer=ByteTokenizer"});
  EXPECT_EQ(evaluated.code, 0) << evaluated.err;
  EXPECT_THAT(
      evaluated.err,
      HasSubstr(
          "ByteTokenizer -> ByteTokenizer: nothing to change\n  so before: input.tokenizer\n"));
  EXPECT_TRUE(nlohmann::json::accept(evaluated.out));

  replace_file(dir_ / "a.yaml",
               "recipe: quickstart\nset: {model.decoder.output_norm: LayerNorm}\n");
  const Ran layer = run_axle({"eval-layer", dir_ / "a.yaml", "--output", dir_ / "out.safetensors",
                              "--backend", "interpreter"});
  EXPECT_THAT(layer.err, HasSubstr(kept));
}

TEST_F(TrainEval, BadText) {
  const Ran missing = run_axle(train(dir_ / "run", dir_ / "nothing.txt"));
  EXPECT_EQ(missing.code, 3);
  EXPECT_THAT(
      missing.err,
      HasSubstr("nothing.txt: expected a text file or a folder of them, got nothing there"));
  replace_file(dir_ / "latin.txt", "good line\ncaf\xe9 au lait\n");
  const Ran latin = run_axle(train(dir_ / "run", dir_ / "latin.txt"));
  EXPECT_EQ(latin.code, 3);
  EXPECT_THAT(latin.err, HasSubstr("latin.txt:2: not valid UTF-8 at byte 4"));
}

TEST_F(TrainEval, ARunIsNotSavedIntoItsData) {
  const std::string data = dir_ / "corpus";
  make_directories(data);
  std::filesystem::rename(text_file(dir_), data + "/text.txt");
  for (const std::string& dir : {data, dir_ / "corpus/../corpus"}) {
    const Ran ran = run_axle(train(dir, data));
    EXPECT_EQ(ran.code, 2) << dir;
    EXPECT_THAT(ran.err,
                HasSubstr("--dir: expected a folder of its own, got " + dir + ", the data\n"));
  }
  EXPECT_EQ(list_directory(data).size(), 1u);
  EXPECT_EQ(run_axle(train(data + "/runs/a", data)).code, 0) << "as for --data .";
}

TEST_F(TrainEval, BadBackend) {
  const Ran ran = run_axle(train(dir_ / "run", "synthetic", {"--backend", "cpuu"}));
  EXPECT_EQ(ran.code, 2);
  const Ran unknown = run_axle({"eval", "--from", dir_ / "nowhere", "--data", "synthetic"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(
      unknown.err,
      HasSubstr("nowhere: expected the folder of a run or of an import, a folder of Hugging Face "
                "or a GGUF file, got nothing there"));
}

TEST_F(TrainEval, MissingPlugin) {
  const EnvironmentChange plugin("AXLE_PLUGIN_NOSUCH", dir_ / "missing.so");
  const Ran named = run_axle(train(dir_ / "run", "synthetic", {"--backend", "nosuch"}));
  EXPECT_EQ(named.code, 5);
  EXPECT_THAT(named.err, HasSubstr("AXLE_PLUGIN_NOSUCH: expected the file of a PJRT plugin, got "));
}

}  // namespace
}  // namespace axle
