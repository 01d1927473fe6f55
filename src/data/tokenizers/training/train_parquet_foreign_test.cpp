// Tokenizers from the texts of Parquet files, if Arrow's library is here.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "data/tokenizers/training/train_tokenizer.h"
#include "io/file.h"
#include "io/parquet/parquet_texts.h"
#include "testing/checkout.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

class TrainParquetForeign : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!find_parquet_adapter())
      GTEST_SKIP() << "Arrow's library is not here; `./dev parquet` fetches it";
  }
  const std::string folder_ = reference_file("parquet/");
  TempDir dir_;
};

TEST_F(TrainParquetForeign, TableTrainsTheSameTokenizerAsItsTexts) {
  std::string lines;
  int64_t num_texts = 0, num_others = 0;
  for (const auto& text : nlohmann::json::parse(read_file(folder_ + "texts.json"))) {
    const bool is_text = !text.is_null() && !text.get<std::string>().empty();
    ++(is_text ? num_texts : num_others);
    if (is_text) lines += nlohmann::json{{"text", text}}.dump() + "\n";
  }
  ASSERT_GT(num_texts, 0);
  replace_file(dir_ / "texts.jsonl", lines);
  const auto trained = [&](const std::string& source) {
    return train_tokenizer({.sources = {source}, .on_error = OnError::kSkip, .vocab_size = 300});
  };
  const TrainedTokenizer of_lines = trained(dir_ / "texts.jsonl");
  for (const char* name : {"plain", "dictionary_snappy", "delta_brotli"}) {
    const TrainedTokenizer of_table = trained(folder_ + "kinds/" + name + ".parquet");
    EXPECT_EQ(of_table.files, of_lines.files) << name;
    EXPECT_EQ(of_table.text_bytes, of_lines.text_bytes);
    EXPECT_EQ(of_table.skipped.count, num_others);
  }
}

TEST_F(TrainParquetForeign, AColumnThatIsNotThereIsNamed) {
  const std::string file = folder_ + "kinds/plain.parquet";
  const auto error = error_of<DataError>(
      [&] { train_tokenizer({.sources = {file}, .field = "body", .vocab_size = 300}); });
  EXPECT_NE(error.find("'body'"), error.npos) << error;
  EXPECT_EQ(error.find('\n'), error.npos) << error;
}

}  // namespace
}  // namespace axle
