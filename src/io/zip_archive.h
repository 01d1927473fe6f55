// Unpacks zip archives, such as Python wheels.
#pragma once

#include <filesystem>

namespace axle {

/// Unpacks the whole archive into the new folder `to` and makes programs executable as the archive
/// says. `to` appears complete or not at all: the files are first written beside it. Throws
/// DataError if the archive is damaged, or if an entry would lie outside `to` or is not a plain
/// file. Throws StorageError for disk errors and if `to` exists.
void unpack_zip(const std::filesystem::path& archive, const std::filesystem::path& to);

}  // namespace axle
