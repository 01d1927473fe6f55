#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/file.h"
#include "io/file_reader.h"
#include "testing/compressed.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> out;
  LineReader reader(path);
  while (const auto line = reader.next()) {
    out.emplace_back(*line);
    EXPECT_EQ(reader.number(), std::ssize(out));
  }
  EXPECT_FALSE(reader.next().has_value());
  return out;
}

TEST(LineReader, LinesExcludeTheirEndings) {
  const TempDir dir;
  replace_file(dir / "x",
               "\xef\xbb\xbf"
               "a\r\n\nb\nlast");
  EXPECT_THAT(lines_of(dir / "x"), ElementsAre("a", "", "b", "last"));
  replace_file(dir / "x", "a\n");
  EXPECT_THAT(lines_of(dir / "x"), ElementsAre("a"));
  replace_file(dir / "x", "");
  EXPECT_THAT(lines_of(dir / "x"), ElementsAre());
  replace_file(dir / "x", "\xef\xbb\xbf");
  EXPECT_THAT(lines_of(dir / "x"), ElementsAre());
}

TEST(LineReader, CompressedFilesReadAsPlainOnes) {
  const TempDir dir;
  std::string text;
  std::vector<std::string> expected;
  for (int i = 0; i < 60'000; ++i) {
    expected.push_back("line " + std::to_string(i * 7919 % 10'007) + std::string(i % 50, 'x'));
    text += expected.back() + "\n";
  }
  replace_file(dir / "plain", text);
  replace_file(dir / "named.txt", gzipped(text));
  replace_file(dir / "zstd", zstd_compressed(text));
  const size_t half = text.find('\n', text.size() / 2) + 1;
  replace_file(dir / "members",
               gzipped(text.substr(0, half)) + gzipped(text.substr(half)) + std::string(600, '\0'));
  replace_file(dir / "frames",
               zstd_compressed(text.substr(0, half)) + zstd_compressed(text.substr(half)));
  for (const char* name : {"plain", "named.txt", "zstd", "members", "frames"})
    EXPECT_EQ(lines_of(dir / name), expected) << name;
}

TEST(LineReader, ALineThatIsTooLongIsNamed) {
  const TempDir dir;
  replace_file(dir / "x", "short\n" + std::string(2 << 20, 'x'));
  LineReader reader(dir / "x", 1 << 20);
  EXPECT_EQ(reader.next(), "short");
  EXPECT_EQ(error_of<StorageError>([&] { reader.next(); }),
            dir / "x" + ":2: expected a line of at most 1.0 MiB, got a longer one");
}

}  // namespace
}  // namespace axle
