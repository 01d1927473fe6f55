// Folders made for work that may come to nothing, which then leaves none of them behind.
#pragma once

#include <filesystem>
#include <vector>

namespace axle {

/// Creates the folder and its parents where missing. Returns those that were not there, the
/// innermost first. Throws StorageError.
std::vector<std::filesystem::path> create_missing_folders(const std::filesystem::path& dir);

/// Removes such folders up to the first that is not empty: what somebody has put there stays.
void remove_empty_folders(const std::vector<std::filesystem::path>& innermost_first);

}  // namespace axle
