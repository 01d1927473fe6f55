// Reading and writing the tensors of a state in a checkpoint's folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "base/tree.h"
#include "checkpoint/manifest.h"
#include "ir/host_tensor.h"

namespace axle {

/// Receives each tensor of a checkpoint once it has been read.
using TensorSink = std::function<void(const std::string& path, HostTensor value)>;

/// One checkpoint on disk.
class StoredCheckpoint {
 public:
  /// Reads and checks the manifest. Throws StorageError, also if the manifest is of another step
  /// than the folder's name says.
  StoredCheckpoint(const std::filesystem::path& root, int64_t step);

  const Manifest& manifest() const { return manifest_; }
  const std::filesystem::path& folder() const { return folder_; }

  /// Checks that each data file is there with the size that the manifest names. Reads no data.
  /// Throws StorageError naming the first that is missing, too short or too long.
  void check_sizes() const;
  /// Calls check_sizes(), then reads all data files and passes each tensor to `sink` once its
  /// chunks are checked. The whole checkpoint is known to be good only after read() has returned.
  /// Throws StorageError naming file and offset.
  void read(const TensorSink& sink) const;
  /// Checks all data files like read(), without making the tensors.
  void verify() const;

 private:
  void read_file(size_t index, const TensorSink* sink) const;
  std::filesystem::path folder_;
  Manifest manifest_;
};

struct WriteOptions {
  /// Once a data file has reached this size, the next tensor goes into a new file.
  int64_t file_bytes = int64_t{4} << 30;
  int64_t chunk_bytes = kChunkBytes;
};

using TensorVisitor = std::function<void(const std::string& path, const HostTensor& tensor)>;
/// Calls a visitor with each tensor of a checkpoint, in the order of their paths. A tensor need not
/// exist before its call or after it.
using ForEachTensor = std::function<void(const TensorVisitor& visit)>;
/// Returns what visits the tensors of a tree, which must live as long.
ForEachTensor each_of(const Tree<HostTensor>& tensors);

/// Writes ROOT/step_<step>: into a temporary folder, which is flushed to the disk and then renamed.
/// After a crash the checkpoint is there as a whole or not at all. An older checkpoint of the same
/// step is replaced atomically if the file system supports that. If not (NFS), a crash in the
/// middle leaves the older one aside, and remove_stale_checkpoints moves it back. Throws
/// StorageError and leaves no temporary folder, as far as it can be removed.
void write_checkpoint(const std::filesystem::path& root, int64_t step, const ForEachTensor& tensors,
                      const Tree<std::string>& metadata, const WriteOptions& options = {});
inline void write_checkpoint(const std::filesystem::path& root, int64_t step,
                             const Tree<HostTensor>& tensors, const Tree<std::string>& metadata,
                             const WriteOptions& options = {}) {
  write_checkpoint(root, step, each_of(tensors), metadata, options);
}

}  // namespace axle
