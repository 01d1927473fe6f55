// Builds of token files whose sources end early, and that the disk has no room for.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <iostream>

#include "data/token_files/build_token_file.h"
#include "data/tokenizers/byte_tokenizer.h"
#include "io/file.h"
#include "testing/compressed.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

class BuildTokenFileFault : public ::testing::Test {
 protected:
  BuildTokenFileFault() {
    make_directories(dir_ / "in");
    for (int i = 0; i < kNumLines; ++i)
      lines_ += fmt::format("{{\"text\": \"document {} of {}\"}}\n", i, i * 7919 % 104729);
    replace_file(dir_ / "in/a.jsonl", lines_);
  }
  TokenBuild build(const std::string& source) const {
    return {.sources = {dir_ / source},
            .tokenizer = ByteTokenizer::Config{},
            .prefix = dir_ / "out",
            .batch_bytes = 700};
  }
  static constexpr int kNumLines = 400;
  std::string lines_;
  TempDir dir_;
};

TEST_F(BuildTokenFileFault, TruncatedFilesKeepTheDocumentsBeforeTheCut) {
  const std::string whole = gzipped(lines_);
  replace_file(dir_ / "b.jsonl.gz", whole.substr(0, whole.size() / 2));
  TokenBuild one = build("b.jsonl.gz");
  EXPECT_THAT(error_of<DataError>([&] { build_token_file(one); }), HasSubstr("b.jsonl.gz: "));
  one.on_error = OnError::kSkip;
  const TokenCard card = build_token_file(one).card;
  EXPECT_EQ(card.skipped.reasons.at("not readable to the end"), 1);
  EXPECT_GT(card.num_documents, 0);
  EXPECT_LT(card.num_documents, kNumLines);
}

// A file may grow no more after the first one of two is done.
TEST_F(BuildTokenFileFault, FullDiskKeepsTheFinishedPart) {
  replace_file(dir_ / "in/b.jsonl", lines_);
  const auto build_on_full_disk = [&] {
    int files = 0;
    build_token_file(build("in"),
                     {.should_stop = [&] { return files == 1; },
                      .report = [&](const auto& p) { files = int(p.num_files_done); }});
    ::signal(SIGXFSZ, SIG_IGN);
    const auto full = static_cast<rlim_t>(file_bytes(dir_ / "out.part/tokens.bin"));
    const rlimit limit = {.rlim_cur = full, .rlim_max = full};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    std::cerr << error_of<StorageError>([&] { build_token_file(build("in")); });
    ::_exit(0);
  };
  EXPECT_EXIT(build_on_full_disk(), ::testing::ExitedWithCode(0),
              "cannot write at offset .*out.part keeps what is done: the same command goes on");
  EXPECT_TRUE(build_token_file(build("in")).is_finished);
}

}  // namespace
}  // namespace axle
