#include "io/token_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/file.h"
#include "testing/checkout.h"
#include "testing/error_of.h"
#include "testing/peak_memory.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The documents of tools/oracle/token_files.py.
std::vector<std::vector<int32_t>> reference_documents() {
  std::vector<std::vector<int32_t>> out(20);
  for (size_t d = 0; d < out.size(); ++d) {
    for (size_t i = 0; i < 7 * d % 13; ++i)
      out[d].push_back(static_cast<int32_t>((31 * d + 17 * i) % 120));
  }
  return out;
}

std::vector<std::vector<int32_t>> documents_of(const TokenFile& file) {
  std::vector<std::vector<int32_t>> out;
  for (int64_t i = 0; i < file.num_documents(); ++i) out.push_back(file.ids_of(i));
  return out;
}

void write_file(const std::string& prefix, DType dtype,
                const std::vector<std::vector<int32_t>>& documents) {
  TokenFileWriter writer(prefix, dtype);
  for (const auto& document : documents) writer.add(document);
  writer.finish();
}

TEST(TokenFile, ReadsWhatTheReferenceWrites) {
  for (const DType dtype :
       {DType::kU8, DType::kI8, DType::kI16, DType::kI32, DType::kI64, DType::kU16}) {
    const std::string name(name_of(dtype));
    const TokenFile file(reference_file("token_files/" + name + ".idx"));
    EXPECT_EQ(file.dtype(), dtype);
    EXPECT_EQ(documents_of(file), reference_documents()) << name;
    EXPECT_EQ(file.num_tokens(), 108);
  }
}

TEST(TokenFile, DocumentsOfSeveralSequencesAreWhole) {
  const TokenFile file(reference_file("token_files/parts"));
  EXPECT_EQ(documents_of(file), reference_documents());
}

TEST(TokenFile, PartsOfADocumentCanBeRead) {
  const TokenFile file(reference_file("token_files/parts.bin"));
  const std::vector<int32_t> whole = file.ids_of(11);
  ASSERT_EQ(whole.size(), 12u);
  std::vector<int32_t> part(5);
  file.read(11, 4, part);
  EXPECT_THAT(part, ElementsAre(whole[4], whole[5], whole[6], whole[7], whole[8]));
}

TEST(TokenFile, WritesWhatTheReferenceWrites) {
  const TempDir dir;
  for (const char* name : {"u8", "i8", "i16", "i32", "i64", "u16"}) {
    const std::string reference = reference_file(std::string("token_files/") + name);
    write_file(dir / name, TokenFile(reference).dtype(), reference_documents());
    EXPECT_EQ(read_file(dir / (std::string(name) + ".idx")), read_file(reference + ".idx"));
    EXPECT_EQ(read_file(dir / (std::string(name) + ".bin")), read_file(reference + ".bin"));
    EXPECT_FALSE(path_exists(dir / (std::string(name) + ".lengths")));
  }
}

// What was added behind the last sync is dropped, and the rest goes on behind it.
TEST(TokenFile, AWriterContinuesBitForBit) {
  const TempDir dir;
  const auto documents = reference_documents();
  write_file(dir / "whole", DType::kU16, documents);
  for (size_t at = 0; at <= documents.size(); ++at) {
    TokenCounts counts;
    {
      TokenFileWriter writer(dir / "part", DType::kU16);
      for (size_t i = 0; i < at; ++i) writer.add(documents[i]);
      counts = writer.counts();
      writer.add(std::vector<int32_t>{7, 7, 7});
      writer.sync();
    }
    TokenFileWriter writer(dir / "part", DType::kU16, counts);
    for (size_t i = at; i < documents.size(); ++i) writer.add(documents[i]);
    writer.finish();
    EXPECT_EQ(read_file(dir / "part.idx"), read_file(dir / "whole.idx"));
    EXPECT_EQ(read_file(dir / "part.bin"), read_file(dir / "whole.bin"));
  }
}

TEST(TokenFile, WriterRefusesToContinueMissingBytes) {
  const TempDir dir;
  { TokenFileWriter(dir / "a", DType::kU16).sync(); }
  EXPECT_THAT(thrown_by<StorageError>([&] {
                TokenFileWriter(dir / "a", DType::kU16, {.num_documents = 1, .num_tokens = 3});
              }).message,
              HasSubstr("expected at least 6 bytes of an earlier run, got 0"));
}

TEST(TokenFile, IdsBeyondTheVocabularyAreNamed) {
  const TempDir dir;
  write_file(dir / "a", DType::kI32, {{1, 2}, {3, 500, 4}, {-1}});
  const TokenFile file(dir / "a");
  std::vector<int32_t> ids(3);
  file.read(1, 0, ids, 501);
  const Thrown above = thrown_by<DataError>([&] { file.read(1, 0, ids, 500); });
  EXPECT_THAT(above.message,
              HasSubstr("a.bin: document 1: expected ids of 0 to 499, got 500 at token 1"));
  EXPECT_THAT(error_of<DataError>([&] { file.ids_of(2); }), HasSubstr("got -1 at token 0"));
}

TEST(TokenFile, IsRecognisedByItsFirstBytes) {
  const TempDir dir;
  write_file(dir / "a", DType::kU16, {{1}});
  EXPECT_TRUE(is_token_file(dir / "a"));
  EXPECT_TRUE(is_token_file(dir / "a.idx"));
  EXPECT_TRUE(is_token_file(dir / "a.bin"));
  EXPECT_FALSE(is_token_file(dir / "b"));
  replace_file(dir / "b.idx", "text");
  EXPECT_FALSE(is_token_file(dir / "b.idx"));
  EXPECT_EQ(token_dtype(1 << 16), DType::kU16);
  EXPECT_EQ(token_dtype((1 << 16) + 1), DType::kI32);
}

// Of an index of 120 MB, the lengths are in memory.
TEST(TokenFile, MemoryDoesNotGrowWithTheIndex) {
  const TempDir dir;
  constexpr int64_t kDocuments = 6'000'000;
  {
    TokenFileWriter writer(dir / "a", DType::kU16);
    for (int32_t i = 0; i < kDocuments; ++i) writer.add(std::vector<int32_t>{i % 60'000, 7});
    writer.finish();
  }
  const int64_t before = peak_resident_bytes();
  const TokenFile file(dir / "a");
  EXPECT_EQ(file.num_tokens(), 2 * kDocuments);
  EXPECT_THAT(file.ids_of(5'999'999), ElementsAre(5'999'999 % 60'000, 7));
  EXPECT_LT(peak_resident_bytes() - before, 4 * kDocuments + (int64_t{8} << 20));
}

}  // namespace
}  // namespace axle
