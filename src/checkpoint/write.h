// Writing one checkpoint.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/tree.h"
#include "ir/host_tensor.h"

namespace axle {

struct WriteOptions {
  /// A data file that has reached this size is followed by another.
  int64_t file_bytes = int64_t{4} << 30;
  int64_t chunk_bytes = 16 << 20;
};

/// Writes ROOT/step_<step>: into a temporary folder, flushed to the disk, then renamed, so that
/// after a crash it is there as a whole or not at all. An older checkpoint of that step is replaced
/// in one instant where the file system can do that; where it cannot (NFS), a crash in the middle
/// leaves the older one to remove_stale_checkpoints, which puts it back. Throws StorageError and
/// leaves no temporary, where that can be.
void write_checkpoint(const std::filesystem::path& root, int64_t step,
                      const Tree<HostTensor>& tensors, const Tree<std::string>& metadata,
                      const WriteOptions& options = {});

}  // namespace axle
