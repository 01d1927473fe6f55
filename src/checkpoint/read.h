// Reading one checkpoint; every byte is checked.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

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

}  // namespace axle
