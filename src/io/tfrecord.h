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

/// Returns the checksum as the format stores it: rotated and offset, because a CRC over data that
/// contains CRCs is weak.
uint32_t masked_crc32c(std::string_view bytes);

/// Returns the framed record, ready to be appended to a file.
std::string tfrecord_frame(std::string_view payload);

/// Iterates over the records in `bytes`, which must outlive the reader.
class TfRecordReader {
 public:
  /// `where` is the name of the file, for errors.
  TfRecordReader(std::string_view bytes, std::string where)
      : bytes_(bytes), where_(std::move(where)) {}
  /// Returns the next payload; none at the end. Throws StorageError with the offset of a record
  /// that is truncated or damaged.
  std::optional<std::string_view> next();

 private:
  std::string_view bytes_;
  std::string where_;
  size_t offset_ = 0;
};

}  // namespace axle
