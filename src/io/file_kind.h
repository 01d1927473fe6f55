// What kind of thing a path names.
#pragma once

#include <sys/types.h>

#include <filesystem>

namespace axle {

/// "a regular file", "a folder", "a FIFO", "a socket", "a device".
const char* kind_name(mode_t mode);
/// Throws StorageError "<path>: expected a regular file, got <what>" for what is there and is none;
/// nothing there is no error. Follows links.
void check_regular(const std::filesystem::path& path);
/// The same for an open file; `path` is for the message.
void check_regular(int fd, const std::filesystem::path& path);

}  // namespace axle
