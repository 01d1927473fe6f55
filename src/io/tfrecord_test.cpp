#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "io/event_file.h"

namespace axle {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(TfRecord, KnownChecksumIsMasked) {
  // The CRC-32C of "123456789" is e3069283; the format rotates it right by 15 and adds an offset.
  EXPECT_EQ(masked_crc32c("123456789"), ((0xe3069283u >> 15) | (0xe3069283u << 17)) + 0xa282ead8u);
}

TEST(TfRecord, FramesComeBackInOrder) {
  const std::string bytes =
      tfrecord_frame("one") + tfrecord_frame("") + tfrecord_frame(std::string(1000, 'x'));
  TfRecordReader reader(bytes, "file");
  EXPECT_EQ(reader.next(), "one");
  EXPECT_EQ(reader.next(), "");
  EXPECT_EQ(reader.next(), std::string(1000, 'x'));
  EXPECT_EQ(reader.next(), std::nullopt);
}

TEST(TfRecord, EveryFlippedBitAndEveryCutIsFound) {
  const std::string first = tfrecord_frame("first"), bytes = first + tfrecord_frame("second");
  const auto read_all = [](const std::string& text) {
    TfRecordReader reader(text, "file");
    while (reader.next()) {
    }
  };
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] ^= static_cast<char>(1 << bit % 8);
    const std::string where =
        bit / 8 < first.size() ? "offset 0," : "offset " + std::to_string(first.size());
    EXPECT_THAT([&] { read_all(damaged); }, ThrowsMessage<StorageError>(HasSubstr(where)))
        << "bit " << bit;
  }
  for (size_t size = 0; size < bytes.size(); ++size) {
    if (size == 0 || size == first.size())
      EXPECT_NO_THROW(read_all(bytes.substr(0, size)));
    else
      EXPECT_THROW(read_all(bytes.substr(0, size)), StorageError) << "cut to " << size;
  }
}

}  // namespace
}  // namespace axle
