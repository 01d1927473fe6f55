#include "train/folder/run_folder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <functional>

#include "base/version.h"
#include "config/print.h"
#include "config/serialize.h"
#include "config/set.h"
#include "io/file.h"
#include "layers/models/causal_lm.h"
#include "layers/norms/norm.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"
#include "train/record/summary_writer.h"
#include "train/tiny_config_test.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(RunFolder, OneRunHoldsTheFolder) {
  const TempDir dir;
  const std::filesystem::path path = dir.path() / "a" / "b";
  {
    const RunFolder folder(path);
    EXPECT_TRUE(directory_exists(path));
    EXPECT_THAT(error_of<Error>([&] { RunFolder second(path); }),
                HasSubstr("expected a folder that no other run uses"));
  }
  const RunFolder again(path);
}

TEST(RunFolder, ItsFilesAreRegular) {
  for (const char* name : {"config.yaml", "metrics.jsonl", "lock"}) {
    const TempDir dir;
    const std::string path = dir / name;
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    EXPECT_EQ(error_of<StorageError>([&] { RunFolder folder(dir.path()); }),
              path + ": expected a regular file, got a FIFO");
    std::filesystem::remove(path);
    std::filesystem::create_symlink("/dev/null", path);
    EXPECT_EQ(error_of<StorageError>([&] { RunFolder folder(dir.path()); }),
              path + ": expected a regular file, got a device");
  }
}

TEST(RunFolder, ReplacesNoConfigOfOthers) {
  const TempDir dir;
  replace_file(dir / "config.yaml", "recipe: quickstart\nset: {seed: 1}\n");
  EXPECT_EQ(error_of<ConfigError>([&] { RunFolder folder(dir.path()); }),
            (dir / "config.yaml") +
                ": expected none, or the config that a run wrote, got another file, which this run "
                "would replace; use another --dir");
  EXPECT_FALSE(path_exists(dir / "lock"));
  EXPECT_EQ(read_file(dir / "config.yaml"), "recipe: quickstart\nset: {seed: 1}\n");
  for (const char* own : {"", "# axle 0.1.0, seed 1\nmodel: {}\n"}) {
    replace_file(dir / "config.yaml", own);
    RunFolder folder(dir.path());
  }
  make_directories(dir / "checkpoints");  // of a run whose config was edited
  replace_file(dir / "config.yaml", "model: {}\n");
  RunFolder folder(dir.path());
}

TEST(RunFolder, AFolderWithoutAnythingKeptIsRemoved) {
  const TempDir dir;
  {
    RunFolder folder(dir.path() / "runs" / "new" / "");
    folder.set_config(tiny_config(), 0);
    folder.write_config();
    make_directories(folder.checkpoints());
    replace_file(folder.dir() / "metrics.jsonl", "");
    EXPECT_TRUE(path_exists(folder.dir() / "lock"));
  }
  EXPECT_FALSE(path_exists(dir / "runs"));
}

TEST(RunFolder, KeptFilesStay) {
  const TempDir dir;
  const std::filesystem::path path = dir.path() / "run";
  const auto made = [&](const std::function<void(RunFolder&)>& fill) {
    remove_tree(path);
    RunFolder folder(path);
    folder.set_config(tiny_config(), 0);
    folder.write_config();
    fill(folder);
  };
  const auto is_whole = [&] { return path_exists(path / "config.yaml"); };
  made([](RunFolder&) {});
  EXPECT_FALSE(path_exists(path));
  made([](RunFolder& folder) { folder.keep(); });
  EXPECT_TRUE(is_whole());
  made([](RunFolder& folder) { make_directories(folder.checkpoints() / "step_00000004"); });
  EXPECT_TRUE(is_whole());
  made([](RunFolder& folder) { replace_file(folder.dir() / "notes.txt", "of somebody else"); });
  EXPECT_EQ(read_file(path / "notes.txt"), "of somebody else");
  // A folder that existed before is never removed, not even an empty one, nor are files in it.
  remove_tree(path);
  make_directories(path);
  replace_file(path / "metrics.jsonl", "of an earlier start");
  {
    RunFolder folder(path);
    folder.set_config(tiny_config(), 0);
    folder.write_config();
  }
  EXPECT_EQ(read_file(path / "metrics.jsonl"), "of an earlier start");
  EXPECT_EQ(list_directory(path).size(), 1u);
}

TEST(RunFolder, ConfigIsKeptExactly) {
  const TempDir dir;
  RunFolder folder(dir.path());
  Trainer::Config config = tiny_config();
  config.compute_dtype = DType::kBF16;
  config.mesh = {{{"data", 2}, {"fsdp", -1}}};
  config.writers["tensorboard"] = TensorBoardWriter::Config{};
  folder.set_config(config, config.seed);
  folder.write_config();
  const std::string text = read_file(folder.config_file());
  EXPECT_THAT(text, StartsWith(fmt::format("# axle {}, seed 3\n", version())));
  Trainer::Config back;
  from_yaml(back, text);
  EXPECT_EQ(diff(config, back), "");
}

class LostFolder : public ::testing::Test {
 protected:
  std::string check() {
    return error_of<StorageError>([&] { folder_.check_in_place(); });
  }
  void expect_lost(const std::string& how) {
    EXPECT_THAT(check(), HasSubstr("run: expected the run's folder to stay")) << how;
    EXPECT_EQ(check(), "no error") << "told once";
  }
  const TempDir dir_;
  const std::filesystem::path path_ = dir_.path() / "run";
  RunFolder folder_{path_};
};

TEST_F(LostFolder, ALostFolderIsReportedOnceAndRestoredWithItsConfig) {
  EXPECT_EQ(check(), "no error");
  folder_.set_config(tiny_config(), 3);
  folder_.write_config();
  folder_.keep();
  remove_tree(path_);
  expect_lost("removed");
  EXPECT_EQ(read_file(folder_.config_file()), folder_.config_text());
}

TEST_F(LostFolder, MovedStaysWhereItIs) {
  folder_.set_config(tiny_config(), 3);
  folder_.write_config();
  folder_.keep();
  std::filesystem::rename(path_, dir_.path() / "moved");
  expect_lost("moved");
  EXPECT_TRUE(path_exists(dir_.path() / "moved" / "lock"));
  EXPECT_TRUE(path_exists(folder_.config_file()));
}

TEST_F(LostFolder, AnotherFolderAtItsPathIsLeftAlone) {
  folder_.set_config(tiny_config(), 3);
  folder_.write_config();
  folder_.keep();
  std::filesystem::rename(path_, dir_.path() / "moved");
  make_directories(path_);
  expect_lost("replaced");
  EXPECT_TRUE(list_directory(path_).empty());
}

TEST_F(LostFolder, ARemovedLockFileLetsNobodyIn) {
  remove_tree(path_ / "lock");
  EXPECT_EQ(check(), "no error");
  EXPECT_THAT(error_of<Error>([&] { RunFolder second(path_); }),
              HasSubstr("expected a folder that no other run uses, got one in use by another"));
}

class SameConfig : public ::testing::Test {
 protected:
  SameConfig() {
    folder_.set_config(tiny_config(), 0);
    folder_.write_config();
  }
  std::string check(const Trainer::Config& config, bool force = false,
                    const std::string& saved = {}) {
    Trainer::Config scratch;
    return error_of<Error>([&] {
      folder_.check_same_config({.config = saved, .manifest = "run/manifest.json"}, config, scratch,
                                {.all = force});
    });
  }
  const TempDir dir_;
  RunFolder folder_{dir_.path()};
};

TEST_F(SameConfig, Passes) { EXPECT_EQ(check(tiny_config()), "no error"); }

TEST_F(SameConfig, FieldsThatDoNotChangeThePastMayDiffer) {
  Trainer::Config config = tiny_config();
  config.max_steps = 99;
  config.log_every_steps = 7;
  config.checkpointer.keep_last_n = 1;
  config.evalers["held_out"].every_steps = 3;
  config.evalers["other"] = config.evalers["held_out"];
  config.writers["tensorboard"] = TensorBoardWriter::Config{};
  config.on_non_finite = OnNonFinite::kSkip;
  config.layer_summaries = true;
  config.mesh = {{{"data", 8}}};
  EXPECT_EQ(check(config), "no error");
}

// Another machine may have rules with another number of rows.
TEST_F(SameConfig, RowsOfADeviceMayDiffer) {
  Trainer::Config config = tiny_config();
  set(config, "learner.device_rows", "1");
  EXPECT_EQ(check(config), "no error");
}

// Such fields say so themselves (Field::keeps_results). What stands beside them does not.
TEST_F(SameConfig, FieldsThatDecideOnlyHowToComputeMayDiffer) {
  const std::string layer = "model.decoder.layers.layer.", core = layer + "attention.body.core";
  const auto with = [&](const std::string& path, const std::string& value) {
    Trainer::Config config = tiny_config();
    set(config, path, value);
    EXPECT_NE(diff(tiny_config(), config), "") << path;
    return check(config);
  };
  EXPECT_EQ(with(core + ".blocks", "{from: 16, queries: 8, keys: 4}"), "no error");
  EXPECT_EQ(with(core + ".blocks.from", "none"), "no error");
  EXPECT_EQ(with(layer + "@remat", "{SaveNames: {names: [up]}}"), "no error");
  EXPECT_EQ(with(layer + "@activation", "[data, None, None]"), "no error");
  EXPECT_EQ(with(layer + "@stats", "[Rms]"), "no error");
  EXPECT_THAT(with(core + ".logit_cap", "30"), HasSubstr("core.logit_cap: none -> 30"));
  EXPECT_THAT(with("learner.microbatches", "2"), HasSubstr("learner.microbatches: 1 -> 2"));
  EXPECT_THAT(with(layer + "@dtype", "bf16"), HasSubstr("@dtype"));
}

TEST_F(SameConfig, ADamagedFileIsNamedAndForceGoesOn) {
  replace_file(folder_.config_file(), "model: [\n");
  EXPECT_THAT(check(tiny_config()), StartsWith(folder_.config_file().string() + ":2: expected"));
  EXPECT_EQ(check(tiny_config(), /*force=*/true), "no error");
}

TEST_F(SameConfig, AFieldOfAnotherVersionIsNamedAndForceGoesOn) {
  const std::string saved = folder_.config_text() + "microbatch_rows: 4\n";
  EXPECT_THAT(
      check(tiny_config(), false, saved),
      AllOf(StartsWith("run/manifest.json: metadata.config: microbatch_rows: no such field"),
            EndsWith("; if another version or program wrote it, use --force to continue with "
                     "the config of the command line")));
  EXPECT_EQ(check(tiny_config(), true, saved), "no error");
}

TEST_F(SameConfig, ARunWithoutASavedConfigNeedsForce) {
  remove_tree(folder_.config_file());
  EXPECT_THAT(check(tiny_config()),
              HasSubstr("config.yaml: expected the config of this run, got none"));
  EXPECT_EQ(check(tiny_config(), /*force=*/true), "no error");
}

TEST_F(SameConfig, TheConfigOfTheCheckpointCountsBeforeTheFile) {
  const std::string saved = folder_.config_text();
  Trainer::Config other = tiny_config();
  other.seed = 4;
  for (const char* file : {"seed: 4\n", "model: [\n", ""}) {
    replace_file(folder_.config_file(), file);
    EXPECT_EQ(check(tiny_config(), false, saved), "no error") << file;
    EXPECT_THAT(check(other, false, saved), HasSubstr("\n  seed: 3 -> 4")) << file;
    EXPECT_EQ(check(other, true, saved), "no error") << file;
  }
  remove_tree(folder_.config_file());
  EXPECT_THAT(check(other, false, saved), HasSubstr("\n  seed: 3 -> 4"));
}

TEST_F(SameConfig, ADamagedConfigOfACheckpointIsNamed) {
  for (const char* saved : {"model: [\n", "5\n", "sed: 4\n", "max_steps: none of these\n"}) {
    EXPECT_THAT(check(tiny_config(), false, saved),
                StartsWith("run/manifest.json: metadata.config"))
        << saved;
    EXPECT_EQ(check(tiny_config(), true, saved), "no error");
  }
}

TEST_F(SameConfig, AllDifferentFieldsAreNamed) {
  Trainer::Config config = tiny_config();
  config.max_steps = 99;
  config.seed = 4;
  config.model.get_if<CausalLM>()->decoder.get_if<Decoder>()->output_norm = LayerNorm::Config{};
  const std::string message = check(config);
  EXPECT_THAT(message, HasSubstr(": expected the config of this run"));
  EXPECT_THAT(message, HasSubstr("\n  seed: 3 -> 4"));
  EXPECT_THAT(message, HasSubstr("\n  model.decoder.output_norm: RMSNorm -> LayerNorm"));
  EXPECT_THAT(message, HasSubstr("--force"));
  EXPECT_THAT(message, Not(HasSubstr("max_steps")));
  EXPECT_EQ(check(config, /*force=*/true), "no error");
}

TEST(RunFolder, SafeChanges) {
  for (const char* path : {"max_steps", "writers['a'].every_steps", "checkpointer.every_steps",
                           "mesh", "evalers['b'].input.seq_len"}) {
    EXPECT_TRUE(is_safe_change(path)) << path;
  }
  for (const char* path : {"seed", "model", "model.decoder.model_dim", "input.batch_size",
                           "learner.optimizer.b1", "compute_dtype"}) {
    EXPECT_FALSE(is_safe_change(path)) << path;
  }
}

}  // namespace
}  // namespace axle
