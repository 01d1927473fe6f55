// Names of the files in the folder of a run. The folder of an import has the same config.yaml and
// checkpoints.
#pragma once

#include <filesystem>

namespace axle {

inline std::filesystem::path config_file_of(const std::filesystem::path& run) {
  return run / "config.yaml";
}
inline std::filesystem::path checkpoints_of(const std::filesystem::path& run) {
  return run / "checkpoints";
}
inline std::filesystem::path metrics_file_of(const std::filesystem::path& run) {
  return run / "metrics.jsonl";
}
inline std::filesystem::path event_files_of(const std::filesystem::path& run) {
  return run / "tensorboard";
}
inline std::filesystem::path lock_file_of(const std::filesystem::path& run) { return run / "lock"; }

/// Throws ConfigError if the folder has no config.yaml.
void check_config_file(const std::filesystem::path& run);

}  // namespace axle
