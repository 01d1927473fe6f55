// Restoring: the newest checkpoint whose every byte is as it was written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "base/report.h"
#include "base/tree.h"
#include "checkpoint/read.h"
#include "runtime/runtime.h"

namespace axle {

/// What a checkpoint holds beside its tensors.
struct CheckpointInfo {
  int64_t step = 0;
  Tree<std::string> metadata = {};
};

/// Reads the newest good checkpoint of `root`: `begin` is called for each one that is tried, newest
/// first, and gives the sink for its tensors; what an earlier sink took is of a damaged one. Each
/// damaged one is reported with file and offset. None if there is no checkpoint. Throws
/// StorageError if all are damaged, and at one that the system does not let us read: it is not
/// passed over. Throws what `begin` throws.
std::optional<CheckpointInfo> restore_newest(
    const std::filesystem::path& root, const std::function<TensorSink(const Manifest&)>& begin,
    const Report& report = report_to_stderr);

struct RestoredTensors : CheckpointInfo {
  Tree<HostTensor> tensors = {};
};
/// Into host memory.
std::optional<RestoredTensors> restore_tensors(const std::filesystem::path& root,
                                               const Report& report = report_to_stderr);

struct RestoredArrays : CheckpointInfo {
  Arrays arrays = {};  // in the order of `state`
};
/// Throws for a checkpoint that its reader does not want.
using CheckMetadata = std::function<void(const Tree<std::string>& metadata)>;
/// Onto devices, one tensor after the other, sharded as `state` says; the mesh may be another than
/// the one that saved. Throws ConfigError if the checkpoint does not hold exactly these names and
/// types, and what `check_metadata` throws, which is asked before.
std::optional<RestoredArrays> restore_arrays(const std::filesystem::path& root, Runtime& runtime,
                                             const Mesh& mesh, std::span<const ProgramValue> state,
                                             const CheckMetadata& check_metadata = {},
                                             const Report& report = report_to_stderr);

}  // namespace axle
