// TFRecord framing: a sequence of byte strings, each with checksums of its length and of its bytes.
//
// One record: u64 length, u32 masked CRC-32C of the length, the bytes, u32 masked CRC-32C of the
// bytes; little-endian.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace axle {

/// The checksum as the format stores it: rotated and offset, so that checksums of checksummed data
/// stay strong.
uint32_t masked_crc32c(std::string_view bytes);

/// The framed record, ready to be appended to a file.
std::string tfrecord_frame(std::string_view payload);

/// Walks through the records in `bytes`, which must outlive it.
class TfRecordReader {
 public:
  /// `where` is the file's name, for errors.
  TfRecordReader(std::string_view bytes, std::string where)
      : bytes_(bytes), where_(std::move(where)) {}
  /// The next payload; none at the end. Throws StorageError with the offset of a record that is cut
  /// off or damaged.
  std::optional<std::string_view> next();

 private:
  std::string_view bytes_;
  std::string where_;
  size_t offset_ = 0;
};

}  // namespace axle
