#include "checkpoint/run_files.h"

#include <fmt/format.h>

#include "base/error.h"
#include "io/file.h"
#include "io/user_path.h"

namespace axle {

void check_config_file(const std::filesystem::path& run) {
  const std::filesystem::path config = config_file_of(run);
  if (path_exists(config)) return;
  if (const std::string found = nothing_at(config); found != kNothingThere)
    throw ConfigError(fmt::format("{}: expected a file, got {}", config.string(), found));
  throw ConfigError(
      fmt::format("{}: expected the folder of a run or of an import, got one without config.yaml",
                  run.string()));
}

}  // namespace axle
