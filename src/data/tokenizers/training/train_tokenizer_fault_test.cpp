// Bad texts and settings for the training of a tokenizer: one line each, with the right code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/tokenizers/training/train_tokenizer.h"
#include "io/file.h"
#include "testing/compressed.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class TrainTokenizerFault : public ::testing::Test {
 protected:
  TokenizerTraining training(const std::string& bytes, const std::string& name = "a.txt") const {
    replace_file(dir_ / name, bytes);
    return {.sources = {dir_ / name}, .vocab_size = 300};
  }
  void expect(const TokenizerTraining& t, const std::string& message,
              ExitCode code = ExitCode::kData) const {
    const Thrown thrown = thrown_by([&] { train_tokenizer(t); });
    EXPECT_THAT(thrown.message, AllOf(HasSubstr(message), ::testing::Not(HasSubstr("\n"))));
    EXPECT_EQ(thrown.code, code) << thrown.message;
  }
  TempDir dir_;
};

TEST_F(TrainTokenizerFault, NoText) {
  expect(training(""), "a.txt: expected texts, got no document; 1 skipped (1 empty: a.txt:1)");
  expect(training(" \n\n \t"), "expected texts, got no document");
  expect(training("", "b.jsonl"), "expected texts, got no document");
  expect({.sources = {dir_ / "nothing.txt"}}, "expected a text file or a folder of them, got");
  make_directories(dir_ / "empty");
  expect({.sources = {dir_ / "empty"}}, "expected texts, got no document");
}

TEST_F(TrainTokenizerFault, NonTextIsRefused) {
  const std::string text = "one line\ntwo\n";
  expect(training(text + "th\xffree\n"),
         "a.txt:3: not valid UTF-8 at byte 3; --on-error skip leaves it out");
  expect(training(text + std::string(1, '\0')), "a.txt:3: a NUL, which is no text, at byte 1");
  expect(training("{\"text\": 3}\n", "b.jsonl"), "b.jsonl:1: text: expected");
  expect(training("{\"text\": \"a\n", "b.jsonl"), "b.jsonl:1: ");
  expect(training("PAR1 and so on", "c.txt"), "expected text or JSON Lines, got");
  const std::string packed = gzipped(std::string(5000, 'x') + text);
  expect(training(packed.substr(0, packed.size() - 9), "d.txt.gz"), "d.txt.gz");
}

TEST_F(TrainTokenizerFault, SkippedDocumentsAreCounted) {
  TokenizerTraining t = training("a\xff\n");
  replace_file(dir_ / "b.txt", "some text, some text\n");
  t.sources.push_back(dir_ / "b.txt");
  t.on_error = OnError::kSkip;
  const TrainedTokenizer trained = train_tokenizer(t);
  EXPECT_EQ(trained.text_bytes, 21);
  EXPECT_EQ(to_text(trained.skipped), "1 skipped (1 not UTF-8: a.txt:1)");
  t.sources = {dir_ / "a.txt"};
  expect(t, "got no document; 1 skipped (1 not UTF-8: a.txt:1)");
}

TEST_F(TrainTokenizerFault, Settings) {
  TokenizerTraining t = training("some text\n");
  t.vocab_size = 257;
  t.special = {"<s>"};
  t.eos = "</s>";
  expect(t, "--vocab-size: expected at least 258 (256 bytes and 2 special tokens), got 257",
         ExitCode::kUser);
  t.vocab_size = 258;
  EXPECT_EQ(train_tokenizer(t).num_merges, 0);
  for (const char* text : {"", "a", "\xc4\xa0", "\xff\xfe", "\xc4", "<0x0A>"}) {
    t.special = {text};
    expect(t, "--special: expected a text such as <|endoftext|>, got '", ExitCode::kUser);
  }
  t.special = {};
  t.alphabet = Alphabet::kCharacters;
  expect(t,
         "--vocab-size: expected at least 265 (256 bytes, 8 characters and 1 special token), got",
         ExitCode::kUser);
  t.vocab_size = 400;
  t.pattern = "gpt2";
  expect(t, "--pattern: expected --alphabet bytes, got characters", ExitCode::kUser);
  t.alphabet = Alphabet::kBytes;
  t.pattern = "gpt3";
  expect(t, "--pattern: expected one of cl100k, deepseek-v3, gpt2", ExitCode::kUser);
}

// A word of a megabyte, and a text without a line end.
TEST_F(TrainTokenizerFault, LongPieces) {
  TokenizerTraining t = training(std::string(1 << 20, 'a') + " " + std::string(3 << 20, 'b'));
  t.vocab_size = 512;
  const TrainedTokenizer trained = train_tokenizer(t);
  // Tokens of at most 1024 bytes: 2, 4, .. 1024 of each letter.
  EXPECT_LE(trained.num_tokens, 5000);
  EXPECT_EQ(trained.text_bytes, (4 << 20) + 1);
}

}  // namespace
}  // namespace axle
