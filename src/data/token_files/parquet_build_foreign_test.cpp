// Token files of Parquet files, if Arrow's library is here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "data/token_files/build_token_file.h"
#include "data/tokenizers/byte_tokenizer.h"
#include "io/file.h"
#include "io/parquet/parquet_texts.h"
#include "io/token_file.h"
#include "testing/checkout.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string reference(const std::string& name) { return reference_file("parquet/" + name); }

class ParquetBuildForeign : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!find_parquet_adapter())
      GTEST_SKIP() << "Arrow's library is not here; `./dev parquet` fetches it";
  }
  TokenBuild build(const std::vector<std::string>& sources) const {
    return {.sources = sources,
            .tokenizer = ByteTokenizer::Config{},
            .prefix = dir_ / "out",
            .on_error = OnError::kSkip,
            .batch_bytes = 700,
            .save_secs = 0};
  }
  static std::vector<std::string> texts_of(const std::string& prefix) {
    const auto tokenizer = Child<Tokenizer>(ByteTokenizer::Config{}).build({}, {.path = "t"});
    const TokenFile file(prefix);
    std::vector<std::string> out;
    for (int64_t i = 0; i < file.num_documents(); ++i)
      out.push_back(tokenizer->decode(file.ids_of(i)));
    return out;
  }
  // The rows of each of the files that have a text.
  static std::vector<std::string> expected() {
    std::vector<std::string> out;
    for (const auto& one : nlohmann::json::parse(read_file(reference("texts.json")))) {
      if (!one.is_null() && !one.get<std::string>().empty()) out.push_back(one);
    }
    return out;
  }
  TempDir dir_;
};

TEST_F(ParquetBuildForeign, RowsAreDocumentsAndRowsWithoutTextAreCounted) {
  for (const std::string& source : {reference("kinds"), reference("kinds/*.parquet")}) {
    remove_tree(dir_ / "out.bin");
    remove_tree(dir_ / "out.idx");
    remove_tree(dir_ / "out.json");
    const TokenCard card = build_token_file(build({source})).card;
    std::vector<std::string> all;
    for (int file = 0; file < 8; ++file) {
      for (const std::string& text : expected()) all.push_back(text);
    }
    EXPECT_EQ(texts_of(dir_ / "out"), all);
    EXPECT_EQ(card.sources.size(), 8u);
    EXPECT_EQ(card.skipped.reasons.at("without a text"), 8 * 5);
    EXPECT_EQ(card.skipped.reasons.at("empty"), 8 * (60 - 5) - std::ssize(all));
    EXPECT_EQ(card.skipped.messages[0],
              reference("kinds/bytes_lz4.parquet") +
                  ":6: expected a text in the column 'text', got none (--on-error skip)");
  }
}

TEST_F(ParquetBuildForeign, StopsAndContinues) {
  const TokenBuild one = build({reference("kinds")});
  TokenBuildResult result;
  int calls = 0;
  for (; !result.is_finished; ++calls) {
    ASSERT_LT(calls, 1000);
    result = build_token_file(one, {.should_stop = [] { return true; }});
  }
  EXPECT_GT(calls, 20);
  EXPECT_EQ(std::ssize(texts_of(dir_ / "out")), 8 * std::ssize(expected()));
}

TEST_F(ParquetBuildForeign, ADamagedFileEndsTheBuildOrIsCounted) {
  const std::string bytes = read_file(reference("required.parquet"));
  replace_file(dir_ / "cut.parquet", bytes.substr(0, bytes.size() - 9));
  TokenBuild one = build({dir_ / "cut.parquet", reference("required.parquet")});
  one.on_error = OnError::kFail;
  const Thrown error = thrown_by([&] { build_token_file(one); });
  EXPECT_EQ(error.code, ExitCode::kData);
  EXPECT_THAT(error.message,
              HasSubstr("cut.parquet: expected a Parquet file, got a damaged one: "));
  one.on_error = OnError::kSkip;
  const TokenCard card = build_token_file(one).card;
  EXPECT_EQ(card.skipped.reasons.at("not readable to the end"), 1);
  EXPECT_GT(card.num_documents, 40);
}

TEST_F(ParquetBuildForeign, AFileWithoutTheColumnIsNamed) {
  TokenBuild one = build({reference("kinds/plain.parquet")});
  one.on_error = OnError::kFail;
  one.field = "body";
  EXPECT_THAT(error_of<DataError>([&] { build_token_file(one); }),
              AllOf(HasSubstr("plain.parquet: expected a column 'body' of texts, got id (INT64), "),
                    HasSubstr("; --on-error skip leaves it out")));
  one.field = "meta.body";
  one.sources = {reference("nested.parquet")};
  one.on_error = OnError::kSkip;
  EXPECT_GT(build_token_file(one).card.num_documents, 40);
}

}  // namespace
}  // namespace axle
