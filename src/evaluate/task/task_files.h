// Several tasks, each in its file.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "evaluate/task/task.h"

namespace axle {

struct TaskFilesOptions {
  /// The number of documents that are asked about; none: all.
  std::optional<int64_t> limit = {};
  /// In place of those of the tasks; none: theirs.
  std::optional<int64_t> num_fewshot = {};
};

/// Returns the tasks, whose questions can all be made. Throws one error with a line for each file
/// with a mistake, and for each task whose name is that of an earlier one.
std::vector<Task> read_task_files(std::span<const std::filesystem::path> files,
                                  const TaskFilesOptions& options);

}  // namespace axle
