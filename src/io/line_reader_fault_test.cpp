// Damaged compressed files: cut at every byte, changed anywhere, or much larger than they look.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/host_memory.h"
#include "io/file.h"
#include "io/file_reader.h"
#include "testing/compressed.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string outcome_of(const std::string& path) {
  return error_of<StorageError>([&] {
    LineReader reader(path);
    while (reader.next()) {
    }
  });
}

void overwrite(const std::string& path, std::string_view bytes) {
  FileWriter writer(path);
  writer.write(bytes);
  writer.close();
}

TEST(LineReaderFault, EveryCutIsFound) {
  const TempDir dir;
  const std::string path = dir / "x", text = "one line\nand another line\nand one more";
  for (const std::string& whole : {gzipped(text), zstd_compressed(text)}) {
    // Without its first bytes it is not known to be compressed.
    for (size_t size = 4; size < whole.size(); ++size) {
      overwrite(path, whole.substr(0, size));
      EXPECT_THAT(outcome_of(path), StartsWith(path + ": offset ")) << size;
    }
    overwrite(path, whole);
    EXPECT_EQ(outcome_of(path), "no error");
  }
}

TEST(LineReaderFault, ChangedBytesEndInOneLine) {
  const TempDir dir;
  const std::string path = dir / "x";
  std::string text;
  for (int i = 0; i < 300; ++i) text += "line " + std::to_string(i * i) + "\n";
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (const std::string& whole : {gzipped(text), zstd_compressed(text)}) {
    for (int trial = 0; trial < 1000; ++trial) {
      std::string changed = whole;
      changed[random() % changed.size()] = static_cast<char>(random());
      overwrite(path, changed);
      EXPECT_THAT(outcome_of(path), AnyOf("no error", StartsWith(path + ": offset ")));
    }
  }
}

// A file of 200 kB that holds 200 MB without a line end.
TEST(LineReaderFault, UnpackedLinesHaveALimit) {
  const TempDir dir;
  for (const bool is_gzip : {true, false}) {
    {
      const std::string text(200 << 20, 'x');
      overwrite(dir / "x", is_gzip ? gzipped(text) : zstd_compressed(text));
    }
    const int64_t before = resident_bytes();
    EXPECT_THAT(error_of<StorageError>([&] {
                  LineReader reader(dir / "x", 4 << 20);
                  while (reader.next()) {
                  }
                }),
                HasSubstr(":1: expected a line of at most 4.0 MiB, got a longer one"));
    EXPECT_LT(resident_bytes() - before, 64 << 20);
  }
}

}  // namespace
}  // namespace axle
