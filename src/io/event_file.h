// TensorBoard event files: scalars and texts by step, in TensorBoard's format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/tree.h"
#include "io/file.h"

namespace axle {

// TFRecord framing: a sequence of byte strings, each with checksums of its length and of its bytes.
//
// One record: u64 length, u32 masked CRC-32C of the length, the bytes, u32 masked CRC-32C of the
// bytes; little-endian.

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

/// Appends events to a new file in a folder. A run that resumes opens another file after the old
/// ones. TensorBoard shows all files as one run, and ignores the events of old files from the first
/// step of the new file on.
class EventFileWriter {
 public:
  /// Creates the folder if missing, and in it the file
  /// "events.out.tfevents.<seconds>.<host>.<pid>.<n>", which must hold no step before `first_step`.
  /// All member functions may throw StorageError.
  EventFileWriter(const std::filesystem::path& folder, int64_t first_step);

  /// Writes one event with all of these values: tag -> value.
  void scalars(int64_t step, const Tree<double>& values);
  void scalar(int64_t step, std::string_view tag, double value) {
    scalars(step, {{std::string(tag), value}});
  }
  /// Writes a text that TensorBoard shows under "Text", as Markdown.
  void text(int64_t step, std::string_view tag, std::string_view markdown);
  /// Waits until all events are on the disk; readers may see them earlier. Also throws StorageError
  /// if the file was removed or replaced.
  void flush();
  const std::filesystem::path& path() const { return file_.path(); }

 private:
  FileWriter file_;
};

}  // namespace axle
