#include <gmock/gmock.h>

#include <filesystem>

#include "checkpoint/folder.h"
#include "cli/arguments/options.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "recipes/recipe.h"
#include "recipes/resolve/use_data.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle::cli {
namespace {

class OutputFile : public ::testing::Test {
 protected:
  std::string error(const std::string& file, const std::vector<std::string>& inputs = {}) {
    return error_of([&] { check_output_file("--output", file, {}, inputs); });
  }
  std::string used(const std::string& file) {
    return "--output: expected a file that this command does not use otherwise, got " + file +
           "; name another";
  }
  TempDir dir_;
};

TEST_F(OutputFile, MustNotBeAnInput) {
  replace_file(dir_ / "in.txt", "a");
  std::filesystem::create_directory(dir_ / "corpus");
  std::filesystem::create_symlink(dir_ / "in.txt", dir_ / "link.txt");
  EXPECT_EQ(error(dir_ / "out.txt", {dir_ / "in.txt"}), "no error");
  EXPECT_EQ(error(dir_ / "in.txt", {dir_ / "in.txt"}), used(dir_ / "in.txt"));
  EXPECT_EQ(error(dir_ / "link.txt", {dir_ / "in.txt"}), used(dir_ / "link.txt"));
  EXPECT_EQ(error(dir_ / "corpus/new.txt", {dir_ / "corpus"}), used(dir_ / "corpus/new.txt"))
      << "a later run would read the file";
  EXPECT_EQ(error(dir_ / "corpus.txt", {dir_ / "corpus"}), "no error");
  EXPECT_EQ(error("", {""}), "no error") << "a flag that is not given";
  EXPECT_EQ(
      error("--svg"),
      "--output: expected the name of a file, got --svg; write ./--svg for a file of this name");
}

TEST_F(OutputFile, ReplacesOnlyItsOwnKind) {
  const std::string tensors = dir_ / "tensors", results = dir_ / "results",
                    drawing = dir_ / "drawing", program = dir_ / "program", text = dir_ / "text",
                    samples = dir_ / "samples", documents = dir_ / "documents",
                    empty = dir_ / "empty";
  save_safetensors(tensors, {{"out0", HostTensor({1}, {1.0f})}});
  save_safetensors(results, {{"out0", HostTensor({1}, {1.0f})}}, kResultsMetadata);
  replace_file(drawing, "<?xml version=\"1.0\"?>\n<svg></svg>\n");
  replace_file(program, "axle saved executable 1\ncut off");
  replace_file(text, "notes of a year\n");
  replace_file(samples, "{\"task\": \"t\", \"document\": \"docs:1\", \"metrics\": []}\n");
  replace_file(documents, "{\"task\": \"add\", \"document\": \"1 + 1\", \"answer\": \"2\"}\n");
  replace_file(empty, "");
  const std::map<OutputKind, std::string> own = {{OutputKind::kResults, results},
                                                 {OutputKind::kDrawing, drawing},
                                                 {OutputKind::kExecutable, program},
                                                 {OutputKind::kSamples, samples}};
  EXPECT_EQ(error_of([&] { check_output_file("FILE", tensors, OutputKind::kTensors); }),
            "no error");
  for (const auto& [kind, path] : own) {
    for (const std::string& file : {tensors, results, drawing, program, samples, documents, text}) {
      EXPECT_EQ(error_of([&] { check_output_file("--output", file, kind); }),
                file == path
                    ? "no error"
                    : "--output: expected a new file or one that this command wrote, got " + file +
                          ", which exists; name another or delete it");
    }
    for (const std::string& file : {empty, dir_ / "new", std::string("/dev/null")})
      EXPECT_EQ(error_of([&] { check_output_file("--output", file, kind); }), "no error");
  }
}

TEST_F(OutputFile, BelongsToNoRun) {
  const std::string run = dir_ / "run";
  std::filesystem::create_directories(checkpoints_of(run) / "step_00000001");
  replace_file(checkpoints_of(run) / "step_00000001" / "manifest.json", "{}");
  const auto refused = [&](const std::string& file) {
    return "--output: expected a file that belongs to no run or import, got " + file +
           "; name another";
  };
  for (const std::filesystem::path& own :
       {config_file_of(run), metrics_file_of(run), lock_file_of(run),
        checkpoints_of(run) / "step_00000001" / "data"})
    EXPECT_EQ(error(own.string()), refused(own.string()));
  EXPECT_EQ(error(run + "/table.txt"), "no error");
}

TEST_F(OutputFile, FileNamedByTheConfigOfARunBelongsToTheRun) {
  const std::string run = dir_ / "run";
  std::filesystem::create_directories(checkpoints_of(run));
  replace_file(config_file_of(run), "tokenizer: {path: pieces.model}\n");
  replace_file(run + "/pieces.model", "x");
  replace_file(run + "/notes.model", "x");
  EXPECT_NE(error(run + "/pieces.model"), "no error");
  EXPECT_EQ(error(run + "/notes.model"), "no error");
}

TEST_F(OutputFile, FolderOfARunMustNotBeTheData) {
  const std::string corpus = dir_ / "corpus";
  std::filesystem::create_directory(corpus);
  EXPECT_EQ(error_of([&] { check_run_folder(corpus + "/.", {corpus}); }),
            "--dir: expected a folder of its own, got " + corpus + "/., the data");
  EXPECT_EQ(error_of([&] { check_run_folder(corpus + "/new/..", {corpus}); }),
            "--dir: expected a folder of its own, got " + corpus + "/new/.., the data");
  EXPECT_EQ(error_of([&] { check_run_folder(corpus + "/run", {corpus}); }), "no error");
}

TEST_F(OutputFile, PathsOfAConfigAreFound) {
  Trainer::Config config = recipe("fuji-test-v1");
  UseData{"corpus/"}.apply_to(config);
  EXPECT_THAT(paths_in(config), ::testing::Each("corpus/"));
  EXPECT_EQ(paths_in(config).size(), 2u) << "the input and one evaluation";
}

}  // namespace
}  // namespace axle::cli
