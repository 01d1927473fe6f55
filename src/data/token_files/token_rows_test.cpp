#include "data/token_files/token_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/batch.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Of a large file, a part is looked at when it is opened, and all that is read.
TEST(TokenRows, IdsBeyondTheVocabularyNameTheTokenizer) {
  const TempDir dir;
  const auto write = [&](const std::string& name, int documents, int bad_from) {
    TokenFileWriter writer(dir / name, DType::kU16);
    for (int d = 0; d < documents; ++d) {
      std::vector<int32_t> ids(900, 7);
      if (d >= bad_from) ids[450] = 300;
      writer.add(ids);
    }
    writer.finish();
  };
  write("few", 400, 399);
  write("half", 5000, 2500);
  write("last", 5000, 4999);
  const TokenRows::Options options{
      .seq_len = 899, .is_shuffled = false, .vocab_size = 257, .tokenizer = "ByteTokenizer"};
  const std::string expected =
      "expected ids of 0 to 256 of ByteTokenizer, got 300 at token 450; it is of another "
      "tokenizer, "
      "or damaged";
  for (const char* name : {"few", "half"}) {
    EXPECT_THAT(error_of<DataError>([&] { TokenRows(dir / name, options, "input"); }),
                AllOf(HasSubstr(".bin: document "), HasSubstr(expected)));
  }
  TokenRows rows(dir / "last", options, "input");
  Batch batch = make_batch(1, 899);
  rows.fill(4998, row_of(batch, 0));
  EXPECT_EQ(error_of<DataError>([&] { rows.fill(4999, row_of(batch, 0)); }),
            (dir / "last.bin: document 4999: ") + expected);
}

}  // namespace
}  // namespace axle
