// Compares imported weights with a forward pass written in plain loops.
#include "infer/tiny_llama_test.h"

#include <gmock/gmock.h>

#include "runtime/interpreter_runtime.h"
#include "testing/checkout.h"
#include "testing/error_of.h"

namespace axle {
namespace {

TEST(TinyLlama, TheInterpreterGeneratesAsThePlainLoops) {
  InterpreterRuntime runtime(1);
  for (const LlamaSizes& sizes : tiny_llamas()) expect_generates_as_the_loops(runtime, sizes);
}

TEST(TinyLlama, SentencePieceModelGeneratesTheSameTokens) {
  InterpreterRuntime runtime(1);
  expect_generates_as_the_loops(runtime, {}, "tok.model");
}

TEST(TinyLlama, AnImportedFolderCanBeMoved) {
  for (const char* tokenizer : {"tok.bin", "tok.model"}) {
    const TempDir dir, other;
    const auto folder = import_tiny_llama(dir, TinyLlama(), tokenizer);
    std::filesystem::rename(folder, other / "moved");
    remove_tree(dir / tokenizer);
    EXPECT_EQ(load_model(other / "moved").tokenizer->vocab_size(), 512);
    EXPECT_EQ(read_file(std::filesystem::path(other / "moved") / "config.yaml").find(dir.path()),
              std::string::npos);
  }
}

// A tokenizer that is no longer where the config says may have moved with the folder.
TEST(TinyLlama, MissingTokenizerIsSearchedInTheFolder) {
  const TempDir dir;
  const std::filesystem::path folder = import_tiny_llama(dir, TinyLlama());
  std::string config = read_file(folder / "config.yaml");
  const size_t path = config.find("path: tok.bin");
  ASSERT_NE(path, config.npos) << config;
  replace_file(folder / "config.yaml", config.replace(path, 13, "path: /nowhere/tok.bin"));
  std::vector<std::string> lines;
  const auto load = [&] {
    return load_model(folder, Weights::kTrained,
                      [&](const std::string& line) { lines.push_back(line); });
  };
  EXPECT_EQ(load().tokenizer->vocab_size(), 512);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0], "WARNING: /nowhere/tok.bin does not exist; the tokenizer is read from " +
                          (folder / "tok.bin").string());
  remove_tree(folder / "tok.bin");
  EXPECT_THROW(load(), Error);
  remove_tree(folder / "config.yaml");
  EXPECT_THAT(error_of<ConfigError>([&] { load(); }),
              ::testing::HasSubstr("got one without config.yaml"));
}

TEST(TinyLlama, FailedImportLeavesNoFiles) {
  const TempDir dir;
  import_tiny_llama(dir, TinyLlama());
  const auto left = [&] { return list_directory(dir.path()).size(); };
  const size_t before = left();
  const auto import = [&](const std::string& weights, const std::string& tokenizer) {
    EXPECT_THROW(
        import_model(
            {.source = weights, .dir = dir / "a/b/new", .options = {.tokenizer = tokenizer}}),
        Error);
    EXPECT_EQ(left(), before);
  };
  import(dir / "none", dir / "tok.bin");
  import(dir / "llama.bin", dir / "none");
  import(dir / "tok.bin", dir / "llama.bin");
  // This import fails late, at the last file, with the checkpoint already written.
  replace_file(dir / "config.yaml", read_file(dir / "tok.bin"));
  EXPECT_THROW(import_model({.source = dir / "llama.bin",
                             .dir = dir / "tok.model/below/a/file",
                             .options = {.tokenizer = dir / "tok.bin"}}),
               Error);
  EXPECT_EQ(left(), before + 1);
}

TEST(TinyLlama, TokenizerMustNotHaveAReservedName) {
  const TempDir dir;
  import_tiny_llama(dir, TinyLlama());
  for (const char* name :
       {"config.yaml", "checkpoints", "import.tmp", "import.lock", "names.json"}) {
    replace_file(dir / name, read_file(dir / "tok.bin"));
    EXPECT_THAT(error_of<ConfigError>([&] {
                  import_model({.source = dir / "llama.bin",
                                .dir = dir / "new",
                                .options = {.tokenizer = dir / name}});
                }),
                ::testing::HasSubstr("expected a file name other than config.yaml, "));
    EXPECT_FALSE(path_exists(dir / "new"));
  }
}

// The process was killed while it moved its files.
TEST(TinyLlama, ImportRemovesFilesOfAKilledImport) {
  const TempDir dir;
  import_tiny_llama(dir, TinyLlama());
  for (const char* name : {"new", "new/checkpoints", "new/import.tmp"})
    make_directories(dir / name);
  replace_file(dir / "new/import.tmp/names.json", R"(["checkpoints", "old.bin"])");
  replace_file(dir / "new/old.bin", "x");
  import_model(
      {.source = dir / "llama.bin", .dir = dir / "new", .options = {.tokenizer = dir / "tok.bin"}});
  EXPECT_TRUE(path_exists(dir / "new/tok.bin"));
  EXPECT_FALSE(path_exists(dir / "new/old.bin"));
  EXPECT_FALSE(path_exists(dir / "new/import.tmp"));
}

// What is meant is near.
TEST(TinyLlama, PathsNearAModelAreRefusedWithTheRightPath) {
  const TempDir dir;
  const auto error = [&](const std::filesystem::path& source) {
    return error_of<ConfigError>([&] { import_model({.source = source, .dir = dir / "new"}); });
  };
  using ::testing::HasSubstr;
  const auto model = std::filesystem::path(reference_file("hugging_face/llama"));
  EXPECT_THAT(
      error_of<DataError>([&] { import_model({.source = dir / "none", .dir = dir / "new"}); }),
      HasSubstr("none: expected a folder of Hugging Face, a GGUF file"));
  for (const char* name : {"config.json", "model.safetensors"})
    EXPECT_THAT(error(model / name), HasSubstr("got a file in it; name " + model.string()));
  std::filesystem::create_directory_symlink(model, dir / "below");
  EXPECT_THAT(error(dir.path()), HasSubstr("got a folder around one; name " + (dir / "below")));
}

// A leftover import.tmp lets the import run again, and it removes what the first one left there.
TEST(TinyLlama, FilesToImportMustBeOutsideTheNewFolder) {
  const TempDir dir;
  import_tiny_llama(dir, TinyLlama());
  make_directories(dir / "new/import.tmp");
  replace_file(dir / "new/tok.bin", read_file(dir / "tok.bin"));
  EXPECT_THAT(error_of<ConfigError>([&] {
                import_model({.source = dir / "llama.bin",
                              .dir = dir / "new",
                              .options = {.tokenizer = dir / "new/tok.bin"}});
              }),
              ::testing::HasSubstr("new/tok.bin: expected a file outside of the new folder"));
  EXPECT_TRUE(path_exists(dir / "new/tok.bin"));
  remove_tree(dir / "new/tok.bin");
  make_directories(dir / "new/checkpoints");
  std::filesystem::rename(dir / "llama.bin", dir / "new/checkpoints/llama.bin");
  std::filesystem::create_symlink(dir / "new/checkpoints/llama.bin", dir / "link");
  for (const std::string& weights : {dir / "new/checkpoints/llama.bin", dir / "link"}) {
    EXPECT_THAT(
        error_of<ConfigError>([&] {
          import_model(
              {.source = weights, .dir = dir / "new", .options = {.tokenizer = dir / "tok.bin"}});
        }),
        ::testing::HasSubstr("expected a file outside of the new folder"));
  }
  EXPECT_TRUE(path_exists(dir / "new/checkpoints/llama.bin"));
}

}  // namespace
}  // namespace axle
