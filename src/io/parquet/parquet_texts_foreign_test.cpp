// Parquet files by Arrow's library, if it is here: texts are those that pyarrow reads
// (tools/oracle/parquet_files.py).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "io/file.h"
#include "io/parquet/parquet_texts.h"
#include "testing/checkout.h"
#include "testing/error_of.h"
#include "testing/peak_memory.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string reference(const std::string& name) { return reference_file("parquet/" + name); }

using Texts = std::vector<std::optional<std::string>>;

Texts texts_of(const std::string& path, const std::string& column = "text") {
  ParquetTexts rows(path, column);
  Texts out;
  while (const auto row = rows.next()) {
    out.push_back(row->text ? std::optional(std::string(*row->text)) : std::nullopt);
    EXPECT_EQ(rows.number(), std::ssize(out));
  }
  return out;
}

Texts texts_in_json(const std::string& name) {
  Texts out;
  for (const auto& one : nlohmann::json::parse(read_file(reference(name))))
    out.push_back(one.is_null() ? std::nullopt : std::optional(one.get<std::string>()));
  return out;
}

class ParquetForeign : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!find_parquet_adapter())
      GTEST_SKIP() << "Arrow's library is not here; `./dev parquet` fetches it";
  }
  // What reading all of a file does: "" if it goes well.
  std::string problem_of(const std::string& bytes) {
    const std::string path = dir_ / "file.parquet";
    std::ofstream(path, std::ios::binary) << bytes;
    const Thrown error = thrown_by<Error>([&] { texts_of(path); });
    if (error.message == "no error") return {};
    EXPECT_THAT(error.message, StartsWith(path));
    EXPECT_EQ(std::ranges::count(error.message, '\n'), 0) << error.message;
    return error.message;
  }
  TempDir dir_;
};

TEST_F(ParquetForeign, TextsMatchPyarrow) {
  const Texts expected = texts_in_json("texts.json");
  ASSERT_EQ(expected.size(), 60u);
  int num_files = 0;
  for (const auto& file : list_directory(reference("kinds"))) {
    EXPECT_EQ(texts_of(file), expected) << file;
    ++num_files;
  }
  EXPECT_EQ(num_files, 8);
  EXPECT_EQ(texts_of(reference("required.parquet")), texts_in_json("required.json"));
  EXPECT_EQ(texts_of(reference("nested.parquet"), "meta.body"), texts_in_json("nested.json"));
}

// 64 MB of text in pages of a megabyte.
TEST_F(ParquetForeign, MemoryIsLimitedToAPage) {
  texts_of(reference("required.parquet"));  // the library itself
  reset_peak_resident_bytes();
  const int64_t before = peak_resident_bytes();
  ParquetTexts rows(reference("long.parquet"), "text");
  Sha256 hash;
  int64_t num_bytes = 0;
  while (const auto row = rows.next()) {
    hash.add(*row->text);
    num_bytes += std::ssize(*row->text);
  }
  const auto facts = nlohmann::json::parse(read_file(reference("long.json")));
  EXPECT_EQ(rows.number(), facts.at("rows"));
  EXPECT_EQ(num_bytes, facts.at("bytes"));
  EXPECT_EQ(hash.hex(), facts.at("sha256"));
  EXPECT_LT(peak_resident_bytes() - before, int64_t{16} << 20);
}

TEST_F(ParquetForeign, MissingColumnsAreReportedWithTheExistingOnes) {
  const auto error = [&](const std::string& file, const std::string& column) {
    return error_of<NoTextColumn>([&] { texts_of(reference(file), column); });
  };
  EXPECT_EQ(error("kinds/plain.parquet", "body"),
            reference("kinds/plain.parquet") +
                ": expected a column 'body' of texts, got id (INT64), text (String)");
  EXPECT_THAT(error("kinds/plain.parquet", "id"), HasSubstr("expected a column 'id' of texts"));
  EXPECT_THAT(error("nested.parquet", "tags.list.element"),
              HasSubstr("tags.list.element (String, repeated)"));
  EXPECT_THAT(error("nested.parquet", "meta"), HasSubstr("got meta.body (String), "));
}

TEST_F(ParquetForeign, PipesAreRefusedWithoutWaiting) {
  ASSERT_EQ(::mkfifo((dir_ / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(error_of<StorageError>([&] { texts_of(dir_ / "pipe"); }),
              HasSubstr("expected a regular file, got a FIFO"));
  EXPECT_THAT(error_of<StorageError>([&] { texts_of(dir_ / "none"); }), HasSubstr("none"));
}

// One line, for anything cut off; never a part of the texts without an error.
TEST_F(ParquetForeign, TruncatedFilesAreRefused) {
  for (const char* name : {"required.parquet", "kinds/second_version_zstd.parquet"}) {
    const std::string bytes = read_file(reference(name));
    for (size_t size = 0; size < bytes.size(); size += 1 + size / 97)
      EXPECT_NE(problem_of(bytes.substr(0, size)), "") << name << " " << size;
  }
  EXPECT_THAT(problem_of("PAR1"), HasSubstr("expected a Parquet file, got a damaged one: "));
}

// Flipped bytes of the footer and the heads of pages: an error or other texts, in bounded time and
// memory.
TEST_F(ParquetForeign, FlippedBytesEndInATextOrALine) {
  texts_of(reference("required.parquet"));
  reset_peak_resident_bytes();
  const int64_t before = peak_resident_bytes();
  const auto begin = std::chrono::steady_clock::now();
  int num_refused = 0, num_tried = 0;
  for (const char* name : {"kinds/plain.parquet", "kinds/dictionary_snappy.parquet",
                           "kinds/second_version_zstd.parquet", "kinds/delta_brotli.parquet"}) {
    const std::string bytes = read_file(reference(name));
    for (size_t at = 0; at < bytes.size(); ++at) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ (at % 3 == 0 ? 0x80 : at % 3 == 1 ? 0xff : 1));
      num_refused += !problem_of(damaged).empty();
      ++num_tried;
    }
  }
  EXPECT_GT(num_refused, num_tried / 10);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(took.count(), 100);
  EXPECT_LT(peak_resident_bytes() - before, ParquetTexts::kMaxPageBytes + (int64_t{64} << 20));
}

// A text of 1.2 GB in 37 kB.
TEST_F(ParquetForeign, DecompressionBombIsRefused) {
  texts_of(reference("required.parquet"));
  reset_peak_resident_bytes();
  const int64_t before = peak_resident_bytes();
  EXPECT_THAT(problem_of(read_file(reference("bomb.parquet"))), HasSubstr("got a damaged one: "));
  EXPECT_LT(peak_resident_bytes() - before, ParquetTexts::kMaxPageBytes);
}

// Rows of lists and structs are those that pyarrow reads.
TEST_F(ParquetForeign, RowsAreJson) {
  const auto expected = nlohmann::ordered_json::parse(read_file(reference("chat.json")));
  constexpr auto kColumns = std::to_array<std::string_view>({"none", "messages"});
  ParquetTexts rows(reference("chat.parquet"), kColumns);
  for (const auto& row : expected) {
    const auto read = rows.next();
    ASSERT_TRUE(read && read->text);
    EXPECT_EQ(nlohmann::ordered_json::parse(*read->text), row);
  }
  EXPECT_FALSE(rows.next());
  constexpr auto kNumbers = std::to_array<std::string_view>({"id", "score"});
  ParquetTexts numbers(reference("chat.parquet"), kNumbers);
  numbers.next();
  EXPECT_EQ(nlohmann::json::parse(*numbers.next()->text),
            nlohmann::json::parse(R"({"score": -1e300, "id": 2})"));
  constexpr auto kNone = std::to_array<std::string_view>({"a", "b"});
  EXPECT_THAT(
      error_of<NoTextColumn>([&] { ParquetTexts(reference("chat.parquet"), kNone); }),
      HasSubstr("chat.parquet: expected one of the columns a, b, got messages.list.element"));
}

// Every cut and every flipped byte of it is a damaged file, or another row.
TEST_F(ParquetForeign, DamagedRowsAreRefused) {
  const std::string bytes = read_file(reference("chat.parquet"));
  constexpr auto kColumns = std::to_array<std::string_view>({"messages"});
  const auto read_all = [&](const std::string& changed) {
    const std::string path = dir_ / "file.parquet";
    std::ofstream(path, std::ios::binary) << changed;
    try {
      ParquetTexts rows(path, kColumns);
      while (rows.next()) {
      }
    } catch (const StorageError&) {
    } catch (const NoTextColumn&) {
    }
  };
  for (size_t at = 0; at < bytes.size(); at += 7) {
    read_all(bytes.substr(0, at));
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x41);
    read_all(flipped);
  }
}

}  // namespace
}  // namespace axle
