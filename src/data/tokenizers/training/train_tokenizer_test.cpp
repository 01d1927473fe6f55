// Trains tokenizers on small texts of all kinds of files.
#include "data/tokenizers/training/train_tokenizer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "data/token_files/corpus_reader.h"
#include "data/tokenizers/open_tokenizer.h"
#include "data/tokenizers/training/merges/merge_learner.h"
#include "io/file.h"
#include "testing/compressed.h"
#include "testing/environment_change.h"
#include "testing/error_of.h"
#include "testing/peak_memory.h"
#include "testing/temp_dir.h"
#include "testing/trained_tokenizer.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string some_text(int num_lines, unsigned seed = 3) {
  std::string out;
  for (const std::string& line : made_up_lines(num_lines, seed)) out += line + "\n";
  return out;
}

class TrainTokenizer : public ::testing::Test {
 protected:
  TrainTokenizer() { replace_file(dir_ / "a.txt", some_text(400)); }
  TokenizerTraining training(std::vector<std::string> sources = {}) const {
    if (sources.empty()) sources = {dir_ / "a.txt"};
    return {.sources = std::move(sources), .vocab_size = 400};
  }
  std::unique_ptr<Tokenizer> opened(const TrainedTokenizer& trained) const {
    for (const auto& [name, text] : trained.files) replace_file(dir_ / name, text);
    return tokenizer_in_file(dir_ / "tokenizer.json", "FILE").build({}, {.path = "t"});
  }
  TempDir dir_;
};

TEST_F(TrainTokenizer, TablesNeedALibrary) {
  replace_file(dir_ / "a.parquet", "PAR1");
  const EnvironmentChange none("AXLE_ARROW", dir_.path().string());
  const std::string error =
      error_of<DataError>([&] { train_tokenizer(training({dir_ / "a.parquet"})); });
  EXPECT_THAT(error, HasSubstr("expected a folder with libaxle_parquet.so, got "));
  EXPECT_EQ(error.find('\n'), error.npos) << error;
}

TEST_F(TrainTokenizer, WritesAUsableTokenizer) {
  TokenizerTraining t = training();
  t.special = {"<|user|>"};
  t.bos = "<|begin|>";
  t.eos = t.pad = "<|end|>";
  const TrainedTokenizer trained = train_tokenizer(t);
  EXPECT_EQ(trained.vocab_size, 400);
  EXPECT_EQ(trained.num_special, 3);
  EXPECT_EQ(trained.num_merges, 400 - 256 - 3);
  const auto tokenizer = opened(trained);
  EXPECT_EQ(tokenizer->vocab_size(), 400);
  EXPECT_EQ(tokenizer->special_ids().bos, 1);
  EXPECT_EQ(tokenizer->special_ids().eos, 2);
  EXPECT_EQ(tokenizer->special_ids().pad, 2);
  EXPECT_THAT(tokenizer->framed({9}), ElementsAre(1, 9));
  EXPECT_EQ(tokenizer->encode_with_special("<|user|>"), std::vector<int32_t>{0});
  EXPECT_GT(tokenizer->encode("<|user|>").size(), 1u);
  // Each text comes back, also with bytes that the training has not seen.
  const std::string text = some_text(50, 4) + "\xe2\x82\xac \xf0\x9f\x98\x80\n\n  \t123";
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
  EXPECT_EQ(std::ssize(tokenizer->encode(read_file(dir_ / "a.txt"))), trained.num_tokens);
}

TEST_F(TrainTokenizer, AllPatterns) {
  for (const std::string& family : split_family_names()) {
    TokenizerTraining t = training();
    t.pattern = family;
    const auto tokenizer = opened(train_tokenizer(t));
    EXPECT_EQ(std::ssize(tokenizer->encode(read_file(dir_ / "a.txt"))),
              train_tokenizer(t).num_tokens)
        << family;
  }
}

// Rare characters become bytes, and each text comes back.
TEST_F(TrainTokenizer, AnAlphabetOfCharacters) {
  TokenizerTraining t = training();
  t.alphabet = Alphabet::kCharacters;
  t.bos = "<s>";
  const TrainedTokenizer all = train_tokenizer(t);
  EXPECT_EQ(all.vocab_size, 400);
  EXPECT_EQ(all.num_merges, 400 - 1 - 256 - all.num_characters);
  const auto tokenizer = opened(all);
  EXPECT_EQ(tokenizer->special_ids().bos, 0);
  const std::string text = some_text(50, 4) + "\xe2\x82\xac \xf0\x9f\x98\x80\n\n  \t123";
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
  EXPECT_EQ(tokenizer->token(tokenizer->encode("\xe2\x82\xac")[1]), "<0xE2>");
  t.character_coverage = 0.9;
  const TrainedTokenizer most = train_tokenizer(t);
  EXPECT_LT(most.num_characters, all.num_characters);
  EXPECT_EQ(opened(most)->decode(opened(most)->encode(text)), text);
}

// One text in files of all kinds, in any order.
TEST_F(TrainTokenizer, FileFormatAndOrderDoNotChangeTheTokenizer) {
  const auto made = [&](const std::vector<std::string>& sources) {
    return train_tokenizer(training(sources)).files.at("tokenizer.json");
  };
  const auto json_line = [](const std::string& text) {
    return nlohmann::json{{"text", text}}.dump() + "\n";
  };
  make_directories(dir_ / "many");
  std::string lines;
  for (int i = 0; i < 8; ++i) {
    const std::string text = some_text(50, unsigned(i));
    replace_file(dir_ / fmt::format("many/{}.txt", i), text);
    lines += json_line(text);
  }
  std::string whole;
  for (int i = 0; i < 8; ++i) whole += some_text(50, unsigned(i));
  replace_file(dir_ / "whole.txt", whole);
  replace_file(dir_ / "whole.txt.gz", gzipped(whole));
  replace_file(dir_ / "lines.jsonl.zst", zstd_compressed(lines));
  const std::string expected = made({dir_ / "whole.txt"});
  EXPECT_EQ(made({dir_ / "many"}), expected);
  EXPECT_EQ(made({dir_ / "many/[4-7].txt", dir_ / "many/[0-3].txt"}), expected);
  EXPECT_EQ(made({dir_ / "whole.txt.gz"}), expected);
  EXPECT_EQ(made({dir_ / "lines.jsonl.zst"}), expected);
}

TEST_F(TrainTokenizer, ReadsTheNamedFieldAndCountsSkippedRecords) {
  replace_file(dir_ / "b.jsonl",
               "{\"body\": \"abcabcabc\"}\n{\"text\": \"no\"}\n{\"body\": \" \"}\n");
  TokenizerTraining t = training({dir_ / "b.jsonl"});
  t.field = "body";
  t.on_error = OnError::kSkip;
  const TrainedTokenizer trained = train_tokenizer(t);
  EXPECT_EQ(trained.text_bytes, 9);
  EXPECT_EQ(to_text(trained.skipped),
            "2 skipped (1 empty: b.jsonl:3; 1 without a text: b.jsonl:2)");
  EXPECT_EQ(trained.num_merges, 3);  // ab, abc, abcabc: the rest comes once
}

TEST_F(TrainTokenizer, FilesThatAreLeftOutAreNotCountedAsRead) {
  replace_file(dir_ / "b.txt", std::string("\x7f"
                                           "ELF\x02\x01\x01\0",
                                           8));
  std::filesystem::create_symlink(dir_ / "nothing", dir_ / "c.txt");
  TokenizerTraining t = training({dir_.path().string()});
  t.on_error = OnError::kSkip;
  const TrainedTokenizer trained = train_tokenizer(t);
  EXPECT_EQ(trained.num_files, 1);
  EXPECT_EQ(trained.skipped.count, 2);
}

TEST_F(TrainTokenizer, RarePairsAreNotMerged) {
  TokenizerTraining t = training();
  t.vocab_size = 10000;
  t.min_frequency = 1'000'000;
  const TrainedTokenizer trained = train_tokenizer(t);
  EXPECT_EQ(trained.num_merges, 0);
  EXPECT_EQ(trained.vocab_size, 256);
  EXPECT_EQ(trained.num_tokens, trained.text_bytes);
}

TEST_F(TrainTokenizer, LimitIsSharedAmongTheFiles) {
  make_directories(dir_ / "in");
  replace_file(dir_ / "in/large.txt", some_text(4000));
  replace_file(dir_ / "in/small.txt", std::string(3, 'x') + "\n");
  TokenizerTraining t = training({dir_ / "in"});
  t.max_text_bytes = 20000;
  const TrainedTokenizer trained = train_tokenizer(t);
  EXPECT_EQ(trained.num_files_cut, 1);
  EXPECT_GT(trained.text_bytes, 19000);
  EXPECT_LE(trained.text_bytes, 20000);
  t.max_text_bytes = 1'000'000;
  EXPECT_EQ(train_tokenizer(t).num_files_cut, 0);
}

// A block of text and a record may be longer than the share of their file.
TEST_F(TrainTokenizer, ALimitHoldsForManyFiles) {
  constexpr int kNumFiles = 20;
  make_directories(dir_ / "texts");
  make_directories(dir_ / "records");
  std::string indented, word(5000, 'a');
  while (indented.size() < 60000) indented += "  a line with no place to cut before it\n";
  std::vector<std::string> files;
  for (int i = 0; i < kNumFiles; ++i) {
    replace_file(dir_ / fmt::format("texts/{}.txt", i), indented);
    files.push_back(dir_ / fmt::format("records/{}.jsonl", i));
    replace_file(files.back(), fmt::format(R"({{"text": "{} {}"}})", word, std::string(i, 'b')));
  }
  TokenizerTraining t = training({dir_ / "texts"});
  t.max_text_bytes = 20000;
  TrainedTokenizer trained = train_tokenizer(t);
  EXPECT_GT(trained.text_bytes, 15000);
  EXPECT_LE(trained.text_bytes, 20000);
  EXPECT_EQ(trained.num_files_cut, kNumFiles);
  EXPECT_EQ(trained.num_files, kNumFiles);
  t.max_text_bytes = 50;
  EXPECT_LE(train_tokenizer(t).text_bytes, 54);
  t.sources = files;
  t.max_text_bytes = 20000;
  trained = train_tokenizer(t);
  EXPECT_GT(trained.text_bytes, 15000);
  EXPECT_LT(trained.text_bytes, 26000);
  EXPECT_EQ(trained.num_files_cut, kNumFiles - trained.num_files);
  std::ranges::reverse(t.sources);
  EXPECT_EQ(train_tokenizer(t).files, trained.files);
}

TEST_F(TrainTokenizer, ReportsFilesThenTokens) {
  std::vector<TokenizerTrainingProgress> all;
  train_tokenizer(training(), [&](const TokenizerTrainingProgress& p) { all.push_back(p); });
  ASSERT_GT(all.size(), 1u);
  EXPECT_EQ(all.front().num_tokens, 0);
  EXPECT_GT(all.front().text_bytes, 0);
  EXPECT_GT(all.back().num_tokens, 256);
  EXPECT_EQ(all.back().vocab_size, 400);
}

// No merge makes the name of a special token, or text could be one.
TEST_F(TrainTokenizer, TextDoesNotBecomeASpecialToken) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += "abcd abcd\n";
  replace_file(dir_ / "b.txt", text);
  TokenizerTraining t = training({dir_ / "b.txt"});
  t.special = {"abcd"};
  const auto tokenizer = opened(train_tokenizer(t));
  EXPECT_GT(tokenizer->encode("abcd").size(), 1u);
  text.clear();
  for (int i = 0; i < 50; ++i) text += "<0x0A> <0x0A>\n";
  replace_file(dir_ / "b.txt", text);
  t.alphabet = Alphabet::kCharacters;
  const auto of_characters = opened(train_tokenizer(t));
  EXPECT_EQ(of_characters->decode(of_characters->encode("<0x0A>")), "<0x0A>");
}

// A merge that looks like the first line of old files is one.
TEST_F(TrainTokenizer, MergesThatLookLikeVersions) {
  std::string text;
  for (int i = 0; i < 30; ++i) text += "#versionabc\n#versionab\n";
  replace_file(dir_ / "b.txt", text);
  TokenizerTraining t = training({dir_ / "b.txt"});
  t.alphabet = Alphabet::kCharacters;
  const auto tokenizer = opened(train_tokenizer(t));
  EXPECT_EQ(tokenizer->token(tokenizer->encode("\n#versionabc").back()), "#versionabc");
}

// A batch is in memory, and each different piece.
TEST_F(TrainTokenizer, MemoryIsBounded) {
  const int64_t cores = std::max(1u, std::thread::hardware_concurrency());
  const int64_t limit = (int64_t{24} << 20) + 5 * std::max<int64_t>(cores << 21, 8 << 20);
  {
    FileWriter file(dir_ / "big.txt");
    const std::string text = some_text(4000);
    while (file.size() < limit) file.write(text);
  }
  const int64_t before = peak_resident_bytes();
  const TrainedTokenizer trained = train_tokenizer(training({dir_ / "big.txt"}));
  EXPECT_GE(trained.text_bytes, limit);
  EXPECT_LT(peak_resident_bytes() - before, limit / 2);
}

TEST(PieceCounts, CountsAsAMapDoes) {
  std::mt19937 random(2);
  std::map<std::string, int64_t> expected;
  PieceCounts counts, other;
  for (int i = 0; i < 20000; ++i) {
    const std::string piece(1 + random() % 3, static_cast<char>('a' + random() % 26));
    const std::string text = piece + std::to_string(random() % 700);
    (i % 3 ? counts : other).add(text);
    ++expected[text];
  }
  for (size_t part = 0; part < PieceCounts::kParts; ++part) counts.add_part(other, part);
  std::map<std::string, int64_t> made;
  int64_t bytes = 0;
  counts.for_each([&](std::string_view piece, int64_t count) {
    EXPECT_TRUE(made.emplace(piece, count).second);
    bytes += std::ssize(piece);
  });
  EXPECT_EQ(made, expected);
  EXPECT_EQ(counts.num_pieces(), std::ssize(expected));
  EXPECT_EQ(counts.num_bytes(), bytes);
}

TEST(CorpusReader, BlocksEndWhereEachPatternCuts) {
  const TempDir dir;
  const std::string text =
      "a b\nc\n\nd\n  e\nf \ng\xe3\x80\x80\nh\n\xc2\xa0i\n\xe3\x80\x82\n\xe7\x8c\xab";
  replace_file(dir / "a.txt", text);
  CorpusReader reader(dir / "a.txt", CorpusFormat{});
  std::vector<std::string> parts;
  std::string whole;
  while (const auto part = reader.next_block(1)) {
    parts.push_back(part->bytes);
    EXPECT_EQ(part->line, 1 + std::ranges::count(whole, '\n'));
    whole += part->bytes;
  }
  EXPECT_EQ(whole, text);
  EXPECT_THAT(parts, ElementsAre("a b\n", "c\n\nd\n  e\n", "f \ng\xe3\x80\x80\nh\n\xc2\xa0i\n",
                                 "\xe3\x80\x82\n", "\xe7\x8c\xab"));
}

}  // namespace
}  // namespace axle
