// Tests `checkpoint ls` and `checkpoint export` through the command line.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "checkpoint/state_files.h"
#include "cli/run_test.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CheckpointVerbs : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const int64_t step : {2, 10}) {
      const auto value = static_cast<float>(step);
      write_checkpoint(root(), step,
                       {{"learner/count", HostTensor::scalar(static_cast<int32_t>(step))},
                        {"learner/ema/model/decoder/emb/weight", HostTensor({2}, {-value, 1.0f})},
                        {"model/decoder/emb/weight", HostTensor({2}, {value, 1.0f})},
                        {"model/decoder/layers/layer0/up/weight", HostTensor::ones({2, 3})}},
                       {});
    }
  }
  std::filesystem::path root() const { return std::filesystem::path(dir_ / "run") / "checkpoints"; }
  Ran ls(const Arguments& more) {
    return run_axle(joined({"checkpoint", "ls", dir_ / "run"}, more));
  }
  std::vector<std::string> names(const Arguments& more) {
    const Ran ran = ls(joined(more, {"--json"}));
    EXPECT_EQ(ran.code, 0) << ran.err;
    std::vector<std::string> out;
    const auto document = nlohmann::ordered_json::parse(ran.out);
    for (const auto& item : document.at("tensors").items()) out.push_back(item.key());
    return out;
  }
  Tree<HostTensor> exported(const Arguments& more) {
    const Ran ran = run_axle(joined(
        {"checkpoint", "export", dir_ / "run", dir_ / "out.safetensors", "--overwrite"}, more));
    EXPECT_EQ(ran.code, 0) << ran.err;
    return load_safetensors(dir_ / "out.safetensors");
  }
  TempDir dir_;
};

TEST_F(CheckpointVerbs, ListsStepsAndTensors) {
  const Ran text = ls({});
  EXPECT_THAT(text.out, HasSubstr("run/checkpoints: steps 2, 10\nstep 10\n"));
  EXPECT_THAT(text.out, HasSubstr("decoder/emb/weight               [2]     f32    8\n"));
  EXPECT_THAT(text.out, HasSubstr("32 bytes in 2 tensors\n"));
  const auto json = nlohmann::json::parse(ls({"--json"}).out);
  EXPECT_EQ(json["steps"], (std::vector<int>{2, 10}));
  EXPECT_EQ(json["step"], 10);
  EXPECT_EQ(json["total_bytes"], 32);
  EXPECT_EQ(json["tensors"]["decoder/layers/layer0/up/weight"],
            nlohmann::json::parse(R"({"shape": [2, 3], "dtype": "float32", "bytes": 24})"));
  EXPECT_THAT(ls({"--step", "2"}).out, HasSubstr("\nstep 2\n"));
}

TEST_F(CheckpointVerbs, ListSelectsEmaStateAndPatterns) {
  EXPECT_THAT(names({}), ElementsAre("decoder/emb/weight", "decoder/layers/layer0/up/weight"));
  EXPECT_THAT(names({"--ema"}), ElementsAre("decoder/emb/weight"));
  EXPECT_THAT(names({"--state", "--only", "learner/*"}), ElementsAre("learner/count"));
  EXPECT_EQ(names({"--state"}).size(), 4u);
  for (const char* glob : {"decoder/layers/**", "**.up.*", "decoder/*/*/up/weight"})
    EXPECT_THAT(names({"--only", glob}), ElementsAre("decoder/layers/layer0/up/weight")) << glob;
}

TEST_F(CheckpointVerbs, ExportSelectsStepEmaStateAndPatterns) {
  const HostTensor tens({2}, {10.0f, 1.0f}), twos({2}, {2.0f, 1.0f}), average({2}, {-10.0f, 1.0f});
  EXPECT_EQ(exported({}).at("decoder/emb/weight"), tens);
  EXPECT_EQ(exported({"--step", "2"}).at("decoder/emb/weight"), twos);
  // The number may be written as in the name of the folder.
  EXPECT_EQ(exported({"--step", "00000010"}).at("decoder/emb/weight"), tens);
  const Tree<HostTensor> ema = exported({"--ema", "--only", "**/weight"});
  EXPECT_EQ(ema.size(), 1u);
  EXPECT_EQ(ema.at("decoder/emb/weight"), average);
  EXPECT_EQ(exported({"--state"}).at("learner/count"), HostTensor::scalar(int32_t{10}));
  EXPECT_EQ(SafetensorsFile(dir_ / "out.safetensors").metadata().at("step"), "10");
}

TEST_F(CheckpointVerbs, ExportToStdoutWritesOnlyTensors) {
  const Ran ran = run_axle({"checkpoint", "export", dir_ / "run", "/dev/stdout", "--overwrite"});
  EXPECT_THAT(ran.err, HasSubstr("/dev/stdout: 2 tensors, "));
  replace_file(dir_ / "piped", ran.out);
  EXPECT_EQ(SafetensorsFile(dir_ / "piped").names().size(), 2u);
  EXPECT_EQ(run_axle({"checkpoint", "export", dir_ / "run", "-"}).code, 2);
}

TEST_F(CheckpointVerbs, ExportDoesNotReplaceFilesOfARun) {
  replace_file(dir_ / "run/config.yaml", "tokenizer: {path: tok.bin}\n");
  replace_file(dir_ / "run/tok.bin", "x");
  make_directories(dir_ / "run/tensorboard/train");
  const std::string folder = root() / "step_00000010";
  for (const std::string& file :
       {folder + "/manifest.json", folder + "/data_00000.bin", folder + "/new",
        dir_ / "run/config.yaml", dir_ / "run/tok.bin", dir_ / "run/tensorboard/train/events"}) {
    const Ran ran = run_axle({"checkpoint", "export", dir_ / "run", file});
    EXPECT_EQ(ran.code, 2) << file;
    EXPECT_EQ(ran.err, "axle: FILE: expected a file that belongs to no run or import, got " + file +
                           "; name another\n");
  }
  EXPECT_EQ(ls({"--step", "10"}).code, 0);
  // A new file may stand beside them, and be written again if that is asked for.
  const std::string beside = dir_ / "run/weights";
  EXPECT_EQ(run_axle({"checkpoint", "export", dir_ / "run", beside}).code, 0);
  const std::string first = read_file(beside);
  const Ran again = run_axle({"checkpoint", "export", dir_ / "run", beside, "--step", "2"});
  EXPECT_EQ(again.code, 2);
  EXPECT_EQ(again.err, "axle: FILE: expected a new file, got " + beside +
                           ", which exists; name another, or replace it with --overwrite\n");
  EXPECT_EQ(read_file(beside), first);
  EXPECT_EQ(
      run_axle({"checkpoint", "export", dir_ / "run", beside, "--step", "2", "--overwrite"}).code,
      0);
  EXPECT_NE(read_file(beside), first);
  replace_file(dir_ / "mine.yaml", "recipe: quickstart\n");
  const Ran other =
      run_axle({"checkpoint", "export", dir_ / "run", dir_ / "mine.yaml", "--overwrite"});
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err,
              HasSubstr("FILE: expected a new file or one that this command wrote, got"));
  EXPECT_EQ(read_file(dir_ / "mine.yaml"), "recipe: quickstart\n");
  EXPECT_EQ(run_axle({"checkpoint", "export", dir_ / "run", "/dev/null"}).code, 0);
  // The manifest of another program makes no checkpoint.
  make_directories(dir_ / "web/out");
  replace_file(dir_ / "web/manifest.json", "{}");
  EXPECT_EQ(run_axle({"checkpoint", "export", dir_ / "run", dir_ / "web/out/weights"}).code, 0);
}

TEST_F(CheckpointVerbs, ListMarksDamageAndExportNamesTheNewestGoodCheckpoint) {
  make_directories(root() / "step_00000099");  // without a manifest
  const Ran listed = ls({});
  EXPECT_EQ(listed.code, 0);
  EXPECT_THAT(listed.out, HasSubstr("run/checkpoints: steps 2, 10, 99 (damaged)\nstep 10\n"));
  EXPECT_THAT(listed.err, HasSubstr("the checkpoint of step 99 is damaged; step 10 is listed\n"));
  const auto json = nlohmann::json::parse(ls({"--json"}).out);
  EXPECT_EQ(json["steps"], (std::vector<int>{2, 10, 99}));
  EXPECT_EQ(json["damaged"], (std::vector<int>{99}));
  EXPECT_EQ(json["step"], 10);

  const auto expect_advice = [&](const std::string& step) {
    const Ran ran = run_axle({"checkpoint", "export", dir_ / "run", dir_ / "out.safetensors"});
    EXPECT_EQ(ran.code, 4);
    EXPECT_THAT(ran.err, HasSubstr("; --step " + step + " takes the newest good one\n"));
    EXPECT_FALSE(path_exists(dir_ / "out.safetensors"));
  };
  expect_advice("10");
  std::filesystem::resize_file(root() / "step_00000010" / "data_00000.bin", 10);
  expect_advice("2");
}

// What can happen to the data files of a checkpoint.
TEST_F(CheckpointVerbs, ListFindsDamagedData) {
  const std::filesystem::path folder = root() / "step_00000010", data = folder / "data_00000.bin";
  const std::string whole = read_file(data);
  const auto expect_damaged = [&](const std::string& what, const Arguments& flags = {}) {
    SCOPED_TRACE(what);
    const Ran listed = ls(flags);
    EXPECT_EQ(listed.code, flags.empty() ? 0 : 4) << "--verify ends as a check does";
    EXPECT_THAT(listed.out, HasSubstr("run/checkpoints: steps 2, 10 (damaged)\n"));
    EXPECT_THAT(listed.out, HasSubstr("\nstep 2\n"));
    EXPECT_THAT(listed.err, HasSubstr("WARNING: damaged checkpoint: " + data.string() + ": "));
    EXPECT_THAT(listed.err, HasSubstr(what));
    const Ran asked = ls(joined(flags, {"--step", "10"}));
    EXPECT_THAT(asked.out, HasSubstr("\nstep 10 (damaged)\n"));
    const auto json = nlohmann::json::parse(ls(joined(flags, {"--json"})).out);
    EXPECT_EQ(json["damaged"], (std::vector<int>{10}));
    EXPECT_EQ(json["step"], 2);
    EXPECT_EQ(run_axle({"checkpoint", "export", dir_ / "run", dir_ / "out"}).code, 4);
  };
  std::filesystem::resize_file(data, 0);
  expect_damaged("offset 0: expected ");
  std::filesystem::resize_file(data, whole.size() - 1);
  expect_damaged(
      fmt::format("offset {}: expected {} bytes in all", whole.size() - 1, whole.size()));
  replace_file(data, whole + "x");
  expect_damaged(fmt::format("got {}", whole.size() + 1));
  remove_tree(data);
  expect_damaged("No such file");
  make_directories(data);
  expect_damaged("a folder");
  remove_tree(data);
  ASSERT_EQ(::mkfifo(data.c_str(), 0600), 0);
  expect_damaged("a FIFO");
  remove_tree(data);
  std::string flipped = whole;
  flipped[3] ^= 1;
  replace_file(data, flipped);
  EXPECT_THAT(ls({}).out, HasSubstr("steps 2, 10\n")) << "sizes tell nothing";
  expect_damaged("CRC-32C", {"--verify"});
  replace_file(data, whole);
  EXPECT_THAT(ls({"--verify"}).out,
              HasSubstr("steps 2, 10\nread all data: 2 of 2 checkpoints good\nstep 10\n"));
  for (const char* step : {"step_00000002", "step_00000010"})
    remove_tree(root() / step / "data_00000.bin");
  EXPECT_EQ(ls({}).code, 4) << "none is good";
}

// A run that was killed while it replaced a checkpoint, on a file system that cannot swap folders.
TEST_F(CheckpointVerbs, InterruptedReplacementIsReported) {
  std::filesystem::rename(root() / "step_00000010", root() / "step_00000010.tmp-1-old");
  const std::string told =
      "WARNING: " + root().string() + ": the checkpoint of step 10 was being replaced";
  EXPECT_THAT(ls({}).err, HasSubstr(told));
  EXPECT_THAT(run_axle({"checkpoint", "export", dir_ / "run", dir_ / "out"}).err, HasSubstr(told));
}

TEST_F(CheckpointVerbs, Mistakes) {
  const auto expect = [&](const std::vector<std::string>& more, int code,
                          const std::string& message) {
    const Ran ran = ls(more);
    EXPECT_EQ(ran.code, code);
    EXPECT_THAT(ran.err, HasSubstr(message));
  };
  expect({"--step", "3"}, 2, "--step: expected one of 2, 10, got 3");
  expect({"--only", "nothing/**"}, 2, "expected tensors that match 'nothing/**', got none");
  expect({"--ema", "--state"}, 2, "--ema");
  const Ran nowhere = run_axle({"checkpoint", "ls", dir_ / "nowhere"});
  EXPECT_EQ(nowhere.code, 2);
  EXPECT_THAT(nowhere.err, HasSubstr("nowhere: expected the folder of a run or of an import"));
  EXPECT_EQ(run_axle({"checkpoint", "export", dir_ / "run", dir_ / "no/such/folder/out"}).code, 4);

  std::filesystem::resize_file(root() / "step_00000010" / "data_00000.bin", 10);
  const Ran damaged = run_axle({"checkpoint", "export", dir_ / "run", dir_ / "out.safetensors"});
  EXPECT_EQ(damaged.code, 4);
  EXPECT_THAT(damaged.err, HasSubstr("data_00000.bin"));
  EXPECT_FALSE(path_exists(dir_ / "out.safetensors"));
  std::filesystem::resize_file(root() / "step_00000010" / "manifest.json", 10);
  expect({"--step", "10"}, 4, "manifest.json");
  std::filesystem::resize_file(root() / "step_00000002" / "manifest.json", 10);
  expect({}, 4, "manifest.json");  // none is good
}

}  // namespace
}  // namespace axle
