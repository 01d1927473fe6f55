// What verbs say of files that stand in for others, as a clone without git-LFS has them, and
// of files that are not what their names say.
#include <gmock/gmock.h>

#include "base/text/text.h"
#include "cli/run_test.h"
#include "testing/checkout.h"
#include "testing/compressed.h"
#include "testing/lfs_pointer.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class StandIns : public ::testing::Test {
 protected:
  // Returns commands that learn from the text at `path`.
  std::vector<Arguments> readers_of_text(const std::string& path) {
    const std::string tokenizer = reference_file("tokenizers/llama3.json");
    return {
        {"data", "build", path, "--tokenizer", tokenizer, "--out", dir_ / "tokens"},
        {"tokenizer", "train", path, "--vocab-size", "300", "--out", dir_ / "own"},
        {"config", "check", "quickstart", "--data", path},
        joined({"train", "quickstart", "--data", path, "--backend", "interpreter", "--steps", "1",
                "--dir", dir_ / "other"},
               tiny_quickstart()),
        {"eval", "--from", run(), "--data", path, "--backend", "interpreter"},
    };
  }
  void expect_refused(const std::string& name, std::string_view bytes, const std::string& what) {
    const std::string path = dir_ / name;
    replace_file(path, bytes);
    for (const Arguments& command : readers_of_text(path)) {
      const Ran ran = run_axle(command);
      EXPECT_EQ(ran.code, static_cast<int>(ExitCode::kData)) << join(command, " ") << ran.err;
      EXPECT_THAT(ran.err, AllOf(HasSubstr(path), HasSubstr(what))) << join(command, " ");
    }
  }
  // The folder of a run.
  std::string run() {
    const std::string folder = dir_ / "run";
    if (path_exists(folder)) return folder;
    const Ran ran = run_axle(joined({"train", "quickstart", "--data", text_file(dir_), "--backend",
                                     "interpreter", "--steps", "1", "--dir", folder},
                                    tiny_quickstart()));
    EXPECT_EQ(ran.code, 0) << ran.err;
    return folder;
  }
  TempDir dir_;
};

TEST_F(StandIns, GitLfsPointersAreRefusedAsData) {
  for (const char* name : {"a.txt", "a.txt.gz", "a.txt.zst", "a.jsonl", "a.jsonl.gz", "a.jsonl.zst",
                           "a.json", "a.parquet", "README"})
    expect_refused(name, kLfsPointer, std::string(kLfsPointerNamed));
  expect_refused("packed.txt.gz", gzipped(std::string(kLfsPointer)), std::string(kLfsPointerNamed));
}

TEST_F(StandIns, FailedDownloadsAreRefusedAsData) {
  constexpr std::string_view kDenied =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>AccessDenied</Code></Error>";
  for (const char* name : {"a.txt", "a.txt.gz", "a.jsonl", "a.parquet"})
    expect_refused(name, kDenied, "got an error message of an object store; fetch the file again");
  for (const char* name : {"a.txt.gz", "a.jsonl.zst", "a.jsonl", "a.parquet"})
    expect_refused(name, "<!DOCTYPE html>\n<html>\n", "got an HTML page; a download may have");
}

TEST_F(StandIns, CompressedFilesMustMatchTheirExtension) {
  const std::string plain = "some text\n";
  expect_refused("a.txt.gz", plain, "expected gzip, got a file without compression; rename");
  expect_refused("a.txt.zst", plain, "expected zstd, got a file without compression; rename");
  expect_refused("b.jsonl.gz", "{\"text\": \"a\"}\n", "expected gzip, got a file without");
  expect_refused("b.jsonl.GZ", zstd_compressed("{\"text\": \"a\"}\n"), "expected gzip, got zstd");
  expect_refused("b.txt.zst", gzipped(plain), "expected zstd, got gzip");
  expect_refused("empty.txt.gz", "", "expected gzip, got an empty file");
  replace_file(dir_ / "whole.txt.gz", plain);
  EXPECT_THAT(run_axle({"config", "check", "quickstart", "--set",
                        "input.source.path=" + (dir_ / "whole.txt.gz")})
                  .err,
              HasSubstr("expected gzip, got a file without compression"));
}

// The first thing that is read of a model, a config or a chat is often such a file.
TEST_F(StandIns, ReadersOfOtherFilesNameGitLfsPointers) {
  const auto pointer = [&](const std::string& name) {
    replace_file(dir_ / name, kLfsPointer);
    return dir_ / name;
  };
  make_directories(dir_ / "model");
  make_directories(dir_ / "index");
  pointer("model/config.json");
  replace_file(dir_ / "index/config.json",
               read_file(reference_file("hugging_face/llama/config.json")));
  pointer("index/model.safetensors.index.json");
  replace_file(dir_ / "op.yaml", "function: neg\ninputs: {x: [1, 2]}\n");
  const std::string any = pointer("any"), out = dir_ / "out";
  for (const Arguments& command : std::vector<Arguments>{
           {"import", dir_ / "model", "--out", out},
           {"import", dir_ / "index", "--out", out},
           {"import", pointer("a.gguf"), "--out", out},
           {"import", pointer("a.bin"), "--out", out},
           {"tokenize", "inspect", pointer("tokenizer.json")},
           {"data", "inspect", (pointer("t.bin"), pointer("t.idx"))},
           {"config", "show", "--config", pointer("a.yaml")},
           {"eval-op", any},
           {"eval-layer", any, "--output", out},
           {"eval-op", dir_ / "op.yaml", "--backend", "interpreter", "--inputs", any},
           {"eval", "--from", run(), "--task", any, "--backend", "interpreter"},
           {"generate", "--from", run(), "--chat", "--chat-template", any, "--prompt", "a",
            "--backend", "interpreter"},
           joined({"config", "check", "quickstart"},
                  set_flags({"evalers={}", "input=ChatInput", "input.source=ChatSource",
                             "input.source.path=" + pointer("chat.jsonl")}))}) {
    const Ran ran = run_axle(command);
    EXPECT_NE(ran.code, 0) << join(command, " ");
    EXPECT_THAT(ran.err, HasSubstr(kLfsPointerNamed)) << join(command, " ");
  }
}

}  // namespace
}  // namespace axle
