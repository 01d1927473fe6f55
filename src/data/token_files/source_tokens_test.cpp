#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "data/token_files/build_token_file.h"
#include "data/token_files/token_input.h"
#include "io/file.h"
#include "testing/environment_change.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Texts with the letter x, conversations with the answer y, a token file of the letter z.
class SourceTokensTest : public ::testing::Test {
 protected:
  SourceTokensTest() {
    std::string texts, talks;
    for (int i = 0; i < 200; ++i) {
      const std::string body(static_cast<size_t>(3 + i * 7 % 40), 'x');
      texts += fmt::format("{{\"body\":\"{}\"}}\n", body);
      talks += fmt::format(R"({{"instruction":"q{}","output":"{}"}})", i % 10,
                           std::string(static_cast<size_t>(1 + i * 7 % 19), 'y')) +
               "\n";
    }
    replace_file(dir_ / "texts.jsonl", texts);
    replace_file(dir_ / "talks.jsonl", talks);
    std::string lines;
    for (int i = 0; i < 100; ++i) lines += std::string(25, 'z') + "\n";
    replace_file(dir_ / "z.txt", lines);
    replace_file(dir_ / "chat.jinja", "{% for m in messages %}{{ m.content }};{% endfor %}");
    build_token_file({.sources = {dir_ / "z.txt"},
                      .tokenizer = ByteTokenizer::Config{},
                      .prefix = dir_ / "z",
                      .unit = DocumentUnit::kLine});
  }
  TokenInput::Config config(int64_t batch_size = 1) const {
    TokenInput::Config out{.seq_len = 24, .batch_size = batch_size};
    out.sources["texts"] = {.path = dir_ / "texts.jsonl", .weight = 0.5, .field = "body"};
    out.sources["talks"] = {.path = dir_ / "talks.jsonl",
                            .weight = 0.3,
                            .packing = Packing::kWhole,
                            .chat_template = dir_ / "chat.jinja"};
    out.sources["z"] = {.path = dir_ / "z", .weight = 0.2};
    return out;
  }
  static std::unique_ptr<Input> build(const TokenInput::Config& cfg) {
    return Child<Input>(cfg).build({.vocab_size = 257, .seed = 1}, {.path = "input"});
  }
  // The ids and labels of the next batches, row by row.
  static std::vector<std::vector<int32_t>> rows_of(Input& input, size_t count) {
    std::vector<std::vector<int32_t>> out;
    while (out.size() < count) {
      const Batch batch = *input.next();
      const auto ids = batch.tensors.find("input_ids")->second.values<int32_t>();
      const auto labels = batch.tensors.find("target_labels")->second.values<int32_t>();
      for (size_t begin = 0; begin < ids.size(); begin += 24) {
        auto& row = out.emplace_back(ids.begin() + static_cast<int64_t>(begin),
                                     ids.begin() + static_cast<int64_t>(begin) + 24);
        row.insert(row.end(), labels.begin() + static_cast<int64_t>(begin),
                   labels.begin() + static_cast<int64_t>(begin) + 24);
      }
    }
    out.resize(count);
    return out;
  }
  TempDir dir_;
  EnvironmentChange cache_{"XDG_CACHE_HOME", dir_ / "cache"};
};

TEST_F(SourceTokensTest, EverySourceHasItsShareOfAnyPrefix) {
  std::map<char, int> count;
  const auto rows = rows_of(*build(config()), 1000);
  for (size_t n = 1; n <= rows.size(); ++n) {
    const auto& row = rows[n - 1];
    const auto is_in = [&](char c) { return std::ranges::count(row, c) > 0; };
    const char kind = is_in('x') ? 'x' : is_in('z') ? 'z' : 'y';
    ++count[kind];
    for (const auto& [of, weight] : {std::pair('x', 0.5), {'y', 0.3}, {'z', 0.2}})
      EXPECT_LT(std::abs(count[of] - weight * static_cast<double>(n)), 1) << of << n;
    if (kind != 'y') continue;
    // Of conversations, answers alone are learned.
    const auto labels = std::span(row).subspan(24);
    EXPECT_EQ(std::ranges::count(labels, 'q'), 0);
    EXPECT_GT(std::ranges::count(labels, 'y'), 0);
  }
}

TEST_F(SourceTokensTest, RowsDependOnSeedAndStepAlone) {
  const auto first = rows_of(*build(config()), 300);
  EXPECT_EQ(rows_of(*build(config(7)), 300), first);
  const auto input = build(config());
  rows_of(*input, 123);
  const auto later = build(config());
  later->restore(input->state());
  EXPECT_EQ(rows_of(*later, 177),
            std::vector<std::vector<int32_t>>(first.begin() + 123, first.end()));
  replace_file(dir_ / "texts.jsonl", "{\"body\":\"another\"}\n");
  EXPECT_THROW(build(config())->restore(input->state()), DataError);
}

TEST_F(SourceTokensTest, FactsAndOriginsDescribeTheFiles) {
  replace_file(dir_ / "notes.jsonl", "{\"text\":\"a\"}\n{\"id\":1}\n{\"text\":\"b\"}\n");
  TokenInput::Config cfg = config();
  cfg.sources["notes"] = {.path = dir_ / "notes.jsonl", .weight = 0.1, .on_error = OnError::kSkip};
  cfg.sources["texts"].max_documents = 20;
  cfg.sources["texts"].long_documents = LongDocuments::kSkip;
  const auto input = build(cfg);
  const InputFacts facts = input->facts();
  EXPECT_EQ(facts.num_files, 4);
  EXPECT_EQ(facts.num_documents, 20 + 200 + 100 + 2);
  EXPECT_EQ(facts.skipped.reasons.at("without a text"), 1);
  EXPECT_GT(facts.skipped.reasons.at("longer than a row"), 3);
  std::map<std::string, int> found;
  for (int64_t batch = 0; batch < 100; ++batch) {
    for (const RowOrigin& origin : input->origins_of_batch(batch)) {
      for (const char* file : {"notes.jsonl", "texts.jsonl", "talks.jsonl", "z.txt"})
        found[file] +=
            origin.where.find(std::string(file) + ", its document ") != std::string::npos;
    }
  }
  for (const auto& [file, count] : found) EXPECT_GT(count, 0) << file;
}

// Training and evaluation share the tokens, and other fields of the input make no others.
TEST_F(SourceTokensTest, TokensAreEncodedOnce) {
  const auto num_files = [&] {
    int out = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_ / "cache"))
      out += entry.path().string().ends_with(".json");
    return out;
  };
  build(config());
  EXPECT_EQ(num_files(), 2);
  TokenInput::Config cfg = config(3);
  cfg.split = Split::kHeldOut;
  cfg.seq_len = 48;
  cfg.packing = Packing::kBestFit;
  build(cfg);
  EXPECT_EQ(num_files(), 2);
  cfg.sources["talks"].learned = Learned::kAll;
  build(cfg);
  EXPECT_EQ(num_files(), 3);
}

TEST_F(SourceTokensTest, OneDocumentHasNoHeldOutPart) {
  TokenInput::Config cfg{.seq_len = 24, .batch_size = 1};
  cfg.split = Split::kHeldOut;
  cfg.held_out_fraction = 0.05;
  const auto problem_of = [&](const TokenSource& source) {
    cfg.sources = {{"a", source}};
    return error_of<DataError>([&] { build(cfg); });
  };
  EXPECT_THAT(
      problem_of({.path = dir_ / "z.txt"}),
      HasSubstr("got 1 document; cut the texts into more (--set input.sources.a.unit=line)"));
  build_token_file(
      {.sources = {dir_ / "z.txt"}, .tokenizer = ByteTokenizer::Config{}, .prefix = dir_ / "one"});
  EXPECT_THAT(problem_of({.path = dir_ / "one"}),
              HasSubstr("cut the texts into more (data build --unit line)"));
  replace_file(dir_ / "talk.jsonl", R"({"prompt":"q","completion":"a"})");
  EXPECT_THAT(problem_of({.path = dir_ / "talk.jsonl"}), HasSubstr("; give more, or change"));
  cfg.sources = {{"a", {.path = dir_ / "z.txt", .unit = DocumentUnit::kLine}}};
  EXPECT_EQ(build(cfg)->facts().num_documents, 5);
}

TEST_F(SourceTokensTest, FieldsWithoutEffectAreRefused) {
  const auto error = [&](const char* name, auto change) {
    TokenInput::Config cfg = config();
    change(cfg.sources[name]);
    return error_of([&] { build(cfg); });
  };
  EXPECT_EQ(error("z", [](TokenSource& one) { one.unit = DocumentUnit::kLine; }),
            "input.sources.z.unit: expected files of texts, got a token file in " + (dir_ / "z") +
                "; leave the field out");
  EXPECT_THAT(error("z", [](TokenSource& one) { one.on_error = OnError::kSkip; }),
              HasSubstr("z.on_error: expected files of texts or conversations, got a token file"));
  EXPECT_THAT(error("texts", [](TokenSource& one) { one.learned = Learned::kAll; }),
              HasSubstr("texts.learned: expected files of conversations, got texts in "));
  EXPECT_THAT(error("texts", [](TokenSource& one) { one.chat_template = "a.jinja"; }),
              HasSubstr("texts.chat_template: expected files of conversations, got texts in "));
  replace_file(dir_ / "talks.jsonl", R"({"prompt": "q", "chosen": "y", "rejected": "n"})");
  EXPECT_THAT(error("talks", [](TokenSource& one) { one.learned = Learned::kAll; }),
              HasSubstr("talks.learned: expected files of conversations, got pairs of answers"));
  EXPECT_THAT(error_of<DataError>([&] { build(config()); }),
              HasSubstr("input.sources.talks: expected texts or conversations for packing=whole"));
}

}  // namespace
}  // namespace axle
