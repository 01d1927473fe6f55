// Counts of tokens against the encoder, of all kinds of files.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "inspect/tokenizer_report.h"
#include "io/file.h"
#include "testing/checkout.h"
#include "testing/compressed.h"
#include "testing/error_of.h"
#include "testing/peak_memory.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// While alive, stdin is a pipe that provides the text.
class PipedStdin {
 public:
  explicit PipedStdin(const std::string& text) : before_(::dup(STDIN_FILENO)) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    ::dup2(ends[0], STDIN_FILENO);
    ::close(ends[0]);
    writer_ = std::jthread([text, end = ends[1]] {
      for (size_t at = 0; at < text.size();) {
        const ssize_t count = ::write(end, text.data() + at, text.size() - at);
        if (count <= 0) break;
        at += static_cast<size_t>(count);
      }
      ::close(end);
    });
  }
  ~PipedStdin() {
    ::dup2(before_, STDIN_FILENO);
    ::close(before_);
  }
  PipedStdin(const PipedStdin&) = delete;
  PipedStdin& operator=(const PipedStdin&) = delete;

 private:
  int before_;
  std::jthread writer_;
};

class TokenCounts : public ::testing::Test {
 protected:
  TokenCount count(TextsToCount texts) const { return count_tokens(*named_.tokenizer, texts); }
  int64_t tokens_of(const std::string& text) const {
    return std::ssize(named_.tokenizer->encode(text));
  }
  // Counts what a pipe provides.
  TokenCount count_piped(const std::string& text, const std::string& field = {}) const {
    const PipedStdin piped(text);
    return count({.data = {"-"}, .field = field});
  }
  TempDir dir_;
  NamedTokenizer named_ = open_tokenizer(reference_file("tokenizers/llama3.json"));
};

std::string json_line(const std::string& field, const std::string& text) {
  return nlohmann::json{{field, text}}.dump() + "\n";
}

TEST_F(TokenCounts, CountsAllKindsOfFiles) {
  const std::string one = "Hello, world!\n\nAgain.", two = "caf\u00e9 \u732b",
                    three = "12345 tokens";
  replace_file(dir_ / "a.txt", one);
  replace_file(dir_ / "b.jsonl.gz", gzipped(json_line("text", two) + json_line("text", one)));
  replace_file(dir_ / "c.ndjson.zst", zstd_compressed(json_line("text", three)));
  const TokenCount all = count({.data = {dir_.path().string()}});
  EXPECT_EQ(all.num_files, 3);
  EXPECT_EQ(all.num_documents, 4);
  EXPECT_EQ(all.num_tokens, 2 * tokens_of(one) + tokens_of(two) + tokens_of(three));
  EXPECT_EQ(all.num_bytes, std::ssize(one + one + two + three));
}

TEST_F(TokenCounts, TheFieldIsNamed) {
  replace_file(dir_ / "a.jsonl", json_line("body", "one two") + json_line("text", "three"));
  EXPECT_THAT(error_of<DataError>([&] { count({.data = {dir_ / "a.jsonl"}, .field = "body"}); }),
              AllOf(HasSubstr("a.jsonl:2: expected the field 'body', got an object without it"),
                    HasSubstr("(text); --on-error skip leaves it out")));
  const TokenCount skipping =
      count({.data = {dir_ / "a.jsonl"}, .field = "body", .on_error = OnError::kSkip});
  EXPECT_EQ(skipping.num_tokens, tokens_of("one two"));
  EXPECT_EQ(skipping.skipped.count, 1);
}

TEST_F(TokenCounts, ConversationsAreRefused) {
  const std::string talk = R"({"messages": [{"role": "user", "content": "a"}], "about": "b"})";
  replace_file(dir_ / "a.jsonl", talk + "\n");
  EXPECT_EQ(error_of<DataError>([&] { count({.data = {dir_ / "a.jsonl"}}); }),
            (dir_ / "a.jsonl") +
                ": expected texts, got conversations; axle data build counts the tokens of "
                "conversations; --field names another field, which holds texts");
  EXPECT_EQ(count({.data = {dir_ / "a.jsonl"}, .field = "about"}).num_tokens, tokens_of("b"));
  // One among texts.
  replace_file(dir_ / "a.jsonl", json_line("text", "three") + talk + "\n");
  EXPECT_THAT(error_of<DataError>([&] { count({.data = {dir_ / "a.jsonl"}}); }),
              HasSubstr("a.jsonl:2: expected the field 'text', got a conversation without it "
                        "(messages, about); --on-error skip leaves it out"));
}

TEST_F(TokenCounts, CountsStdin) {
  const std::string text = "What a pipe gives\nis read once.\n";
  EXPECT_EQ(count_piped(text).num_tokens, tokens_of(text));
  EXPECT_EQ(count_piped(text).num_files, 1);
  EXPECT_EQ(count_piped(json_line("body", text), "body").num_tokens, tokens_of(text));
  const std::string list = "[\n{\"body\": \"one\"},\n{\"body\": \"two three\"}\n]\n";
  EXPECT_EQ(count_piped(list, "body").num_documents, 2);
  EXPECT_THAT(error_of<DataError>([&] { count_piped(""); }),
              HasSubstr("-: expected texts, got no document"));
}

// Parts end at the ends of lines, where this text is cut anyway.
TEST_F(TokenCounts, LargeTextsAreReadInParts) {
  const std::string line = "The quick brown fox jumps over the lazy dog\n";
  std::string text;
  while (text.size() < size_t{3} << 20) text += line;
  replace_file(dir_ / "a.txt", text);
  const TokenCount all = count({.data = {dir_ / "a.txt"}});
  EXPECT_EQ(all.num_documents, 1);
  EXPECT_EQ(all.num_bytes, std::ssize(text));
  EXPECT_EQ(all.num_tokens, std::ssize(text) / std::ssize(line) * tokens_of(line));
}

TEST_F(TokenCounts, MemoryIsBounded) {
  const std::string line(1023, 'a');
  {
    FileWriter file(dir_ / "big.txt");
    for (int i = 0; i < 64 << 10; ++i) file.write(line + "\n");
    file.close();
  }
  count({.data = {dir_ / "big.txt"}});  // what is kept of the pieces is there from now on
  reset_peak_resident_bytes();
  const int64_t before = peak_resident_bytes();
  count({.data = {dir_ / "big.txt"}});
  EXPECT_LT(peak_resident_bytes() - before, int64_t{200} << 20);
}

TEST_F(TokenCounts, MissingFilesAreNamed) {
  EXPECT_EQ(error_of<DataError>([&] { count({.data = {dir_ / "none"}}); }),
            (dir_ / "none") +
                ": expected a text file or a folder of them, got nothing there; "
                "correct --data");
}

}  // namespace
}  // namespace axle
