// TensorBoard event files: scalars and texts by step, as the TensorBoard program reads them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "base/tree.h"
#include "io/file.h"

namespace axle {

/// Appends events to one new file of its own in a folder; a run that resumes opens another behind
/// the old ones, and TensorBoard shows them as one, without what the old ones hold from the first
/// step of the new one on.
class EventFileWriter {
 public:
  /// Creates the folder where missing, and in it "events.out.tfevents.<seconds>.<host>.<pid>.<n>",
  /// which will hold no step before `first_step`. Throws StorageError, as all of its functions do.
  EventFileWriter(const std::filesystem::path& folder, int64_t first_step);

  /// One event with all of these values: tag -> value.
  void scalars(int64_t step, const Tree<double>& values);
  void scalar(int64_t step, std::string_view tag, double value) {
    scalars(step, {{std::string(tag), value}});
  }
  /// Shown under "Text", as Markdown.
  void text(int64_t step, std::string_view tag, std::string_view markdown);
  /// Waits until all events are on the disk; readers see them before that. Throws StorageError also
  /// where the file was removed or replaced.
  void flush();
  const std::filesystem::path& path() const { return file_.path(); }

 private:
  FileWriter file_;
};

}  // namespace axle
