// Restoring the newest good checkpoint: the newest one whose bytes are all as they were written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "base/error.h"
#include "base/tree.h"
#include "checkpoint/state_files.h"
#include "runtime/runtime.h"

namespace axle {

/// The metadata of a checkpoint.
struct CheckpointInfo {
  int64_t step = 0;
  Tree<std::string> metadata = {};
  /// The file that holds the metadata, for messages.
  std::filesystem::path manifest = {};

  /// Returns one entry of the metadata. Throws StorageError naming the file and the entry if there
  /// is none.
  const std::string& entry(const std::string& name) const;
  /// Returns an entry as an integer, or as a finite number, from `least` to `most`. Throws
  /// StorageError for any other text.
  int64_t integer_entry(const std::string& name, int64_t least, int64_t most) const;
  double number_entry(const std::string& name, double least, double most) const;
};

/// Reads the newest good checkpoint of `root`, trying checkpoints from the newest to the oldest.
/// Calls `begin` for each one tried; `begin` returns the sink for its tensors. If `begin` is called
/// again, the tensors of the earlier sink are of a damaged checkpoint.
///
/// Reports each damaged checkpoint with file and offset. Returns none if there is no checkpoint.
/// Throws StorageError if all are damaged, or if the system does not permit reading one: that one
/// may be whole and is not skipped. Throws UnknownVersionError, and what `begin` throws.
std::optional<CheckpointInfo> restore_newest(
    const std::filesystem::path& root, const std::function<TensorSink(const Manifest&)>& begin,
    const Report& report = report_to_stderr);

struct RestoredTensors : CheckpointInfo {
  Tree<HostTensor> tensors = {};
};
/// Restores the newest good checkpoint into host memory.
std::optional<RestoredTensors> restore_tensors(const std::filesystem::path& root,
                                               const Report& report = report_to_stderr);

struct RestoredArrays : CheckpointInfo {
  Arrays arrays = {};  // in the order of `state`
};
/// Throws if the caller does not accept a checkpoint with this metadata.
using CheckMetadata = std::function<void(const CheckpointInfo& info)>;
/// Restores the newest good checkpoint onto devices, one tensor after another, sharded as `state`
/// says. The mesh may differ from the one that saved. Calls `check_metadata` first and throws what
/// it throws. Throws ConfigError if the checkpoint does not hold exactly these names and types.
std::optional<RestoredArrays> restore_arrays(const std::filesystem::path& root, Runtime& runtime,
                                             const Mesh& mesh, std::span<const ProgramValue> state,
                                             const CheckMetadata& check_metadata = {},
                                             const Report& report = report_to_stderr);

}  // namespace axle
