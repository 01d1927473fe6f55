// TensorBoard event files: scalars and texts by step, in TensorBoard's format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "base/tree.h"
#include "io/file.h"

namespace axle {

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
