// Paths that a pattern names.
#pragma once

#include <string>
#include <vector>

namespace axle {

/// True if the text has characters that are special in a pattern.
bool is_path_pattern(const std::string& text);

/// Returns the paths that match, in order: `*`, `?` and `[..]` as in a shell, and `**`, which is
/// any number of folders, none too, but follows no links. Throws StorageError for a folder that
/// cannot be listed, since it may hold some of them.
std::vector<std::string> matching_paths(const std::string& pattern);

}  // namespace axle
