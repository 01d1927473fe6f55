#include "train/folder/run_metadata.h"

#include <fmt/format.h>

#include <limits>

#include "base/error.h"
#include "base/lists.h"
#include "checkpoint/folder.h"
#include "checkpoint/read.h"
#include "data/input.h"

namespace axle {
namespace {

constexpr std::string_view kEvalerData = "evaler_data";

// Of the newest checkpoint whose manifest is whole; no metadata if there is none.
CheckpointInfo newest_info(const std::filesystem::path& run) {
  const std::filesystem::path root = checkpoints_of(run);
  for (const int64_t step : Reversed(checkpoint_steps(root))) {
    try {
      const StoredCheckpoint stored(root, step);
      return {step, stored.manifest().metadata, stored.folder() / kManifestName};
    } catch (const StorageError&) {  // the resume reports it
    }
  }
  return {};
}

}  // namespace

Tree<std::string> to_tree(const RunMetadata& metadata) {
  Tree<std::string> out = {{"config", metadata.config},
                           {"data", metadata.data},
                           {"data_restarted", metadata.data_restarted ? "1" : "0"},
                           {"skipped_steps", std::to_string(metadata.skipped_steps)},
                           {"stopped", metadata.stopped},
                           {"wall_secs", fmt::format("{:.3f}", metadata.wall_secs)}};
  put_subtree(out, kEvalerData, metadata.evaler_data);
  return out;
}

RunMetadata run_metadata(const CheckpointInfo& info) {
  if (info.metadata.empty()) {  // written by save_model
    throw ConfigError(
        fmt::format("{}: expected the checkpoint of a run, got that of an import; use another "
                    "--dir, and pass the import's folder to --init-from",
                    info.manifest.string()));
  }
  RunMetadata out{.data = info.entry("data"),
                  .evaler_data = subtree(info.metadata, kEvalerData),
                  .skipped_steps = info.integer_entry("skipped_steps", 0, info.step),
                  .manifest = info.manifest};
  if (info.metadata.contains("config")) out.config = info.entry("config");
  if (info.metadata.contains("data_restarted"))
    out.data_restarted = info.integer_entry("data_restarted", 0, 1) == 1;
  if (info.metadata.contains("wall_secs"))
    out.wall_secs = info.number_entry("wall_secs", 0, std::numeric_limits<double>::max());
  if (info.metadata.contains("stopped")) out.stopped = info.entry("stopped");
  return out;
}

std::optional<RunMetadata> newest_metadata(const std::filesystem::path& run) {
  const CheckpointInfo info = newest_info(run);
  if (info.metadata.empty()) return {};
  return run_metadata(info);
}

std::string newest_config(const std::filesystem::path& run) {
  const CheckpointInfo info = newest_info(run);
  return info.metadata.contains("config") ? info.entry("config") : "";
}

void check_not_stopped(const RunMetadata& saved) {
  if (saved.stopped.empty()) return;
  throw Error(fmt::format("{}: the run stopped: {}; set on_non_finite=skip to skip all such steps, "
                          "or use --force to skip only this one",
                          saved.manifest.string(), saved.stopped),
              ExitCode::kValidationFailed);
}

DataStart restore_input(Input& input, const RunMetadata& saved, bool restart) {
  constexpr std::string_view kAnew = ", with the data from the first row";
  if (restart && !saved.data_restarted) return {true, kAnew};
  try {
    input.restore(saved.data);
  } catch (const MalformedState& error) {
    throw StorageError(fmt::format("{}: metadata.data: {}", saved.manifest.string(), error.what()));
  } catch (const DataError&) {  // the saved state belongs to other data
    if (!restart) throw;
    return {true, kAnew};
  }
  return {saved.data_restarted, restart ? ", in the data that --restart-data restarted" : ""};
}

}  // namespace axle
