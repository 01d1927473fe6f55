// The kind of file that a path names.
#pragma once

#include <sys/types.h>

#include <filesystem>

namespace axle {

/// Returns "a regular file", "a folder", "a FIFO", "a socket" or "a device".
const char* kind_name(mode_t mode);
/// Throws StorageError "<path>: expected a regular file, got <what>" if `path` names something
/// else. A missing file is no error. Follows links.
void check_regular(const std::filesystem::path& path);
/// Checks an open file in the same way; `path` is for the message.
void check_regular(int fd, const std::filesystem::path& path);

}  // namespace axle
